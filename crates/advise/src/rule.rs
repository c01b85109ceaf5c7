//! One rule: what to do, for which versions, who said so and when.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::condition::{Condition, Truth};
use super::fact::{Facts, Value};
use super::settings::Settings;
use super::version::{Order, Range, Version};

/// A rule of a [`Subject`](super::subject::Subject).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name, never used again for another rule.
    pub id: String,
    /// What to do or to know: a sentence.
    pub says: String,
    /// The reason: a sentence.
    pub why: String,
    /// What following it costs: a sentence.
    pub costs: Option<String>,
    /// Date of the source: a year, a month or a day.
    pub said: String,
    /// Day on which the source was last read.
    pub checked: String,
    /// What it was compared with on that day, and what had to be corrected.
    pub compared: Option<String>,
    /// Why it was not compared with its source: a sentence.
    pub uncompared: Option<String>,
    /// Who says so.
    pub by: Authority,
    /// Addresses of the sources.
    pub sources: Vec<String>,
    /// Whether it still holds.
    #[serde(default)]
    pub status: Status,
    /// The rule that took its place.
    pub superseded_by: Option<String>,
    /// Rules that say otherwise.
    #[serde(default)]
    pub disputes: Vec<String>,
    /// Versions of the subject for which it holds.
    pub versions: Option<Range>,
    /// Kernels for which it holds.
    pub kernel: Option<Range>,
    /// Architectures for which it holds; all where none is named.
    #[serde(default)]
    pub arch: Vec<String>,
    /// When it concerns the subject.
    pub when: Option<Condition>,
    /// What has to be so besides and cannot be read from a machine: a clause without "if".
    pub premise: Option<String>,
    /// When it is followed.
    pub followed: Option<Condition>,
    /// Whether this is a state that breaks or kills programs.
    #[serde(default)]
    pub breaks: bool,
    /// What following it changes.
    #[serde(default)]
    pub effects: Effects,
    /// A command line that tests it.
    pub experiment: Option<String>,
    /// Why there is no experiment.
    pub untested: Option<String>,
    /// Experiments that were made.
    #[serde(default)]
    pub tested: Vec<Test>,
    /// How to follow it.
    pub set: Option<Settings>,
    /// Its own tests.
    #[serde(default, rename = "case")]
    pub cases: Vec<Case>,
}

/// Who says something, the most believed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Authority {
    /// The documentation or source of the kernel.
    Kernel,
    /// Who sells or ships it.
    Vendor,
    /// Who maintains it.
    Maintainer,
    /// Who measured it, elsewhere.
    Elsewhere,
    /// Who reported it.
    Report,
    /// Everybody and nobody.
    Folklore,
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kernel => "kernel",
            Self::Vendor => "vendor",
            Self::Maintainer => "maintainer",
            Self::Elsewhere => "measured by others",
            Self::Report => "report",
            Self::Folklore => "folklore",
        })
    }
}

impl Authority {
    /// Who speaks, as the beginning of a sentence.
    #[must_use]
    pub fn says(self) -> &'static str {
        match self {
            Self::Kernel => "the kernel's authors say",
            Self::Vendor => "the vendor says",
            Self::Maintainer => "the maintainers say",
            Self::Elsewhere => "those who measured it say",
            Self::Report => "a report says",
            Self::Folklore => "people say",
        }
    }
}

/// Whether a rule still holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It does.
    #[default]
    Current,
    /// Who said it took it back.
    Withdrawn,
    /// Another rule took its place.
    Superseded,
}

/// How something changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// For the better.
    Better,
    /// For the worse.
    Worse,
    /// Not at all.
    None,
    /// It depends.
    Depends,
}

/// What following a rule changes; nothing is said of what is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effects {
    /// Wall time, or throughput.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall: Option<Change>,
    /// Slow requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99: Option<Change>,
    /// Use of memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Change>,
    /// Time to start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Change>,
}

impl Effects {
    /// What changes and how, in words; empty where nothing is said.
    #[must_use]
    pub fn words(&self) -> String {
        let wall = self.wall.map(|change| match change {
            Change::Better => "less time",
            Change::Worse => "more time",
            Change::None => "time unchanged",
            Change::Depends => "less or more time",
        });
        let p99 = self.p99.map(|change| match change {
            Change::Better => "slow requests become faster",
            Change::Worse => "slow requests become slower",
            Change::None => "slow requests unchanged",
            Change::Depends => "slow requests become faster or slower",
        });
        let memory = self.memory.map(|change| match change {
            Change::Better => "less memory",
            Change::Worse => "more memory",
            Change::None => "memory unchanged",
            Change::Depends => "less or more memory",
        });
        let start = self.start.map(|change| match change {
            Change::Better => "a faster start",
            Change::Worse => "a slower start",
            Change::None => "start unchanged",
            Change::Depends => "a faster or slower start",
        });
        let said = [wall, p99, memory, start].into_iter().flatten();
        said.collect::<Vec<_>>().join(", ")
    }
}

/// An experiment that tested a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// Path of its record.
    pub record: String,
    /// Its day.
    pub date: String,
    /// The policy of the record that does what the rule says, or that the rule warns of.
    pub policy: String,
    /// The metric that shows it; that of the record's verdict where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// What came of it.
    pub verdict: TestVerdict,
}

/// What came of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TestVerdict {
    /// The effect came as the rule says.
    Confirmed,
    /// It came otherwise.
    Refuted,
    /// The experiment could not tell.
    Open,
}

impl fmt::Display for TestVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Confirmed => "confirmed",
            Self::Refuted => "refuted",
            Self::Open => "not decided",
        })
    }
}

/// A test of the rule itself: facts in, verdict out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What is known.
    pub facts: BTreeMap<String, Value>,
    /// `applies`, `does not apply` or `cannot tell: FACT`.
    pub verdict: String,
    /// `yes`, `no` or `cannot tell: FACT`.
    pub followed: Option<String>,
}

impl Rule {
    /// Whether it concerns the subject of these facts.
    #[must_use]
    pub fn applies(&self, facts: &Facts, order: Order) -> Truth {
        let own = || within(self.versions.as_ref(), facts, "app.version", order);
        let kernel = || within(self.kernel.as_ref(), facts, "kernel.version", Order::Dotted);
        let arch = || match facts.text("arch") {
            _ if self.arch.is_empty() => Truth::Yes,
            None => Truth::CannotTell("arch".to_owned()),
            Some(arch) => self.arch.iter().any(|own| own == arch).into(),
        };
        let when = || match &self.when {
            Some(condition) => condition.holds(facts, order),
            None => Truth::Yes,
        };
        own().and(|| kernel().and(|| arch().and(when)))
    }

    /// What would have to be so for it to concern the subject, of what is not known.
    #[must_use]
    pub fn open_condition(&self, facts: &Facts, order: Order) -> Option<String> {
        let version = self.versions.as_ref().and_then(|range| {
            let known = within(Some(range), facts, "app.version", order);
            matches!(known, Truth::CannotTell(_))
                .then(|| format!("its version is {}", range.words()))
        });
        let when = self.when.as_ref();
        let when = when.and_then(|condition| condition.remainder(facts, order));
        let parts: Vec<_> = version.into_iter().chain(when).collect();
        (!parts.is_empty()).then(|| parts.join(" and "))
    }

    /// What to do or to know, with its premise.
    #[must_use]
    pub fn words(&self) -> String {
        match &self.premise {
            Some(premise) => format!("If {premise}: {}", self.says),
            None => self.says.clone(),
        }
    }

    /// Whether it is followed; `None` where it only informs.
    #[must_use]
    pub fn followed(&self, facts: &Facts, order: Order) -> Option<Truth> {
        Some(self.followed.as_ref()?.holds(facts, order))
    }

    /// What it sets, where that is the program's own arguments, it is still said, and the program may run
    /// faster by it.
    #[must_use]
    pub fn own_setting(&self) -> Option<&Settings> {
        let is_meant = self.status == Status::Current && self.effects.wall == Some(Change::Better);
        let set = self.set.as_ref().filter(|set| !set.args.is_empty());
        set.filter(|_| is_meant)
    }

    /// Whether those who make or maintain its subject keep huge pages from it today, on every machine.
    #[must_use]
    pub fn is_against_huge_pages(&self) -> bool {
        let mut ranges = self.versions.iter().chain(&self.kernel);
        self.set.as_ref().is_some_and(Settings::are_off)
            && self.status == Status::Current
            && self.by <= Authority::Maintainer
            && self.when.is_none()
            && self.arch.is_empty()
            && ranges.all(Range::is_open_above)
    }

    /// When it concerns the subject, and when it is followed.
    pub fn conditions(&self) -> impl Iterator<Item = &Condition> {
        self.when.iter().chain(&self.followed)
    }

    /// Whether it asks for facts of a process besides the version of its subject.
    #[must_use]
    pub fn is_about_a_process(&self) -> bool {
        self.conditions().any(Condition::is_about_a_process)
    }

    /// Whether a kernel's or vendor's word is asked of everybody (`--check`).
    #[must_use]
    pub fn binds(&self) -> bool {
        matches!(self.by, Authority::Kernel | Authority::Vendor)
    }
}

fn within(range: Option<&Range>, facts: &Facts, fact: &str, order: Order) -> Truth {
    let Some(range) = range else {
        return Truth::Yes;
    };
    let version = facts.text(fact);
    match version.and_then(|text| Version::parse(text, order)) {
        Some(version) => range.contains(&version, order).into(),
        None => Truth::CannotTell(fact.to_owned()),
    }
}

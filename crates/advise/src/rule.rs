//! One rule: the recommendation, its versions, its source and its date.

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
    /// Its unique name, which is never reused.
    pub id: String,
    /// The recommendation or information, as a sentence.
    pub says: String,
    /// The reason, as a sentence.
    pub why: String,
    /// The cost of following it, as a sentence.
    pub costs: Option<String>,
    /// Date of the source: a year, a month or a day.
    pub said: String,
    /// Day on which the source was last read.
    pub checked: String,
    /// The source that it was compared with on that day, and the corrections.
    pub compared: Option<String>,
    /// Why it was not compared with its source, as a sentence.
    pub uncompared: Option<String>,
    /// The authority behind it.
    pub by: Authority,
    /// URLs of the sources.
    pub sources: Vec<String>,
    /// Its status.
    #[serde(default)]
    pub status: Status,
    /// The rule that replaced it.
    pub superseded_by: Option<String>,
    /// Rules that contradict it.
    #[serde(default)]
    pub disputes: Vec<String>,
    /// The versions of the subject that it applies to.
    pub versions: Option<Range>,
    /// The kernels that it applies to.
    pub kernel: Option<Range>,
    /// The architectures that it applies to; empty means all.
    #[serde(default)]
    pub arch: Vec<String>,
    /// The condition under which it applies to the subject.
    pub when: Option<Condition>,
    /// A further condition that cannot be read from a machine: a clause without "if".
    pub premise: Option<String>,
    /// The condition under which it is followed.
    pub followed: Option<Condition>,
    /// True if this is a state that breaks or kills programs.
    #[serde(default)]
    pub breaks: bool,
    /// The effects of following it.
    #[serde(default)]
    pub effects: Effects,
    /// A command line that tests it.
    pub experiment: Option<String>,
    /// Why there is no experiment.
    pub untested: Option<String>,
    /// Completed experiments.
    #[serde(default)]
    pub tested: Vec<Test>,
    /// How to follow it.
    pub set: Option<Settings>,
    /// Its test cases.
    #[serde(default, rename = "case")]
    pub cases: Vec<Case>,
}

/// The authority behind a rule, the most trusted first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Authority {
    /// The documentation or source of the kernel.
    Kernel,
    /// The vendor or distributor.
    Vendor,
    /// The maintainers.
    Maintainer,
    /// A measurement by a third party.
    Elsewhere,
    /// A report by a user.
    Report,
    /// Folklore without a known source.
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
    /// Returns the authority, as the beginning of a sentence.
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

/// The status of a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Still valid.
    #[default]
    Current,
    /// Withdrawn by its source.
    Withdrawn,
    /// Replaced by another rule.
    Superseded,
}

/// The direction of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// Better.
    Better,
    /// Worse.
    Worse,
    /// No change.
    None,
    /// It depends.
    Depends,
}

/// The effects of following a rule; no claim is made about absent ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effects {
    /// Wall time, or throughput.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall: Option<Change>,
    /// Latency of slow requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99: Option<Change>,
    /// Memory use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Change>,
    /// Start time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Change>,
}

impl Effects {
    /// Returns the effects in words; empty if there are none.
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
    /// The policy in the record that follows the rule, or that the rule warns against.
    pub policy: String,
    /// The metric that shows the effect. The default is the metric of the record's verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// The result.
    pub verdict: TestVerdict,
}

/// The result of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TestVerdict {
    /// The effect agrees with the rule.
    Confirmed,
    /// The effect contradicts the rule.
    Refuted,
    /// The experiment was inconclusive.
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

/// A test case of the rule itself: facts as input, a verdict as output.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Known facts.
    pub facts: BTreeMap<String, Value>,
    /// `applies`, `does not apply` or `cannot tell: FACT`.
    pub verdict: String,
    /// `yes`, `no` or `cannot tell: FACT`.
    pub followed: Option<String>,
}

impl Rule {
    /// Evaluates whether the rule applies to the subject with these facts.
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

    /// Returns the unknown part of its conditions, in words.
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

    /// Returns the recommendation or information, with its premise.
    #[must_use]
    pub fn words(&self) -> String {
        match &self.premise {
            Some(premise) => format!("If {premise}: {}", self.says),
            None => self.says.clone(),
        }
    }

    /// Evaluates whether it is followed; `None` if it only informs.
    #[must_use]
    pub fn followed(&self, facts: &Facts, order: Order) -> Option<Truth> {
        Some(self.followed.as_ref()?.holds(facts, order))
    }

    /// Returns its settings if they are only arguments of the program, the rule is current, and the program can become
    /// faster.
    #[must_use]
    pub fn own_setting(&self) -> Option<&Settings> {
        let is_meant = self.status == Status::Current && self.effects.wall == Some(Change::Better);
        let set = self.set.as_ref().filter(|set| !set.args.is_empty());
        set.filter(|_| is_meant)
    }

    /// Returns true if its vendor or maintainers currently disable huge pages for the subject on every machine.
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

    /// The conditions under which it applies, and under which it is followed.
    pub fn conditions(&self) -> impl Iterator<Item = &Condition> {
        self.when.iter().chain(&self.followed)
    }

    /// Returns true if it uses facts of a process other than the version of its subject.
    #[must_use]
    pub fn is_about_a_process(&self) -> bool {
        self.conditions().any(Condition::is_about_a_process)
    }

    /// Returns true if `--check` enforces it: a kernel or vendor recommendation for everybody.
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

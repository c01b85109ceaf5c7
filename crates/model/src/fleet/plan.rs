//! The plan of a fleet experiment: one TOML file, the same on all hosts.

use std::time::Duration;

use serde::{Deserialize, Deserializer};
use sha2::{Digest, Sha256};

use super::position::Threshold;
use super::rule::{Below, OUTSIDE, Rule, Subject};
use crate::base::units::parse_duration;
use crate::run::policy::Policy;

/// A plan, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What the plan's file says.
    pub written: Written,
    /// Which arm each unit has.
    pub rule: Rule,
    /// First 16 hexadecimal digits of the SHA-256 of the file.
    pub hash: String,
}

/// The file as it is written.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Written {
    /// Name of the experiment, and the salt of its arms.
    pub name: String,
    /// What is randomised.
    #[serde(default)]
    pub unit: Kind,
    /// The arms; the first is the control.
    pub arms: Vec<Arm>,
    /// Shares of the units that take part, by stage.
    #[serde(default = "all_units")]
    pub shares: Vec<f64>,
    /// Index of the stage that is under way, from 0.
    #[serde(default)]
    pub stage: u32,
    /// Part of the units that this experiment may take, where several experiments exclude each
    /// other.
    #[serde(default)]
    pub band: Option<Band>,
    /// Shares of a cluster's units that are treated; each cluster has one of them.
    #[serde(default)]
    pub saturation: Vec<f64>,
    /// Arms that change from period to period.
    #[serde(default)]
    pub switchback: Option<Switchback>,
    /// Length of a period, for which a row is written.
    #[serde(default = "an_hour", deserialize_with = "duration")]
    pub period: Duration,
    /// How long an arm stays without a plan that can be read.
    #[serde(default = "two_hours", deserialize_with = "duration")]
    pub lease: Duration,
    /// When arms begin, seconds since 1970.
    #[serde(deserialize_with = "moment")]
    pub starts: i64,
    /// When the old settings come back, seconds since 1970.
    #[serde(deserialize_with = "moment")]
    pub ends: i64,
    /// Limits that stop an arm.
    #[serde(default)]
    pub guardrails: Guardrails,
}

/// What is randomised.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A host.
    #[default]
    Host,
    /// A service on a host.
    Service,
    /// A start of a process.
    Start,
    /// A pod.
    Pod,
}

/// One arm.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// Its name in rows and reports.
    pub name: String,
    /// What it sets, in the words of `run --policy`.
    #[serde(deserialize_with = "policy")]
    pub policy: Policy,
    /// Its share of the units that take part, against those of the others.
    #[serde(default = "one")]
    pub weight: f64,
}

/// A part of the units.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// What the experiments that exclude each other have in common.
    pub salt: String,
    /// Where the part begins, 0 to 1.
    pub from: f64,
    /// Where it ends, 0 to 1.
    pub to: f64,
}

/// Arms that change from period to period, balanced within each pair of periods.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Switchback {
    /// Start of each period that is not compared, because memory follows a setting slowly.
    #[serde(deserialize_with = "duration")]
    pub washout: Duration,
}

/// Limits that stop an arm; what is not given does not stop it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Guardrails {
    /// Processes that the kernel may kill in a period for want of memory.
    pub oom_kills: Option<u64>,
    /// Percent of a period in which all tasks may wait for memory.
    pub memory_stall_percent: Option<f64>,
    /// Percent of a period's huge-page faults that may be refused a huge page.
    pub refused_percent: Option<f64>,
}

impl Plan {
    /// Reads and checks the text of a plan.
    ///
    /// # Errors
    /// What is wrong, and where, in a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let written: Written = toml::from_str(text).map_err(|error| error.to_string())?;
        written.check()?;
        let digest = Sha256::digest(text);
        let hash = digest.iter().take(8).map(|it| format!("{it:02x}"));
        Ok(Self {
            rule: written.rule(),
            hash: hash.collect(),
            written,
        })
    }

    /// The arm of this name.
    #[must_use]
    pub fn arm(&self, name: &str) -> Option<&Arm> {
        self.written.arms.iter().find(|arm| arm.name == name)
    }

    /// Index of the period in which a moment lies, counted from the start.
    #[must_use]
    pub fn period_at(&self, moment: i64) -> u64 {
        let since = u64::try_from(moment - self.written.starts).unwrap_or(0);
        since / self.written.period.as_secs().max(1)
    }

    /// Whether arms are in force at a moment.
    #[must_use]
    pub fn is_under_way(&self, moment: i64) -> bool {
        (self.written.starts..self.written.ends).contains(&moment)
    }
}

impl Written {
    fn check(&self) -> Result<(), String> {
        name("name", &self.name)?;
        if self.arms.len() < 2 {
            return Err("`arms`: an experiment needs two arms; the first is the control".into());
        }
        for (index, arm) in self.arms.iter().enumerate() {
            name("arms", &arm.name)?;
            if arm.name == OUTSIDE || self.arms[..index].iter().any(|it| it.name == arm.name) {
                return Err(format!("`arms`: the name `{}` is taken", arm.name));
            }
            if !(arm.weight > 0.0 && arm.weight.is_finite()) {
                return Err(format!(
                    "`arms`: the weight of `{}` must be more than 0",
                    arm.name
                ));
            }
        }
        self.check_shares()?;
        self.check_designs()?;
        if self.period.as_secs() == 0 || self.lease < self.period {
            return Err("`period` must be 1s or more, and `lease` no shorter than it".into());
        }
        if self.ends <= self.starts {
            return Err("`ends` must be later than `starts`".into());
        }
        Ok(())
    }

    fn check_shares(&self) -> Result<(), String> {
        if self.shares.is_empty() || !self.shares.iter().all(|it| *it > 0.0 && *it <= 1.0) {
            return Err("`shares`: each stage needs a share above 0 and up to 1".into());
        }
        if self.shares.windows(2).any(|pair| pair[1] < pair[0]) {
            return Err("`shares` must grow: a unit keeps its arm from stage to stage".into());
        }
        if self.shares.get(self.stage as usize).is_none() {
            let last = self.shares.len() - 1;
            return Err(format!(
                "`stage` is {}, and the last stage is {last}",
                self.stage
            ));
        }
        let Some(band) = &self.band else {
            return Ok(());
        };
        name("band.salt", &band.salt)?;
        if !(0.0 <= band.from && band.from < band.to && band.to <= 1.0) {
            return Err("`band`: 0 ≤ from < to ≤ 1".into());
        }
        Ok(())
    }

    fn check_designs(&self) -> Result<(), String> {
        let two = self.arms.len() == 2;
        if !self.saturation.is_empty() {
            if !two || self.switchback.is_some() || !matches!(self.unit, Kind::Pod | Kind::Service)
            {
                return Err(
                    "`saturation` needs two arms, units that share a host (`unit = \
                            \"pod\"` or `\"service\"`), and no `switchback`"
                        .into(),
                );
            }
            if !self.saturation.iter().all(|it| (0.0..=1.0).contains(it)) {
                return Err("`saturation`: each level lies between 0 and 1".into());
            }
        }
        match &self.switchback {
            Some(_) if !two => Err("`switchback` needs two arms".into()),
            Some(it) if it.washout >= self.period => {
                Err("`switchback.washout` must be shorter than `period`".into())
            }
            _ => Ok(()),
        }
    }

    /// First whether the unit takes part, then its arm.
    fn rule(&self) -> Rule {
        let outside = || Rule::Arm(OUTSIDE.to_owned());
        let share = self.shares[self.stage as usize];
        let (salt, from, to) = match &self.band {
            Some(band) => (band.salt.as_str(), band.from, band.to),
            None => (self.name.as_str(), 0.0, 1.0),
        };
        let part = |share: f64, then: Rule, otherwise: Rule| {
            Rule::below(Below {
                salt: salt.to_owned(),
                purpose: "enrol",
                subject: self.enrolled(),
                threshold: Threshold::at(share),
                then,
                otherwise,
            })
        };
        let end = from + (to - from) * share;
        part(from, outside(), part(end, self.arms(), outside()))
    }

    /// With saturation whole clusters take part: one that takes part half has another level.
    fn enrolled(&self) -> Subject {
        if self.saturation.is_empty() {
            Subject::Unit
        } else {
            Subject::Cluster
        }
    }

    fn arms(&self) -> Rule {
        if self.switchback.is_some() {
            return self.switched();
        }
        if !self.saturation.is_empty() {
            return self.saturated();
        }
        let whole: f64 = self.arms.iter().map(|arm| arm.weight).sum();
        let mut before = whole;
        let mut arms = self.arms.iter().rev();
        let last = arms.next().map_or(OUTSIDE, |arm| {
            before -= arm.weight;
            &arm.name
        });
        let last = Rule::Arm(last.to_owned());
        arms.fold(last, |rest, arm| {
            let share = before / whole;
            before -= arm.weight;
            self.own(
                "arm",
                Subject::Unit,
                share,
                Rule::Arm(arm.name.clone()),
                rest,
            )
        })
    }

    /// A cluster's level first, each as likely; then the unit's arm at that level.
    fn saturated(&self) -> Rule {
        let [control, treated] =
            [&self.arms[0], &self.arms[1]].map(|it| Rule::Arm(it.name.clone()));
        let levels = self.saturation.len();
        let at = |level: f64| {
            let (treated, control) = (treated.clone(), control.clone());
            self.own("arm", Subject::Unit, level, treated, control)
        };
        let (last, others) = self.saturation.split_last().expect("a level");
        let others = others.iter().enumerate().rev();
        others.fold(at(*last), |rest, (index, level)| {
            let share = count(index + 1) / count(levels);
            self.own("saturation", Subject::Cluster, share, at(*level), rest)
        })
    }

    /// Each pair of periods has both arms, in an order of its own.
    fn switched(&self) -> Rule {
        let [control, treated] =
            [&self.arms[0], &self.arms[1]].map(|it| Rule::Arm(it.name.clone()));
        let order = |first: &Rule, second: &Rule| Rule::First {
            first: Box::new(first.clone()),
            second: Box::new(second.clone()),
        };
        let then = order(&control, &treated);
        self.own(
            "switch",
            Subject::Pair,
            0.5,
            then,
            order(&treated, &control),
        )
    }

    fn own(
        &self,
        purpose: &'static str,
        subject: Subject,
        share: f64,
        then: Rule,
        otherwise: Rule,
    ) -> Rule {
        Rule::below(Below {
            salt: self.name.clone(),
            purpose,
            subject,
            threshold: Threshold::at(share),
            then,
            otherwise,
        })
    }
}

/// Names stand in hashes, file names, SQL and labels as they are.
fn name(field: &str, text: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if text.is_empty() || text.len() > 63 || !text.chars().all(fits) {
        return Err(format!(
            "`{field}`: `{text}` is no name; use up to 63 letters, digits, `.`, `_` and `-`"
        ));
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a few levels")]
fn count(number: usize) -> f64 {
    number as f64
}

fn all_units() -> Vec<f64> {
    vec![1.0]
}

fn one() -> f64 {
    1.0
}

fn an_hour() -> Duration {
    Duration::from_hours(1)
}

fn two_hours() -> Duration {
    Duration::from_hours(2)
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_duration(&text).map_err(serde::de::Error::custom)
}

fn policy<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Policy, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(serde::de::Error::custom)
}

/// A date and time of TOML with its offset, as `2026-12-01T00:00:00Z`.
fn moment<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let fault = || serde::de::Error::custom("expected a moment such as 2026-12-01T00:00:00Z");
    let written = toml::value::Datetime::deserialize(deserializer).map_err(|_| fault())?;
    let (Some(date), Some(time), Some(offset)) = (written.date, written.time, written.offset)
    else {
        return Err(fault());
    };
    let east = match offset {
        toml::value::Offset::Z => 0,
        toml::value::Offset::Custom { minutes } => i64::from(minutes) * 60,
    };
    let days = days_since_1970(date.year.into(), date.month.into(), date.day.into());
    let seconds = i64::from(time.second.unwrap_or(0));
    let clock = i64::from(time.hour) * 3600 + i64::from(time.minute) * 60 + seconds;
    Ok(days * 86_400 + clock - east)
}

/// Days of the Gregorian calendar, in years that begin in March: then the leap day is the last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let months = (month + 9) % 12;
    let days = 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    days + (153 * months + 2) / 5 + day - 1 - 719_468
}

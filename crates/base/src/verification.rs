//! The verification of hardware events by loops with a known number of TLB misses.

use serde::{Deserialize, Serialize};

/// The command that verifies events.
pub const COMMAND: &str = "hugewise doctor --verify-counters";

/// The result of the verification for the events of a measurement.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Verification {
    /// The validity on this machine.
    pub state: VerificationState,
    /// The TLB events of the measurement.
    pub events: Vec<EventStanding>,
}

/// The validity of a verification on this machine.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum VerificationState {
    /// There is no verification, or a recording without this field.
    #[default]
    Never,
    /// The result is of this processor, kernel and microcode.
    Current,
    /// These changed since.
    Changed(Vec<Identifying>),
}

/// A property of the machine that a result depends on.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Identifying {
    /// The processor model.
    Cpu,
    /// The kernel release.
    Kernel,
    /// The revision of the microcode.
    Microcode,
}

impl Identifying {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "processor",
            Self::Kernel => "kernel",
            Self::Microcode => "microcode",
        }
    }
}

/// An event and its result.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct EventStanding {
    /// The event source.
    pub pmu: String,
    /// The kind of event.
    pub kind: String,
    /// The processor's name for the event.
    pub event: String,
    /// The result.
    pub standing: Standing,
}

/// The result for one event, the best first.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Its counts of the loops are right.
    Verified,
    /// No valid result.
    Unverified,
    /// Its counts of the loops are wrong.
    Wrong,
}

impl Standing {
    /// The remark after a figure; empty for a verified one.
    #[must_use]
    pub fn remark(self) -> &'static str {
        match self {
            Self::Verified => "",
            Self::Unverified => "not verified on this CPU",
            Self::Wrong => "WRONG on this CPU",
        }
    }
}

impl Verification {
    /// The result for a kind of event: the worst of all event sources, and [`Standing::Unverified`] for an unknown kind.
    #[must_use]
    pub fn of(&self, kind: &str) -> Standing {
        let known = self.events.iter().filter(|event| event.kind == kind);
        let worst = known.map(|event| event.standing).max();
        worst.unwrap_or(Standing::Unverified)
    }

    /// The kinds of events with this result.
    #[must_use]
    pub fn kinds(&self, standing: Standing) -> Vec<String> {
        let events = self.events.iter();
        let events = events.filter(|event| event.standing == standing);
        events.map(|event| event.kind.clone()).collect()
    }

    /// The warning about unverified kinds: a sentence without its full stop.
    #[must_use]
    pub fn warning<'a>(&self, kinds: impl IntoIterator<Item = &'a str>) -> Option<String> {
        let (mut verified, mut wrong, mut unverified) = (0, Vec::new(), Vec::new());
        for kind in kinds {
            match self.of(kind) {
                Standing::Verified => verified += 1,
                Standing::Wrong => wrong.push(kind),
                Standing::Unverified => unverified.push(kind),
            }
        }
        let mut parts = Vec::new();
        if !wrong.is_empty() {
            parts.push(format!("wrong on this CPU: {}", wrong.join(", ")));
        }
        match unverified[..] {
            [] => {}
            _ if verified == 0 && wrong.is_empty() => {
                parts.push("TLB figures: not verified on this CPU".to_owned());
            }
            _ => parts.push(format!(
                "not verified on this CPU: {}",
                unverified.join(", ")
            )),
        }
        (!parts.is_empty()).then(|| format!("{}{} ({COMMAND})", parts.join("; "), self.since()))
    }

    fn since(&self) -> String {
        match &self.state {
            VerificationState::Changed(changed) => {
                let names: Vec<&str> = changed.iter().map(|it| it.name()).collect();
                format!("; changed since: {}", names.join(", "))
            }
            VerificationState::Never | VerificationState::Current => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(pmu: &str, kind: &str, standing: Standing) -> EventStanding {
        EventStanding {
            pmu: pmu.to_owned(),
            kind: kind.to_owned(),
            event: kind.to_uppercase(),
            standing,
        }
    }

    #[test]
    fn the_worst_source_decides_and_the_unknown_is_unverified() {
        let verification = Verification {
            state: VerificationState::Current,
            events: vec![
                standing("cpu_core", "itlb_walks", Standing::Verified),
                standing("cpu_atom", "itlb_walks", Standing::Unverified),
                standing("cpu_core", "dtlb_walks", Standing::Verified),
            ],
        };
        assert_eq!(verification.of("itlb_walks"), Standing::Unverified);
        assert_eq!(verification.of("dtlb_walks"), Standing::Verified);
        assert_eq!(verification.of("dtlb_load_walks"), Standing::Unverified);
        assert_eq!(verification.warning(["dtlb_walks"]), None);
        assert!(verification.warning(["dtlb_walks", "itlb_walks"]).is_some());
    }

    #[test]
    fn a_measurement_without_a_result_is_unverified() {
        let none = Verification::default();
        assert!(none.warning(["dtlb_walks"]).is_some());
        assert_eq!(none.warning([]), None);
        let old: Verification = serde_json::from_str(r#"{"state":"never","events":[]}"#).unwrap();
        assert_eq!(old, none);
    }
}

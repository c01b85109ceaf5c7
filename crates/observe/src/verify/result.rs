//! The result of a verification, as kept in the user's state folder.

use serde::{Deserialize, Serialize};

use super::decide::{DecidedEvent, Verdict};
use crate::stat::kind::{CYCLES, INSTRUCTIONS};
use hugewise_base::verification::{
    EventStanding, Identifying, Standing, Verification, VerificationState,
};

/// Name and version of a [`VerificationResult`] as JSON.
pub const FORMAT: &str = "hugewise-counters 1";

/// The machine on which events were verified. A result holds until one of these changes.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Identity {
    /// The processor model in /proc/cpuinfo.
    pub cpu_model: String,
    /// `uname -r`.
    pub kernel: String,
    /// The revision of the microcode in /proc/cpuinfo; Arm has none.
    pub microcode: Option<String>,
}

impl Identity {
    /// The properties in which another machine differs.
    #[must_use]
    pub fn changes(&self, other: &Self) -> Vec<Identifying> {
        let same = [
            (Identifying::Cpu, self.cpu_model == other.cpu_model),
            (Identifying::Kernel, self.kernel == other.kernel),
            (Identifying::Microcode, self.microcode == other.microcode),
        ];
        let changed = same.into_iter().filter(|(_, same)| !same);
        changed.map(|(what, _)| what).collect()
    }
}

/// The result of a verification.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct VerificationResult {
    /// Name and version of this document.
    pub format: String,
    /// Name and version of the program that made it.
    pub program: String,
    /// When it was made, in milliseconds since 1970 (UTC).
    pub made_unix_ms: u64,
    /// The machine.
    pub identity: Identity,
    /// The decisions.
    pub events: Vec<DecidedEvent>,
}

/// An event of a measurement: its source, kind, name and code.
pub type Planned<'a> = (&'a str, &'a str, &'a str, &'a str);

/// Applies the newest result, if there is one, to the events of a measurement. Cycles and instructions are no TLB
/// events. An event with another code than the verified one is unverified.
#[must_use]
pub fn verification<'a>(
    result: Option<&VerificationResult>,
    here: &Identity,
    planned: impl IntoIterator<Item = Planned<'a>>,
) -> Verification {
    let changes = result.map(|result| result.identity.changes(here));
    let state = match changes {
        None => VerificationState::Never,
        Some(changes) if changes.is_empty() => VerificationState::Current,
        Some(changes) => VerificationState::Changed(changes),
    };
    let valid = result.filter(|_| state == VerificationState::Current);
    let mut events: Vec<EventStanding> = Vec::new();
    for (pmu, kind, event, code) in planned {
        let general = [CYCLES, INSTRUCTIONS].contains(&kind);
        let known = |known: &EventStanding| known.pmu == pmu && known.kind == kind;
        if general || events.iter().any(known) {
            continue;
        }
        let decided = valid.and_then(|result| {
            let same =
                |one: &&DecidedEvent| (&*one.pmu, &*one.kind, &*one.code) == (pmu, kind, code);
            result.events.iter().find(same)
        });
        events.push(EventStanding {
            pmu: pmu.to_owned(),
            kind: kind.to_owned(),
            event: event.to_owned(),
            standing: decided.map_or(Standing::Unverified, DecidedEvent::standing),
        });
    }
    Verification { state, events }
}

impl DecidedEvent {
    /// The result for a measurement with this event.
    #[must_use]
    pub fn standing(&self) -> Standing {
        match self.verdict {
            Verdict::Verified => Standing::Verified,
            Verdict::Wrong { .. } => Standing::Wrong,
            Verdict::Undecided { .. } => Standing::Unverified,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::decide::Fault;
    use super::*;

    fn identity() -> Identity {
        Identity {
            cpu_model: "Skylake".to_owned(),
            kernel: "6.18.0".to_owned(),
            microcode: Some("0x1".to_owned()),
        }
    }

    fn decided(kind: &str, verdict: Verdict) -> DecidedEvent {
        DecidedEvent {
            pmu: "cpu".to_owned(),
            kind: kind.to_owned(),
            event: kind.to_uppercase(),
            code: "event=0x08".to_owned(),
            verdict,
            tests: Vec::new(),
        }
    }

    fn result() -> VerificationResult {
        VerificationResult {
            format: FORMAT.to_owned(),
            program: "hugewise test".to_owned(),
            made_unix_ms: 1,
            identity: identity(),
            events: vec![
                decided("dtlb_load_walks", Verdict::Verified),
                decided("itlb_walks", Verdict::Wrong { fault: Fault::Dead }),
            ],
        }
    }

    const PLANNED: [Planned<'static>; 4] = [
        ("cpu", "cycles", "cycles", ""),
        ("cpu", "dtlb_load_walks", "DTLB_LOAD_WALKS", "event=0x08"),
        ("cpu", "itlb_walks", "ITLB_WALKS", "event=0x08"),
        ("cpu", "dtlb_store_walks", "DTLB_STORE_WALKS", "event=0x49"),
    ];

    #[test]
    fn a_result_of_this_machine_applies_event_by_event() {
        let found = verification(Some(&result()), &identity(), PLANNED);
        assert_eq!(found.state, VerificationState::Current);
        let standings = found.events.iter().map(|it| (&*it.kind, it.standing));
        assert_eq!(
            standings.collect::<Vec<_>>(),
            [
                ("dtlb_load_walks", Standing::Verified),
                ("itlb_walks", Standing::Wrong),
                ("dtlb_store_walks", Standing::Unverified),
            ]
        );
        let other = [("cpu", "dtlb_load_walks", "DTLB_LOAD_WALKS", "event=0x12")];
        let found = verification(Some(&result()), &identity(), other);
        assert_eq!(found.of("dtlb_load_walks"), Standing::Unverified);
    }

    #[test]
    fn each_change_of_the_machine_voids_the_result() {
        let kernel = Identity {
            kernel: "6.19.0".to_owned(),
            ..identity()
        };
        let microcode = Identity {
            microcode: None,
            ..identity()
        };
        let cpu = Identity {
            cpu_model: "Icelake".to_owned(),
            ..kernel.clone()
        };
        for (here, changed) in [
            (kernel, vec![Identifying::Kernel]),
            (microcode, vec![Identifying::Microcode]),
            (cpu, vec![Identifying::Cpu, Identifying::Kernel]),
        ] {
            let found = verification(Some(&result()), &here, PLANNED);
            assert_eq!(found.state, VerificationState::Changed(changed));
            assert_eq!(found.of("dtlb_load_walks"), Standing::Unverified);
        }
        let none = verification(None, &identity(), PLANNED);
        assert_eq!(none.state, VerificationState::Never);
        assert_eq!(none.events.len(), 3);
    }

    #[test]
    fn a_result_survives_its_file() {
        let text = serde_json::to_string(&result()).unwrap();
        assert_eq!(
            serde_json::from_str::<VerificationResult>(&text).unwrap(),
            result()
        );
    }
}

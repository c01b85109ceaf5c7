//! Determines the permitted modes, and which events fit the counters together.
//!
//! The number of counters is found by trying. The watchdog, another program or the hypervisor may occupy some, and the
//! kernel still opens a group but never schedules it.

use std::io;

use hugewise_base::missing::Missing;
use hugewise_observe::stat::Refused;
use hugewise_observe::stat::kind::{CYCLES, INSTRUCTIONS, KINDS};

use super::events::sources::Source;
use super::events::{Arch, Event};
use super::open::{Code, HARDWARE, PerfOpen};
use crate::probe::Grants;
use attempt::{Attempt, Fit};

mod attempt;
mod permitted;

pub use permitted::{Permitted, missing, permitted};

/// A countable event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The meaning of its count.
    pub kind: String,
    /// Its name in the processor's table.
    pub event: String,
    /// Its code for the kernel.
    pub code: Code,
}

/// The groups of one event source.
#[derive(Clone, Debug, Default)]
pub struct Fitted {
    /// Groups that fit, in the order of their turns; none is empty.
    pub groups: Vec<Vec<Chosen>>,
    /// Requested events that cannot be counted.
    pub refused: Vec<Refused>,
}

/// Returns the general events of a source, the reference for all others.
#[must_use]
pub fn general(source: &Source) -> [Chosen; 2] {
    const CPU_CYCLES: u64 = 0;
    const RETIRED: u64 = 1;
    /// Numbers fixed by the architecture (PMUv3): CPU_CYCLES, INST_RETIRED.
    const ARM: [u64; 2] = [0x11, 0x08];
    let is_arm = source
        .family
        .is_some_and(|family| family.arch() == Arch::Arm);
    let code = |general: u64, arm: u64| match (source.alone, is_arm) {
        (true, _) => Code {
            source: HARDWARE,
            config: general,
        },
        // One of several sources is selected by its number in the upper half (Linux 5.13).
        (false, false) => Code {
            source: HARDWARE,
            config: (u64::from(source.number) << 32) | general,
        },
        (false, true) => Code {
            source: source.number,
            config: arm,
        },
    };
    [
        (CYCLES, CPU_CYCLES, ARM[0]),
        (INSTRUCTIONS, RETIRED, ARM[1]),
    ]
    .map(|(kind, general, arm)| Chosen {
        kind: kind.to_owned(),
        event: kind.to_owned(),
        code: code(general, arm),
    })
}

/// Distributes the wanted events of a source over as few groups as possible, each with the general events, so that
/// every ratio can be computed within a group.
#[must_use]
pub fn fit(
    opener: &dyn PerfOpen,
    source: &Source,
    permitted: Permitted,
    wanted: &[&Event],
    grants: &Grants,
) -> Fitted {
    let attempt = Attempt {
        opener,
        permitted,
        alone: source.alone,
    };
    let refused = |event: &Chosen, why| refused(event, why, permitted, grants);
    let (base, mut unfit) = attempt.base(source);
    let mut filling = Filling {
        attempt: &attempt,
        current: base.clone(),
        base,
        full: Vec::new(),
    };
    for unit in units(chosen(source, wanted)) {
        let (fit, other): (Vec<_>, Vec<_>) = unit
            .into_iter()
            .map(|event| (attempt.run(std::slice::from_ref(&event)), event))
            .partition(|(fit, _)| *fit == Fit::Fits);
        filling.place(fit.into_iter().map(|(_, event)| event).collect());
        unfit.extend(other);
    }
    Fitted {
        groups: filling.groups(),
        refused: unfit
            .iter()
            .map(|(why, event)| refused(event, *why))
            .collect(),
    }
}

/// Groups events that have a meaning only together: those of loads and of stores are added up.
fn units(events: Vec<Chosen>) -> Vec<Vec<Chosen>> {
    let subject = |event: &Chosen| {
        let kind = event.kind.strip_prefix("dtlb_load_");
        let kind = kind.or_else(|| event.kind.strip_prefix("dtlb_store_"));
        kind.map(str::to_owned)
    };
    let mut units: Vec<Vec<Chosen>> = Vec::new();
    for event in events {
        let of = subject(&event);
        let mate = units
            .iter_mut()
            .find(|unit| of.is_some() && subject(&unit[0]) == of);
        match mate {
            Some(unit) => unit.push(event),
            None => units.push(vec![event]),
        }
    }
    units
}

/// Groups being filled, one after the other.
struct Filling<'a> {
    attempt: &'a Attempt<'a>,
    base: Vec<Chosen>,
    current: Vec<Chosen>,
    full: Vec<Vec<Chosen>>,
}

impl Filling<'_> {
    /// Returns all groups; includes the last one only if it contains more than the general events, or is the only one.
    fn groups(self) -> Vec<Vec<Chosen>> {
        let mut groups = self.full;
        if self.current.len() > self.base.len() || groups.is_empty() {
            groups.push(self.current);
        }
        groups.retain(|group| !group.is_empty());
        groups
    }

    /// Adds events to the current group, or starts the next one with them; if even an empty group cannot contain them
    /// together, adds them separately.
    fn place(&mut self, unit: Vec<Chosen>) {
        if unit.is_empty() || self.add(&unit) {
            return;
        }
        if self.current.len() > self.base.len() {
            let fresh = self.base.clone();
            self.full.push(std::mem::replace(&mut self.current, fresh));
            if self.add(&unit) {
                return;
            }
        }
        if unit.len() > 1 {
            unit.into_iter().for_each(|event| self.place(vec![event]));
            return;
        }
        self.alone(&unit[0]);
    }

    fn add(&mut self, unit: &[Chosen]) -> bool {
        let candidate = [&self.current, unit].concat();
        let fits = self.attempt.run(&candidate) == Fit::Fits;
        if fits {
            self.current = candidate;
        }
        fits
    }

    /// Handles so few counters that the general events do not fit together with it: uses one of them, or none.
    fn alone(&mut self, event: &Chosen) {
        let smaller = self.base.iter().map(|one| vec![one.clone(), event.clone()]);
        let fits = smaller
            .into_iter()
            .find(|group| self.attempt.run(group) == Fit::Fits);
        self.full.push(fits.unwrap_or_else(|| vec![event.clone()]));
    }
}

/// Returns the events in descending order of importance.
fn chosen(source: &Source, wanted: &[&Event]) -> Vec<Chosen> {
    let Some(family) = source.family else {
        return Vec::new();
    };
    let worth = |event: &&&Event| KINDS.iter().position(|kind| kind.name == event.kind);
    let mut sorted: Vec<&&Event> = wanted.iter().collect();
    sorted.sort_by_key(worth);
    let one = |event: &&Event| Chosen {
        kind: event.kind.clone(),
        event: event.name.clone(),
        code: Code {
            source: source.number,
            config: event.config(family.arch()),
        },
    };
    sorted.into_iter().map(one).collect()
}

fn with(group: &[Chosen], event: &Chosen) -> Vec<Chosen> {
    let mut group = group.to_vec();
    group.push(event.clone());
    group
}

fn refused(event: &Chosen, why: Fit, permitted: Permitted, grants: &Grants) -> Refused {
    Refused {
        kind: event.kind.clone(),
        event: event.event.clone(),
        missing: match why {
            Fit::NeverRan | Fit::Fits => Missing::NeverScheduled,
            Fit::Refused(code) => {
                let error = io::Error::from_raw_os_error(code);
                match missing(&error, permitted.mode, grants) {
                    // It is already known that there is a PMU.
                    Missing::NoHardware => Missing::not_supported("this event on this processor"),
                    Missing::Unreadable { .. } if code == libc::EINVAL => {
                        Missing::not_supported("this event on this processor")
                    }
                    other => other,
                }
            }
        },
    }
}

#[cfg(test)]
mod tests;

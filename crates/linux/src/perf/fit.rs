//! Permitted modes, and events that fit the counters together.
//!
//! How many counters there are is not asked but tried: the watchdog, another program or the
//! hypervisor may hold some, and the kernel then opens a group all the same and never puts it
//! on the hardware.

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

/// An event that is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// What it counts.
    pub kind: String,
    /// Its name in the processor's table.
    pub event: String,
    /// How the kernel is asked for it.
    pub code: Code,
}

/// The groups of one event source.
#[derive(Clone, Debug, Default)]
pub struct Fitted {
    /// Groups that fit, in the order of their turns; never empty ones.
    pub groups: Vec<Vec<Chosen>>,
    /// Events that were requested and cannot be counted.
    pub refused: Vec<Refused>,
}

/// The general events of a source, by which all others are measured.
#[must_use]
pub fn general(source: &Source) -> [Chosen; 2] {
    const CPU_CYCLES: u64 = 0;
    const RETIRED: u64 = 1;
    /// Numbers that the architecture fixes (PMUv3): CPU_CYCLES, INST_RETIRED.
    const ARM: [u64; 2] = [0x11, 0x08];
    let is_arm = source
        .family
        .is_some_and(|family| family.arch() == Arch::Arm);
    let code = |general: u64, arm: u64| match (source.alone, is_arm) {
        (true, _) => Code {
            source: HARDWARE,
            config: general,
        },
        // Of several sources one is named by its number in the upper half (Linux 5.13).
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

/// Puts the wanted events of a source into as few groups as fit, each with the general events,
/// so that every ratio can be made within a group.
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

/// Events that mean something only together: those of loads and of stores are added up.
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

/// Groups that are being filled, one after the other.
struct Filling<'a> {
    attempt: &'a Attempt<'a>,
    base: Vec<Chosen>,
    current: Vec<Chosen>,
    full: Vec<Vec<Chosen>>,
}

impl Filling<'_> {
    /// All groups; the last of them, too, where it holds more than what every group does, or
    /// where it is all there is.
    fn groups(self) -> Vec<Vec<Chosen>> {
        let mut groups = self.full;
        if self.current.len() > self.base.len() || groups.is_empty() {
            groups.push(self.current);
        }
        groups.retain(|group| !group.is_empty());
        groups
    }

    /// Adds events to the group that is being filled, or begins the next one with them; where
    /// even a fresh group cannot hold them together, each for itself.
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

    /// So few counters that not even the general events fit beside it: one of them, or none.
    fn alone(&mut self, event: &Chosen) {
        let smaller = self.base.iter().map(|one| vec![one.clone(), event.clone()]);
        let fits = smaller
            .into_iter()
            .find(|group| self.attempt.run(group) == Fit::Fits);
        self.full.push(fits.unwrap_or_else(|| vec![event.clone()]));
    }
}

/// The events in the order in which they are worth a counter.
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
                    // That there is a PMU is known by now.
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

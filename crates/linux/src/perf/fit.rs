//! Which modes are permitted, and which events fit the counters together.
//!
//! How many counters there are is not asked but tried: the watchdog, another program or the
//! hypervisor may hold some, and the kernel then opens a group all the same and never puts it
//! on the hardware.

use std::io;

use hugewise_model::observation::Missing;
use hugewise_model::stat::kind::{CYCLES, INSTRUCTIONS, KINDS};
use hugewise_model::stat::{Mode, Refused};

use super::events::sources::Source;
use super::events::{Arch, Event};
use super::open::{Code, Guests, HARDWARE, Observed, PerfOpen, Refusal, Request, Start, Switch};
use crate::probe::Grants;

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

/// In which modes events can be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permitted {
    /// The modes.
    pub mode: Mode,
    /// How guests are left out.
    pub guests: Guests,
}

/// The groups of one event source.
#[derive(Clone, Debug, Default)]
pub struct Fitted {
    /// Groups that fit, in the order of their turns; never empty ones.
    pub groups: Vec<Vec<Chosen>>,
    /// What was wanted and cannot be counted.
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

/// Which modes can be counted, by trying: the wanted one, or else user and kernel mode together
/// where that is permitted and user mode alone where not.
///
/// # Errors
/// There is no hardware to count, or it is not permitted. A refusal of kernel mode hides that
/// there is nothing to count: only the answer for user mode tells.
pub fn permitted(
    opener: &dyn PerfOpen,
    code: Code,
    wanted: Option<Mode>,
    grants: &Grants,
) -> Result<Permitted, Missing> {
    let modes = match wanted {
        Some(mode) => vec![mode],
        None => vec![Mode::UserAndKernel, Mode::User],
    };
    let mut last = Missing::NoHardware;
    for mode in modes {
        match open_in(opener, code, mode) {
            Ok(guests) => return Ok(Permitted { mode, guests }),
            Err(error) => {
                last = missing(&error, mode, grants);
                if wanted.is_some()
                    && matches!(last, Missing::NotPermitted { .. })
                    && open_in(opener, code, Mode::User).is_err_and(|e| says_nothing_there(&e))
                {
                    return Err(Missing::NoHardware);
                }
            }
        }
    }
    Err(last)
}

fn open_in(opener: &dyn PerfOpen, code: Code, mode: Mode) -> io::Result<Guests> {
    let try_with = |guests| {
        let request = Request {
            events: &[code],
            observed: Observed::Caller,
            mode,
            guests,
            start: Start::Switched,
        };
        opener
            .open(&request)
            .map(drop)
            .map_err(|refusal| refusal.error)
    };
    match try_with(Guests::Excluded) {
        Ok(()) => Ok(Guests::Excluded),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP)) => {
            try_with(Guests::Unasked).map(|()| Guests::Unasked)
        }
        Err(error) => Err(error),
    }
}

fn says_nothing_there(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV | libc::ENOSYS)
    )
}

/// The reason behind an error of opening.
#[must_use]
pub fn missing(error: &io::Error, mode: Mode, grants: &Grants) -> Missing {
    match error.raw_os_error() {
        _ if says_nothing_there(error) => Missing::NoHardware,
        Some(libc::EACCES | libc::EPERM) => Missing::NotPermitted {
            grant: match mode {
                Mode::User => grants.perf_user(),
                _ => grants.perf_kernel(),
            },
        },
        Some(libc::EMFILE | libc::ENFILE) => Missing::NotPermitted {
            grant: "more open files (ulimit -n)".to_owned(),
        },
        _ => Missing::Unreadable {
            error: format!("perf_event_open: {error}"),
        },
    }
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
    let trial = Trial {
        opener,
        permitted,
        alone: source.alone,
    };
    let refused = |event: &Chosen, why| refused(event, why, permitted, grants);
    let (base, mut unfit) = trial.base(source);
    let mut filling = Filling {
        trial: &trial,
        current: base.clone(),
        base,
        full: Vec::new(),
    };
    for unit in units(chosen(source, wanted)) {
        let (fit, other): (Vec<_>, Vec<_>) = unit
            .into_iter()
            .map(|event| (trial.run(std::slice::from_ref(&event)), event))
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
    trial: &'a Trial<'a>,
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
        let fits = self.trial.run(&candidate) == Fit::Fits;
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
            .find(|group| self.trial.run(group) == Fit::Fits);
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
                    Missing::NoHardware => Missing::NotSupported {
                        what: "this event on this processor".to_owned(),
                    },
                    Missing::Unreadable { .. } if code == libc::EINVAL => Missing::NotSupported {
                        what: "this event on this processor".to_owned(),
                    },
                    other => other,
                }
            }
        },
    }
}

/// What came of trying a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    Fits,
    /// It was opened, and was never on the hardware.
    NeverRan,
    /// The kernel refused it, with this error number.
    Refused(i32),
}

struct Trial<'a> {
    opener: &'a dyn PerfOpen,
    permitted: Permitted,
    alone: bool,
}

impl Trial<'_> {
    /// The general events that fit together, and those that do not, with the reason.
    fn base(&self, source: &Source) -> (Vec<Chosen>, Vec<(Fit, Chosen)>) {
        let (mut base, mut unfit) = (Vec::new(), Vec::new());
        for event in general(source) {
            let candidate = with(&base, &event);
            match self.run(&candidate) {
                Fit::Fits => base = candidate,
                other => unfit.push((other, event)),
            }
        }
        (base, unfit)
    }

    /// Opens a group on the calling thread and lets it run a moment.
    fn run(&self, group: &[Chosen]) -> Fit {
        let events: Vec<Code> = group.iter().map(|event| event.code).collect();
        let request = Request {
            events: &events,
            observed: Observed::Caller,
            mode: self.permitted.mode,
            guests: self.permitted.guests,
            start: Start::Switched,
        };
        let opened = self.opener.open(&request);
        let mut opened = match opened {
            Ok(opened) => opened,
            Err(Refusal { error, .. }) => return Fit::Refused(error.raw_os_error().unwrap_or(0)),
        };
        if !self.alone {
            // This thread may be on the other sort of processor, where the group cannot run.
            return self.fits_untried(group);
        }
        let ran = (|| {
            opened.switch(Switch::On)?;
            spin();
            opened.switch(Switch::Off)?;
            opened.read()
        })();
        match ran {
            Ok(raws) if raws.iter().all(|raw| raw.running_ns > 0) => Fit::Fits,
            Ok(_) => Fit::NeverRan,
            Err(error) => Fit::Refused(error.raw_os_error().unwrap_or(0)),
        }
    }

    /// No processor with several sorts of cores has fewer than four counters beside those of the
    /// general events, and the watchdog holds one of them at most.
    fn fits_untried(&self, group: &[Chosen]) -> Fit {
        const SAFE: usize = 3;
        let general = [CYCLES, INSTRUCTIONS];
        let own = group
            .iter()
            .filter(|event| !general.contains(&event.kind.as_str()));
        if own.count() <= SAFE {
            Fit::Fits
        } else {
            Fit::NeverRan
        }
    }
}

/// Some work in user mode, well under a millisecond.
fn spin() {
    for number in 0..20_000_u32 {
        std::hint::black_box(number);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::events::processor::Processor;
    use super::super::events::{Family, family};
    use super::super::table::Table;
    use super::*;

    fn skylake() -> Source {
        let processor = Processor::X86 {
            vendor: "GenuineIntel".to_owned(),
            family: 6,
            model: 0x55,
        };
        Source {
            name: "cpu".to_owned(),
            number: 4,
            alone: true,
            family: family(&processor, "cpu"),
            listed: BTreeSet::new(),
        }
    }

    fn usual(family: &Family) -> Vec<&Event> {
        let events = family.events.iter();
        events.filter(|event| family.is_usual(event)).collect()
    }

    fn fitted(table: &Table) -> Fitted {
        let source = skylake();
        let grants = Grants::unknown();
        let cycles = general(&source)[0].code;
        let permitted = permitted(table, cycles, None, &grants).unwrap();
        let wanted = usual(source.family.unwrap());
        fit(table, &source, permitted, &wanted, &grants)
    }

    fn kinds(group: &[Chosen]) -> Vec<&str> {
        group.iter().map(|event| event.kind.as_str()).collect()
    }

    #[test]
    fn four_counters_hold_the_data_side_in_one_group() {
        let fitted = fitted(&Table::with_counters(4));
        assert_eq!(
            kinds(&fitted.groups[0]),
            [
                CYCLES,
                INSTRUCTIONS,
                "dtlb_load_walks",
                "dtlb_store_walks",
                "dtlb_load_walk_active",
                "dtlb_store_walk_active"
            ]
        );
        assert!(kinds(&fitted.groups[1]).starts_with(&[CYCLES, INSTRUCTIONS, "itlb_walks"]));
        assert_eq!(fitted.refused, []);
    }

    #[test]
    fn a_counter_that_the_watchdog_holds_is_not_relied_on() {
        let table = Table {
            reserved: 1,
            ..Table::with_counters(4)
        };
        let fitted = fitted(&table);
        assert!(fitted.groups.iter().all(|group| group.len() <= 2 + 3));
        let all: Vec<&str> = fitted
            .groups
            .iter()
            .flat_map(|group| kinds(group))
            .collect();
        assert!(all.contains(&"itlb_walk_active") && all.contains(&"dtlb_store_walks_2m"));
    }

    #[test]
    fn without_room_for_ratios_events_are_counted_alone() {
        let table = Table {
            fixed: false,
            ..Table::with_counters(1)
        };
        let fitted = fitted(&table);
        assert!(fitted.groups.iter().all(|group| group.len() == 1));
        assert!(
            fitted
                .groups
                .iter()
                .any(|group| kinds(group) == ["dtlb_load_walks"])
        );
    }

    #[test]
    fn an_event_that_is_not_there_is_refused_by_name() {
        let absent = skylake().family.unwrap().find("itlb_walks").unwrap();
        let table = Table {
            absent: vec![Code {
                source: 4,
                config: absent.config(Arch::X86),
            }],
            ..Table::with_counters(4)
        };
        let fitted = fitted(&table);
        let [refused] = &fitted.refused[..] else {
            panic!("{:?}", fitted.refused)
        };
        assert_eq!(refused.event, "ITLB_MISSES.WALK_COMPLETED");
        assert!(matches!(refused.missing, Missing::NotSupported { .. }));
    }

    /// The emulated PMU of QEMU's Arm machine has cycles and no instructions.
    #[test]
    fn cycles_alone_are_still_counted() {
        let instructions = general(&skylake())[1].code;
        let table = Table {
            absent: vec![instructions],
            ..Table::with_counters(4)
        };
        let source = Source {
            family: None,
            ..skylake()
        };
        let permitted = Permitted {
            mode: Mode::UserAndKernel,
            guests: Guests::Unasked,
        };
        let fitted = fit(&table, &source, permitted, &[], &Grants::unknown());
        assert_eq!(fitted.groups.len(), 1);
        assert_eq!(kinds(&fitted.groups[0]), [CYCLES]);
        assert_eq!(fitted.refused[0].kind, INSTRUCTIONS);
    }

    #[test]
    fn a_refusal_does_not_hide_that_there_is_nothing() {
        let grants = Grants::unknown();
        let cycles = general(&skylake())[0].code;
        let nothing = Table {
            kernel_permitted: false,
            absent: vec![cycles],
            ..Table::with_counters(4)
        };
        let said = permitted(&nothing, cycles, None, &grants);
        assert_eq!(said, Err(Missing::NoHardware));
        let said = permitted(&nothing, cycles, Some(Mode::Kernel), &grants);
        assert_eq!(said, Err(Missing::NoHardware));
        let user = Table {
            kernel_permitted: false,
            ..Table::with_counters(4)
        };
        let said = permitted(&user, cycles, None, &grants).unwrap();
        assert_eq!(said.mode, Mode::User);
        let said = permitted(&user, cycles, Some(Mode::Kernel), &grants);
        assert!(matches!(said, Err(Missing::NotPermitted { .. })));
        let shut = Table {
            kernel_permitted: false,
            user_permitted: false,
            ..Table::with_counters(4)
        };
        let said = permitted(&shut, cycles, None, &grants);
        assert!(matches!(said, Err(Missing::NotPermitted { .. })));
    }

    #[test]
    fn a_source_that_does_not_know_guests_is_not_asked_for_them() {
        let cycles = general(&skylake())[0].code;
        let table = Table {
            knows_guests: false,
            ..Table::with_counters(4)
        };
        let said = permitted(&table, cycles, None, &Grants::unknown()).unwrap();
        assert_eq!(said.guests, Guests::Unasked);
    }
}

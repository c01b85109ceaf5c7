//! Finds the address samplers of this machine by opening them.

use std::collections::BTreeSet;
use std::io;

use hugewise_base::host::Host;
use hugewise_base::missing::Missing;
use hugewise_observe::faults::Modes;
use hugewise_tlb::misses::{Absence, Facility};

use super::MissTarget;
use super::open::{SampleOpen, SampleRequest, SampleScope};
use crate::machine::number;
use crate::machine::root::Root;
use crate::observe::verify::EventIdentity;
use crate::perf::access::SampleAccess;
use crate::perf::events::sources::{Source, members, read_sources};
use crate::perf::events::{Addresses, Family};
use crate::perf::open::{Code, CountFrom};
use crate::probe::Grants;

const DEVICES: &str = "sys/bus/event_source/devices";

/// The kind of an event that samples operations. No loop verifies it.
const SAMPLED_OPERATIONS: &str = "sampled_operations";

/// A sampler of addresses on this machine.
#[derive(Clone, Debug)]
pub struct Instrument {
    /// The sampling facility.
    pub means: Facility,
    /// The sampled events, in words for the user.
    pub sampled: String,
    /// The data in its samples.
    pub access: SampleAccess,
    /// The sampling period, in events.
    pub every: u64,
    /// The identities of the events, for their verification.
    pub identities: Vec<EventIdentity>,
    /// The events to open; for PEBS first loads, then stores.
    pub(super) events: Vec<Code>,
    /// The processors; `None` means all.
    pub(super) cpus: Option<BTreeSet<u32>>,
}

/// Finds the instruments of this machine, one per processor type. `every` is the period requested by the user;
/// otherwise each facility has a default.
///
/// # Errors
/// No instrument may be used; contains the remedies.
pub fn find(
    root: &Root,
    host: &Host,
    opener: &dyn SampleOpen,
    every: Option<u64>,
) -> Result<Vec<Instrument>, Box<Absence>> {
    let absent = |means, missing| Box::new(absence(host, means, missing));
    let sources = read_sources(root).map_err(|error| absent(None, error.into_missing("root")))?;
    let mut found = Vec::new();
    let mut why = None;
    for source in &sources {
        let Some(family) = source.family else {
            let what = "a table of events for this processor".to_owned();
            why.get_or_insert((None, Missing::NotSupported { what }));
            continue;
        };
        match on_source(root, source, family, opener, every) {
            Ok(instruments) => found.extend(instruments),
            Err(missing) => {
                why.get_or_insert((Some(family.addresses.means), missing));
            }
        }
    }
    match (found.is_empty(), why) {
        (false, _) => Ok(found),
        (true, Some((means, missing))) => Err(absent(means, missing)),
        (true, None) => Err(absent(None, Missing::NoHardware)),
    }
}

/// Tests whether these events of the source can be opened on this process, and with how much data.
fn on_source(
    root: &Root,
    source: &Source,
    family: &Family,
    opener: &dyn SampleOpen,
    every: Option<u64>,
) -> Result<Vec<Instrument>, Missing> {
    let addresses = &family.addresses;
    let asked = match addresses.means {
        Facility::Pebs => vec![pebs(root, source, family, addresses)],
        Facility::Ibs => devices(root, "ibs_op", Facility::Ibs)?,
        Facility::Spe => devices(root, "arm_spe", Facility::Spe)?,
    };
    let grants = Grants::read(root);
    let tried = asked.into_iter().map(|mut instrument| {
        instrument.every = period(instrument.means, every);
        instrument.access = negotiate(opener, &instrument, &grants)?;
        Ok(instrument)
    });
    tried.collect()
}

/// Builds an instrument from the events of the processors' own event source.
fn pebs(root: &Root, source: &Source, family: &Family, addresses: &Addresses) -> Instrument {
    let kinds = addresses.events.iter();
    let events: Vec<_> = kinds.filter_map(|kind| family.find(kind)).collect();
    let names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
    let code = |event: &&crate::perf::events::Event| Code {
        source: source.number,
        config: event.config(family.arch()),
    };
    let identity = |event: &&crate::perf::events::Event| EventIdentity {
        pmu: source.name.clone(),
        kind: event.kind.clone(),
        event: event.name.clone(),
        code: code(event),
    };
    Instrument {
        sampled: names.join(" and "),
        identities: events.iter().map(identity).collect(),
        events: events.iter().map(code).collect(),
        cpus: cpus(root, &source.name),
        ..blank(Facility::Pebs)
    }
}

fn blank(means: Facility) -> Instrument {
    Instrument {
        means,
        sampled: String::new(),
        access: SampleAccess::FULL,
        every: 0,
        identities: Vec::new(),
        events: Vec::new(),
        cpus: None,
    }
}

/// Finds separate event sources: `ibs_op`; `arm_spe_0`, and more if there are several processor types.
fn devices(root: &Root, name: &str, means: Facility) -> Result<Vec<Instrument>, Missing> {
    let names = root.list(DEVICES).unwrap_or_default();
    let numbers = names.iter().filter(|found| found.starts_with(name));
    let found: Vec<Instrument> = numbers
        .filter_map(|found| {
            let number = number::read(root, format!("{DEVICES}/{found}/type")).ok()?;
            let code = Code {
                source: u32::try_from(number).ok()?,
                config: 0,
            };
            Some(Instrument {
                identities: vec![EventIdentity {
                    pmu: found.clone(),
                    kind: SAMPLED_OPERATIONS.to_owned(),
                    event: means.title().to_owned(),
                    code,
                }],
                sampled: match means {
                    Facility::Spe => "executed operations, those kept that walked".to_owned(),
                    _ => "executed operations".to_owned(),
                },
                events: vec![code],
                cpus: cpus(root, found),
                ..blank(means)
            })
        })
        .collect();
    if found.is_empty() {
        return Err(Missing::not_supported(format!(
            "{} (the event source {name})",
            means.title()
        )));
    }
    Ok(found)
}

/// Returns the processors that an event source lists.
fn cpus(root: &Root, source: &str) -> Option<BTreeSet<u32>> {
    let members = members(root, source);
    (!members.is_empty()).then_some(members)
}

/// Returns the sampling period, unless the user requests one. For misses it is a prime, so that sampling does not
/// resonate with loops. For operations it is large enough that sampling costs little (IBS accepts only multiples of 16,
/// and randomizes them).
fn period(means: Facility, wished: Option<u64>) -> u64 {
    match means {
        Facility::Pebs => wished.unwrap_or(1009),
        Facility::Ibs => wished.unwrap_or(100_000).next_multiple_of(16),
        Facility::Spe => wished.unwrap_or(4096),
    }
}

/// Finds the largest access that the kernel grants.
fn negotiate(
    opener: &dyn SampleOpen,
    instrument: &Instrument,
    grants: &Grants,
) -> Result<SampleAccess, Missing> {
    // SPE writes its data without the kernel, which therefore cannot look up the page.
    let wished = SampleAccess {
        page_size: instrument.means != Facility::Spe,
        ..SampleAccess::FULL
    };
    let granted = wished.negotiate(|access| {
        let request = SampleRequest {
            means: instrument.means,
            events: &instrument.events,
            cpu: 0,
            scope: SampleScope::Caller,
            start: CountFrom::Switched,
            access,
            every: instrument.every,
            page_bytes: 0,
        };
        opener.open(&request).map(drop)
    });
    granted.map_err(|(smallest, error)| refused(smallest, &error, instrument.means, grants))
}

/// Explains a refusal of the smallest access.
fn refused(smallest: SampleAccess, error: &io::Error, means: Facility, grants: &Grants) -> Missing {
    match error.raw_os_error() {
        // Without the filter of newer kernels IBS cannot exclude a mode, and all modes together were refused before.
        Some(libc::EINVAL) if means == Facility::Ibs && smallest.modes == Modes::User => {
            Missing::not_permitted(grants.perf_kernel())
        }
        Some(libc::EACCES | libc::EPERM) => Missing::not_permitted(grants.perf_user()),
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV | libc::ENOSYS) => Missing::NoHardware,
        _ => Missing::unreadable(format!("perf_event_open: {error}")),
    }
}

/// Explains a refusal to open the instruments on a target; `None` if the target is gone.
#[must_use]
pub fn explain(
    root: &Root,
    host: &Host,
    means: Facility,
    target: &MissTarget,
    error: &io::Error,
) -> Option<Absence> {
    let grants = Grants::read(root);
    let several = matches!(target, MissTarget::Machine | MissTarget::Cgroup(_));
    let missing = match error.raw_os_error() {
        Some(libc::ESRCH) => return None,
        Some(libc::EACCES | libc::EPERM) if several => {
            Missing::not_permitted(grants.perf_machine())
        }
        Some(libc::EACCES | libc::EPERM) => Missing::not_permitted(grants.perf_user()),
        Some(libc::EMFILE | libc::ENFILE) => Missing::not_permitted("more open files (ulimit -n)"),
        Some(libc::EOPNOTSUPP) if several && means == Facility::Spe => {
            Missing::not_supported("SPE of several programs at once; name a process or a command")
        }
        _ => Missing::unreadable(format!("perf_event_open: {error}")),
    };
    Some(absence(host, Some(means), missing))
}

/// Lists the remedies, most likely first.
fn absence(host: &Host, means: Option<Facility>, missing: Missing) -> Absence {
    let mut helps = Vec::new();
    match (&missing, &host.hypervisor) {
        (Missing::NotPermitted { grant }, _) => helps.push(format!("grant {grant}")),
        (_, Some(hypervisor)) => helps.push(format!(
            "bare metal: this is a virtual machine ({hypervisor}), and few give {} to their guests",
            means.map_or("such sampling", Facility::title)
        )),
        (_, None) => helps.extend(on_metal(means)),
    }
    helps.push(
        "hugewise simulate -- COMMAND: a model of the TLB, without counters, shows which mappings \
         miss"
            .to_owned(),
    );
    helps.push("hugewise inspect -p PID: which memory is not huge".to_owned());
    Absence::new(means, missing, helps)
}

fn on_metal(means: Option<Facility>) -> Vec<String> {
    let help = match means {
        Some(Facility::Pebs) => {
            "a kernel with CONFIG_PERF_EVENTS, and a processor whose \
                              counters are not switched off (nmi_watchdog and firmware)"
        }
        Some(Facility::Ibs) => {
            "a kernel with CONFIG_PERF_EVENTS, and IBS not switched off in the \
                             firmware (its flag `ibs` in /proc/cpuinfo)"
        }
        Some(Facility::Spe) => {
            "the kernel module arm_spe_pmu (modprobe arm_spe_pmu), a firmware \
                             that names the unit, and the kernel's pages in one address space \
                             with the program's (kpti=off)"
        }
        None => {
            "a processor with PEBS (Intel since Haswell), IBS (AMD Zen) or SPE (Arm \
                 Neoverse)"
        }
    };
    vec![help.to_owned()]
}

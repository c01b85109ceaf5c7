//! Selects which of the wanted events this machine can count.

use hugewise_base::host::Host;
use hugewise_base::missing::Missing;
use hugewise_observe::stat::{Mode, Refused, WalkCycles};

use crate::machine::error::Error;
use crate::machine::root::Root;
use crate::perf::count::{Plan, SourceGroups};
use crate::perf::events::Event;
use crate::perf::events::sources::{Source, read_sources};
use crate::perf::fit::{Chosen, Permitted, fit, general, missing, permitted};
use crate::perf::open::{Code, CountFrom, CountTarget, GroupRequest, PerfOpen};
use crate::probe::Grants;

/// The events wanted in addition to cycles and instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedEvents {
    /// Walks, their cycles and page sizes.
    Usual,
    /// Only walks and their cycles: few enough for one or two groups.
    Walks,
    /// All events in the processor's table.
    All,
    /// These events, by kind or by their name in `perf list`.
    Named(Vec<String>),
}

impl WantedEvents {
    fn wants(&self, source: &Source, event: &Event) -> bool {
        let Some(family) = source.family else {
            return false;
        };
        match self {
            Self::All => true,
            Self::Usual => family.is_usual(event),
            Self::Walks => {
                let walks = [
                    "dtlb_walks",
                    "dtlb_load_walks",
                    "dtlb_store_walks",
                    "itlb_walks",
                ];
                let cycles = event.kind.ends_with("_active") || event.kind.ends_with("_pending");
                family.is_usual(event) && (cycles || walks.contains(&event.kind.as_str()))
            }
            Self::Named(names) => {
                let known = names.iter().filter_map(|name| family.find(name));
                known.into_iter().any(|known| known == event)
            }
        }
    }

    /// Returns the names unknown to all sources of the machine.
    #[must_use]
    pub fn unknown<'a>(&'a self, sources: &[Source]) -> Vec<&'a str> {
        let Self::Named(names) = self else {
            return Vec::new();
        };
        let general = ["cycles", "instructions"];
        let known = |name: &str| {
            let families = sources.iter().filter_map(|source| source.family);
            general.contains(&name) || families.into_iter().any(|f| f.find(name).is_some())
        };
        let names = names.iter().map(String::as_str);
        names.filter(|name| !known(name)).collect()
    }
}

/// Determines the permitted modes and the groups that fit, by opening counters on the calling thread.
///
/// # Errors
/// There is nothing to count, or it is not permitted.
pub fn plan(
    root: &Root,
    opener: &dyn PerfOpen,
    mode: Option<Mode>,
    events: &WantedEvents,
) -> Result<Plan, Missing> {
    let grants = Grants::read(root);
    let sources = sources(root)?;
    let mut planned = Vec::new();
    let mut refused = Vec::new();
    let mut last = Missing::NoHardware;
    let mut modes = None;
    for source in &sources {
        let [cycles, _] = general(source);
        match permitted(opener, cycles.code, mode, &grants) {
            Ok(found) => {
                let (groups, unfit) = groups(opener, source, found, events, &grants);
                refused.extend(unfit);
                modes.get_or_insert(found);
                planned.push(SourceGroups {
                    name: source.name.clone(),
                    family: source.family.map(|family| family.name.clone()),
                    groups,
                });
            }
            Err(missing) => last = missing,
        }
    }
    let permitted = modes.ok_or(last)?;
    Ok(Plan {
        permitted,
        sources: planned,
        refused,
    })
}

/// Returns the groups of one source, and the wanted events that it cannot count.
fn groups(
    opener: &dyn PerfOpen,
    source: &Source,
    found: Permitted,
    events: &WantedEvents,
    grants: &Grants,
) -> (Vec<Vec<Chosen>>, Vec<Refused>) {
    let all = source.family.map_or(&[][..], |family| &family.events[..]);
    let (lacked, wanted): (Vec<&Event>, Vec<&Event>) = all
        .iter()
        .filter(|one| events.wants(source, one))
        .partition(|one| source.lacks(one));
    let mut refused: Vec<Refused> = lacked.into_iter().map(lacking).collect();
    let fitted = fit(opener, source, found, &wanted, grants);
    refused.extend(fitted.refused);
    (fitted.groups, refused)
}

/// Returns the event sources of the processors.
///
/// # Errors
/// `/proc/cpuinfo` could not be read.
pub fn sources(root: &Root) -> Result<Vec<Source>, Missing> {
    read_sources(root).map_err(|error: Error| error.into_missing("root"))
}

/// The error for an event that the processor does not have.
fn lacking(event: &Event) -> Refused {
    Refused {
        kind: event.kind.clone(),
        event: event.name.clone(),
        missing: not_here(),
    }
}

fn not_here() -> Missing {
    Missing::not_supported("this event on this processor")
}

/// Tests whether one event of a source can be counted on this machine, by opening it.
///
/// # Errors
/// The reason why it cannot be counted.
pub fn try_event(
    root: &Root,
    opener: &dyn PerfOpen,
    source: &Source,
    event: &Event,
) -> Result<Mode, Missing> {
    let Some(family) = source.family else {
        return Err(Missing::NoHardware);
    };
    let code = Code {
        source: source.number,
        config: event.config(family.arch()),
    };
    let tried = try_code(root, opener, source, code);
    match source.lacks(event) {
        true => tried.and(Err(not_here())),
        false => tried,
    }
}

/// Tests the same for any event code.
///
/// # Errors
/// The reason why it cannot be counted.
pub fn try_code(
    root: &Root,
    opener: &dyn PerfOpen,
    source: &Source,
    code: Code,
) -> Result<Mode, Missing> {
    let grants = Grants::read(root);
    let [cycles, _] = general(source);
    let permitted = permitted(opener, cycles.code, None, &grants)?;
    let request = GroupRequest {
        events: &[code],
        observed: CountTarget::Caller,
        mode: permitted.mode,
        guests: permitted.guests,
        start: CountFrom::Switched,
    };
    match opener.open(&request) {
        Ok(_) => Ok(permitted.mode),
        // Hardware counters exist, so the refusal concerns this event.
        Err(refusal) => Err(match missing(&refusal.error, permitted.mode, &grants) {
            Missing::NoHardware | Missing::Unreadable { .. } => not_here(),
            other => other,
        }),
    }
}

/// Returns which cycles the walk counter includes: Skylake omits the second dimension of nested paging.
#[must_use]
pub fn walk_cycles(plan: &Plan, host: &Host) -> WalkCycles {
    let skylake = |source: &SourceGroups| source.family.as_deref() == Some("skylake");
    if host.hypervisor.is_some() && plan.sources.iter().any(skylake) {
        WalkCycles::WithoutNested
    } else {
        WalkCycles::Whole
    }
}

/// Returns the other users of hardware counters, in words for the user.
#[must_use]
pub fn notes(root: &Root) -> Vec<String> {
    let mut notes = Vec::new();
    let watchdog = root.read_trimmed("proc/sys/kernel/nmi_watchdog");
    if watchdog.is_ok_and(|state| state == "1") {
        notes.push(
            "the NMI watchdog may hold one counter of each processor \
             (kernel.nmi_watchdog=0 frees it)"
                .to_owned(),
        );
    }
    notes
}

#[cfg(test)]
mod tests;

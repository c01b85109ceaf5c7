use std::collections::BTreeMap;

use hugewise_base::host::{THP_DIR, ThpDisable};
use hugewise_base::units::bytes_text;
use hugewise_experiment::run::policy::realise::{MemoryLimits, Realisation, ThpPrctl};
use hugewise_experiment::run::trial::{Mark, ReadBack};

/// The share of the machine's processors that other programs may use before a trial is marked. Below it the effect on a
/// paired comparison drowns in ordinary noise; above it frequency and caches change.
pub const OTHER_LOAD: f64 = 0.10;
/// The share of the machine's processors that the servers of other policies may use before a trial is marked. They are
/// asked for nothing, so that what they do is their runtime's own work.
pub const OTHER_SERVERS: f64 = 0.05;
/// The share of the machine's time that the hypervisor may take before a trial is marked: equal to the smallest effect
/// of interest.
pub const STEAL: f64 = 0.01;
/// The share of a trial in which some task may wait for a disk before the trial is marked: equal to the smallest effect
/// of interest.
pub const IO_WAIT: f64 = 0.01;
/// The kernel counts processor time in ticks; fewer than this number in a trial are not significant.
const TICKS_OF_DOUBT: f64 = 2.0;

/// The facts from which the marks of a trial are derived.
#[derive(Clone, Debug)]
pub struct Circumstances<'a> {
    /// Duration of the trial, in seconds.
    pub trial_seconds: f64,
    /// Processors of the machine.
    pub processors: u32,
    /// The kernel's unit of processor time, in seconds.
    pub tick_seconds: f64,
    /// Processor time of other programs, in seconds.
    pub other_busy_seconds: Option<f64>,
    /// Processor time of the servers of other policies, in seconds.
    pub other_server_seconds: Option<f64>,
    /// Time taken by the hypervisor, in seconds.
    pub steal_seconds: Option<f64>,
    /// Free huge pages before the trial.
    pub free_huge_pages: Option<u64>,
    /// Size of a huge page.
    pub huge_bytes: Option<u64>,
    /// The largest resident set of a process of the trial.
    pub peak_rss_bytes: Option<u64>,
    /// Major faults of the tree.
    pub major_faults: u64,
    /// The time during which some task of the machine waited for a disk, in seconds.
    pub io_wait_seconds: Option<f64>,
    /// Pages swapped on the machine.
    pub swapped_pages: u64,
    /// The steps taken to apply the policy.
    pub expected: &'a Realisation,
    /// The policy as reported by the kernel just before the workload started.
    pub read_back: &'a ReadBack,
    /// The watched files after its end.
    pub files_after: &'a BTreeMap<String, String>,
}

/// Returns the disturbances of a trial.
#[must_use]
pub fn marks(facts: &Circumstances<'_>) -> Vec<Mark> {
    let mut marks = not_applied(facts);
    marks.extend(drifted(facts));
    let load = share(facts, facts.other_busy_seconds, OTHER_LOAD);
    marks.extend(load.map(|permille| Mark::OtherLoad { permille }));
    let servers = share(facts, facts.other_server_seconds, OTHER_SERVERS);
    marks.extend(servers.map(|permille| Mark::OtherServers { permille }));
    let steal = share(facts, facts.steal_seconds, STEAL);
    marks.extend(steal.map(|permille| Mark::Steal { permille }));
    marks.extend(fragmented(facts));
    marks.extend(cold_cache(facts));
    if facts.swapped_pages > 0 {
        marks.push(Mark::Swapped {
            pages: facts.swapped_pages,
        });
    }
    marks
}

/// Returns the share in thousandths if it exceeds `limit` by more than the tick resolution can explain.
fn share(facts: &Circumstances<'_>, seconds: Option<f64>, limit: f64) -> Option<u32> {
    let seconds = seconds?;
    let certain = seconds - TICKS_OF_DOUBT * facts.tick_seconds;
    let available = facts.trial_seconds * f64::from(facts.processors);
    let beyond = available > 0.0 && certain > limit * available;
    beyond.then(|| (seconds / available * 1000.0).clamp(0.0, 1000.0) as u32)
}

/// Marks pages read from disk, if that took time. If the kernel reclaims idle files, a large program reads a page or
/// two in many trials, which is no disturbance.
fn cold_cache(facts: &Circumstances<'_>) -> Option<Mark> {
    let major_faults = facts.major_faults;
    let waits = facts.io_wait_seconds;
    let took_time = waits.is_none_or(|waits| waits >= IO_WAIT * facts.trial_seconds);
    (major_faults > 0 && took_time).then_some(Mark::ColdCache { major_faults })
}

/// Marks a trial with fewer free huge pages than it would fill.
fn fragmented(facts: &Circumstances<'_>) -> Option<Mark> {
    let free_huge_pages = facts.free_huge_pages?;
    let room = free_huge_pages.saturating_mul(facts.huge_bytes?);
    (room < facts.peak_rss_bytes?).then_some(Mark::Fragmented { free_huge_pages })
}

fn not_applied(facts: &Circumstances<'_>) -> Vec<Mark> {
    let details = prctl_detail(facts)
        .into_iter()
        .chain(own_act_detail(facts))
        .chain(allocator_detail(facts))
        .chain(limits_detail(facts))
        .chain(nodes_detail(facts))
        .chain(tmpfs_detail(facts))
        .chain(library_detail(facts))
        .chain(file_details(facts));
    details.map(|detail| Mark::NotApplied { detail }).collect()
}

fn prctl_detail(facts: &Circumstances<'_>) -> Option<String> {
    let wanted = match facts.expected.prctl {
        ThpPrctl::Leave => return None,
        ThpPrctl::Clear => ThpDisable::Off,
        ThpPrctl::Disable => ThpDisable::Disabled,
        ThpPrctl::ExceptAdvised => ThpDisable::ExceptAdvised,
    };
    let found = facts.read_back.thp_disable;
    (found != Some(wanted)).then(|| {
        let found = found.map_or("an unknown value", name);
        format!(
            "prctl(PR_SET_THP_DISABLE) should be {}, but is {found}",
            name(wanted)
        )
    })
}

/// Describes how the program acted against the huge pages of a policy.
fn own_act_detail(facts: &Circumstances<'_>) -> Option<String> {
    let gives = match facts.expected.prctl {
        ThpPrctl::Clear | ThpPrctl::ExceptAdvised => true,
        ThpPrctl::Leave => {
            let mut files = facts.expected.files.iter();
            files.any(|file| file.path.starts_with(THP_DIR))
        }
        ThpPrctl::Disable => false,
    };
    let gives = gives && !facts.expected.asks_for_none();
    let act = facts.read_back.own_act().filter(|_| gives)?;
    Some(match act.remedy() {
        Some(remedy) => format!("{act}; {remedy} would leave them on"),
        None => act.to_string(),
    })
}

fn name(disable: ThpDisable) -> &'static str {
    match disable {
        ThpDisable::Off => "off",
        ThpDisable::Disabled => "disabled",
        ThpDisable::ExceptAdvised => "disabled except advised",
    }
}

fn allocator_detail(facts: &Circumstances<'_>) -> Option<String> {
    let library = facts.expected.preload.as_ref()?;
    let found = facts.read_back.allocator.as_ref()?;
    found
        .is_empty()
        .then(|| format!("{library} is not among the workload's mappings"))
}

fn limits_detail(facts: &Circumstances<'_>) -> Option<String> {
    let wanted = facts.expected.limits;
    let found = facts.read_back.cgroup.map(|cgroup| cgroup.limits);
    if wanted.is_none() || found == Some(wanted) {
        return None;
    }
    let text = |limits: MemoryLimits| {
        let text = |bytes: Option<u64>| bytes.map_or("none".to_owned(), bytes_text);
        let MemoryLimits {
            max_bytes,
            high_bytes,
        } = limits;
        format!("{} (high: {})", text(max_bytes), text(high_bytes))
    };
    let found = found.map_or("could not be read".to_owned(), |it| {
        format!("is {}", text(it))
    });
    Some(format!(
        "the memory limit of its cgroup should be {}, but {found}",
        text(wanted)
    ))
}

fn nodes_detail(facts: &Circumstances<'_>) -> Option<String> {
    let wanted = facts.expected.numa.as_ref()?;
    let found = facts.read_back.numa.as_deref();
    let holds = found.is_some_and(|found| wanted.is_shown_by(found));
    (!holds).then(|| {
        let found = found.unwrap_or("unreadable");
        format!("the memory nodes should be {wanted}, but numa_maps says {found}")
    })
}

fn tmpfs_detail(facts: &Circumstances<'_>) -> Option<String> {
    let wanted = facts.expected.tmpfs.as_ref()?;
    let found = facts.read_back.tmpfs.as_deref().unwrap_or("unreadable");
    let (path, huge) = (wanted.path(), wanted.huge());
    (found != huge).then(|| format!("{path} should have huge={huge}, but it is {found}"))
}

fn library_detail(facts: &Circumstances<'_>) -> Option<String> {
    let library = facts.expected.library.as_ref()?;
    let is_missing = facts.read_back.library == Some(false);
    is_missing.then(|| format!("{library} is not among the mappings of the largest process"))
}

fn file_details(facts: &Circumstances<'_>) -> Vec<String> {
    let wrong = last_writes(facts.expected)
        .into_iter()
        .filter_map(|(path, wanted)| match facts.read_back.files.get(path) {
            Some(found) if found == wanted => None,
            Some(found) => Some(format!("{path} should say {wanted}, but says {found}")),
            None => Some(format!("{path} should say {wanted}, but cannot be read")),
        });
    wrong.collect()
}

/// Returns the value of each file after all writes: the last write to a file counts.
fn last_writes(expected: &Realisation) -> BTreeMap<&str, &str> {
    let writes = expected.files.iter();
    writes
        .map(|write| (write.path.as_str(), write.value.as_str()))
        .collect()
}

/// Returns the files whose values changed during the trial.
fn drifted(facts: &Circumstances<'_>) -> Vec<Mark> {
    let before = facts.read_back.files.iter();
    before
        .filter_map(|(path, expected)| {
            let found = facts.files_after.get(path)?;
            (found != expected).then(|| Mark::SettingDrifted {
                path: path.clone(),
                expected: expected.clone(),
                found: found.clone(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests;

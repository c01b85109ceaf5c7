//! Groups processes by the user's rules, and reports why their memory is not huge. Finding the reasons takes a walk of
//! page tables. Only one process is walked at a time, and each has a rest in between.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use hugewise_monitor::export::{GroupRule, Knowledge, ProcessGroup, ProcessGroups};
use hugewise_monitor::watch::Process;
use hugewise_observe::inspect::view::{Inspection, ProcessSummary, is_small};

use super::address_space::{Depth, ReadError, read_settings, read_space};
use super::processes::{LARGE, Lister};
use crate::machine::clock::thread_cpu;
use crate::machine::error::Result;
use crate::machine::root::Root;
use crate::probe::read_page_bytes;
use crate::sys::thp::read_pmd_bytes;

/// The shortest time between two walks of one process.
const REST: Duration = Duration::from_secs(60);
/// The interval at which processes are listed again: a list reads a file of every process of the machine.
const LIST: Duration = Duration::from_secs(5);

/// Walks the processes of groups, one at a time.
#[derive(Debug)]
pub struct GroupReader {
    root: Root,
    page_bytes: u64,
    rules: Vec<GroupRule>,
    lister: Lister,
    /// The members of all groups: the index of the rule, and the process.
    members: Vec<(usize, Process)>,
    /// The time of the last listing.
    listed: Option<Instant>,
    looks: HashMap<(u32, u64), Look>,
    cpu: Duration,
}

/// The last walk of a process.
#[derive(Clone, Debug)]
struct Look {
    at: Instant,
    found: Found,
}

/// The result of a walk.
#[derive(Clone, Debug)]
enum Found {
    Read(Box<ProcessSummary>),
    Refused,
    Nothing,
}

/// The result of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Processor time used by the step.
    pub cpu: Duration,
    /// True if a process was walked: others may still be waiting for a walk.
    pub looked: bool,
}

impl GroupReader {
    /// Creates a reader of these groups. A process belongs to the first group whose rule matches.
    ///
    /// # Errors
    /// The page size of a frozen machine cannot be read.
    pub fn new(root: Root, rules: Vec<GroupRule>) -> Result<Self> {
        let page_bytes = read_page_bytes(&root)?;
        Ok(Self {
            lister: Lister::new(page_bytes),
            root,
            page_bytes,
            rules,
            members: Vec::new(),
            listed: None,
            looks: HashMap::new(),
            cpu: Duration::ZERO,
        })
    }

    /// Walks the process that has waited longest, if one is due; lists the processes again at intervals.
    pub fn step(&mut self) -> Step {
        let before = thread_cpu();
        let now = Instant::now();
        if self
            .listed
            .is_none_or(|at| now.saturating_duration_since(at) >= LIST)
        {
            self.list();
            self.listed = Some(now);
        }
        let due = self.due(now);
        if let Some(place) = due {
            let process = &self.members[place].1;
            let look = Look {
                at: Instant::now(),
                found: self.look(process.pid),
            };
            self.looks.insert(process.identity(), look);
        }
        let cpu = thread_cpu().saturating_sub(before);
        self.cpu += cpu;
        Step {
            cpu,
            looked: due.is_some(),
        }
    }

    fn list(&mut self) {
        let processes = self.lister.list(&self.root).into_iter();
        let member = |process: Process| {
            let rule = self.rules.iter().position(|rule| rule.fits(&process.name));
            Some((rule?, process))
        };
        self.members = processes.filter_map(member).collect();
        let mut kept = HashMap::new();
        for (_, process) in &self.members {
            kept.extend(self.looks.remove_entry(&process.identity()));
        }
        self.looks = kept;
    }

    /// Returns the index of the next member: first those never walked, the largest first, then the one with the oldest
    /// walk.
    fn due(&self, now: Instant) -> Option<usize> {
        let last = |place: usize| self.looks.get(&self.members[place].1.identity());
        let size = |place: usize| self.members[place].1.resident_bytes;
        let rested = |place: &usize| {
            last(*place).is_none_or(|look| now.saturating_duration_since(look.at) >= REST)
        };
        (0..self.members.len())
            .filter(|&place| size(place) <= LARGE)
            .filter(rested)
            .min_by_key(|&place| {
                (
                    last(place).map(|look| look.at),
                    std::cmp::Reverse(size(place)),
                )
            })
    }

    fn look(&self, pid: u32) -> Found {
        let Ok(settings) = read_settings(&self.root, pid) else {
            return Found::Nothing;
        };
        let huge = read_pmd_bytes(&self.root).ok();
        match read_space(&self.root, pid, self.page_bytes, huge, Depth::Pages) {
            Ok(space) => Found::Read(Box::new(Inspection::in_short(space, settings).summary)),
            Err(ReadError::NotPermitted) => Found::Refused,
            // It has ended, or changed too fast: the next list will show.
            Err(_) => Found::Nothing,
        }
    }

    /// Returns the results of each group.
    #[must_use]
    pub fn groups(&self) -> ProcessGroups {
        let named = |rule: &GroupRule| ProcessGroup {
            name: rule.name.clone(),
            ..ProcessGroup::default()
        };
        let mut groups: Vec<ProcessGroup> = self.rules.iter().map(named).collect();
        for (rule, process) in &self.members {
            add(
                &mut groups[*rule],
                process,
                self.looks.get(&process.identity()),
            );
        }
        ProcessGroups {
            groups,
            cpu_ns: u64::try_from(self.cpu.as_nanos()).unwrap_or(u64::MAX),
        }
    }
}

fn add(group: &mut ProcessGroup, process: &Process, look: Option<&Look>) {
    group.resident_bytes = group.resident_bytes.saturating_add(process.resident_bytes);
    let found = look.map(|look| &look.found);
    let known = match found {
        None if process.resident_bytes > LARGE => Knowledge::Large,
        None | Some(Found::Nothing) => Knowledge::Waiting,
        Some(Found::Refused) => Knowledge::Refused,
        // Its mappings were read, but not its page tables.
        Some(Found::Read(found)) if found.could_be_huge.is_none() => Knowledge::Refused,
        Some(Found::Read(_)) => Knowledge::Read,
    };
    *group.processes.entry(known).or_default() += 1;
    let (Knowledge::Read, Some(Found::Read(found))) = (known, found) else {
        return;
    };
    group.huge_bytes += found.huge().unwrap_or(0);
    group.could_be_huge_bytes += found.could_be_huge.unwrap_or(0);
    for reason in found.reasons.iter().filter(|reason| is_small(reason.code)) {
        let bytes = reason.resident.unwrap_or(0);
        if bytes > 0 {
            *group.small_bytes.entry(reason.code).or_default() += bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_read_once_and_then_rests() {
        let own = Root::real().read_trimmed("proc/self/comm").unwrap();
        let rule = GroupRule {
            name: "own".to_owned(),
            pattern: own,
        };
        let mut reader = GroupReader::new(Root::real(), vec![rule]).unwrap();
        for _ in 0..50 {
            if !reader.step().looked {
                break;
            }
        }
        let again = reader.step();
        assert!(!again.looked, "{again:?}");
        let [group] = &reader.groups().groups[..] else {
            panic!("one group");
        };
        assert!(group.processes[&Knowledge::Read] >= 1, "{group:?}");
        assert!(group.small_bytes.values().sum::<u64>() > 0, "{group:?}");
        assert!(group.resident_bytes > 0 && reader.groups().cpu_ns > 0);
    }
}

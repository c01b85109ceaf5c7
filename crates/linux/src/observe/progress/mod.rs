//! Watches a process fill its memory: `/proc` for its memory and its processor time, BPF for the time in compaction and
//! reclaim, `/proc/PID/smaps` for the mappings that it fills.

use std::collections::BTreeSet;
use std::time::Duration;

use hugewise_base::counter::Counter;
use hugewise_base::missing::Missing;
use hugewise_observe::progress::{
    Compactions, DelaySettings, FillContents, FillState, FillTarget, Filled, Limit, MissingPart,
    ProgressInterval, ProgressPart, Series, TargetSource, filled, forecast, pace, remedy, state,
    while_blocks_last,
};

use crate::machine::clock::{next_look, thread_cpu};
use crate::machine::root::Root;
use crate::observe::address_space::read_totals;
use crate::observe::stat::usage::UsageScope;
use crate::proc::buddyinfo::{free_huge_pages, read_buddyinfo};
use crate::proc::pid_stat::read_pid_stat;
use crate::proc::status::read_status;
use crate::proc::tree::read_threads;
use crate::proc::tree_usage::TreeUsage;
use crate::proc::vmstat::read_vmstat;
use crate::sys::cgroup::read_memory_group_of;
use crate::sys::thp::{read_pmd_bytes, read_thp};

mod spent;
mod stalls;

use spent::{Readings, Spent};
use stalls::Stalls;

/// Watches one process and its descendants.
#[derive(Debug)]
pub struct ProgressWatch {
    root: Root,
    pid: u32,
    every: Duration,
    asked: Option<u64>,
    stalls: Stalls,
    mappings: Mappings,
    series: Series,
    first: Mark,
    last: Mark,
    usage: TreeUsage,
    /// The memory at the last reading, in bytes.
    seen_bytes: u64,
    /// The readings in this interval.
    readings: Readings,
    /// Since the first reading.
    spent: Spent,
    /// The last interval.
    latest: ProgressInterval,
}

/// The counters at a moment.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    at: Duration,
    memory_bytes: u64,
    machine: Compactions,
}

/// The mappings of the process, read as rarely as their cost demands.
#[derive(Debug, Default)]
struct Mappings {
    first: Option<FillContents>,
    last: Option<FillContents>,
    due: Duration,
    filled: Option<Filled>,
    target: Option<FillTarget>,
    missing: Option<Missing>,
}

impl ProgressWatch {
    /// Attaches to a process. Each interval takes `every`; `asked` is the size that the user named, in bytes.
    ///
    /// [`missing`](Self::missing) returns the unreadable parts.
    #[must_use]
    pub fn open(root: &Root, pid: u32, every: Duration, asked: Option<u64>) -> Self {
        let mut watch = Self {
            root: root.clone(),
            pid,
            every,
            asked,
            stalls: Stalls::open(root, pid),
            mappings: Mappings::default(),
            series: Series::default(),
            first: Mark::default(),
            last: Mark::default(),
            usage: TreeUsage::default(),
            seen_bytes: 0,
            readings: Readings::default(),
            spent: Spent::default(),
            latest: ProgressInterval::default(),
        };
        watch.stalls.begin();
        watch
    }

    /// Takes the first reading, at a time on the clock of all later ones.
    pub fn begin(&mut self, now: Duration) {
        self.usage = TreeUsage::read(&self.root, &self.processes(), None);
        self.last = self.mark(now);
        self.first = self.last;
        self.seen_bytes = self.last.memory_bytes;
        self.series.push(now, self.last.memory_bytes);
        self.mappings
            .read(&self.root, &self.processes(), self.last.memory_bytes);
    }

    /// Reads only the memory, between two intervals.
    pub fn tick(&mut self, now: Duration) {
        let Some(bytes) = self.memory_bytes() else {
            return;
        };
        self.series.push(now, bytes);
        let has_grown = bytes > std::mem::replace(&mut self.seen_bytes, bytes);
        self.readings.all += 1;
        self.readings.active += u32::from(has_grown || self.has_active_thread());
    }

    /// Returns true if a thread is active.
    fn has_active_thread(&self) -> bool {
        /// A process with more threads than this is judged by the first ones.
        const MOST: usize = 256;
        let threads = read_threads(&self.root, &self.processes());
        threads
            .into_iter()
            .take(MOST)
            .any(|thread| read_pid_stat(&self.root, thread).is_ok_and(|stat| stat.is_active()))
    }

    /// Ends an interval.
    pub fn close(&mut self, now: Duration) -> ProgressInterval {
        let mark = self.mark(now);
        let has_memory = self.memory_bytes().is_some();
        if has_memory {
            self.series.push(now, mark.memory_bytes);
            self.read_mappings(now, mark.memory_bytes);
        }
        let spent = self.take_spent(mark.at.saturating_sub(self.last.at));
        self.spent.add(&spent);
        let before = std::mem::replace(&mut self.last, mark);
        let mut interval = self.between(&before, &spent);
        interval.huge_share = self.mappings.filled.and_then(|filled| filled.huge_share);
        self.decide(&mut interval, has_memory);
        self.latest = interval.clone();
        interval
    }

    /// Returns the whole time, with the state and the forecast of its last interval.
    #[must_use]
    pub fn total(&self) -> ProgressInterval {
        let mut total = self.between(&self.first, &self.spent);
        total.huge_share = self.mappings.huge_share();
        total.state = self.latest.state;
        total.forecast = self.latest.forecast;
        total.remedy = remedy(&total, &self.settings(), self.is_advised());
        total
    }

    /// The parts that could not be read, and why.
    #[must_use]
    pub fn missing(&self) -> Vec<MissingPart> {
        let mappings = self.mappings.missing.iter().map(|why| MissingPart {
            part: ProgressPart::Mappings,
            why: why.clone(),
        });
        self.stalls
            .missing()
            .iter()
            .cloned()
            .chain(mappings)
            .collect()
    }

    /// Reads the settings that decide what page faults do.
    #[must_use]
    pub fn settings(&self) -> DelaySettings {
        let thp = read_thp(&self.root).ok();
        let group = read_memory_group_of(&self.root, &self.pid.to_string()).ok();
        let limit = group.and_then(|group| {
            Some(Limit {
                folder: group.folder,
                bytes: group.cgroup.limit_bytes?,
            })
        });
        let (enabled, defrag) = thp.map(|thp| (thp.enabled, thp.defrag)).unwrap_or_default();
        DelaySettings {
            enabled,
            defrag,
            limit,
        }
    }

    fn processes(&self) -> BTreeSet<u32> {
        UsageScope::Tree(self.pid).processes(&self.root)
    }

    /// The memory of all processes, in bytes; `None` if none has memory any more.
    fn memory_bytes(&self) -> Option<u64> {
        let one = |pid| {
            let status = read_status(&self.root, pid).ok()?;
            Some(status.rss_bytes? + status.hugetlb_bytes.unwrap_or(0))
        };
        let all: Vec<u64> = self.processes().into_iter().filter_map(one).collect();
        (!all.is_empty()).then(|| all.iter().sum())
    }

    /// The counters now. The last known memory stays if the process has ended.
    fn mark(&self, at: Duration) -> Mark {
        Mark {
            at,
            memory_bytes: self.memory_bytes().unwrap_or(self.last.memory_bytes),
            machine: machine(&self.root),
        }
    }

    fn read_mappings(&mut self, now: Duration, memory_bytes: u64) {
        if now < self.mappings.due && !self.mappings.is_exceeded(memory_bytes) {
            return;
        }
        let before = thread_cpu();
        self.mappings
            .read(&self.root, &self.processes(), memory_bytes);
        let cost = thread_cpu().saturating_sub(before);
        self.mappings.due = next_look(now, self.every, cost);
    }

    fn take_spent(&mut self, wall: Duration) -> Spent {
        let usage = TreeUsage::read(&self.root, &self.processes(), None);
        let used = usage.since(&self.usage).unwrap_or_default();
        if !usage.is_empty() {
            self.usage = usage;
        }
        let mut spent = Spent::of(wall, used);
        spent.readings = std::mem::take(&mut self.readings);
        self.stalls.take(spent)
    }

    /// The interval from a mark to the last one, without decisions.
    fn between(&self, before: &Mark, spent: &Spent) -> ProgressInterval {
        let now = &self.last;
        ProgressInterval {
            from_seconds: before.at.as_secs_f64(),
            to_seconds: now.at.as_secs_f64(),
            memory_bytes: now.memory_bytes,
            grown_bytes: now.memory_bytes as i64 - before.memory_bytes as i64,
            work: spent.work(),
            attempts: spent.attempts,
            machine: now.machine.since(before.machine),
            free_huge_bytes: free_huge_bytes(&self.root),
            pace: pace(&self.series),
            target: self.target(),
            ..ProgressInterval::default()
        }
    }

    fn decide(&self, interval: &mut ProgressInterval, has_memory: bool) {
        let at_this_rate = forecast(
            &self.series,
            interval.target.as_ref(),
            interval.memory_bytes,
        );
        interval.forecast = while_blocks_last(at_this_rate, interval);
        interval.state = match has_memory {
            true => state(interval),
            false => FillState::Finished,
        };
        interval.remedy = remedy(interval, &self.settings(), self.is_advised());
    }

    fn target(&self) -> Option<FillTarget> {
        let asked = self.asked.map(|bytes| FillTarget {
            bytes,
            source: TargetSource::Asked,
        });
        asked.or(self.mappings.target)
    }

    fn is_advised(&self) -> Option<bool> {
        self.mappings.filled.map(|filled| filled.is_advised)
    }
}

impl Mappings {
    fn read(&mut self, root: &Root, processes: &BTreeSet<u32>, memory_bytes: u64) {
        let mut now = FillContents::default();
        let mut refused = None;
        let mut has_read = false;
        for &pid in processes {
            match read_totals(root, pid) {
                Ok(mappings) => {
                    has_read = true;
                    now.add(pid, &mappings);
                }
                Err(why) => refused = Some(why),
            }
        }
        if !has_read {
            self.missing = refused;
            return;
        }
        if let Some(before) = &self.last {
            let filled = filled(before, &now);
            // Without growth, the earlier mappings stay the ones being filled.
            if filled.huge_share.is_some() {
                self.target = filled.left_bytes.map(|left| FillTarget {
                    bytes: memory_bytes + left,
                    source: TargetSource::Mappings,
                });
                self.filled = Some(filled);
            }
        }
        self.first.get_or_insert_with(|| now.clone());
        self.last = Some(now);
    }

    /// Returns true if the process has more memory than its mappings could take: it fills others.
    fn is_exceeded(&self, memory_bytes: u64) -> bool {
        let target = self.target.as_ref();
        target.is_some_and(|target| memory_bytes > target.bytes + target.bytes / 1000)
    }

    /// The share of huge pages in all new memory.
    fn huge_share(&self) -> Option<f64> {
        filled(self.first.as_ref()?, self.last.as_ref()?).huge_share
    }
}

/// Free memory in blocks for huge pages, in bytes.
fn free_huge_bytes(root: &Root) -> Option<u64> {
    let blocks = read_buddyinfo(root).ok()?;
    let huge = read_pmd_bytes(root).ok()?;
    let page = rustix::param::page_size() as u64;
    Some(free_huge_pages(&blocks, page, huge).saturating_mul(huge))
}

/// Direct compactions of the machine so far; zero if the kernel does not compact.
fn machine(root: &Root) -> Compactions {
    let counters = read_vmstat(root).unwrap_or_default();
    let of = |counter: Counter| counter.total(&counters).unwrap_or(0);
    Compactions {
        stalls: of(Counter::CompactStall),
        succeeded: of(Counter::CompactSuccess),
        failed: of(Counter::CompactFail),
    }
}

//! A simulated kernel for tests: it refuses, hides, multiplexes and returns wrong values as real ones do.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::rc::Rc;

use hugewise_observe::stat::Mode;

use super::open::{
    Code, CountFrom, CountTarget, EventGroup, GroupRefusal, GroupRequest, Guests, HARDWARE,
    PerfOpen, RawCount, Switch,
};

/// The features and permissions of the simulated kernel.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// The number of general-purpose counters.
    pub(crate) counters: usize,
    /// The number of counters permanently occupied by others.
    pub(crate) reserved: usize,
    /// True if cycles and instructions have dedicated counters.
    pub(crate) fixed: bool,
    /// True if kernel mode may be counted.
    pub(crate) kernel_permitted: bool,
    /// True if user mode may be counted.
    pub(crate) user_permitted: bool,
    /// True if `exclude_guest` is supported.
    pub(crate) knows_guests: bool,
    /// Missing events.
    pub(crate) absent: Vec<Code>,
    /// Threads that have ended.
    pub(crate) ended: BTreeSet<u32>,
    /// The successive readings of an event; the last one is repeated. An event without an entry counts 1000 in each
    /// 1000 ns that it is enabled, the time of one reading.
    pub(crate) says: BTreeMap<Code, Vec<RawCount>>,
    /// The switching operations in order: the first event of the group, and the new state.
    pub(crate) log: Rc<RefCell<Vec<(Code, Switch)>>>,
}

impl Table {
    pub(crate) fn with_counters(counters: usize) -> Self {
        Self {
            counters,
            reserved: 0,
            fixed: true,
            kernel_permitted: true,
            user_permitted: true,
            knows_guests: true,
            absent: Vec::new(),
            ended: BTreeSet::new(),
            says: BTreeMap::new(),
            log: Rc::default(),
        }
    }

    fn refusal(&self, request: &GroupRequest<'_>) -> Option<(usize, i32)> {
        let kernel = request.mode != Mode::User;
        let permitted = if kernel {
            self.kernel_permitted
        } else {
            self.user_permitted
        };
        if !permitted {
            return Some((0, libc::EACCES));
        }
        if let CountTarget::Task(thread) = request.observed
            && self.ended.contains(&thread)
        {
            return Some((0, libc::ESRCH));
        }
        let absent = |code: &Code| self.absent.contains(code);
        if let Some(event) = request.events.iter().position(absent) {
            return Some((event, libc::ENOENT));
        }
        if request.guests == Guests::Excluded && !self.knows_guests {
            return Some((0, libc::EINVAL));
        }
        (self.needed(request) > self.counters).then_some((request.events.len() - 1, libc::EINVAL))
    }

    fn needed(&self, request: &GroupRequest<'_>) -> usize {
        let general = |code: &&Code| !(self.fixed && code.source == HARDWARE);
        request.events.iter().filter(general).count()
    }
}

impl PerfOpen for Table {
    fn open(&self, request: &GroupRequest<'_>) -> Result<Box<dyn EventGroup>, GroupRefusal> {
        if let Some((event, errno)) = self.refusal(request) {
            let error = io::Error::from_raw_os_error(errno);
            return Err(GroupRefusal { event, error });
        }
        Ok(Box::new(Row {
            table: self.clone(),
            codes: request.events.to_vec(),
            scheduled: self.needed(request) <= self.counters - self.reserved,
            on: request.start == CountFrom::AtExec,
            reads: 0,
            ticks: 0,
        }))
    }
}

struct Row {
    table: Table,
    codes: Vec<Code>,
    scheduled: bool,
    on: bool,
    reads: usize,
    ticks: u64,
}

impl EventGroup for Row {
    fn switch(&mut self, to: Switch) -> io::Result<()> {
        self.table.log.borrow_mut().push((self.codes[0], to));
        if self.on && to == Switch::Off {
            self.ticks += 1000;
        }
        self.on = to == Switch::On;
        Ok(())
    }

    fn read(&mut self) -> io::Result<Vec<RawCount>> {
        if self.on {
            self.ticks += 1000;
        }
        self.reads += 1;
        let one = |code: &Code| match self.table.says.get(code) {
            Some(says) => says[(self.reads - 1).min(says.len() - 1)],
            None if self.scheduled => RawCount {
                value: self.ticks,
                enabled_ns: self.ticks,
                running_ns: self.ticks,
            },
            None => RawCount {
                value: 0,
                enabled_ns: self.ticks,
                running_ns: 0,
            },
        };
        Ok(self.codes.iter().map(one).collect())
    }
}

//! Memory of a tree that is made huge later: `collapse=after:TIME`, `collapse=every:TIME`,
//! `text=huge`.
//!
//! Nothing is traced before that time or after the pass. In a pass one thread of one process is
//! stopped at a time and made to call `madvise(MADV_COLLAPSE)` on a piece of the process's resident
//! memory, or to put a piece of its code into huge pages. The other threads run on, and between two
//! pieces that thread does too.
//!
//! A tracer that dies takes the thread that it holds at that moment with it, whose registers are
//! not its own; any other process of the tree runs on.
//!
//! To add a call that continues after a stop, add its number to `GO_ON` or `CUT_SHORT` in `threads.rs`.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use hugewise_base::missing::Missing;
use hugewise_experiment::run::trial::{Clash, Tracing};

use super::filters::Filters;
use super::tracee::{self, Options, Stop};
use super::tracer::{block_bytes, program_of};
use crate::machine::root::Root;
use crate::proc::pid_stat::read_pid_stat;
use crate::proc::status::read_status;
use crate::proc::tree;

mod code;
mod copying;
mod count;
mod injection;
mod pace;
mod schedule;
mod space;
mod threads;

use injection::{End, Injection, Task};
use pace::Pace;
pub(super) use schedule::Schedule;
use schedule::Target;
use space::{Identity, Space, is_own_copy};
use threads::{Choice, Thread};

/// So many bad moments in a row are enough for one process.
const ENOUGH_FAILURES: u32 = 50;

/// What makes the memory of one tree huge.
#[derive(Debug)]
pub(super) struct Collapser {
    schedule: Schedule,
    /// What the last pass makes huge.
    target: Target,
    pace: Pace,
    /// The process below which the tree is.
    root: u32,
    /// What was below it before, which is no part of the tree.
    strangers: BTreeSet<u32>,
    /// A thread that is traced for other reasons too, with these options.
    resident: Option<(i32, Options)>,
    block: u64,
    /// Processes whose turn comes in this pass.
    todo: VecDeque<u32>,
    space: Option<Space>,
    injection: Option<Injection>,
    /// Blocks that need not be tried again, by address space.
    done: HashMap<Identity, BTreeSet<u64>>,
    /// Filters of this process, which every child has too.
    filters: Filters,
    pub(super) tracing: Tracing,
}

impl Collapser {
    /// For the tree below this process: `main`, and what is started later.
    pub(super) fn new(schedule: Schedule, main: i32) -> Self {
        let root = std::process::id();
        let mut strangers = tree::read_descendants(&Root::real(), root);
        strangers.remove(&main.unsigned_abs());
        let tracing = count::nothing(&schedule);
        Self {
            schedule,
            target: Target::Data,
            pace: Pace::new(),
            root,
            strangers,
            resident: None,
            block: block_bytes(),
            todo: VecDeque::new(),
            space: None,
            injection: None,
            done: HashMap::new(),
            filters: Filters::of(root),
            tracing,
        }
    }

    /// The tree begins to run: its time counts from now on.
    pub(super) fn begin(&mut self) {
        self.schedule.begin(Instant::now());
    }

    /// A thread is traced already, and stays so.
    pub(super) fn share(&mut self, thread: i32, options: Options) {
        self.resident = Some((thread, options));
    }

    /// Whether nothing will come any more.
    pub(super) fn is_over(&self) -> bool {
        (self.schedule.due().is_none() && self.is_idle()) || self.tree().next().is_none()
    }

    /// The processes of the tree.
    fn tree(&self) -> impl Iterator<Item = u32> {
        let below = tree::read_descendants(&Root::real(), self.root).into_iter();
        below.filter(|pid| !self.strangers.contains(pid))
    }

    fn is_idle(&self) -> bool {
        self.todo.is_empty() && self.space.is_none() && self.injection.is_none()
    }

    /// How long nothing is to be done, unless a thread stops; `None` where only that can come.
    pub(super) fn patience(&self) -> Option<Duration> {
        let now = Instant::now();
        match &self.injection {
            Some(injection) => injection.patience(),
            None if !self.is_idle() => Some(self.pace.rest()),
            None => Some(self.schedule.due()?.saturating_duration_since(now)),
        }
    }

    /// Does what is due.
    pub(super) fn work(&mut self) {
        if let Some(injection) = &self.injection {
            if injection.patience().is_some_and(|left| left.is_zero()) {
                self.give_up_waiting();
            }
            return;
        }
        let now = Instant::now();
        if self.is_idle()
            && let Some(target) = self.schedule.take(now)
        {
            self.begin_pass(target);
        }
        if !self.is_idle() && self.pace.rest().is_zero() {
            self.inject_next();
        }
    }

    /// Whoever stops later is let go then.
    fn give_up_waiting(&mut self) {
        if let Some(injection) = self.injection.take() {
            tracee::interrupt(injection.thread.number);
            self.leave_process("did not stop within 2 s");
        }
    }

    fn begin_pass(&mut self, target: Target) {
        self.target = target;
        self.todo = self.tree().collect();
        let alive: HashSet<Identity> = self.todo.iter().copied().filter_map(Identity::of).collect();
        self.done.retain(|identity, _| alive.contains(identity));
        count::of(&mut self.tracing, target).passes += 1;
    }

    /// Begins the next call, in this process or the next that has something to be made huge.
    fn inject_next(&mut self) {
        while self.injection.is_none() {
            let task = self.space.as_mut().and_then(|it| it.take(self.pace.most));
            let Some(task) = task else {
                self.space = None;
                match self.todo.pop_front() {
                    Some(pid) => self.space = self.space_of(pid),
                    None => return,
                }
                continue;
            };
            if !self.inject(task) {
                return;
            }
        }
    }

    fn space_of(&mut self, pid: u32) -> Option<Space> {
        let identity = Identity::of(pid).filter(|&it| !is_own_copy(it))?;
        if self.filters.has_more(pid.cast_signed()) {
            self.tracing.clashes.insert(Clash::OwnFilter);
            let program = program_of(pid.cast_signed());
            self.tracing.say(format!("{program}: {}", Clash::OwnFilter));
            return None;
        }
        let done = self.done.entry(identity).or_default();
        match Space::read(identity, self.target, self.block, done) {
            Ok(space) => Some(space),
            Err(Missing::NotSupported { what }) => {
                self.tracing.say(format!("code needs {what}"));
                None
            }
            Err(Missing::NotPermitted { .. }) => {
                self.say_refused(pid);
                None
            }
            Err(_) => None,
        }
    }

    /// One that is about to end has no memory any more, and may not be read either.
    fn say_refused(&mut self, pid: u32) {
        let status = read_status(&Root::real(), pid).ok();
        if status.and_then(|status| status.peak_rss_bytes).is_none() {
            return;
        }
        let stat = read_pid_stat(&Root::real(), pid).ok();
        let program = stat.map_or_else(String::new, |stat| stat.command);
        self.tracing.say(format!(
            "{program} may not be traced, as a set-user-ID program"
        ));
    }

    /// Asks a thread to stop; whether that can go on at once, with this process or without it.
    fn inject(&mut self, task: Task) -> bool {
        let Some(space) = &self.space else {
            return true;
        };
        let (identity, call) = (space.identity, space.call);
        if !space.is_alive() {
            self.space = None;
            return true;
        }
        match threads::choose(identity.pid) {
            Choice::Gone => self.space = None,
            Choice::NotNow => {
                self.try_later(task);
                return false;
            }
            Choice::Thread(thread) => match self.attach(thread) {
                Ok(options) => {
                    self.injection = Some(Injection::begin(thread, task, call, options));
                }
                Err(libc::EPERM) => {
                    self.say_refused(identity.pid);
                    self.space = None;
                }
                // It has just ended.
                Err(_) => {
                    self.try_later(task);
                    return false;
                }
            },
        }
        true
    }

    /// Traces a thread; the options that it has while it makes a call of ours.
    fn attach(&self, thread: Thread) -> Result<Options, i32> {
        match self.resident {
            Some((resident, options)) if resident == thread.number => Ok(options),
            _ => {
                let seized = tracee::seize(thread.number, Options::CALLS);
                seized.map_err(|error| error.raw_os_error().unwrap_or(0))?;
                Ok(Options::CALLS.and(Options::DIES))
            }
        }
    }

    fn try_later(&mut self, task: Task) {
        self.pace.pause();
        let Some(space) = &mut self.space else { return };
        space.failures += 1;
        if space.failures > ENOUGH_FAILURES {
            return self.leave_process("stood in no call that a stop leaves as it is");
        }
        space.give_back(task);
    }

    /// Leaves the rest of a process for this pass.
    fn leave_process(&mut self, why: &str) {
        if let Some(space) = self.space.take() {
            let program = program_of(space.identity.pid.cast_signed());
            self.tracing.say(format!("{program} {why}"));
        }
    }

    /// Answers the stop of a thread; `false` where that is for another to do.
    pub(super) fn answer(&mut self, pid: i32, stop: Stop) -> bool {
        let is_same = self.space.as_ref().is_some_and(Space::is_alive);
        let mine = self.injection.as_mut();
        let mine = mine.filter(|injection| injection.thread.number == pid);
        match mine.map(|injection| match injection.is_awaited() && !is_same {
            // Another program has begun since its memory was read, and no address is right.
            true => Some(End::Replaced),
            false => injection.answer(stop),
        }) {
            Some(None) => return true,
            Some(Some(end)) => self.ended(end),
            None => {}
        }
        if self.resident.is_some_and(|(resident, _)| resident == pid) {
            return false;
        }
        match stop {
            Stop::Signal(signal) => tracee::detach(pid, signal),
            _ => tracee::detach(pid, 0),
        }
        true
    }

    /// Forgets a thread that has ended.
    pub(super) fn forget(&mut self, pid: i32) {
        let is_it = |injection: &Injection| injection.thread.number == pid;
        if self.injection.as_ref().is_some_and(is_it)
            && let Some(injection) = self.injection.take()
        {
            self.try_later(injection.task);
        }
    }

    fn ended(&mut self, end: End) {
        let Some(injection) = self.injection.take() else {
            return;
        };
        match end {
            End::Made(result) => self.made(&injection, result),
            End::BadMoment => self.try_later(injection.task),
            End::Replaced => self.space = None,
            End::Foreign => self.leave_process("runs 32-bit code, which is not traced"),
        }
    }

    /// Counts what a call has done, as the kernel shows it; the thread then runs as long as it
    /// stood.
    fn made(&mut self, injection: &Injection, result: Result<(), i32>) {
        let held = injection.held();
        self.pace.stood(held);
        let Some(space) = &mut self.space else { return };
        space.failures = 0;
        let range = injection.task.range().clone();
        let left = space.left(range.clone(), result);
        let done = self.done.entry(space.identity).or_default();
        match result {
            _ if !space.tells_huge => done.extend(space.blocks(range.clone())),
            // For the rest the next pass may be luckier.
            Err(libc::EAGAIN | libc::EBUSY | libc::ENOMEM) => {}
            _ => done.extend(&left),
        }
        let refused = left.len() as u64 * self.block;
        let stop = count::Stop {
            held,
            huge: range.end - range.start - refused,
            refused,
            result,
        };
        stop.add_to(count::of(&mut self.tracing, self.target));
    }
}

//! Collapses the memory of a running tree: `collapse=after:TIME`, `collapse=every:TIME`, `text=huge`.
//!
//! Nothing is traced before that time or after the pass. In a pass one thread of one process is stopped at a time, and
//! executes `madvise(MADV_COLLAPSE)` on a piece of the process's resident memory, or copies a piece of its code into
//! huge pages. The other threads keep running, and between two pieces so does that thread.
//!
//! If the tracer dies, the thread being held dies too, because its registers are foreign; all other processes of the
//! tree keep running.
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

/// The number of consecutive unsuitable moments after which a process is skipped.
const ENOUGH_FAILURES: u32 = 50;

/// Collapses the memory of one tree.
#[derive(Debug)]
pub(super) struct Collapser {
    schedule: Schedule,
    /// The target of the last pass.
    target: Target,
    pace: Pace,
    /// The ancestor of all processes of the tree.
    root: u32,
    /// Its earlier descendants, not part of the tree.
    strangers: BTreeSet<u32>,
    /// A thread also traced for other reasons, with these options.
    resident: Option<(i32, Options)>,
    block: u64,
    /// The processes to visit in this pass.
    todo: VecDeque<u32>,
    space: Option<Space>,
    injection: Option<Injection>,
    /// Blocks to skip, by address space.
    done: HashMap<Identity, BTreeSet<u64>>,
    /// The filters of this process, which its children inherit.
    filters: Filters,
    pub(super) tracing: Tracing,
}

impl Collapser {
    /// Creates a collapser for `main` and all processes started later below this process.
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

    /// Starts the clock of the schedule when the tree begins to run.
    pub(super) fn begin(&mut self) {
        self.schedule.begin(Instant::now());
    }

    /// Registers a thread already traced, which stays traced.
    pub(super) fn share(&mut self, thread: i32, options: Options) {
        self.resident = Some((thread, options));
    }

    /// Returns true if no more work will come.
    pub(super) fn is_over(&self) -> bool {
        (self.schedule.due().is_none() && self.is_idle()) || self.tree().next().is_none()
    }

    /// Returns the processes of the tree.
    fn tree(&self) -> impl Iterator<Item = u32> {
        let below = tree::read_descendants(&Root::real(), self.root).into_iter();
        below.filter(|pid| !self.strangers.contains(pid))
    }

    fn is_idle(&self) -> bool {
        self.todo.is_empty() && self.space.is_none() && self.injection.is_none()
    }

    /// Returns the time until the next work, unless a thread stops; `None` if only stops can follow.
    pub(super) fn patience(&self) -> Option<Duration> {
        let now = Instant::now();
        match &self.injection {
            Some(injection) => injection.patience(),
            None if !self.is_idle() => Some(self.pace.rest()),
            None => Some(self.schedule.due()?.saturating_duration_since(now)),
        }
    }

    /// Does the due work.
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

    /// A thread that stops later is resumed then.
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

    /// Starts the next injection, in this process or the next one with memory to collapse.
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

    /// A process near its end has no memory, and cannot be read either.
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

    /// Asks a thread to stop; returns true if the caller can continue at once, with or without this process.
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

    /// Traces a thread; returns the options for the time of the injected call.
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

    /// Skips the rest of a process in this pass.
    fn leave_process(&mut self, why: &str) {
        if let Some(space) = self.space.take() {
            let program = program_of(space.identity.pid.cast_signed());
            self.tracing.say(format!("{program} {why}"));
        }
    }

    /// Handles the stop of a thread; returns false if another part must handle it.
    pub(super) fn answer(&mut self, pid: i32, stop: Stop) -> bool {
        let is_same = self.space.as_ref().is_some_and(Space::is_alive);
        let mine = self.injection.as_mut();
        let mine = mine.filter(|injection| injection.thread.number == pid);
        match mine.map(|injection| match injection.is_awaited() && !is_same {
            // Another program was executed after the memory was read, so all addresses are wrong.
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

    /// Forgets an ended thread.
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

    /// Counts the effect of a call, as reported by the kernel; the thread then runs as long as it was stopped.
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
            // The next pass may succeed with the rest.
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

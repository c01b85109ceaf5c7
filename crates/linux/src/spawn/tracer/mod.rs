//! Advises the memory of a whole process tree from outside: `thp=always` without any privilege.
//!
//! A [`Filter`] stops a thread only when it maps memory that can contain a huge page. When the call has succeeded, the
//! tracer makes the same thread call madvise(2) on the new range and then restores its registers. The program sees only
//! the result of its call. Signals are blocked until then, because a handler running in between would see foreign
//! registers (Go pre-empts its threads by signals at any moment).
//!
//! Compared with the machine's setting `always`, this does not reach the first thread's stack, nor memory that grows by
//! pieces smaller than a huge page and is touched only later.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use hugewise_experiment::run::policy::realise::TreeTracer as Advice;
use hugewise_experiment::run::trial::{Clash, Tracing};

use super::filters::Filters;
use super::registers::{OwnState, Registers, SignalMask, SystemCall};
use super::tracee::{self, Stop};
use crate::machine::root::Root;
use crate::sys::thp;

mod advisor;
mod allocation;
mod call;
mod chain;
mod filter;
mod heap;
mod memory_now;
mod range;
mod sites;
mod space;
mod thread;

use advisor::{Advisor, Origin};
use call::Call;
use heap::Heap;
use range::Range;
use thread::{Advised, Step, Thread};

pub(super) use filter::Filter;
pub use filter::try_tracing;
pub(super) use heap::program_of;

/// After exec(2) the first stop is the end of exec, which has no instruction to repeat; the second is the entry of the
/// program's first call.
const EXEC_STOPS: u8 = 2;

/// Returns the size of a huge page in bytes; the usual one if the kernel does not report it.
pub(super) fn block_bytes() -> u64 {
    thp::read_pmd_bytes(&Root::real()).unwrap_or(thp::USUAL_PMD_BYTES)
}

/// The tracer of one tree.
#[derive(Debug)]
pub(super) struct TreeTracer {
    advice: Advisor,
    block: u64,
    main: i32,
    threads: HashMap<i32, Thread>,
    heaps: HashMap<i32, Heap>,
    filters: Filters,
    pub(super) tracing: Tracing,
}

impl TreeTracer {
    /// Returns a tracer of the tree below `main`; `None` if the tree is not to be traced.
    pub(super) fn new(advice: &Advice, main: i32) -> Option<Self> {
        let block = block_bytes();
        Some(Self {
            advice: Advisor::new(advice, block)?,
            block,
            main,
            threads: HashMap::new(),
            heaps: HashMap::new(),
            filters: Filters::with_ours(),
            tracing: Tracing::default(),
        })
    }

    /// Handles a stop, except that of the main process held at its end.
    pub(super) fn answer(&mut self, pid: i32, stop: Stop) {
        self.meet(pid);
        match stop {
            Stop::Filtered => self.filtered(pid),
            Stop::Call => self.called(pid),
            Stop::Started => self.started(pid),
            Stop::Exec => self.executed(pid),
            Stop::Group => tracee::leave_stopped(pid),
            Stop::Signal(signal) => self.go_on(pid, signal),
            Stop::Exit => self.ending(pid),
            Stop::Tracing => self.go_on(pid, 0),
        }
    }

    /// Handles the end of a thread: when the first thread of a process ends, its memory is read.
    fn ending(&mut self, pid: i32) {
        if self.threads.get(&pid).is_some_and(|it| it.process == pid) {
            self.advice.look(pid);
        }
        tracee::resume(pid, 0);
    }

    /// Forgets an ended thread.
    pub(super) fn forget(&mut self, pid: i32) {
        self.threads.remove(&pid);
        self.heaps.remove(&pid);
        self.advice.forget(pid);
    }

    /// Registers a thread at its first stop, which may come before or after the stop of its parent.
    fn meet(&mut self, pid: i32) {
        if self.threads.contains_key(&pid) {
            return;
        }
        if pid != self.main {
            tracee::set_options(pid, self.advice.options());
        }
        let thread = Thread {
            process: heap::process_of(pid),
            step: Step::Own,
            ranges: Vec::new(),
        };
        self.threads.insert(pid, thread);
    }

    /// Resumes a thread: up to the end of its call if the result is needed.
    fn go_on(&self, pid: i32, signal: i32) {
        let step = self.threads.get(&pid).map(|thread| &thread.step);
        match step {
            None | Some(Step::Own) => tracee::resume(pid, signal),
            Some(_) => tracee::resume_to_call(pid, signal),
        }
    }

    fn filtered(&mut self, pid: i32) {
        self.tracing.stops += 1;
        let call = tracee::message(pid).and_then(Call::of);
        let step = match call {
            Some(Call::Break) if self.grows_a_little(pid) => None,
            Some(call @ (Call::Map | Call::Break)) => Some(Step::Calling(call, 0)),
            // The source of a move is available only at the entry: the result may overwrite the register.
            Some(call @ Call::Remap) => {
                let from = Registers::read(pid).map_or(0, |entry| entry.argument(0));
                Some(Step::Calling(call, from))
            }
            Some(call) => {
                self.note(pid, call);
                None
            }
            None => None,
        };
        if let (Some(step), Some(thread)) = (step, self.threads.get_mut(&pid)) {
            thread.step = step;
        }
        self.go_on(pid, 0);
    }

    /// Returns true if a brk(2) call completes no block, so that its result is not needed.
    fn grows_a_little(&mut self, pid: i32) -> bool {
        let Ok(registers) = Registers::read(pid) else {
            return true;
        };
        let (end, block) = (registers.argument(0), self.block);
        let Some(heap) = self.heap_of(pid) else {
            return true;
        };
        if heap.completes(end, block) {
            return false;
        }
        heap.move_end(end, block);
        true
    }

    fn heap_of(&mut self, pid: i32) -> Option<&mut Heap> {
        let process = self.threads.get(&pid)?.process;
        match self.heaps.entry(process) {
            Entry::Occupied(known) => Some(known.into_mut()),
            Entry::Vacant(place) => Some(place.insert(Heap::of(process)?)),
        }
    }

    /// Handles a call not followed to its end: a limitation is reported once.
    fn note(&mut self, pid: i32, call: Call) {
        if call == Call::Filter {
            self.filters.may_grow();
        }
        // The registers of another ABI are not read.
        let entry = Registers::read(pid);
        let first = entry.as_ref().map_or(0, |entry| entry.argument(0));
        if let Some(sentence) = call.beyond(&program_of(pid), first) {
            self.tracing.say(sentence);
        }
        let Ok(entry) = entry else {
            return;
        };
        self.tracing.clashes.extend(call.clash(entry.argument(0)));
        let process = self.threads.get(&pid).map(|thread| thread.process);
        if let (Call::Unmap, Some(process)) = (call, process) {
            let range = Range::of(entry.argument(0), entry.argument(1));
            self.advice.unmaps(process, range);
        }
    }

    /// Handles the entry or the exit of a call.
    fn called(&mut self, pid: i32) {
        let Some(thread) = self.threads.get_mut(&pid) else {
            return tracee::resume(pid, 0);
        };
        match std::mem::replace(&mut thread.step, Step::Own) {
            Step::Own => tracee::resume(pid, 0),
            Step::Calling(call, from) => {
                self.made(pid, call, from);
                self.advise_next(pid, None);
            }
            Step::Executing(0) => self.advise_next(pid, None),
            Step::Executing(left) => {
                thread.step = Step::Executing(left - 1);
                tracee::resume_to_call(pid, 0);
            }
            Step::Advising {
                own,
                entered: false,
            } => {
                thread.step = Step::Advising { own, entered: true };
                tracee::resume_to_call(pid, 0);
            }
            Step::Advising { own, .. } => {
                let refused = Registers::read(pid).is_ok_and(|now| now.success().is_none());
                self.tracing.refused += u64::from(refused);
                self.advise_next(pid, Some(own));
            }
        }
    }

    /// Records the range created by a call; `from` is the old address if the call moved memory.
    fn made(&mut self, pid: i32, call: Call, from: u64) {
        let Ok(registers) = Registers::read(pid) else {
            return;
        };
        let Some(start) = registers.success() else {
            return;
        };
        let block = self.block;
        let found = match call {
            Call::Map => {
                let range = Range::of(start, registers.argument(1));
                Some((Origin::of_mapping(registers.argument(3)), range))
            }
            Call::Remap => {
                let moved = Range::of(start, registers.argument(2));
                Some((Origin::Moved(from), moved))
            }
            _ => {
                let heap = self.heap_of(pid);
                let grown = heap.and_then(|heap| heap.move_end(start, block));
                grown.map(|range| (Origin::Heap, range))
            }
        };
        if let Some((origin, range)) = found {
            self.advise_later(pid, origin, range);
        }
    }

    /// Queues the advice for a range of a thread. The program's own filter may kill it for a call that the program does
    /// not make.
    fn advise_later(&mut self, pid: i32, origin: Origin, range: Range) {
        if self.filters.has_more(pid) {
            self.tracing.clashes.insert(Clash::OwnFilter);
            return;
        }
        let Some(thread) = self.threads.get_mut(&pid) else {
            return;
        };
        let advised = self.advice.of((pid, thread.process), origin, range);
        thread.ranges.extend(advised);
    }

    /// Reads the resulting memory of the sites of a process at its end.
    pub(super) fn look(&mut self, pid: i32) {
        self.advice.look(pid);
    }

    /// Returns the results so far.
    pub(super) fn told(&self) -> Tracing {
        Tracing {
            sites: self.advice.mapped(),
            ..self.tracing.clone()
        }
    }

    /// Makes the thread advise its next range, or restores and resumes it. `own` is its saved state if injected calls
    /// are in progress.
    fn advise_next(&mut self, pid: i32, own: Option<Box<OwnState>>) {
        let Some(thread) = self.threads.get_mut(&pid) else {
            return tracee::resume(pid, 0);
        };
        let own = match (thread.ranges.is_empty(), own) {
            (true, None) => None,
            (_, Some(own)) => Some(own),
            (false, None) => OwnState::read(pid).ok().map(Box::new),
        };
        let Some(own) = own else {
            return tracee::resume(pid, 0);
        };
        let Some(Advised { range, advice }) = thread.ranges.pop() else {
            own.put_back(pid);
            return tracee::resume(pid, 0);
        };
        let arguments = [range.start, range.bytes(), advice as u64];
        let advise = SystemCall::new(libc::SYS_madvise, arguments);
        let ours = own.registers.calling(advise);
        // The first can fail only if the thread was killed, and then so does the second.
        let _ = SignalMask::ALL.write(pid);
        let _ = ours.write(pid);
        self.tracing.ranges += 1;
        self.tracing.bytes += range.bytes();
        thread.step = Step::Advising {
            own,
            entered: false,
        };
        tracee::resume_to_call(pid, 0);
    }

    /// Handles a new child: it starts with the heap of its parent.
    fn started(&mut self, pid: i32) {
        let child = tracee::message(pid).and_then(|child| i32::try_from(child).ok());
        let process = self.threads.get(&pid).map(|thread| thread.process);
        if let Some((child, process)) = child.zip(process)
            && let Some(heap) = self.heaps.get(&process).cloned()
        {
            self.heaps.entry(child).or_insert(heap);
        }
        if let Some((child, process)) = child.zip(process) {
            self.advice.fork(process, child);
        }
        self.go_on(pid, 0);
    }

    /// Handles an exec: the memory that the kernel mapped for the program must be advised too, after the program's
    /// first call.
    fn executed(&mut self, pid: i32) {
        self.threads
            .retain(|&thread, it| thread == pid || it.process != pid);
        self.heaps.remove(&pid);
        if let Some(sentence) = heap::lost_privilege(pid) {
            self.tracing.clashes.insert(Clash::LosesPrivilege);
            self.tracing.say(sentence);
        }
        self.advice.forget(pid);
        let ranges = heap::large_data(pid, self.block);
        if let Some(thread) = self.threads.get_mut(&pid) {
            thread.process = pid;
            thread.step = match ranges.is_empty() {
                true => Step::Own,
                false => Step::Executing(EXEC_STOPS),
            };
            thread.ranges.clear();
        }
        for range in ranges {
            self.advise_later(pid, Origin::Data, range);
        }
        self.go_on(pid, 0);
    }
}

//! Calls that a thread makes which is stopped for them.
//!
//! A thread that runs is sent to an instruction of a call, wherever the process has one, and put
//! back afterwards; signals wait meanwhile, because a handler would see foreign registers. A thread
//! that waits in a call is let go until the kernel has it make that call again: ours takes its
//! place, and then it makes its own once more. So the kernel's own rule decides how a wait goes on.

use std::ops::Range;
use std::time::{Duration, Instant};

use hugewise_observe::faults::Map;

use super::copying::Copying;
use super::threads::Thread;
use crate::spawn::registers::{CALL_INSTRUCTION, OwnState, Registers, SignalMask, SystemCall};
use crate::spawn::tracee::{self, Options, Stop};

/// How long a thread may take to stop.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where the thread stands.
#[derive(Debug)]
enum Step {
    /// It was asked to stop.
    Stopping,
    /// It makes the call again in which it stood.
    Repeating,
    /// It was sent to our call; what it had before.
    Sent(Box<OwnState>),
    /// It makes our call.
    Calling(Box<OwnState>),
}

/// What a thread is to do.
#[derive(Debug)]
pub(super) enum Task {
    /// Make a range huge.
    Collapse(Range<u64>),
    /// Put a range of code into huge pages.
    Copy(Copying),
}

impl Task {
    pub(super) const fn range(&self) -> &Range<u64> {
        match self {
            Self::Collapse(range) => range,
            Self::Copy(copying) => copying.code(),
        }
    }

    /// The next call.
    fn call(&self) -> SystemCall {
        match self {
            Self::Collapse(range) => SystemCall::new(
                libc::SYS_madvise,
                [
                    range.start,
                    range.end - range.start,
                    libc::MADV_COLLAPSE as u64,
                ],
            ),
            Self::Copy(copying) => copying.call(),
        }
    }

    /// Takes the result of that call; how it ended, where it was the last one.
    fn go_on(&mut self, result: Result<u64, i32>) -> Option<Result<(), i32>> {
        match self {
            Self::Collapse(_) => Some(result.map(drop)),
            Self::Copy(copying) => copying.go_on(result),
        }
    }
}

/// How an injection ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    /// All calls were made; the error that stopped them.
    Made(Result<(), i32>),
    /// It was a bad moment: the task is to go on at another.
    BadMoment,
    /// The process became another program.
    Replaced,
    /// It runs code of another ABI.
    Foreign,
}

/// A task on its way.
#[derive(Debug)]
pub(super) struct Injection {
    pub(super) thread: Thread,
    pub(super) task: Task,
    /// Where an instruction of a call stands.
    call: Option<u64>,
    options: Options,
    asked: Instant,
    /// When it stopped.
    stopped: Option<Instant>,
    step: Step,
}

impl Injection {
    /// Asks a traced thread to stop for a task. `call` is where an instruction of a call stands;
    /// `options` hold from the stop on.
    pub(super) fn begin(thread: Thread, task: Task, call: Option<u64>, options: Options) -> Self {
        tracee::interrupt(thread.number);
        Self {
            thread,
            task,
            call,
            options,
            asked: Instant::now(),
            stopped: None,
            step: Step::Stopping,
        }
    }

    /// Whether the thread has not stopped for it yet.
    pub(super) const fn is_awaited(&self) -> bool {
        matches!(self.step, Step::Stopping)
    }

    /// How long may be waited for it; without end where the call itself is made.
    pub(super) fn patience(&self) -> Option<Duration> {
        match self.step {
            Step::Stopping | Step::Repeating => Some(PATIENCE.saturating_sub(self.asked.elapsed())),
            Step::Sent(_) | Step::Calling(_) => None,
        }
    }

    /// How long the thread has stood.
    pub(super) fn held(&self) -> Duration {
        self.stopped.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Answers a stop; says when it is over. The thread is then stopped still.
    pub(super) fn answer(&mut self, stop: Stop) -> Option<End> {
        let thread = self.thread.number;
        match (stop, std::mem::replace(&mut self.step, Step::Stopping)) {
            (Stop::Tracing, Step::Stopping) => return self.stopped(),
            // The stop that was asked for is over with this one.
            (Stop::Signal(signal), Step::Stopping) => {
                tracee::interrupt(thread);
                tracee::resume(thread, signal);
            }
            (Stop::Call, Step::Repeating) => return self.exchange(),
            (Stop::Signal(signal), Step::Repeating) => self.go_on(Step::Repeating, signal),
            (Stop::Call, Step::Sent(own)) => self.go_on(Step::Calling(own), 0),
            (Stop::Call, Step::Calling(own)) => return self.made(own),
            (Stop::Tracing, step) => self.go_on(step, 0),
            (Stop::Exec, _) => return Some(End::Replaced),
            (_, Step::Sent(own) | Step::Calling(own)) => {
                own.put_back(thread);
                return Some(End::BadMoment);
            }
            (_, Step::Stopping | Step::Repeating) => return Some(End::BadMoment),
        }
        None
    }

    fn go_on(&mut self, step: Step, signal: i32) {
        self.step = step;
        tracee::resume_to_call(self.thread.number, signal);
    }

    /// The thread has stopped where it was.
    fn stopped(&mut self) -> Option<End> {
        self.stopped = Some(Instant::now());
        let thread = self.thread.number;
        let mut registers = match Registers::read(thread) {
            Ok(registers) => registers,
            Err(error) if error.kind() == std::io::ErrorKind::Unsupported => {
                return Some(End::Foreign);
            }
            Err(_) => return Some(End::BadMoment),
        };
        // From here on its registers are not its own.
        tracee::set_options(thread, self.options);
        if let Some((number, first_argument)) = self.thread.call
            && registers.gave_up(thread, number)
        {
            registers = registers.trying_again(first_argument);
            let _ = registers.write(thread);
        }
        if registers.makes_call_again(thread) {
            self.go_on(Step::Repeating, 0);
            return None;
        }
        self.send(&registers)
    }

    /// Sends a thread that stands in its program to our call.
    fn send(&mut self, registers: &Registers) -> Option<End> {
        let thread = self.thread.number;
        let (Some(call), Ok(own)) = (self.call, OwnState::read(thread)) else {
            return Some(End::BadMoment);
        };
        if tracee::is_in_sequence(thread, registers.place()) {
            return Some(End::BadMoment);
        }
        let ours = registers.calling_from(call, self.task.call());
        let _ = SignalMask::ALL.write(thread);
        let _ = ours.write(thread);
        self.go_on(Step::Sent(Box::new(own)), 0);
        None
    }

    /// The thread has entered a call of its own: ours takes its place.
    fn exchange(&mut self) -> Option<End> {
        let thread = self.thread.number;
        let Ok(mut own) = OwnState::read(thread) else {
            return Some(End::BadMoment);
        };
        let entered = own.registers;
        own.registers = entered.before_call();
        let _ = SignalMask::ALL.write(thread);
        let _ = entered.exchange_call(thread, self.task.call());
        self.go_on(Step::Calling(Box::new(own)), 0);
        None
    }

    /// A call of ours is over: the next one begins where it ended.
    fn made(&mut self, own: Box<OwnState>) -> Option<End> {
        let thread = self.thread.number;
        let Ok(now) = Registers::read(thread) else {
            own.put_back(thread);
            return Some(End::BadMoment);
        };
        let result = now.error().map_or_else(|| Ok(now.result()), Err);
        if let Some(result) = self.task.go_on(result) {
            own.put_back(thread);
            return Some(End::Made(result));
        }
        let _ = now.calling(self.task.call()).write(thread);
        self.go_on(Step::Sent(own), 0);
        None
    }
}

/// Where an instruction of a call stands in a process: every program has the kernel's own page of
/// code, or else one that makes calls itself.
pub(super) fn call_instruction(pid: u32, mappings: &[Map]) -> Option<u64> {
    const EXECUTABLE: u32 = 4;
    let runs = |mapping: &&Map| mapping.protection & EXECUTABLE != 0;
    let of_kernel = mappings.iter().filter(|mapping| mapping.name == "[vdso]");
    let others = mappings.iter().filter(runs);
    of_kernel
        .chain(others)
        .find_map(|mapping| call_in(pid, mapping.start..mapping.end))
}

fn call_in(pid: u32, code: Range<u64>) -> Option<u64> {
    const MOST: u64 = 1 << 20;
    let bytes = (code.end - code.start).min(MOST);
    let mut text = vec![0; bytes as usize];
    tracee::memory(pid.cast_signed(), code.start, &mut text)?;
    // An instruction of Arm stands at a multiple of four.
    let step = if cfg!(target_arch = "aarch64") { 4 } else { 1 };
    let mut places = (0..text.len()).step_by(step);
    let at = places.find(|&at| text[at..].starts_with(CALL_INSTRUCTION))?;
    Some(code.start + at as u64)
}

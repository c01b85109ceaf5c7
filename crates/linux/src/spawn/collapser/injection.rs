//! Stops a thread and injects system calls into it.
//!
//! A running thread is sent to a system call instruction of its process, and its registers are restored afterwards.
//! Signals are blocked until then, because a handler would see foreign registers. A thread waiting in a call is resumed
//! until the kernel makes it restart the call. The injected call replaces that one, and then the thread repeats its own
//! call. So the kernel's restart rules decide how a wait continues.

use std::ops::Range;
use std::time::{Duration, Instant};

use hugewise_observe::faults::Map;

use super::copying::Copying;
use super::threads::Thread;
use crate::spawn::registers::{CALL_INSTRUCTION, OwnState, Registers, SignalMask, SystemCall};
use crate::spawn::tracee::{self, Options, Stop};

/// The time limit for a thread to stop.
const PATIENCE: Duration = Duration::from_secs(2);

/// The current step of the thread.
#[derive(Debug)]
enum Step {
    /// It was asked to stop.
    Stopping,
    /// It is restarting its interrupted call.
    Repeating,
    /// It was sent to the injected call; contains its own state.
    Sent(Box<OwnState>),
    /// It is executing the injected call.
    Calling(Box<OwnState>),
}

/// A task for a thread.
#[derive(Debug)]
pub(super) enum Task {
    /// Collapses a range.
    Collapse(Range<u64>),
    /// Copies a range of code into huge pages.
    Copy(Copying),
}

impl Task {
    pub(super) const fn range(&self) -> &Range<u64> {
        match self {
            Self::Collapse(range) => range,
            Self::Copy(copying) => copying.code(),
        }
    }

    /// Returns the next call.
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

    /// Processes the result of that call; returns the outcome after the last one.
    fn go_on(&mut self, result: Result<u64, i32>) -> Option<Result<(), i32>> {
        match self {
            Self::Collapse(_) => Some(result.map(drop)),
            Self::Copy(copying) => copying.go_on(result),
        }
    }
}

/// The end of an injection.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    /// All calls were made; contains the error that stopped them.
    Made(Result<(), i32>),
    /// The moment was unsuitable: the task continues at another moment.
    BadMoment,
    /// The process executed another program.
    Replaced,
    /// It executes code of another ABI.
    Foreign,
}

/// An ongoing task.
#[derive(Debug)]
pub(super) struct Injection {
    pub(super) thread: Thread,
    pub(super) task: Task,
    /// The address of a system call instruction.
    call: Option<u64>,
    options: Options,
    asked: Instant,
    /// The time of its stop.
    stopped: Option<Instant>,
    step: Step,
}

impl Injection {
    /// Asks a traced thread to stop for a task. `call` is the address of a system call instruction; `options` apply
    /// after the stop.
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

    /// Returns true until the thread has stopped.
    pub(super) const fn is_awaited(&self) -> bool {
        matches!(self.step, Step::Stopping)
    }

    /// Returns how long to wait for the thread; `None` while the injected call runs, which has no time limit.
    pub(super) fn patience(&self) -> Option<Duration> {
        match self.step {
            Step::Stopping | Step::Repeating => Some(PATIENCE.saturating_sub(self.asked.elapsed())),
            Step::Sent(_) | Step::Calling(_) => None,
        }
    }

    /// Returns how long the thread has been stopped.
    pub(super) fn held(&self) -> Duration {
        self.stopped.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Handles a stop; returns the end of the injection if this was the last step. The thread remains stopped then.
    pub(super) fn answer(&mut self, stop: Stop) -> Option<End> {
        let thread = self.thread.number;
        match (stop, std::mem::replace(&mut self.step, Step::Stopping)) {
            (Stop::Tracing, Step::Stopping) => return self.stopped(),
            // This stop also serves as the requested one.
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

    /// Handles the first stop of the thread.
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
        // After this point the registers are not those of the program.
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

    /// Sends a thread outside of system calls to the injected call.
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

    /// Replaces the call that the thread has entered by the injected call.
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

    /// Handles the end of an injected call: the next one starts at the same instruction.
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

/// Returns the address of a system call instruction in a process: in the kernel's vDSO page, which every program has,
/// or else in other code.
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
    // Arm instructions are aligned to four bytes.
    let step = if cfg!(target_arch = "aarch64") { 4 } else { 1 };
    let mut places = (0..text.len()).step_by(step);
    let at = places.find(|&at| text[at..].starts_with(CALL_INSTRUCTION))?;
    Some(code.start + at as u64)
}

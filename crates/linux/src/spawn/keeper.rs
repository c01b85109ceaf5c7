//! The keeper: one small process for each workload.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use hugewise_base::missing::Missing;
use hugewise_experiment::run::trial::Outcome;

use super::AtExit;
use super::calls::{self, Change};
use super::child::Child;
use super::exit_reading::{self, ExitReading};
use super::image::Image;
use super::injector::Injector;
use super::tracee::{self, Options, Stop};
use super::usage::Usage;
use super::wire::{self, End, Event, Order, Ready};
use crate::machine::clock;
use crate::machine::root::Root;
use crate::proc::tree;

/// How long a process may resist being killed before it is given up.
const PATIENCE: Duration = Duration::from_secs(2);

/// The reason for the end of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// It ended on its own.
    Itself,
    /// Its time limit was reached.
    TimedOut,
    /// A stop was requested.
    Stopped,
}

pub(super) struct Keeper {
    pub(super) socket: UnixStream,
    signals: OwnedFd,
    order: Order,
    child: Child,
    /// When the child was released.
    begun: Instant,
    /// How long the main process was stopped at its end.
    held: Duration,
    /// The time at which the main process was reaped, and its status.
    over: Option<(Instant, i32)>,
    cause: Cause,
    /// The time since which the kernel has refused to kill the main process.
    refused_since: Option<Instant>,
    usage: Usage,
    exit: Result<ExitReading, Missing>,
    /// Injects calls into the tree.
    injector: Injector,
}

impl Keeper {
    pub(super) fn new(socket: UnixStream, signals: OwnedFd, order: Order, child: Child) -> Self {
        Self {
            socket,
            signals,
            injector: Injector::new(&order, child.pid),
            order,
            child,
            begun: Instant::now(),
            held: Duration::ZERO,
            over: None,
            cause: Cause::Itself,
            refused_since: None,
            usage: Usage::default(),
            exit: Err(Missing::TooShort),
        }
    }

    pub(super) fn run(&mut self, floor_bytes: u64) -> io::Result<End> {
        let ready = Ready {
            main: self.child.pid.unsigned_abs(),
            thp_disable: self.child.thp_disable(),
        };
        wire::write_frame(&mut &self.socket, &Event::Ready(ready))?;
        self.wait_for_release();
        while self.over.is_none() {
            self.take_changes();
            if self.over.is_none() {
                self.wait();
            }
        }
        let by_itself = self.cause == Cause::Itself;
        let (killed, survivors) = self.end_tree();
        let outlived = if by_itself { killed } else { 0 };
        Ok(End {
            outlived,
            survivors,
            ..self.conclude(floor_bytes)
        })
    }

    /// Stopping the main process at its end is optional; a tracer of the tree is part of the policy, and without it the
    /// trial does not start.
    pub(super) fn begin_tracing(&mut self) -> Result<(), String> {
        let may_hold = match self.order.at_exit {
            AtExit::Pass => Err(Missing::NotAsked),
            AtExit::Spare => Err(Missing::not_supported(
                "the end of a program that fails if it is traced (ptrace)",
            )),
            AtExit::Hold if Image::would_lose_privilege(&self.order) => {
                Err(Missing::NotPermitted {
                    grant: "root, because a traced set-user-id program would lose its privilege"
                        .to_owned(),
                })
            }
            AtExit::Hold => Ok(()),
        };
        let tree = self.injector.options();
        let end = may_hold.is_ok().then_some(Options::END);
        let Some(options) = tree.into_iter().chain(end).reduce(Options::and) else {
            self.exit = Err(may_hold.err().unwrap_or(Missing::NotAsked));
            return Ok(());
        };
        let options = options.and(Options::TOLD_APART);
        let seized = tracee::seize(self.child.pid, options);
        match &seized {
            Err(error) if tree.is_some() => {
                return Err(format!(
                    "tracing the workload (thp=always without --system): {error}"
                ));
            }
            Err(_) => {}
            Ok(()) => self.injector.share(self.child.pid, options),
        }
        let may_hold = may_hold.and(seized.map_err(|error| Missing::NotPermitted {
            grant: format!("CAP_SYS_PTRACE (tracing the workload: {error})"),
        }));
        if let Err(missing) = may_hold {
            self.exit = Err(missing);
        }
        Ok(())
    }

    fn wait_for_release(&mut self) {
        let mut word = [0];
        match (&self.socket).read(&mut word) {
            Ok(1) if word[0] == wire::RELEASE => {
                self.begun = Instant::now();
                self.child.release();
                self.injector.begin();
            }
            _ => self.kill(Cause::Stopped),
        }
    }

    /// Sleeps until a child changes, the other side sends a message, or time is over.
    fn wait(&mut self) {
        match self.cause {
            Cause::Itself => {
                self.injector.work();
                self.wait_for_anything();
            }
            // No message can change the end any more.
            cause => {
                self.wait_for_child(Duration::from_millis(100));
                self.kill(cause);
            }
        }
    }

    fn wait_for_anything(&mut self) {
        let limit = self.order.timeout_ns.map(Duration::from_nanos);
        let left = limit.map(|limit| limit.saturating_sub(self.begun.elapsed()));
        let due = self.injector.patience();
        let left = left.into_iter().chain(due).min();
        let descriptors = [self.signals.as_fd(), self.socket.as_fd()];
        let [changed, spoken] = calls::wait_readable(descriptors, left);
        if changed {
            calls::clear_signals(&self.signals);
        }
        if spoken {
            self.listen();
        } else if limit.is_some_and(|limit| self.begun.elapsed() >= limit) {
            self.kill(Cause::TimedOut);
        }
    }

    /// A signal is forwarded; every other message, and the end of the other side, means stop. The PID of an unreaped
    /// main process cannot have been reused.
    fn listen(&mut self) {
        let mut words = [0; 2];
        let command = (&self.socket).read_exact(&mut words[..1]);
        let command = command.and_then(|()| match words[0] {
            wire::SIGNAL => (&self.socket).read_exact(&mut words[1..]),
            _ => Err(io::ErrorKind::Interrupted.into()),
        });
        match command {
            Ok(()) => calls::signal(self.child.pid, words[1]),
            Err(_) => self.kill(Cause::Stopped),
        }
    }

    fn wait_for_child(&self, limit: Duration) {
        calls::wait_readable([self.signals.as_fd()], Some(limit));
        calls::clear_signals(&self.signals);
    }

    /// Kills the main process; the rest of the tree follows when it is reaped. If it is stopped at its end it must also
    /// be resumed, because no signal wakes it there. One that has changed to another user (by sudo, for example) may
    /// not be killable: it is given up after a while, and counted among the survivors.
    fn kill(&mut self, cause: Cause) {
        self.cause = cause;
        let killed = calls::kill(self.child.pid).is_ok();
        tracee::resume(self.child.pid, 0);
        if killed || self.over.is_some() {
            return;
        }
        let since = *self.refused_since.get_or_insert_with(Instant::now);
        if since.elapsed() > PATIENCE {
            self.over = Some((Instant::now(), libc::SIGKILL));
        }
    }

    fn take_changes(&mut self) -> Change {
        loop {
            match calls::next_change() {
                Change::Stopped { pid, status } => self.answer(pid, status),
                Change::Ended { pid, status, usage } => self.reaped(pid, status, usage),
                Change::Left { pid } => self.injector.forget(pid),
                last @ (Change::None | Change::NoChild) => return last,
            }
        }
    }

    fn reaped(&mut self, pid: i32, status: i32, usage: Usage) {
        self.injector.forget(pid);
        if pid == self.child.pid {
            self.over = Some((Instant::now(), status));
            let before = self.child.usage_before_exec();
            self.usage = self.usage.plus(usage.since(before));
        } else {
            self.usage = self.usage.plus(usage);
        }
    }

    /// Resumes a stopped tracee as if it were not traced.
    fn answer(&mut self, pid: i32, status: i32) {
        let stop = tracee::reason(status);
        let is_held = self.order.at_exit == AtExit::Hold;
        if stop == Stop::Exit && pid == self.child.pid && is_held {
            return self.hold(pid);
        }
        if self.injector.answer(pid, stop) {
            return;
        }
        match stop {
            Stop::Group => tracee::leave_stopped(pid),
            Stop::Signal(signal) => tracee::resume(pid, signal),
            _ => tracee::resume(pid, 0),
        }
    }

    /// The main process is at its end: reads it, and deducts the time of the reading from its wall time.
    fn hold(&mut self, pid: i32) {
        let since = Instant::now();
        if self.cause != Cause::Stopped {
            self.exit = exit_reading::read_exit(pid.unsigned_abs(), &self.order.question);
            self.injector.look(pid);
        }
        tracee::resume(pid, 0);
        // If only the first thread has ended, the others kept running.
        if self.exit.is_ok() {
            self.held += since.elapsed();
        }
    }

    /// Kills the rest of the tree; returns the number of these processes, and of those that could not be killed.
    ///
    /// Only children of the keeper are killed: their PIDs cannot be reused before they are reaped. Their orphans become
    /// children of the keeper, and are killed next.
    fn end_tree(&mut self) -> (u32, u32) {
        let mut hopeless_since = None;
        let mut killed = BTreeSet::<i32>::new();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        loop {
            if let Change::NoChild = self.take_changes() {
                return (count(killed.len()), 0);
            }
            let children = own_children();
            let kills = |pid: &i32| calls::kill(*pid).is_ok();
            let (dying, refused): (Vec<i32>, Vec<i32>) =
                children.iter().partition(|pid| kills(pid));
            let refused = refused.len();
            killed.extend(dying);
            if refused > 0 && refused == children.len() {
                let since = *hopeless_since.get_or_insert_with(Instant::now);
                if since.elapsed() > PATIENCE {
                    return (count(killed.len()), count(refused));
                }
            }
            self.wait_for_child(Duration::from_millis(5));
        }
    }

    fn conclude(&self, floor_bytes: u64) -> End {
        let (over, status) = self.over.unwrap_or((self.begun, 0));
        let wall = over.duration_since(self.begun).saturating_sub(self.held);
        End {
            outcome: self.outcome(status),
            wall_ns: clock::nanoseconds(wall),
            usage: self.usage,
            floor_bytes,
            exit: self.exit.clone(),
            tracing: self.injector.tracing(),
            keeper_cpu_ns: calls::own_usage().cpu_ns(),
            outlived: 0,
            survivors: 0,
        }
    }

    fn outcome(&self, status: i32) -> Outcome {
        if let Some(error) = self.child.failure(&self.order) {
            Outcome::NotStarted { error }
        } else if self.cause == Cause::TimedOut {
            Outcome::TimedOut
        } else if libc::WIFSIGNALED(status) {
            Outcome::Signalled {
                signal: libc::WTERMSIG(status),
            }
        } else {
            Outcome::Exited {
                code: libc::WEXITSTATUS(status),
            }
        }
    }
}

/// Returns the children of this process, which has one thread.
fn own_children() -> Vec<i32> {
    let own = std::process::id();
    tree::read_children(&Root::real(), own)
        .into_iter()
        .filter_map(|pid| i32::try_from(pid).ok())
        .collect()
}

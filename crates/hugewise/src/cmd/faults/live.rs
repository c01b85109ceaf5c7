//! Watches a program: a separate thread drains the events while this one waits for the end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hugewise_base::host::Host;
use hugewise_base::missing::{Fact, Missing};
use hugewise_experiment::run::trial::Outcome;
use hugewise_linux::machine::clock;
use hugewise_linux::machine::process::HeldProcess;
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::faults::{FaultTarget, Faults, TaskSet};
use hugewise_linux::proc::tree_usage::TreeUsage;
use hugewise_linux::spawn::{End, Running};
use hugewise_linux::sys::cpu;
use hugewise_observe::faults::{
    Accounted, Analysis, Closing, Conditions, Counted, Event, Known, Modes,
};
use hugewise_text::number;

use super::{Arguments, target};
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::paths;
use crate::recording::{self, PageLines, Sink};
use crate::stderr::message;
use crate::target::Limit;

/// How late a signal or the end is noticed.
const TICK: Duration = Duration::from_millis(50);

/// The analysis, and its lines for a page.
type Recorded = (Analysis, PageLines);

/// How the watching ended.
struct Ended {
    wall_ns: u64,
    outcome: Option<Outcome>,
    /// Processes that the command left running.
    outlived: u32,
    accounted: Fact<Accounted>,
    system_ns: Fact<u64>,
    exit: Exit,
}

/// Watches a command or a process to its end.
pub(super) fn watch(arguments: &Arguments) -> Result<(Recorded, Exit)> {
    let interrupt = Interrupt::catch()?;
    let root = Root::real();
    let host = paths::host(&root)?;
    match target::running(arguments, &root)? {
        Some(crowd) => watch_running(arguments, &interrupt, &root, &host, &crowd),
        None => watch_command(arguments, &interrupt, &root, &host),
    }
}

fn watch_command(
    arguments: &Arguments,
    interrupt: &Interrupt,
    root: &Root,
    host: &Host,
) -> Result<(Recorded, Exit)> {
    let suspended = target::start(arguments, host)?;
    let target = FaultTarget::BeforeExec {
        pid: suspended.main(),
    };
    let faults = open(root, host, &target, arguments)?;
    let sink = sink(arguments, host, &faults)?;
    let mut running = suspended.release().context("starting the command")?;
    let (sink, ended) = while_drained(faults, sink, || {
        to_the_end(&mut running, arguments.duration, interrupt)
    })?;
    // Dropping this flushes the rest of the program's output.
    drop(running.into_printed());
    Ok((sink.finish()?, ended.exit))
}

/// Faults between two readings, by the kernel's own accounting.
fn accounted(before: &TreeUsage, after: &TreeUsage) -> Fact<Accounted> {
    let used = after.since(before).filter(|_| !after.lacks_any_of(before));
    let used = used.ok_or(Missing::TooShort)?;
    Ok(Accounted {
        minor: used.minor_faults,
        major: used.major_faults,
    })
}

fn watch_running(
    arguments: &Arguments,
    interrupt: &Interrupt,
    root: &Root,
    host: &Host,
    crowd: &TaskSet,
) -> Result<(Recorded, Exit)> {
    // A cgroup has no end.
    let process = arguments.pid.map(HeldProcess::open).transpose();
    let process = process.map_err(|error| target::advised(error, arguments.pid))?;
    let before = TreeUsage::read_own(root, &crowd.pids);
    let target = FaultTarget::Running(crowd.clone());
    let faults = open(root, host, &target, arguments)?;
    match crowd.newcomers() {
        0 => {}
        missed => message(format_args!(
            "{} have started since; some may not be watched",
            number::counted(missed as u64, "thread")
        )),
    }
    let sink = sink(arguments, host, &faults)?;
    if !arguments.output.quiet {
        message(format_args!(
            "watching {}; Ctrl-C stops and reports",
            target::subject(arguments)
        ));
    }
    let begun = Instant::now();
    let (sink, ended) = while_drained(faults, sink, || {
        let limit = Limit::new(arguments.duration);
        while !interrupt.asked() && !limit.is_over() && !has_ended(process.as_ref()) {}
        let after = TreeUsage::read_own(root, &crowd.pids);
        Ok(Ended {
            wall_ns: clock::nanoseconds(begun.elapsed()),
            outcome: None,
            outlived: 0,
            accounted: accounted(&before, &after),
            system_ns: Err(Missing::NotAsked),
            exit: Exit::Done,
        })
    })?;
    Ok((sink.finish()?, ended.exit))
}

/// Waits briefly for the end of the process, if there is one.
fn has_ended(process: Option<&HeldProcess>) -> bool {
    match process {
        Some(process) => process.wait_for_end(TICK),
        None => {
            thread::sleep(TICK);
            false
        }
    }
}

fn open(root: &Root, host: &Host, target: &FaultTarget, arguments: &Arguments) -> Result<Faults> {
    let cpus = cpu::read_online_members(root)?;
    Faults::open(target, &cpus, arguments.every, host)
        .map_err(|error| target::advised(error, arguments.pid))
}

fn sink(arguments: &Arguments, host: &Host, faults: &Faults) -> Result<Sink<Analysis>> {
    let mut conditions = conditions(arguments, host);
    faults.describe(&mut conditions);
    let begin = Event::Begin(Box::new(conditions.clone()));
    let lines = PageLines::of(&arguments.page);
    let mut sink = Sink::new(Analysis::new(conditions), arguments.out.as_deref(), lines)?;
    sink.push(&begin);
    Ok(sink)
}

fn conditions(arguments: &Arguments, host: &Host) -> Conditions {
    Conditions {
        hugewise: env!("CARGO_PKG_VERSION").to_owned(),
        subject: target::subject(arguments),
        started_unix_ms: clock::unix_ms(),
        kernel: host.kernel.clone(),
        hypervisor: host.hypervisor.clone(),
        page_bytes: host.page_bytes,
        pmd_bytes: host.pmd_bytes(),
        folio_sizes: host.folio_sizes(),
        modes: Modes::User,
        page_size: Known::No(Missing::NotAsked),
        physical: Known::No(Missing::NotAsked),
        huge_zero: Known::No(Missing::NotAsked),
        folios: Known::No(Missing::NotAsked),
        every: arguments.every,
    }
}

/// Drains the events while `wait` waits, and adds the outcome.
fn while_drained(
    mut faults: Faults,
    mut sink: Sink<Analysis>,
    wait: impl FnOnce() -> Result<Ended>,
) -> Result<(Sink<Analysis>, Ended)> {
    let over = AtomicBool::new(false);
    let cpu_before = clock::own_cpu_ns();
    let (ended, counted, faults, mut sink) = thread::scope(|scope| {
        let drain = Builder::new().spawn_scoped(scope, || {
            while !over.load(Ordering::Acquire) {
                faults.wait(TICK);
                faults.drain(|event| sink.push(&event));
            }
            let counted = faults.finish(|event| sink.push(&event));
            (counted, faults, sink)
        });
        let drain = drain.context("starting a thread for the events")?;
        let ended = wait();
        over.store(true, Ordering::Release);
        match drain.join() {
            Ok((counted, faults, sink)) => Ok((ended?, counted, faults, sink)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
    .map_err(|error: anyhow::Error| error)?;
    if let Some((count, first)) = faults.malformed() {
        message(format_args!(
            "{} could not be decoded; the first: {first}",
            number::counted(count, "record")
        ));
    }
    let own_cpu_ns = clock::own_cpu_ns().saturating_sub(cpu_before);
    drop(faults);
    for name in recording::names(sink.analysis.nameless()) {
        sink.push(&name);
    }
    let closing = closing(&ended, counted, own_cpu_ns);
    sink.push(&Event::Closing(Box::new(closing)));
    Ok((sink, ended))
}

fn closing(ended: &Ended, counted: Counted, own_cpu_ns: u64) -> Closing {
    Closing {
        wall_ns: ended.wall_ns,
        outcome: ended.outcome.clone(),
        outlived: ended.outlived,
        counted,
        accounted: ended.accounted.clone(),
        system_ns: ended.system_ns.clone(),
        own_cpu_ns,
    }
}

/// Waits for the command, and stops it when its time is over or on Ctrl-C.
fn to_the_end(
    running: &mut Running,
    limit: Option<Duration>,
    interrupt: &Interrupt,
) -> Result<Ended> {
    let begun = Instant::now();
    let mut stopped = None;
    loop {
        if let Some(end) = running.wait(TICK)? {
            return Ok(ended(&end, stopped));
        }
        let over = limit.is_some_and(|limit| begun.elapsed() >= limit);
        if stopped.is_none() && (over || interrupt.asked()) {
            stopped = Some(if over { Exit::Done } else { Exit::Interrupted });
            running.stop()?;
        }
    }
}

/// `stopped` is the exit code if we ended the command.
fn ended(end: &End, stopped: Option<Exit>) -> Ended {
    let failed = !matches!(end.outcome, Outcome::Exited { code: 0 });
    Ended {
        wall_ns: end.wall_ns,
        outcome: stopped.is_none().then(|| end.outcome.clone()),
        outlived: end.outlived,
        accounted: Ok(Accounted {
            minor: end.usage.minor_faults,
            major: end.usage.major_faults,
        }),
        system_ns: Ok(end.usage.system_ns),
        exit: match stopped {
            Some(exit) => exit,
            None if failed => Exit::TrialFailed,
            None => Exit::Done,
        },
    }
}

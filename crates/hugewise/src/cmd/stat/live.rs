//! Observes a running target.

use std::thread;

use anyhow::Result;
use hugewise_base::host::Host;
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::stat::plan::WantedEvents;
use hugewise_linux::observe::stat::subject::Subject;
use hugewise_linux::observe::stat::{Observation, StatRequest as Wanted, WaitResult, plan};
use hugewise_linux::perf::open::KernelCounters;
use hugewise_observe::stat::Target;

use super::lines::Lines;
use super::{Arguments, unknown_event};
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::paths;
use crate::target::{Limit, SOON, Watched, exit_of};
use crate::verified;

/// Observes until the target ends, the time is over, or a signal comes.
pub(super) fn run(root: &Root, arguments: &Arguments) -> Result<Exit> {
    check_events(root, &arguments.events())?;
    let host = paths::host(root)?;
    let interrupt = Interrupt::catch()?;
    if !arguments.target.command.is_empty() {
        return run_command(root, &host, arguments, &interrupt);
    }
    let (subject, target) = arguments.target.find(root)?;
    let mut process = None;
    if let Subject::Process(found) = &subject {
        process = Some(found.clone());
    }
    let wanted = wanted(arguments, subject, target);
    let mut observation = Observation::begin(root, &host, &KernelCounters, &wanted);
    let header = observation.header().clone();
    let mut lines = Lines::begin(&header, arguments)?;
    let limit = Limit::new(arguments.target.duration);
    let gone = || process.as_ref().is_some_and(|process| !process.runs(root));
    observation.released();
    loop {
        let (interval, state) = observation.next(|time| {
            if gone() || interrupt.asked() || limit.is_over() {
                return WaitResult::Over;
            }
            thread::sleep(time.min(limit.left()).min(SOON));
            WaitResult::Passed
        });
        lines.interval(interval)?;
        if state == WaitResult::Over || limit.is_over() || gone() {
            break;
        }
    }
    lines.finish(None)?;
    // A signal is the normal way to end an observation.
    Ok(Exit::Done)
}

fn check_events(root: &Root, events: &WantedEvents) -> Result<()> {
    let Ok(sources) = plan::sources(root) else {
        return Ok(());
    };
    match events.unknown(&sources)[..] {
        [] => Ok(()),
        ref names => Err(unknown_event(names)),
    }
}

fn wanted(arguments: &Arguments, subject: Subject, target: Target) -> Wanted {
    Wanted {
        subject,
        target,
        interval: arguments.interval,
        mode: arguments.mode(),
        events: arguments.events(),
        program: concat!("hugewise ", env!("CARGO_PKG_VERSION")).to_owned(),
        verified: verified::newest(),
    }
}

/// Starts a command as `run` does, under a keeper that lets no process escape.
fn run_command(
    root: &Root,
    host: &Host,
    arguments: &Arguments,
    interrupt: &Interrupt,
) -> Result<Exit> {
    let suspended = arguments.target.start()?;
    let subject = Subject::Command {
        main: suspended.main(),
        keeper: suspended.keeper(),
    };
    let target = Target::Command {
        words: arguments.target.words(),
    };
    let wanted = wanted(arguments, subject, target);
    let mut observation = Observation::begin(root, host, &KernelCounters, &wanted);
    let header = observation.header().clone();
    let mut lines = Lines::begin(&header, arguments)?;
    let mut watched = Watched::release(suspended)?;
    observation.released();
    while watched.end.is_none() {
        let mut trouble = None;
        let (interval, _) = observation.next(|time| match watched.wait(time, interrupt) {
            Ok(waited) => waited,
            Err(error) => {
                trouble = Some(error);
                WaitResult::Over
            }
        });
        if let Some(error) = trouble {
            return Err(error);
        }
        lines.interval(interval)?;
    }
    let outcome = watched.end.as_ref().map(|end| end.outcome.clone());
    let exit = exit_of(outcome.as_ref(), interrupt);
    if let Some(end) = &watched.end {
        lines.ended(end.usage.user_ns + end.usage.system_ns, end.outlived);
    }
    lines.finish(outcome)?;
    watched.close();
    Ok(exit)
}

//! A program that is started again whenever it ends.

use std::time::{Duration, Instant};

use anyhow::Result;
use hugewise_experiment::run::policy::Settings;
use hugewise_experiment::run::policy::realise::Realisation;
use hugewise_experiment::run::trial::Outcome;
use hugewise_linux::live::{Member, SplitMeans};
use hugewise_linux::machine::root::Root;
use hugewise_linux::probe::read_page_bytes;
use hugewise_linux::proc::tree::read_descendants;
use hugewise_linux::spawn::{self, AtExit, End, ExitRequest, Launch, Output, Running, StartResult};
use hugewise_linux::sys::thp::read_thp;
use hugewise_live::Source;
use signal_hook::consts::SIGTERM;

use super::life::Life;
use super::unit::Unit;
use super::{Arguments, work};
use crate::exit::{self, Exit};
use crate::experiment::launch::surroundings;
use crate::experiment::rounds::failure_text;
use crate::experiment::workload::Workload;
use crate::interrupt::Interrupt;
use crate::invoker;
use crate::options::{Options, Streams};

/// A program, as it is without a policy.
#[derive(Debug)]
pub(super) struct Program<'a> {
    root: &'a Root,
    launch: Launch,
    stop: &'a Interrupt,
    running: Option<Running>,
    starts: u32,
    /// Starts since the last whole round.
    fruitless: u32,
    /// The length of the last run.
    lasted: Duration,
    /// The source of work, once it is chosen.
    source: Option<Source>,
}

/// After so many runs without a whole round, no more are started.
const MOST_FRUITLESS: u32 = 2;
/// How often its memory is read until it grows no more.
const LOOK: Duration = Duration::from_millis(500);
/// Memory that grew by less since the last look grows no more.
const GROWS: f64 = 0.03;
/// After so long memory is switched even if it still grows.
const PATIENCE: Duration = Duration::from_secs(10);
/// A program has so long to have memory that can be switched.
const MOST_PATIENCE: Duration = Duration::from_secs(60);
/// How long a program that was asked to end may take.
const GRACE: Duration = Duration::from_secs(2);
/// How long the keeper may take to report an end.
const REPORT: Duration = Duration::from_millis(200);

impl<'a> Program<'a> {
    /// Prepares the command of an experiment, in the surroundings of a trial of `run` that sets nothing.
    pub(super) fn new(root: &'a Root, options: &Options, stop: &'a Interrupt) -> Result<Self> {
        let output = match options.output {
            Some(Streams::Show) => Output::Show,
            _ => Output::Discard,
        };
        let identity = invoker::identity()?;
        let launch = surroundings(options, identity.as_ref(), output, AtExit::Pass);
        let words = Workload::among(options, None, []).under(&Settings::default());
        Ok(Self {
            root,
            launch: Launch {
                command: words,
                ..launch.under(&Realisation::default())
            },
            stop,
            running: None,
            starts: 0,
            fruitless: 0,
            lasted: Duration::ZERO,
            source: None,
        })
    }

    /// Returns other processes of the running program, or those of its next start. `None` after a signal.
    ///
    /// # Errors
    /// The program fails, ends too soon, or has no memory that can be switched.
    pub(super) fn next(
        &mut self,
        most: Option<u64>,
        arguments: &Arguments,
    ) -> Result<Option<Life<'a>>> {
        loop {
            if self.has_ended(REPORT)? {
                self.start()?;
            }
            let Some(unit) = self.grown()? else {
                match self.stop.asked() {
                    true => return Ok(None),
                    false => continue,
                }
            };
            match self.life(unit, most, arguments) {
                Ok(life) => return Ok(Some(life)),
                // Its processes ended meanwhile.
                Err(_) if self.has_ended(REPORT)? => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Notes a whole round: its runs are long enough.
    pub(super) fn was_fruitful(&mut self) {
        self.fruitless = 0;
    }

    /// Asks it to end, and ends it.
    pub(super) fn end(&mut self) {
        if let Some(mut running) = self.running.take()
            && running.signal(SIGTERM as u8).is_ok()
        {
            let _ = running.wait(GRACE);
        }
    }

    fn life(&mut self, unit: Unit, most: Option<u64>, arguments: &Arguments) -> Result<Life<'a>> {
        let counter = match &self.source {
            Some(source) => work::open(self.root, &unit, source)?,
            None => work::choose(self.root, &unit, work::Kind::Program, arguments)?,
        };
        self.source = Some(counter.source().clone());
        let life = Life::begin(self.root, unit, counter, most, arguments)?;
        Ok(Life {
            start: Some(self.starts - 1),
            ..life
        })
    }

    fn start(&mut self) -> Result<()> {
        if self.fruitless >= MOST_FRUITLESS {
            return Err(exit::refused(format!(
                "a run takes {:.1} s, too short for a round of periods; hugewise run --whole-runs compares \
                 whole runs",
                self.lasted.as_secs_f64()
            )));
        }
        match spawn::start(&self.launch, &ExitRequest::default())? {
            StartResult::Suspended(suspended) => self.running = Some(suspended.release()?),
            StartResult::NotStarted(error) => {
                return Err(self.failed(&Outcome::NotStarted { error }, &[]));
            }
        }
        self.starts += 1;
        self.fruitless += 1;
        Ok(())
    }

    /// Waits so long for its end. Returns true if it does not run.
    fn has_ended(&mut self, wait: Duration) -> Result<bool> {
        let Some(running) = &mut self.running else {
            return Ok(true);
        };
        let Some(End {
            outcome, wall_ns, ..
        }) = running.wait(wait)?
        else {
            return Ok(false);
        };
        self.lasted = Duration::from_nanos(wall_ns);
        let printed = self.running.take().map(Running::into_printed);
        match outcome {
            Outcome::Exited { code: 0 } => Ok(true),
            _ if self.stop.asked() => Ok(true),
            failed => Err(self.failed(&failed, &printed.unwrap_or_default().stderr_tail)),
        }
    }

    fn failed(&self, outcome: &Outcome, stderr_tail: &[u8]) -> anyhow::Error {
        let which = format!("start {}", self.starts.max(1));
        let tail = String::from_utf8_lossy(stderr_tail);
        exit::lines(Exit::TrialFailed, failure_text(&which, outcome, &tail))
    }

    /// Waits until its memory grows no more. `None` if it ended before, or after a signal.
    fn grown(&mut self) -> Result<Option<Unit>> {
        let began = Instant::now();
        let mut before = 0;
        loop {
            if self.stop.asked() || self.has_ended(LOOK)? {
                return Ok(None);
            }
            let looked = look(self.root, self.keeper())?;
            let grew = looked.blocks.saturating_sub(before) as f64;
            let is_grown = grew <= GROWS * looked.blocks as f64 || began.elapsed() > PATIENCE;
            if looked.blocks > 0 && is_grown {
                return match Unit::open(self.root, &looked.pids) {
                    Err(_) if self.has_ended(REPORT)? => Ok(None),
                    opened => opened.map(Some),
                };
            }
            if began.elapsed() > MOST_PATIENCE {
                return Err(exit::refused(format!(
                    "after {:.0} s the program has no memory that can be switched{}",
                    MOST_PATIENCE.as_secs_f64(),
                    looked
                        .why
                        .map_or_else(String::new, |why| format!(": {why}"))
                )));
            }
            before = looked.blocks;
        }
    }

    fn keeper(&self) -> u32 {
        self.running.as_ref().map_or(0, Running::keeper)
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

/// The memory of a tree of processes that can be switched.
#[derive(Debug, Default)]
pub(super) struct Looked {
    /// The processes with such memory.
    pub pids: Vec<u32>,
    /// Its blocks.
    pub blocks: u64,
    /// Why the last process without has none.
    pub why: Option<String>,
}

/// Looks at all processes below one.
pub(super) fn look(root: &Root, ancestor: u32) -> Result<Looked> {
    let page_bytes = read_page_bytes(root)?;
    let huge_bytes = read_thp(root)?.pmd_bytes;
    let mut looked = Looked::default();
    for pid in read_descendants(root, ancestor) {
        let opened = Member::open(pid, page_bytes, huge_bytes, SplitMeans::Cold);
        let found = opened.map_err(|why| why.to_string());
        let found = found.and_then(|it| it.blocks(root).map_err(|why| why.to_string()));
        match found {
            Ok(found) if found.able.is_empty() => {}
            Ok(found) => {
                looked.pids.push(pid);
                looked.blocks += found.able.len() as u64;
            }
            Err(why) => looked.why = Some(why),
        }
    }
    Ok(looked)
}

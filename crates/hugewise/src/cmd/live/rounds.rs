//! The rounds: periods in random order, until it is decided or something ends it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use hugewise_experiment::run::compare;
use hugewise_experiment::run::metric::live::LiveMetric;
use hugewise_experiment::run::plan::{
    Blocks, Bounds, HUGE, HostMemory, JudgeBy, Live, Plan, Slot, Work as WorkOfPlan,
};
use hugewise_experiment::run::policy::Policy;
use hugewise_experiment::run::record::{End, Record, StopReason, live_realisations};
use hugewise_experiment::run::trial::{Reading, Trial};
use hugewise_linux::live::{Halt, Work};
use hugewise_linux::machine::clock::unix_ms;
use hugewise_linux::machine::root::Root;
use hugewise_live::{Courses, SOURCE_FORMS, Times, times};

use super::life::Life;
use super::period::{Lengths, Place, measure};
use super::program::Program;
use super::{Arguments, calibrate, halted, sites};
use crate::cmd::attribute;
use crate::exit::Exit;
use crate::experiment::beginning::Beginning;
use crate::experiment::conduct;
use crate::experiment::progress::{Audience, Progress, Telling};
use crate::experiment::recorder::{Recorder, Rows};
use crate::experiment::report::ReportFiles;
use crate::experiment::rounds::so_far_text;
use crate::interrupt::Interrupt;
use crate::paths;
use crate::stderr::message;
use hugewise_base::units::bytes_text;

/// More rounds only where they are asked for.
const MOST_ROUNDS: u32 = 400;

/// A record with the reason of its end.
#[derive(Debug)]
pub(super) struct Ended {
    recorder: Recorder,
    reason: StopReason,
    /// Pages that are not as they were found, in words.
    left: Vec<String>,
}

/// The processes of an experiment.
#[derive(Debug)]
pub(super) struct Cast<'a> {
    /// Those that are switched first.
    pub life: Life<'a>,
    /// The program that gives the next ones; `None` if they ran before the experiment.
    pub program: Option<Program<'a>>,
}

/// Calibrates, and measures until the end.
pub(super) fn run(
    root: &Root,
    mut cast: Cast<'_>,
    arguments: &Arguments,
    stop: &Interrupt,
) -> Result<Ended> {
    let began = Instant::now();
    let seed = arguments.seed.unwrap_or_else(unix_ms);
    let times = cast.calibrated(root, arguments, seed, stop)?;
    let Cast { life, program } = cast;
    let plan = Plan {
        verdict_metric: verdict_metric(program.as_ref()).name().to_owned(),
        ..plan(&life, arguments, times, seed)
    };
    tell(&life, &plan, arguments);
    let header = conduct::header(paths::host(root)?, plan.clone(), live_realisations(&plan));
    let mut recorder = Beginning::New(header).recorder(arguments.out.as_deref())?;
    let audience = match arguments.output.quiet {
        true => Audience::Nobody,
        false => Audience::of_stderr(),
    };
    let progress = Progress::begin(audience, Telling::Rows);
    let parts = (life, program);
    let until = began + arguments.max_time();
    let mut rounds = Rounds::new(root, parts, arguments, (&plan, until), stop, &progress);
    let reason = rounds.all(&plan, &mut recorder);
    progress.finish();
    let left = rounds.end();
    let reason = match reason {
        Ok(reason) => reason,
        Err(error) => {
            let (_, _) = recorder.abandon(anyhow::anyhow!("{error:#}"));
            return Err(error);
        }
    };
    if recorder.is_empty() {
        recorder.discard();
        return Err(match reason {
            StopReason::ProcessEnded => halted(&Halt::Ended),
            StopReason::MemoryShort => {
                crate::exit::refused("nothing was measured: free memory ran short")
            }
            _ => halted(&Halt::Interrupted),
        });
    }
    Ok(Ended {
        recorder,
        reason,
        left,
    })
}

impl Cast<'_> {
    /// Sets the times by the first seconds, those of the next start if a program ends too soon.
    fn calibrated(
        &mut self,
        root: &Root,
        arguments: &Arguments,
        seed: u64,
        stop: &Interrupt,
    ) -> Result<Times> {
        loop {
            let times = calibrated(root, &mut self.life, arguments, seed, stop);
            match &mut self.program {
                Some(program) if times.is_err() && !self.life.session.lives() => {
                    self.life.session.end();
                    let life = program.next(self.life.session.most(), arguments)?;
                    self.life = life.ok_or_else(|| halted(&Halt::Interrupted))?;
                }
                _ => return times,
            }
        }
    }
}

/// Sets the times by the first seconds, and leaves out the blocks that there is no time for.
pub(super) fn calibrated(
    root: &Root,
    life: &mut Life<'_>,
    arguments: &Arguments,
    seed: u64,
    stop: &Interrupt,
) -> Result<Times> {
    let began = Instant::now();
    let calibration = calibrate::calibrate(
        root,
        &life.unit,
        &mut life.sources.work,
        &mut life.session,
        stop,
    );
    let (calibration, longest) = calibration.map_err(|halt| halted(&halt))?;
    warn_of_stalls(longest, arguments);
    life.session.refresh()?;
    if life.session.blocks() == 0 {
        return Err(crate::exit::refused(format!(
            "no block of {} can be switched there and back: {}",
            life.unit.name(),
            life.session.reasons()
        )));
    }
    let total = arguments.max_time().saturating_sub(began.elapsed());
    let least = life.sources.work.least_period();
    let period = arguments.period.or_else(|| life.period(&calibration));
    let order = sites::order(life.session.sites());
    let times = times(&calibration, order, total, least, period);
    let switching = times.share * calibration.of_a_period(order);
    sites::check_time(life.session.sites(), times, switching, total)?;
    if times.share < 1.0 {
        let thinned = life.session.thin(times.share, seed);
        thinned.map_err(|halt| halted(&halt))?;
    }
    life.session.settle();
    Ok(times)
}

/// Closes the record and reports it.
pub(super) fn report(ended: Ended, arguments: &Arguments) -> Result<Exit> {
    let Ended {
        recorder,
        reason,
        left,
    } = ended;
    let path: PathBuf = recorder.path().to_owned();
    let (record, trouble) = recorder.finish(End {
        reason,
        ended_unix_ms: unix_ms(),
        left_behind: left,
    });
    if let Some(error) = trouble {
        return Err(error);
    }
    let files = ReportFiles {
        page: Some(&arguments.page),
        ..ReportFiles::default()
    };
    let judged = match attribute::is_design(&record) {
        true => sites::report(&record, reason, &path, arguments)?,
        false => conduct::show(&record, &path, &arguments.demands, files, &arguments.output)?,
    };
    Ok(exit_of(&record, reason, judged))
}

fn exit_of(record: &Record, reason: StopReason, judged: Exit) -> Exit {
    match reason {
        StopReason::Interrupted => Exit::Interrupted,
        StopReason::ProcessEnded | StopReason::Guarded | StopReason::MemoryShort => {
            Exit::TrialFailed
        }
        _ if record.trials.is_empty() => Exit::TrialFailed,
        _ => judged,
    }
}

/// The plan of the periods in a life.
pub(super) fn plan(life: &Life<'_>, arguments: &Arguments, times: Times, seed: u64) -> Plan {
    let Life {
        unit,
        sources,
        session,
        ..
    } = life;
    let policies = sites::policies(session.sites());
    let max_rounds = arguments.max_rounds.unwrap_or(MOST_ROUNDS);
    Plan {
        command: unit.command.clone(),
        shell: false,
        programs: Vec::new(),
        baseline: policies[0].name.clone(),
        policies,
        not_tried: None,
        seed,
        bounds: Bounds {
            threshold: arguments.threshold.unwrap_or(0.01),
            precision: None,
            warmup_rounds: 0,
            min_rounds: match session.sites() {
                [] => 1,
                // A design that stops depending on its data has different error rates.
                _ => max_rounds.saturating_add(1),
            },
            max_rounds,
            max_time: Some(arguments.max_time()),
            least_rounds: sites::least_rounds(session.sites()),
        },
        verdict_metric: LiveMetric::CpuWorkPerSecond.name().to_owned(),
        // A single period may meet anything that the load does; the usual one is the question.
        judge_by: JudgeBy::Typical,
        printed: Vec::new(),
        bench: None,
        latency: None,
        service: None,
        fragment: None,
        host_memory: HostMemory::AsIs,
        blocks: Blocks::Even,
        live: Some(Live {
            // Those of a program that is started again differ from start to start.
            pids: match life.start {
                Some(_) => Vec::new(),
                None => unit.pids(),
            },
            cgroup: unit.cgroup.clone(),
            work: WorkOfPlan {
                source: sources.work.source().to_string(),
                unit: sources.work.source().unit(),
            },
            latency: sources.latency.as_ref().map(|it| it.source().to_string()),
            period_seconds: times.period,
            settle_seconds: times.settle,
            huge_page_bytes: unit.huge_bytes,
            blocks: session.blocks(),
            found_huge: session.found_huge(),
            left_out: session.left_out(),
            skipped: session.skipped(),
            max_stall_seconds: arguments.max_stall().as_secs_f64(),
        }),
    }
}

/// The metric that decides. A program that is started again works through the same input.
fn verdict_metric(program: Option<&Program<'_>>) -> LiveMetric {
    match program {
        Some(_) => LiveMetric::SameInputPerSecond,
        None => LiveMetric::CpuWorkPerSecond,
    }
}

/// A block may take so many times the limit before it is worth a line.
const WORTH_A_LINE: u32 = 3;

/// Warns if a block takes much longer than allowed, which no smaller call avoids.
fn warn_of_stalls(longest: Duration, arguments: &Arguments) {
    let limit = arguments.max_stall();
    if longest > limit * WORTH_A_LINE {
        arguments.message(format_args!(
            "a block took {:.1} ms, longer than --max-stall {:.1} ms: each call waits for all processors, and they \
             are busy",
            longest.as_secs_f64() * 1e3,
            limit.as_secs_f64() * 1e3
        ));
    }
}

/// Prints the switched memory and the times.
fn tell(life: &Life<'_>, plan: &Plan, arguments: &Arguments) {
    let Some(live) = &plan.live else { return };
    let bytes = |blocks: u64| bytes_text(blocks * live.huge_page_bytes);
    let left_out = match live.left_out {
        0 => String::new(),
        left => format!(" ({} left out to save time)", bytes(left)),
    };
    arguments.message(format_args!(
        "{}: switching {}{left_out}; periods of {:.2} s, {:.0} ms after each switch; Ctrl-C ends it and puts the \
         pages back",
        life.unit.name(),
        bytes(live.blocks),
        live.period_seconds,
        live.settle_seconds * 1e3,
    ));
    for site in life.session.sites() {
        let line = sites::line(site, live.huge_page_bytes);
        arguments.message(format_args!("  {line}"));
    }
}

/// The rounds of periods.
pub(super) struct Rounds<'a, 'b> {
    root: &'a Root,
    life: Life<'b>,
    program: Option<Program<'b>>,
    arguments: &'a Arguments,
    /// The courses of the runs of the program.
    courses: Courses,
    /// Periods that the end of the program cut since the last whole round.
    cut: u32,
    /// Pages that are not as they were found, in words.
    left: Vec<String>,
    lengths: Lengths,
    until: Instant,
    measuring: Instant,
    stop: &'a Interrupt,
    progress: &'a Progress,
}

impl<'a, 'b> Rounds<'a, 'b> {
    /// Prepares rounds of a plan until a time, in a life and in those that a program gives next.
    pub(super) fn new(
        root: &'a Root,
        (life, program): (Life<'b>, Option<Program<'b>>),
        arguments: &'a Arguments,
        (plan, until): (&Plan, Instant),
        stop: &'a Interrupt,
        progress: &'a Progress,
    ) -> Self {
        let seconds = |of: fn(&Live) -> f64| {
            let seconds = plan.live.as_ref().map_or(0.0, of);
            Duration::from_secs_f64(seconds)
        };
        Self {
            root,
            life,
            program,
            arguments,
            courses: Courses::default(),
            cut: 0,
            left: Vec::new(),
            lengths: Lengths {
                settle: seconds(|it| it.settle_seconds),
                period: seconds(|it| it.period_seconds),
            },
            until,
            measuring: Instant::now(),
            stop,
            progress,
        }
    }

    /// Measures rounds after those of the record, until it is decided or the time is over.
    pub(super) fn all(&mut self, plan: &Plan, rows: &mut impl Rows) -> Result<StopReason> {
        let first = rows.record().next_round();
        for round in first..plan.bounds.max_rounds {
            if let Some(reason) = self.round(plan, round, rows)? {
                return Ok(reason);
            }
            if !has_grown(rows.record()) {
                return Err(self.no_growth());
            }
            let left = self.rounds_left(round, first, plan);
            let so_far = compare::progress(rows.record(), left).map_err(crate::exit::usage)?;
            for removal in so_far.drops.clone() {
                rows.remove(removal);
            }
            if let Some(reason) = so_far.stop {
                return Ok(reason);
            }
            let is_due = |least: u32| round + 1 < least;
            if left == 0 && !plan.bounds.least_rounds.is_some_and(is_due) {
                return Ok(StopReason::MaxTime);
            }
            self.tell_so_far(rows.record())?;
        }
        Ok(StopReason::MaxRounds)
    }

    /// Measures one round, in processes that live through all of it. Returns the reason why no other follows, if there
    /// is one.
    fn round(
        &mut self,
        plan: &Plan,
        round: u32,
        rows: &mut impl Rows,
    ) -> Result<Option<StopReason>> {
        loop {
            let mut measured = Vec::new();
            let next = rows.next_index();
            let record = rows.record();
            let slots = plan.round(round, |policy| record.is_run(policy, round));
            let ended = self.periods(plan, round, (slots, next), &mut measured);
            if ended == Some(StopReason::ProcessEnded) && self.program.is_some() {
                // The one that was cut counts too.
                self.cut += measured.len() as u32 + 1;
                match self.renew(plan)? {
                    None => continue,
                    reason => return Ok(reason),
                }
            }
            self.keep(measured, rows);
            return Ok(ended);
        }
    }

    /// Measures the periods of a round. Returns the reason why they ended early, if they did.
    fn periods(
        &mut self,
        plan: &Plan,
        round: u32,
        (slots, next): (Vec<Slot>, u32),
        measured: &mut Vec<Trial>,
    ) -> Option<StopReason> {
        if self.life.session.refresh().is_err() {
            return Some(StopReason::ProcessEnded);
        }
        let count = slots.len();
        for (index, (position, slot)) in (next..).zip(slots.into_iter().enumerate()) {
            let policy = &plan.policies[slot.policy];
            let now = format!("period {} of {count}: {}", position + 1, policy.name);
            self.progress.now(
                Some(self.until.saturating_duration_since(Instant::now())),
                &now,
            );
            let place = Place {
                index,
                round,
                slot,
                policy: &policy.name,
                works: self.works(policy),
            };
            let trial = measure(
                self.root,
                &self.life.unit,
                &mut self.life.sources,
                &mut self.life.session,
                &place,
                self.lengths,
                self.stop,
            );
            let trial = match trial {
                Ok(trial) => trial,
                Err(halt) => return Some(reason(&halt)),
            };
            if self.life.is_idle() {
                return Some(StopReason::ProcessEnded);
            }
            let broken = self.life.guards.broken_by(&trial);
            measured.push(trial);
            if let Some((guard, value)) = broken {
                message(format_args!(
                    "ended by a guard: `{guard}`, and it is {value:.4}"
                ));
                return Some(StopReason::Guarded);
            }
        }
        None
    }

    /// Records the periods of a round, with the number of those that were cut before.
    fn keep(&mut self, measured: Vec<Trial>, rows: &mut impl Rows) {
        let cut = LiveMetric::CutTotal.name();
        for mut trial in measured {
            trial.start = self.life.start;
            if let Some(program) = &mut self.program {
                program.was_fruitful();
                same_input(&mut self.courses, &mut trial);
                let cut_before = Reading::of(f64::from(std::mem::take(&mut self.cut)));
                trial.readings.insert(cut.to_owned(), cut_before);
            }
            rows.push(trial);
        }
    }

    /// Goes on with the next processes of the program. Returns the reason why not, if there is one.
    fn renew(&mut self, plan: &Plan) -> Result<Option<StopReason>> {
        let blocks = plan.live.as_ref().map(|it| it.blocks);
        loop {
            self.left.extend(self.life.session.end());
            if Instant::now() >= self.until {
                return Ok(Some(StopReason::MaxTime));
            }
            let Some(program) = &mut self.program else {
                return Ok(Some(StopReason::ProcessEnded));
            };
            match program.next(blocks, self.arguments)? {
                Some(life) => self.life = life,
                None => return Ok(Some(StopReason::Interrupted)),
            }
            // Every period follows a switch, and so does the first.
            match self.life.session.make_all(Work::Split, self.stop.flag()) {
                Ok(_) => return Ok(None),
                Err(Halt::Ended) => {}
                Err(halt) => return Ok(Some(reason(&halt))),
            }
        }
    }

    /// Ends the program, and puts everything back. Returns what is not as it was found, in words.
    pub(super) fn end(mut self) -> Vec<String> {
        drop(self.program);
        self.left.extend(self.life.session.end());
        self.left
    }

    /// The error of a count that does not grow.
    fn no_growth(&self) -> anyhow::Error {
        crate::exit::usage(format!(
            "{} did not grow in a round, so there is nothing to compare; name another source with --work: \
             {SOURCE_FORMS}",
            self.life.sources.work.source()
        ))
    }

    /// The pages of each part of the memory under a policy; those of a placebo are small.
    fn works(&self, policy: &Policy) -> Vec<Work> {
        let work = |is_huge: bool| match is_huge && !self.arguments.placebo {
            true => Work::Collapse,
            false => Work::Split,
        };
        match &policy.settings.sites {
            None => vec![work(policy.name == HUGE)],
            Some(choice) => {
                let sites = self.life.session.sites().iter();
                sites.map(|it| work(choice.has(it.site))).collect()
            }
        }
    }

    /// How many more rounds there is time for, after `round`.
    fn rounds_left(&self, round: u32, first: u32, plan: &Plan) -> u32 {
        let done = round + 1;
        let round = self.measuring.elapsed() / (done - first);
        let left = self.until.saturating_duration_since(Instant::now());
        let fit = left.as_secs_f64() / round.as_secs_f64().max(1e-3);
        (fit as u32).min(plan.bounds.max_rounds - done)
    }

    fn tell_so_far(&self, record: &Record) -> Result<()> {
        let left = Some(self.until.saturating_duration_since(Instant::now()));
        self.progress.round_over(left, || {
            let rows = match self.life.session.sites() {
                [] => compare::running(record).map_err(crate::exit::usage)?,
                // A row of a design is no answer.
                _ => Vec::new(),
            };
            Ok(so_far_text(record.compared_rounds(), &rows))
        })
    }
}

/// Adds the rate of work that earlier runs make comparable between the places of the input, and keeps this period for
/// later runs.
fn same_input(courses: &mut Courses, trial: &mut Trial) -> Option<()> {
    let run = trial.start?;
    let value = |metric: LiveMetric| trial.value(metric);
    let begin = value(LiveMetric::WorkBeginTotal)?;
    let end = value(LiveMetric::WorkEndTotal)?;
    courses.add(run, begin, value(LiveMetric::CpuBeginSeconds)?);
    courses.add(run, end, value(LiveMetric::CpuEndSeconds)?);
    let cost = courses.relative_cost(run, begin, end).unwrap_or(1.0);
    let rate = value(LiveMetric::CpuWorkPerSecond)? * cost;
    let name = LiveMetric::SameInputPerSecond.name().to_owned();
    trial.readings.insert(name, Reading::of(rate));
    Some(())
}

/// Returns true if work was counted in a period, or could not be counted.
fn has_grown(record: &Record) -> bool {
    let mut trials = record.trials.iter();
    trials.any(|trial| trial.value(LiveMetric::WorkPerSecond) != Some(0.0))
}

fn reason(halt: &Halt) -> StopReason {
    match halt {
        Halt::Interrupted => StopReason::Interrupted,
        Halt::Ended => StopReason::ProcessEnded,
        Halt::Short(short) => {
            message(format_args!("ended early: {short}"));
            StopReason::MemoryShort
        }
    }
}

//! Real experiments with known truth: the laboratory does a fixed amount of work. The policy, an environment variable,
//! adds an effect to it.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result};
use hugewise_experiment::run::compare::{Options, PolicyAnswer, Statistic, table};
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::stats::median;

use super::table::Table;
use crate::program;

/// The effect of a policy on the work of the laboratory.
struct Planted {
    /// The last part of the table's name.
    name: &'static str,
    title: &'static str,
    /// The value of the variable that produces it.
    value: &'static str,
    truth: Truth,
}

/// The truth of a planted effect.
#[derive(Clone, Copy)]
enum Truth {
    /// The factor on the work of every run.
    Every(f64),
    /// A factor on the work of a share of the runs.
    Rare { factor: f64, share: f64 },
}

const PLANTED: [Planted; 4] = [
    Planted {
        name: "same",
        title: "Real runs of the same work",
        value: "1",
        truth: Truth::Every(1.0),
    },
    Planted {
        name: "2-percent",
        title: "Real runs, 2 % more work",
        value: "1.02",
        truth: Truth::Every(1.02),
    },
    Planted {
        name: "5-percent",
        title: "Real runs, 5 % more work",
        value: "1.05",
        truth: Truth::Every(1.05),
    },
    Planted {
        name: "rare",
        title: "Real runs, three times the work in one run of ten",
        value: "3:10",
        truth: Truth::Rare {
            factor: 3.0,
            share: 0.1,
        },
    },
];

/// A table with its file name and title.
pub(super) type Named = (String, String, Table);

/// Runs `count` experiments with each effect, each for at most `max_time`, and compares their answers with the truth.
///
/// # Errors
/// The program does not build, a trial fails, or a report lacks a required value.
pub(super) fn tables(count: u32, max_time: &str) -> Result<impl Iterator<Item = Result<Named>>> {
    let program = program::build()?;
    let work = Work::measure(&program)?;
    let max_time = max_time.to_owned();
    Ok(PLANTED.into_iter().map(move |planted| {
        let table = planted.table(count, &program, &work, &max_time)?;
        let name = format!("real-{}", planted.name);
        let title = format!("{}, {:.1} ms", planted.title, work.seconds() * 1e3);
        Ok((name, title, table))
    }))
}

/// The intended work time of a run, in seconds.
const WORK_SECONDS: f64 = 0.05;

/// The work of one run.
struct Work {
    command: Vec<OsString>,
    /// The time of a run without work, in seconds: no effect is planted on this part.
    start_seconds: f64,
}

impl Work {
    /// Determines the number of steps that take [`WORK_SECONDS`] on this machine.
    fn measure(program: &Path) -> Result<Self> {
        const SAMPLE: usize = 20_000_000;
        let start_seconds = seconds(program, 0)?;
        let per_step = (seconds(program, SAMPLE)? - start_seconds) / SAMPLE as f64;
        Ok(Self {
            command: work(program, (WORK_SECONDS / per_step) as usize),
            start_seconds,
        })
    }

    /// A whole run.
    fn seconds(&self) -> f64 {
        WORK_SECONDS + self.start_seconds
    }

    /// Converts a factor on the work to a factor on the time of a whole run.
    fn ratio(&self, factor: f64) -> f64 {
        1.0 + (factor - 1.0) * WORK_SECONDS / self.seconds()
    }
}

fn work(program: &Path, steps: usize) -> Vec<OsString> {
    let lab = program.with_file_name("hugewise-lab");
    vec![
        lab.into(),
        "work".into(),
        "--steps".into(),
        steps.to_string().into(),
    ]
}

/// Returns the usual time of a number of steps, as an experiment measures it.
fn seconds(program: &Path, steps: usize) -> Result<f64> {
    let flags = [
        "--policy",
        "as-is",
        "--min-rounds",
        "20",
        "--max-rounds",
        "20",
    ];
    let record = program::record(program, &flags, &work(program, steps))?;
    let read = record.trials.iter().filter_map(|it| it.value(WALL));
    median(&read.collect::<Vec<_>>()).context("no wall time")
}

/// The evaluated metric.
const WALL: &str = "wall_seconds";

const HEAD: [&str; 7] = [
    "run",
    "rounds",
    "trials",
    "estimate",
    "95 % interval",
    "answer",
    "holds the truth",
];

impl Planted {
    fn table(&self, count: u32, program: &Path, work: &Work, max_time: &str) -> Result<Table> {
        let policy = format!("env.HUGEWISE_LAB_WORK={}", self.value);
        let flags = [
            "--policy",
            "as-is",
            "--policy",
            &policy,
            "--max-time",
            max_time,
        ];
        let mut runs = Vec::new();
        for nth in 1..=count {
            let record = program::record(program, &flags, &work.command)?;
            let run = Run::of(&record, &policy, self.truth)?;
            eprintln!("{}, {nth} of {count}: {}", self.name, name(run.answer));
            runs.push(run);
        }
        let truth = self.truth.ratio(work);
        let row =
            |(nth, run): (usize, &Run)| [vec![(nth + 1).to_string()], run.cells(truth)].concat();
        let rows = runs.iter().enumerate().map(row).collect();
        let number = |is: &dyn Fn(&Run) -> bool| runs.iter().filter(|&run| is(run)).count();
        let wrong = number(&|run| run.is_false(self.truth));
        let found = number(&|run| run.finds(self.truth));
        let holds = number(&|run| run.holds(truth) == Some(true));
        let intervals = number(&|run| run.holds(truth).is_some());
        Ok(Table {
            head: HEAD.to_vec(),
            rows,
            sum: format!(
                "{} False claims: {wrong} of {count}; found: {found} of {count}; intervals that hold \
                 the truth: {holds} of {intervals}.",
                self.truth.sentence(work),
            ),
        })
    }
}

impl Truth {
    /// Returns the true value of the estimate.
    fn ratio(self, work: &Work) -> f64 {
        match self {
            Self::Every(factor) => work.ratio(factor),
            Self::Rare { factor, share } => work.ratio(1.0 + share * (factor - 1.0)),
        }
    }

    fn sentence(self, work: &Work) -> String {
        let more = (self.ratio(work) - 1.0) * 100.0;
        match self {
            Self::Every(factor) if factor <= 1.0 => "Nothing truly differs.".to_owned(),
            Self::Every(_) => format!("Each run truly takes {more:.2} % longer."),
            Self::Rare { .. } => format!(
                "The mean run truly takes {more:.2} % longer, and the estimates are those of the mean."
            ),
        }
    }
}

/// The result of one experiment about the planted effect.
struct Run {
    rounds: u32,
    trials: usize,
    answer: PolicyAnswer,
    estimate: Option<f64>,
    interval: Option<(f64, f64)>,
    /// The share of slow runs that the answer does not exclude.
    slow_at_most: Option<f64>,
}

impl Run {
    fn of(record: &Record, policy: &str, truth: Truth) -> Result<Self> {
        let table = table(record, &Options::default())?;
        let mut rows = table.comparisons.iter();
        let row = rows
            .find(|row| row.metric == WALL && row.statistic == Statistic::Center)
            .context("the wall time was not compared")?;
        let answer = table.verdict.policies.get(policy);
        let runs = table.verdict.runs.get(policy);
        let (estimate, low, high) = match (truth, runs) {
            (Truth::Every(_), _) => (row.ratio, row.low, row.high),
            (Truth::Rare { .. }, Some(runs)) => (runs.mean, runs.mean_low, runs.mean_high),
            (Truth::Rare { .. }, None) => (None, None, None),
        };
        Ok(Self {
            rounds: row.n,
            trials: record.trials.len(),
            answer: *answer.context("no answer")?,
            estimate,
            interval: low.zip(high),
            slow_at_most: runs.map(|runs| runs.worse_at_most),
        })
    }

    /// Returns true if the answer is false.
    fn is_false(&self, truth: Truth) -> bool {
        match (self.answer, truth) {
            (PolicyAnswer::Better, _) => true,
            (
                PolicyAnswer::Worse | PolicyAnswer::Mixed | PolicyAnswer::RarelyWorse,
                Truth::Every(factor),
            ) if factor <= 1.0 => true,
            (
                PolicyAnswer::Mixed | PolicyAnswer::RarelyWorse | PolicyAnswer::NoDifference,
                Truth::Every(factor),
            ) => factor > 1.0,
            (PolicyAnswer::NoDifference, Truth::Rare { share, .. }) => {
                self.slow_at_most.is_some_and(|most| most < share)
            }
            _ => false,
        }
    }

    /// Returns true if the answer names the effect.
    fn finds(&self, truth: Truth) -> bool {
        match truth {
            Truth::Every(factor) if factor <= 1.0 => self.answer == PolicyAnswer::NoDifference,
            Truth::Every(_) => self.answer == PolicyAnswer::Worse,
            Truth::Rare { .. } => matches!(
                self.answer,
                PolicyAnswer::Worse | PolicyAnswer::Mixed | PolicyAnswer::RarelyWorse
            ),
        }
    }

    /// Returns true if the interval contains the truth; `None` without an interval.
    fn holds(&self, truth: f64) -> Option<bool> {
        self.interval
            .map(|(low, high)| low <= truth && truth <= high)
    }

    fn cells(&self, truth: f64) -> Vec<String> {
        let interval = |(low, high)| format!("{} to {}", percent(low), percent(high));
        let holds = |holds| if holds { "yes" } else { "no" };
        let none = || "~".to_owned();
        vec![
            self.rounds.to_string(),
            self.trials.to_string(),
            self.estimate.map_or_else(none, percent),
            self.interval.map_or_else(none, interval),
            name(self.answer).to_owned(),
            self.holds(truth)
                .map_or_else(none, |it| holds(it).to_owned()),
        ]
    }
}

/// Returns the name of an answer in the tables.
fn name(answer: PolicyAnswer) -> &'static str {
    match answer {
        PolicyAnswer::Better => "better",
        PolicyAnswer::Worse => "worse",
        PolicyAnswer::Mixed => "mixed",
        PolicyAnswer::RarelyWorse => "worse in rare runs",
        PolicyAnswer::NoDifference => "no_difference",
        PolicyAnswer::DependsOnOrder => "depends_on_order",
        PolicyAnswer::NoEffect => "no_effect",
        PolicyAnswer::NotDecided => "not_decided",
    }
}

/// Returns the excess of a ratio over one, in percent.
fn percent(ratio: f64) -> String {
    format!("{:+.2} %", (ratio - 1.0) * 100.0)
}

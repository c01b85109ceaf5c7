//! How often the statistics err, on simulated noise whose truth is known.
//!
//! Nothing is re-implemented here: the order of trials comes from `Plan::round`, the decision
//! to stop from `compare::progress`, the answer from `compare::table`.

use std::ffi::OsString;
use std::num::NonZero;
use std::path::PathBuf;
use std::thread;

use anyhow::{Result, anyhow};
use clap::Args;
use hugewise_model::run::compare::Statistic;
use hugewise_model::run::stats::Quantile;

mod experiment;
mod noise;
mod real;
mod table;

use experiment::{Outcomes, Scenario};
use noise::Noise;
use table::Table;

/// Arguments of `calibrate`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Simulated experiments per cell.
    #[arg(long, default_value_t = 2000)]
    experiments: u32,
    /// Policies in each experiment, the baseline included.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(2..=16))]
    policies: u8,
    /// First look.
    #[arg(long, default_value_t = 10)]
    min_rounds: u32,
    /// Last look.
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..))]
    max_rounds: u32,
    /// Real A/A experiments after the simulated ones; 0 leaves them out.
    #[arg(long, default_value_t = 20)]
    real: u32,
    /// The policy that the real experiments try twice.
    #[arg(long, default_value = "as-is")]
    policy: String,
    /// Also write each table into this folder, as Markdown and CSV.
    #[arg(long, value_name = "FOLDER")]
    write: Option<PathBuf>,
    /// The program of the real experiments [default: sort -n of a million numbers]
    #[arg(trailing_var_arg = true)]
    command: Vec<OsString>,
}

/// The practical threshold that users get by default.
const THRESHOLD: f64 = 0.01;

/// Runs every scenario and prints the tables in Markdown.
///
/// # Errors
/// When the statistics refuse a simulated record, which would be a fault of this program; when a
/// table cannot be written.
pub fn run(arguments: &Arguments) -> Result<()> {
    if arguments.experiments > 0 {
        let table = simulated(arguments)?;
        arguments.publish(&table, "simulated", "Simulated experiments")?;
    }
    if arguments.real > 0 {
        let real = real::run(arguments.real, &arguments.policy, &arguments.command)?;
        let title = format!("Real A/A runs of `{}`, {}", real.command, arguments.policy);
        arguments.publish(&real.table, &format!("aa-{}", real.program), &title)?;
    }
    Ok(())
}

impl Arguments {
    /// Prints a table, and writes it where that is asked for.
    fn publish(&self, table: &Table, name: &str, title: &str) -> Result<()> {
        println!("{}", table.markdown());
        match &self.write {
            Some(folder) => table.write(folder, name, title),
            None => Ok(()),
        }
    }
}

/// Every noise, in a row each.
fn simulated(arguments: &Arguments) -> Result<Table> {
    let rows = Noise::ALL.into_iter().map(|noise| row(arguments, noise));
    Ok(Table {
        head: HEAD.to_vec(),
        rows: rows.collect::<Result<_>>()?,
        sum: format!("{} experiments for each cell.", arguments.experiments),
    })
}

const HEAD: [&str; 12] = [
    "noise of one trial",
    "A/A, threshold 0: different",
    "A/A: different",
    "A/A, threshold 0: tail different",
    "A/A: control failed",
    "3 %: in the interval",
    "3 %: p95 in its interval",
    "3 %: found",
    "3 %: called no difference",
    "3 %: rounds",
    "10 %: found",
    "10 %: rounds",
];

/// One row of the table.
fn row(arguments: &Arguments, noise: Noise) -> Result<Vec<String>> {
    let tally = |effect, threshold| {
        let scenario = Scenario {
            noise,
            effect,
            threshold,
            policies: usize::from(arguments.policies),
            min_rounds: arguments.min_rounds,
            max_rounds: arguments.max_rounds,
        };
        Tally::of(scenario, arguments.experiments)
    };
    let (strict, none) = (tally(0.0, 0.0)?, tally(0.0, THRESHOLD)?);
    let (small, large) = (tally(0.03, THRESHOLD)?, tally(0.10, THRESHOLD)?);
    let percent = |share: f64| format!("{share:.1} %");
    let rounds = |tally: Tally| format!("{:.1}", tally.mean_rounds());
    Ok(vec![
        noise.label().to_owned(),
        percent(strict.percent(strict.changed)),
        percent(none.percent(none.different)),
        percent(strict.percent(strict.tail_changed)),
        percent(none.percent(none.control_failed)),
        percent(small.percent(small.covered)),
        percent(100.0 * f64::from(small.tail_covered) / f64::from(small.tails)),
        percent(small.percent(small.different)),
        percent(small.percent(small.same)),
        rounds(small),
        percent(large.percent(large.different)),
        rounds(large),
    ])
}

/// What came out of many experiments of one scenario.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    experiments: u32,
    /// The verdict was better or worse.
    different: u32,
    /// The comparison was higher or lower, whatever the control said.
    changed: u32,
    same: u32,
    covered: u32,
    control_failed: u32,
    tail_changed: u32,
    /// Experiments with an interval for the 95th percentile.
    tails: u32,
    tail_covered: u32,
    rounds: u32,
}

impl Tally {
    /// Runs `experiments` of them, on all processors. Each has its own seed, so the sum does
    /// not depend on how many processors there are.
    fn of(scenario: Scenario, experiments: u32) -> Result<Self> {
        let threads = thread::available_parallelism().map_or(1, NonZero::get) as u32;
        let part = |first: u32| -> Result<Self> {
            let mut tally = Self::default();
            for seed in (first..experiments).step_by(threads as usize) {
                tally.count(scenario, &scenario.run(u64::from(seed) + 1)?);
            }
            Ok(tally)
        };
        thread::scope(|scope| {
            let parts: Vec<_> = (0..threads)
                .map(|first| scope.spawn(move || part(first)))
                .collect();
            parts.into_iter().try_fold(Self::default(), |sum, part| {
                Ok(sum.plus(
                    part.join()
                        .map_err(|_| anyhow!("a simulation panicked"))??,
                ))
            })
        })
    }

    fn count(&mut self, scenario: Scenario, outcomes: &Outcomes) {
        self.experiments += 1;
        let ratio = 1.0 + scenario.effect;
        let tails = [Quantile::P95, Quantile::Max].map(Statistic::Quantile);
        let tail = outcomes.covers(tails[0], ratio);
        self.different += u32::from(outcomes.is_different());
        self.changed += u32::from(outcomes.changed(&[Statistic::Center]));
        self.same += u32::from(outcomes.is_same());
        self.covered += u32::from(outcomes.covers(Statistic::Center, ratio) == Some(true));
        self.control_failed += u32::from(outcomes.control_failed());
        self.tail_changed += u32::from(outcomes.changed(&tails));
        self.tails += u32::from(tail.is_some());
        self.tail_covered += u32::from(tail == Some(true));
        self.rounds += outcomes.rounds;
    }

    fn plus(self, other: Self) -> Self {
        Self {
            experiments: self.experiments + other.experiments,
            different: self.different + other.different,
            changed: self.changed + other.changed,
            same: self.same + other.same,
            covered: self.covered + other.covered,
            control_failed: self.control_failed + other.control_failed,
            tail_changed: self.tail_changed + other.tail_changed,
            tails: self.tails + other.tails,
            tail_covered: self.tail_covered + other.tail_covered,
            rounds: self.rounds + other.rounds,
        }
    }

    fn percent(&self, count: u32) -> f64 {
        100.0 * f64::from(count) / f64::from(self.experiments)
    }

    fn mean_rounds(&self) -> f64 {
        f64::from(self.rounds) / f64::from(self.experiments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPERIMENTS: u32 = 200;

    /// 5 % of 200 is 10; a binomial count exceeds 22 with a probability below 1 in 2,000.
    const MOST_ERRORS: u32 = 22;

    fn tally(noise: Noise, effect: f64, threshold: f64) -> Tally {
        let scenario = Scenario {
            noise,
            effect,
            threshold,
            policies: 2,
            min_rounds: 8,
            max_rounds: 16,
        };
        Tally::of(scenario, EXPERIMENTS).expect("simulated records are sound")
    }

    #[test]
    fn no_noise_makes_a_difference_out_of_nothing() {
        for noise in Noise::ALL {
            let tally = tally(noise, 0.0, 0.0);
            assert!(tally.changed <= MOST_ERRORS, "{noise:?}: {tally:?}");
            assert!(tally.tail_changed <= MOST_ERRORS, "{noise:?}: {tally:?}");
            assert!(tally.control_failed <= MOST_ERRORS, "{noise:?}: {tally:?}");
        }
    }

    #[test]
    fn a_true_effect_is_covered_and_never_called_nothing() {
        for noise in Noise::ALL {
            let tally = tally(noise, 0.03, THRESHOLD);
            assert!(
                EXPERIMENTS - tally.covered <= MOST_ERRORS,
                "{noise:?}: {tally:?}"
            );
            assert!(tally.same <= MOST_ERRORS, "{noise:?}: {tally:?}");
        }
    }

    #[test]
    fn a_large_effect_is_found_at_the_first_look() {
        let tally = tally(Noise::Independent, 0.10, THRESHOLD);
        assert!(tally.different >= EXPERIMENTS * 95 / 100, "{tally:?}");
        assert!(tally.mean_rounds() < 9.0, "{tally:?}");
    }
}

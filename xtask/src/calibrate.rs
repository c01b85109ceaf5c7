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
use hugewise_model::run::compare::Answer;

mod experiment;
mod noise;
mod peers;
mod real;
mod simulated;
mod table;

use experiment::{Outcomes, Scenario, Truth};
use table::Table;

/// Arguments of `calibrate`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Simulated experiments per cell.
    #[arg(long, default_value_t = 1000)]
    experiments: u32,
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
        for (name, title, table) in simulated::tables(arguments.experiments) {
            arguments.publish(&table?, name, title)?;
        }
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

/// What came out of many experiments of one scenario.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    experiments: u32,
    /// Experiments in which some policy was called better, worse or mixed.
    different: u32,
    better: u32,
    worse: u32,
    mixed: u32,
    /// Experiments in which some policy was called equivalent.
    same: u32,
    /// Of these, those that excluded more slow runs than there are.
    wrongly_same: u32,
    covered: u32,
    /// Experiments with an interval.
    intervals: u32,
    order: u32,
    trials: usize,
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
        use Answer::{Better, Mixed, NoDifference, Worse};
        let any = |answers: &[Answer]| u32::from(outcomes.count(answers) > 0);
        let (ratio, slow) = match scenario.truth {
            Truth::Shift(effect) => (Some(1.0 + effect), 0.0),
            Truth::Shape { share, .. } => (None, share),
            Truth::CarryOver { .. } => (None, 0.0),
        };
        let covers = ratio.and_then(|ratio| outcomes.covers(ratio));
        self.experiments += 1;
        self.different += any(&[Better, Worse, Mixed]);
        self.better += any(&[Better]);
        self.worse += any(&[Worse]);
        self.mixed += any(&[Mixed]);
        self.same += any(&[NoDifference]);
        let excluded = outcomes.unseen().is_some_and(|unseen| unseen < slow);
        self.wrongly_same += any(&[NoDifference]) * u32::from(excluded);
        self.covered += u32::from(covers == Some(true));
        self.intervals += u32::from(covers.is_some());
        self.order += u32::from(outcomes.order_matters());
        self.trials += outcomes.trials;
    }

    fn plus(self, other: Self) -> Self {
        Self {
            experiments: self.experiments + other.experiments,
            different: self.different + other.different,
            better: self.better + other.better,
            worse: self.worse + other.worse,
            mixed: self.mixed + other.mixed,
            same: self.same + other.same,
            wrongly_same: self.wrongly_same + other.wrongly_same,
            covered: self.covered + other.covered,
            intervals: self.intervals + other.intervals,
            order: self.order + other.order,
            trials: self.trials + other.trials,
        }
    }

    fn percent(&self, count: u32) -> f64 {
        100.0 * f64::from(count) / f64::from(self.experiments)
    }

    fn mean_trials(&self) -> f64 {
        self.trials as f64 / f64::from(self.experiments)
    }
}

#[cfg(test)]
mod tests {
    use super::noise::Noise;
    use super::*;

    const EXPERIMENTS: u32 = 100;

    /// 5 % of 100 is 5; a binomial count exceeds 13 with a probability below 1 in 2,000.
    const MOST_ERRORS: u32 = 13;

    fn tally(noise: Noise, truth: Truth) -> Tally {
        let scenario = Scenario {
            noise,
            truth,
            threshold: THRESHOLD,
            policies: 2,
            max_rounds: 20,
        };
        Tally::of(scenario, EXPERIMENTS).expect("simulated records are sound")
    }

    #[test]
    fn no_noise_makes_a_difference_out_of_nothing() {
        for noise in Noise::ALL {
            let tally = tally(noise, Truth::Shift(0.0));
            assert!(tally.different <= MOST_ERRORS, "{noise:?}: {tally:?}");
        }
    }

    #[test]
    fn a_true_effect_is_covered_and_never_called_nothing() {
        for noise in Noise::ALL {
            let tally = tally(noise, Truth::Shift(0.03));
            let missed = tally.intervals - tally.covered;
            assert!(missed <= MOST_ERRORS, "{noise:?}: {tally:?}");
            assert!(tally.same <= MOST_ERRORS, "{noise:?}: {tally:?}");
        }
    }

    #[test]
    fn rare_slow_runs_are_not_called_nothing() {
        let rare = Truth::Shape {
            usual: 1.0,
            share: 0.1,
            rare: 3.0,
        };
        let tally = tally(Noise::Independent, rare);
        assert!(tally.wrongly_same <= MOST_ERRORS, "{tally:?}");
    }

    #[test]
    fn a_large_effect_is_found_in_five_rounds_or_a_few_more() {
        let tally = tally(Noise::Independent, Truth::Shift(-0.25));
        assert!(tally.better >= EXPERIMENTS * 95 / 100, "{tally:?}");
        assert!(tally.mean_trials() <= 16.0, "{tally:?}");
    }
}

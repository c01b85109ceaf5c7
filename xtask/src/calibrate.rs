//! How often the statistics err, on simulated noise whose truth is known.
//!
//! Nothing is re-implemented here: the order of trials comes from `Plan::round`, the decision
//! to stop from `compare::progress`, the answer from `compare::table`.

use std::num::NonZero;
use std::path::PathBuf;
use std::thread;

use anyhow::{Result, anyhow};
use clap::Args;
use hugewise_experiment::run::compare::Answer;

mod experiment;
mod noise;
mod peers;
mod real;
mod requests;
mod simulated;
mod table;

use experiment::{Outcomes, Scenario, Truth};
use simulated::Simulated;
use table::Table;

/// Arguments of `calibrate`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Simulated experiments per cell.
    #[arg(long, default_value_t = 1000)]
    experiments: u32,
    /// Real experiments with each planted effect, after the simulated ones; 0 leaves them out.
    #[arg(long, default_value_t = 20)]
    real: u32,
    /// The longest that a real experiment may take.
    #[arg(long, default_value = "20s")]
    max_time: String,
    /// Also write each table into this folder, as Markdown and CSV.
    #[arg(long, value_name = "FOLDER")]
    write: Option<PathBuf>,
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
        for made in Simulated::new(arguments.experiments).tables() {
            let (name, title, table) = made?;
            arguments.publish(&table, name, title)?;
        }
        let requests = requests::table(arguments.experiments)?;
        arguments.publish(&requests, "requests", "Percentiles of requests")?;
    }
    if arguments.real > 0 {
        for made in real::tables(arguments.real, &arguments.max_time)? {
            let (name, title, table) = made?;
            arguments.publish(&table, &name, &title)?;
        }
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

/// Runs `experiments` simulations on all processors. Each has its own seed, so what comes out does
/// not depend on how many processors there are.
fn side_by_side<T: Send>(
    experiments: u32,
    simulation: impl Fn(u64) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get) as u32;
    let part = |first: u32| -> Result<Vec<T>> {
        let seeds = (first..experiments).step_by(threads as usize);
        seeds.map(|seed| simulation(u64::from(seed) + 1)).collect()
    };
    thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|first| scope.spawn(move || part(first)))
            .collect();
        let parts = parts
            .into_iter()
            .map(|part| part.join().map_err(|_| anyhow!("a simulation panicked"))?);
        Ok(parts
            .collect::<Result<Vec<_>>>()?
            .into_iter()
            .flatten()
            .collect())
    })
}

/// What came out of many experiments of one scenario.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    experiments: u32,
    /// Experiments in which some policy was called better, worse or mixed.
    different: u32,
    better: u32,
    worse: u32,
    /// Experiments that claimed the effect; any claim, where there is none.
    found: u32,
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
    fn of(scenario: Scenario, experiments: u32) -> Result<Self> {
        let mut tally = Self::default();
        for outcomes in side_by_side(experiments, |seed| scenario.run(seed))? {
            tally.count(scenario, &outcomes);
        }
        Ok(tally)
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
        self.found += match ratio {
            Some(ratio) if ratio > 1.0 => any(&[Worse]),
            _ => any(&[Better, Worse, Mixed]),
        };
        self.mixed += any(&[Mixed]);
        self.same += any(&[NoDifference]);
        let excluded = outcomes.unseen().is_some_and(|unseen| unseen < slow);
        self.wrongly_same += any(&[NoDifference]) * u32::from(excluded);
        self.covered += u32::from(covers == Some(true));
        self.intervals += u32::from(covers.is_some());
        self.order += u32::from(outcomes.order_matters());
        self.trials += outcomes.trials;
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
        // Five rounds of three trials, and up to four in which the baseline is told from itself.
        assert!(tally.mean_trials() <= 16.0 + 8.0, "{tally:?}");
    }
}

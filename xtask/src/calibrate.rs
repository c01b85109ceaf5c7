//! Measures how often the statistics err, on simulated noise with known truth.
//!
//! Nothing is re-implemented: the order of trials comes from `Plan::round`, the decision to stop from
//! `compare::progress`, the answer from `compare::table`.

use std::num::NonZero;
use std::path::PathBuf;
use std::thread;

use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum};
use hugewise_experiment::run::compare::PolicyAnswer;

mod experiment;
mod noise;
mod pages;
mod real;
mod requests;
mod rivals;
mod simulated;
mod table;
mod tools;
mod two_samples;

use experiment::{Outcomes, Scenario, Truth};
use simulated::Simulated;
use table::Table;

/// Arguments of `calibrate`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Only make this table; can be repeated. Without it, all tables are made.
    #[arg(long = "table", value_name = "NAME")]
    tables: Vec<Name>,
    /// Simulated experiments for each error rate.
    #[arg(long, default_value_t = 1000)]
    experiments: u32,
    /// Simulated experiments for each true effect.
    #[arg(long, default_value_t = 500)]
    power: u32,
    /// Real experiments with each planted effect.
    #[arg(long, default_value_t = 20)]
    real: u32,
    /// The time limit of a real experiment.
    #[arg(long, default_value = "20s")]
    max_time: String,
    /// Also write each table into this folder, as Markdown and CSV.
    #[arg(long, value_name = "FOLDER")]
    write: Option<PathBuf>,
}

/// A table by its name; the real experiments are four tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    Errors,
    Power,
    Trials,
    Peers,
    Shapes,
    Order,
    Requests,
    Real,
}

/// The number of experiments per cell.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    /// Those that count errors.
    errors: u32,
    /// Experiments with a true effect.
    power: u32,
}

/// The default practical threshold.
const THRESHOLD: f64 = 0.01;

/// Runs every scenario and prints the tables in Markdown.
///
/// # Errors
/// The statistics refuse a simulated record, which would be a bug in this program, or a table cannot be written.
pub fn run(arguments: &Arguments) -> Result<()> {
    let sizes = arguments.sizes();
    let mut simulated = Simulated::new(sizes);
    for page in pages::all() {
        if arguments.asks_for(page.name) {
            let table = simulated.table(&page)?;
            arguments.publish(&table, page.name.as_str(), page.title)?;
        }
    }
    if arguments.asks_for(Name::Requests) {
        let table = requests::table(sizes.power)?;
        arguments.publish(&table, "requests", "Percentiles of requests")?;
    }
    if arguments.asks_for(Name::Real) && arguments.real > 0 {
        for made in real::tables(arguments.real, &arguments.max_time)? {
            let (name, title, table) = made?;
            arguments.publish(&table, &name, &title)?;
        }
    }
    Ok(())
}

impl Name {
    /// Returns the base name of the files.
    fn as_str(self) -> &'static str {
        match self {
            Self::Errors => "errors",
            Self::Power => "power",
            Self::Trials => "trials",
            Self::Peers => "peers",
            Self::Shapes => "shapes",
            Self::Order => "order",
            Self::Requests => "requests",
            Self::Real => "real",
        }
    }
}

impl Arguments {
    fn sizes(&self) -> Sizes {
        Sizes {
            errors: self.experiments.max(1),
            power: self.power.max(1),
        }
    }

    fn asks_for(&self, name: Name) -> bool {
        self.tables.is_empty() || self.tables.contains(&name)
    }

    /// Prints a table, and writes it if requested.
    fn publish(&self, table: &Table, name: &str, title: &str) -> Result<()> {
        println!("{}", table.markdown());
        match &self.write {
            Some(folder) => table.write(folder, name, title),
            None => Ok(()),
        }
    }
}

/// Runs `experiments` simulations on all processors. Each has a separate seed, so the result does not depend on the
/// number of processors.
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

/// The results of many experiments of one scenario.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    experiments: u32,
    /// Experiments in which some policy was called better, worse, mixed or rarely worse.
    different: u32,
    better: u32,
    worse: u32,
    /// Experiments that claimed the effect; any claim, if there is no effect.
    found: u32,
    mixed: u32,
    rarely_worse: u32,
    /// Experiments in which some policy was called equivalent.
    same: u32,
    /// Those among them that excluded more slow runs than there are.
    wrongly_same: u32,
    covered: u32,
    /// Experiments with an interval.
    intervals: u32,
    order: u32,
    trials: usize,
    /// Trials until a direction was known, over the experiments that found one.
    until_shown: usize,
    shown: u32,
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
        use PolicyAnswer::{Better, Mixed, NoDifference, RarelyWorse, Worse};
        const CLAIMS: [PolicyAnswer; 4] = [Better, Worse, Mixed, RarelyWorse];
        let any = |answers: &[PolicyAnswer]| u32::from(outcomes.count(answers) > 0);
        let (ratio, slow) = match scenario.truth {
            Truth::Shift(effect) => (Some(1.0 + effect), 0.0),
            Truth::Shape { share, .. } => (None, share),
            Truth::CarryOver { .. } => (None, 0.0),
        };
        let covers = ratio.and_then(|ratio| outcomes.covers(ratio));
        self.experiments += 1;
        self.different += any(&CLAIMS);
        self.better += any(&[Better]);
        self.worse += any(&[Worse]);
        self.found += match ratio {
            Some(ratio) if ratio > 1.0 => any(&[Worse]),
            _ => any(&CLAIMS),
        };
        self.mixed += any(&[Mixed]);
        self.rarely_worse += any(&[RarelyWorse]);
        self.same += any(&[NoDifference]);
        let excluded = outcomes.unseen().is_some_and(|unseen| unseen < slow);
        self.wrongly_same += any(&[NoDifference]) * u32::from(excluded);
        self.covered += u32::from(covers == Some(true));
        self.intervals += u32::from(covers.is_some());
        self.order += u32::from(outcomes.order_matters());
        self.trials += outcomes.trials;
        self.until_shown += outcomes.shown_after.unwrap_or(0);
        self.shown += u32::from(outcomes.shown_after.is_some());
    }

    fn percent(&self, count: u32) -> f64 {
        100.0 * f64::from(count) / f64::from(self.experiments)
    }

    fn mean_trials(&self) -> f64 {
        self.trials as f64 / f64::from(self.experiments)
    }

    /// Returns the mean number of trials until a direction was known; `None` if it never was.
    fn mean_until_shown(&self) -> Option<f64> {
        (self.shown > 0).then(|| self.until_shown as f64 / f64::from(self.shown))
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
    fn a_large_effect_is_found_in_two_blocks_or_a_few_more() {
        let tally = tally(Noise::Independent, Truth::Shift(-0.25));
        assert!(tally.better >= EXPERIMENTS * 95 / 100, "{tally:?}");
        // Six and four trials, and sometimes one more block.
        assert!(tally.mean_trials() <= 14.0, "{tally:?}");
    }
}

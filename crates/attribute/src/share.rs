//! The share of each site in the whole effect.
//!
//! The response is the logarithm of the metric, so that multiplicative effects add up. The share of a site is the mean
//! over the rows with the site huge, minus the mean over the rows with it small. The noise is the variation of each row
//! between rounds, after the effect of the round is removed. An interaction is the same in each round, so it does not
//! count as noise.

use super::Design;
use hugewise_experiment::run::stats::student::Student;
use hugewise_experiment::run::stats::{ALPHA, holm};

/// The minimum number of rounds; fewer show no noise.
pub const FEWEST_ROUNDS: usize = 2;

/// A difference of logarithms with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The difference: −0.05 is about 5 % less.
    pub value: f64,
    /// Its interval.
    pub interval: (f64, f64),
}

impl Estimate {
    /// Returns true if the interval contains this value.
    #[must_use]
    pub fn covers(&self, value: f64) -> bool {
        (self.interval.0..=self.interval.1).contains(&value)
    }

    /// The estimate as a relative change: −0.05 is 5 % less.
    #[must_use]
    pub fn relative(&self) -> Self {
        Self {
            value: self.value.exp_m1(),
            interval: (self.interval.0.exp_m1(), self.interval.1.exp_m1()),
        }
    }
}

/// The share of one site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The effect of the site, with an interval at the level of Holm's correction.
    pub effect: Estimate,
    /// The p-value of no effect, after Holm's correction over the sites.
    pub p: f64,
    /// The p-value before the correction.
    pub own_p: f64,
}

impl Share {
    /// Returns true if an effect was shown.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.p <= ALPHA
    }
}

/// The results of a design.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    /// One for each site, in the order of the design.
    pub sites: Vec<Share>,
    /// Their sum.
    pub sum: Estimate,
    /// All sites huge against none, from those two rows.
    pub whole: Estimate,
    /// The sum less the whole: zero unless three sites or more interact.
    pub rest: Estimate,
    /// The noise of one run, as a standard deviation of the logarithm.
    pub noise: f64,
    /// The number of rounds used.
    pub rounds: usize,
}

impl Shares {
    /// Returns true if the shares add up to the whole, within the noise.
    #[must_use]
    pub fn is_separable(&self) -> bool {
        self.rest.covers(0.0)
    }
}

/// Computes the shares from complete rounds. `rounds` has the logarithm of the metric by round and row. `None` with
/// fewer than two rounds, or if a round lacks a row.
#[must_use]
pub fn shares(design: &Design, rounds: &[Vec<f64>]) -> Option<Shares> {
    let rows = design.rows().len();
    let is_whole = |round: &Vec<f64>| round.len() == rows && round.iter().all(|it| it.is_finite());
    if rounds.len() < FEWEST_ROUNDS || !rounds.iter().all(is_whole) {
        return None;
    }
    let responses = Responses::of(rounds, rows)?;
    let contrasts: Vec<Vec<f64>> = (0..design.sites()).map(|it| site(design, it)).collect();
    let p: Vec<f64> = contrasts.iter().map(|it| responses.p(it)).collect();
    let adjusted = holm(&p);
    let levels = levels(&p);
    let tests = adjusted.iter().zip(&p).zip(levels);
    let shares = contrasts.iter().zip(tests);
    let sites = shares.map(|(contrast, ((&p, &own_p), alpha))| Share {
        effect: responses.estimate(contrast, alpha),
        p,
        own_p,
    });
    let sum = summed(&contrasts, rows);
    let whole = whole(design);
    let rest: Vec<f64> = sum
        .iter()
        .zip(&whole)
        .map(|(sum, whole)| sum - whole)
        .collect();
    Some(Shares {
        sites: sites.collect(),
        sum: responses.estimate(&sum, ALPHA),
        whole: responses.estimate(&whole, ALPHA),
        rest: responses.estimate(&rest, ALPHA),
        noise: responses.noise,
        rounds: rounds.len(),
    })
}

/// The weights of the rows in the share of a site.
fn site(design: &Design, site: usize) -> Vec<f64> {
    let half = design.rows().len() as f64 / 2.0;
    let weight = |row: &Vec<bool>| if row[site] { 1.0 / half } else { -1.0 / half };
    design.rows().iter().map(weight).collect()
}

fn summed(contrasts: &[Vec<f64>], rows: usize) -> Vec<f64> {
    (0..rows)
        .map(|row| contrasts.iter().map(|it| it[row]).sum())
        .collect()
}

fn whole(design: &Design) -> Vec<f64> {
    let mut weights = vec![0.0; design.rows().len()];
    weights[Design::ALL] = 1.0;
    weights[design.none()] = -1.0;
    weights
}

/// The error level of each interval. Intervals of shown effects have the level at which Holm's steps accept them; all
/// others have the level of the step at which they ended. So an interval excludes zero if and only if the effect is
/// shown.
fn levels(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut levels = vec![ALPHA; p.len()];
    let mut ended = None;
    for (rank, &site) in order.iter().enumerate() {
        let level = ALPHA / (p.len() - rank) as f64;
        if p[site] > level {
            ended = ended.or(Some(level));
        }
        levels[site] = ended.unwrap_or(level);
    }
    levels
}

/// The responses by row.
#[derive(Debug)]
struct Responses {
    means: Vec<f64>,
    rounds: f64,
    noise: f64,
    student: Student,
}

impl Responses {
    fn of(rounds: &[Vec<f64>], rows: usize) -> Option<Self> {
        let (n, r) = (rows as f64, rounds.len() as f64);
        let of_round: Vec<f64> = rounds.iter().map(|it| it.iter().sum::<f64>() / n).collect();
        let of_row = |row: usize| rounds.iter().map(|it| it[row]).sum::<f64>() / r;
        let means: Vec<f64> = (0..rows).map(of_row).collect();
        let grand = means.iter().sum::<f64>() / n;
        let deviation = |round: usize, row: usize| {
            (rounds[round][row] - means[row] - of_round[round] + grand).powi(2)
        };
        let round = |round: usize| (0..rows).map(|row| deviation(round, row)).sum::<f64>();
        let squares = (0..rounds.len()).map(round).sum::<f64>();
        let freedom = (n - 1.0) * (r - 1.0);
        Some(Self {
            means,
            rounds: r,
            noise: (squares / freedom).sqrt(),
            student: Student::new(freedom)?,
        })
    }

    fn value(&self, weights: &[f64]) -> f64 {
        weights
            .iter()
            .zip(&self.means)
            .map(|(weight, mean)| weight * mean)
            .sum()
    }

    fn error(&self, weights: &[f64]) -> f64 {
        let squares = weights.iter().map(|it| it * it).sum::<f64>();
        self.noise * (squares / self.rounds).sqrt()
    }

    fn estimate(&self, weights: &[f64], alpha: f64) -> Estimate {
        let value = self.value(weights);
        let radius = self.error(weights) * self.student.quantile(1.0 - alpha / 2.0);
        Estimate {
            value,
            interval: (value - radius, value + radius),
        }
    }

    /// The two-sided p-value of no difference.
    fn p(&self, weights: &[f64]) -> f64 {
        let (value, error) = (self.value(weights).abs(), self.error(weights));
        match error > 0.0 {
            true => 2.0 * self.student.above(value / error),
            false => f64::from(u8::from(value == 0.0)),
        }
    }
}

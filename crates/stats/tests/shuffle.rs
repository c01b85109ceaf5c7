//! Statistics by the shuffle, checked for their error rates on noise with known truth. Seeds are fixed, so a failure is
//! a failure of the code.

use hugewise_stats::{Draw, Side, Sums, at_most, mean_ratio, shape};

/// The error of one end of an interval.
const ONE_SIDED: f64 = 0.025;
const EXPERIMENTS: u64 = 400;
/// 5 % of 400 is 20; a binomial count exceeds 36 with a probability below 1 in 2,000.
const MOST_ERRORS: usize = 36;
/// The same for 2.5 %.
const MOST_ONE_SIDED: usize = 22;

/// Noise that depends on the last trial and drifts, in running order.
struct Machine {
    random: fastrand::Rng,
    memory: f64,
    drift: f64,
}

impl Machine {
    fn new(seed: u64) -> Self {
        Self {
            random: fastrand::Rng::with_seed(seed),
            memory: 0.0,
            drift: 0.0,
        }
    }

    fn trial(&mut self) -> f64 {
        let plain = (0..12).map(|_| self.random.f64()).sum::<f64>() - 6.0;
        self.memory = 0.8 * self.memory + 0.02 * plain;
        self.drift += 0.001;
        self.memory + self.drift
    }

    /// Draws a round in shuffled order; `effect` is the policy's effect on a value.
    fn round(&mut self, effect: impl Fn(&mut fastrand::Rng, f64) -> f64) -> Draw {
        let mut order = [0, 1, 2];
        self.random.shuffle(&mut order);
        let mut values = [0.0; 3];
        for arm in order {
            values[arm] = self.trial();
        }
        let policy = effect(&mut self.random, values[0]);
        Draw::new(vec![policy], values[1..].to_vec()).expect("runs of both")
    }

    fn rounds(&mut self, n: usize, effect: impl Fn(&mut fastrand::Rng, f64) -> f64) -> Vec<Draw> {
        (0..n).map(|_| self.round(&effect)).collect()
    }
}

/// Counts the experiments that fail a test.
fn failures(fails: impl Fn(u64) -> bool) -> usize {
    (1..=EXPERIMENTS).filter(|&seed| fails(seed)).count()
}

#[test]
fn looking_after_every_round_errs_as_rarely_as_looking_once() {
    let wrong = failures(|seed| {
        let draws = Machine::new(seed).rounds(60, |_, value| value);
        let mut looks = (1..=draws.len()).map(|n| Sums::of(&draws[..n]));
        looks.any(|sums| {
            Side::BOTH
                .into_iter()
                .any(|side| sums.refutes(0.0, side, ONE_SIDED))
        })
    });
    assert!(wrong <= MOST_ERRORS, "{wrong}");
}

#[test]
fn the_interval_holds_the_shift_at_every_time() {
    let missed = failures(|seed| {
        let draws = Machine::new(seed).rounds(40, |_, value| value - 0.05);
        let interval = Sums::of(&draws).interval(ONE_SIDED);
        let (low, high) = interval.expect("forty rounds");
        !(low..=high).contains(&-0.05)
    });
    assert!(missed <= MOST_ERRORS, "{missed}");
}

#[test]
fn no_loss_is_seen_where_every_run_gains_however_unequally() {
    let gains = |random: &mut fastrand::Rng, value: f64| value - 0.3 * random.f64();
    let wrong = failures(|seed| {
        let draws = Machine::new(seed).rounds(60, gains);
        shape(&draws, 0.0).larger >= 40.0_f64.ln()
    });
    assert!(wrong <= MOST_ONE_SIDED, "{wrong}");
}

#[test]
fn gains_and_losses_are_both_seen_where_there_are_both() {
    let both = |random: &mut fastrand::Rng, value: f64| match random.f64() < 0.4 {
        true => value + 0.4,
        false => value - 0.3,
    };
    let missed = failures(|seed| {
        let shape = shape(&Machine::new(seed).rounds(40, both), 0.01);
        shape.larger < 40.0_f64.ln() || shape.smaller < 40.0_f64.ln()
    });
    assert!(missed <= EXPERIMENTS as usize / 5, "{missed}");
}

#[test]
fn a_bound_on_a_share_holds_at_every_time() {
    let wrong = failures(|seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        let hits: Vec<bool> = (0..60).map(|_| random.f64() < 0.2).collect();
        (1..=hits.len()).any(|n| at_most(&hits[..n], 0.05) < 0.2)
    });
    assert!(wrong <= MOST_ERRORS, "{wrong}");
    assert!(at_most(&[false; 14], 0.05) < 0.25);
    assert!(at_most(&[false; 12], 0.05) > 0.25);
    assert!(at_most(&[], 0.05) >= 1.0);
}

#[test]
fn the_mean_counts_rare_runs_that_the_usual_run_leaves_out() {
    let rare = |random: &mut fastrand::Rng, value: f64| match random.f64() < 0.2 {
        true => 0.8 * value.exp() * 2.0,
        false => 0.8 * value.exp(),
    };
    // True ratio of means: 0.8 (0.8 + 0.2 × 2) = 0.96.
    let missed = failures(|seed| {
        let draws = Machine::new(seed).rounds(40, rare);
        let seconds: Vec<Draw> = draws
            .iter()
            .map(|draw| {
                let baselines = draw.baselines().iter().map(|value| value.exp());
                Draw::new(draw.policies().to_vec(), baselines).expect("runs of both")
            })
            .collect();
        let mean = mean_ratio(&seconds, 0.05).expect("positive");
        let (low, high) = mean.interval.expect("forty rounds");
        !(low..=high).contains(&0.96)
    });
    assert!(missed <= MOST_ERRORS, "{missed}");
}

#[test]
fn an_interval_leaves_zero_out_where_zero_is_refuted() {
    let mut refuted = 0;
    for seed in 1..=EXPERIMENTS {
        // Effects around the smallest that this number of rounds can show.
        let effect = -0.03 - 0.0005 * (seed % 100) as f64;
        let draws = Machine::new(seed).rounds(12, |_, value| value + effect);
        let sums = Sums::of(&draws);
        let Some((low, high)) = sums.interval(ONE_SIDED) else {
            continue;
        };
        if sums.refutes(0.0, Side::Below, ONE_SIDED) {
            refuted += 1;
            assert!(high < 0.0, "seed {seed}: {low} to {high}");
        }
    }
    assert!(refuted > 50, "{refuted}");
}

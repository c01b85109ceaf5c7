//! Randomisation tests: the arms are redrawn by the rule that assigned them.

use std::collections::BTreeMap;

use super::estimate::Sample;

/// The minimum and the maximum number of draws of a randomisation test.
const DRAWS: [u32; 2] = [999, 99_999];

/// This many draws that reach the observed value are enough: the p-value is known, and large.
const ENOUGH: u32 = 50;

/// The draws needed for a claim at `level` among `family` claims. The smallest p-value is half of the corrected level.
#[must_use]
pub fn draws(level: f64, family: usize) -> u32 {
    let needed = 2.0 * family.max(1) as f64 / level;
    (needed.ceil() as u32).clamp(DRAWS[0], DRAWS[1])
}

/// The rule that assigned the arms.
pub trait Lot {
    /// Prepares the draws for a sample.
    fn over<'a>(&'a self, sample: &'a Sample) -> Draws<'a>;
}

/// Treatment of each unit of a sample, by draw number. The same number always gives the same draw.
pub type Draws<'a> = Box<dyn Fn(u32) -> Vec<bool> + 'a>;

/// The rule without a plan. The arms of a stratum are shuffled among its clusters, or among the units of a cluster if
/// it has both arms.
#[derive(Clone, Copy, Debug)]
pub struct Shuffle {
    /// Seed of the draws.
    pub seed: u64,
}

impl Lot for Shuffle {
    fn over<'a>(&'a self, sample: &'a Sample) -> Draws<'a> {
        let rooms = rooms(sample);
        Box::new(move |number| {
            let mut random = fastrand::Rng::with_seed(self.seed ^ (u64::from(number) << 32));
            let mut drawn = sample.treated.clone();
            for units in rooms.values() {
                shuffle(&mut drawn, units, &mut random);
            }
            drawn
        })
    }
}

/// Groups of units that are shuffled together and keep one arm: whole clusters by stratum, or single units by cluster
/// if a cluster has both arms.
fn rooms(sample: &Sample) -> BTreeMap<(usize, Option<usize>), Vec<Vec<usize>>> {
    let mut clusters: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for unit in 0..sample.value.len() {
        let key = (sample.stratum[unit], sample.cluster[unit]);
        clusters.entry(key).or_default().push(unit);
    }
    let is_mixed = |units: &Vec<usize>| {
        let first = sample.treated[units[0]];
        units.iter().any(|&unit| sample.treated[unit] != first)
    };
    let within = clusters.values().any(is_mixed);
    let mut rooms: BTreeMap<_, Vec<Vec<usize>>> = BTreeMap::new();
    for ((stratum, cluster), units) in clusters {
        match within {
            true => {
                let single = units.into_iter().map(|unit| vec![unit]);
                let room = rooms.entry((stratum, Some(cluster))).or_default();
                room.extend(single);
            }
            false => {
                let room = rooms.entry((stratum, None)).or_default();
                room.push(units);
            }
        }
    }
    rooms
}

fn shuffle(drawn: &mut [bool], groups: &[Vec<usize>], random: &mut fastrand::Rng) {
    let mut arms: Vec<bool> = groups.iter().map(|units| drawn[units[0]]).collect();
    random.shuffle(&mut arms);
    for (units, arm) in groups.iter().zip(arms) {
        for &unit in units {
            drawn[unit] = arm;
        }
    }
}

/// p-value of no effect on any unit. It is the share of draws with at least as large a ratio of effect and error,
/// including the observed draw (Phipson and Smyth). If it is not small, drawing ends before `draws` (Besag and
/// Clifford). `None` without an estimate.
#[must_use]
pub fn randomisation_p(sample: &Sample, lot: &dyn Lot, draws: u32) -> Option<f64> {
    let own = sample.estimate()?;
    let size = (own.effect / own.error).abs() * (1.0 - 1e-9);
    let (ground, draw) = (sample.ground(), lot.over(sample));
    let mut reached = 0;
    for number in 1..=draws {
        let other = sample.estimate_of(&draw(number), &ground);
        // A draw with an empty arm cannot be compared. It counts against the effect.
        let reaches = other.is_none_or(|other| (other.effect / other.error).abs() >= size);
        reached += u32::from(reaches);
        if reached == ENOUGH {
            return Some(f64::from(ENOUGH) / f64::from(number));
        }
    }
    Some(f64::from(reached + 1) / f64::from(draws + 1))
}

/// p-value of a zero mean of differences with random signs.
#[must_use]
pub fn sign_p(differences: &[f64], draws: u32, seed: u64) -> f64 {
    let own = differences.iter().sum::<f64>().abs() * (1.0 - 1e-9);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut reached = 0_u32;
    for _ in 0..draws {
        let signed = |it: &f64| if random.bool() { *it } else { -it };
        let sum: f64 = differences.iter().map(signed).sum();
        reached += u32::from(sum.abs() >= own);
    }
    f64::from(reached + 1) / f64::from(draws + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(of_each: usize, arm: impl Fn(usize, usize) -> bool) -> Sample {
        let mut sample = Sample::default();
        for host in 0..12 {
            for unit in 0..of_each {
                let treated = arm(host, unit);
                sample.unit.push(sample.unit.len());
                sample.treated.push(treated);
                let noise = (host * 7 + unit * 5) % 13;
                sample
                    .value
                    .push(noise as f64 * 0.1 + f64::from(u8::from(treated)) * 5.0);
                sample.past.push(None);
                sample.stratum.push(host % 2);
                sample.cluster.push(host);
            }
        }
        sample
    }

    #[test]
    fn a_draw_keeps_clusters_whole_and_counts_of_strata() {
        let sample = hosts(3, |host, _| host % 4 < 2);
        let drawn = Shuffle { seed: 1 }.over(&sample)(5);
        assert_ne!(drawn, sample.treated);
        for host in 0..12 {
            let arms = &drawn[host * 3..host * 3 + 3];
            assert!(arms.iter().all(|arm| *arm == arms[0]), "{drawn:?}");
        }
        for stratum in 0..2 {
            let count = |arms: &[bool]| {
                let own = |&unit: &usize| sample.stratum[unit] == stratum && arms[unit];
                (0..36).filter(own).count()
            };
            assert_eq!(count(&drawn), count(&sample.treated));
        }
    }

    #[test]
    fn a_clear_effect_is_beyond_all_draws_and_none_is_not() {
        for sample in [
            hosts(2, |host, _| host % 4 < 2),
            hosts(4, |_, unit| unit < 2),
        ] {
            let p = randomisation_p(&sample, &Shuffle { seed: 1 }, 199).expect("two arms");
            assert!(p <= 0.02, "{p}");
            let mut none = sample.clone();
            for (value, treated) in none.value.iter_mut().zip(&sample.treated) {
                *value -= f64::from(u8::from(*treated)) * 5.0;
            }
            let p = randomisation_p(&none, &Shuffle { seed: 1 }, 199).expect("two arms");
            assert!(p > 0.05, "{p}");
            // It ends early, with the share seen so far.
            let sooner = randomisation_p(&none, &Shuffle { seed: 1 }, 99_999).expect("two arms");
            assert!((sooner - p).abs() < 0.2, "{sooner} is not {p}");
        }
    }

    #[test]
    fn the_least_p_value_passes_the_correction_for_many_claims() {
        for (level, family) in [(0.05, 1), (0.04, 24), (0.001, 1), (0.001, 24)] {
            let least = 1.0 / f64::from(draws(level, family) + 1);
            assert!(least * family as f64 <= level, "{level} {family}");
        }
    }

    #[test]
    fn signs_that_agree_are_rare() {
        assert!(sign_p(&[1.0; 12], 999, 1) < 0.01);
        assert!(sign_p(&[1.0, -1.0, 1.0, -1.0], 999, 1) > 0.5);
    }
}

//! Curves with known levels, and the results derived from them.

use std::collections::BTreeMap;

use super::levels::{FEWEST_ROUNDS, Level, levels};
use super::price::prices;
use super::summary::{self, PagePrice};
use super::{Curve, FootprintPoint, footprints};
use expect_test::expect;
use hugewise_base::tlb::{Holds, Structure, Tlb};
use hugewise_experiment::run::cells::processor::{Cache, Processor};

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;

/// The behaviour of a structure that is too small.
#[derive(Clone, Copy)]
enum Loss {
    /// Evicts at random: it keeps a share of the footprint.
    Drawn,
    /// Evicts the least recently used, so a cycle soon hits nothing.
    Oldest,
}

/// Returns nanoseconds at a footprint. The levels begin with the first latency, and gain the second value of each pair
/// when the capacity in the first is full.
fn nanoseconds(bytes: f64, first: f64, steps: &[(f64, f64)], loss: Loss) -> f64 {
    let gained = steps.iter().map(|(capacity, gain)| {
        let missing = match loss {
            Loss::Drawn => 1.0 - capacity / bytes,
            Loss::Oldest => (bytes / capacity - 1.0) * 2.0,
        };
        gain * missing.clamp(0.0, 1.0)
    });
    first + gained.sum::<f64>()
}

/// Creates a curve with errors: each round is wrong by a share `noise`, and one in ten takes twice as long.
fn curve(rounds: u32, noise: f64, seed: u64, latency: impl Fn(f64) -> f64) -> Curve {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut value = |bytes: u64| {
        let error = (0..6).map(|_| random.f64() - 0.5).sum::<f64>() * noise * 1.4;
        let disturbed = if random.u32(..10) == 0 { 2.0 } else { 1.0 };
        latency(bytes as f64) * error.exp() * disturbed * 1e-9
    };
    let points = footprints(1 << 30).into_iter().map(|bytes| FootprintPoint {
        bytes,
        seconds: (0..rounds).map(|round| (round, value(bytes))).collect(),
    });
    Curve {
        policy: "4k".to_owned(),
        page_bytes: Some(4096),
        points: points.collect(),
    }
}

/// Returns the ends of a curve's levels.
fn ends(levels: &[Level]) -> Vec<(u64, u64)> {
    let ends = levels.iter().filter_map(|level| level.ends);
    ends.map(|ends| (ends.from_bytes, ends.to_bytes)).collect()
}

/// Returns true if the ends match the steps, each within a quarter of an octave below and half an octave above. A
/// structure with random eviction shows its end slightly late.
fn are_those(found: &[(u64, u64)], steps: &[(f64, f64)]) -> bool {
    found.len() == steps.len()
        && found.iter().zip(steps).all(|(&(from, to), (capacity, _))| {
            (to as f64) > capacity * 0.84 && (from as f64) < capacity * 1.42
        })
}

const CACHES: [(f64, f64); 3] = [(32.0 * KIB, 2.7), (MIB, 12.0), (24.0 * MIB, 85.0)];

#[test]
fn the_levels_of_a_curve_are_its_caches() {
    for loss in [Loss::Drawn, Loss::Oldest] {
        let mut right = 0;
        for seed in 0..10 {
            let curve = curve(10, 0.02, seed, |bytes| {
                nanoseconds(bytes, 1.1, &CACHES, loss)
            });
            let levels = levels(&curve).unwrap();
            let found = ends(&levels);
            right += u32::from(are_those(&found, &CACHES));
            if !are_those(&found, &CACHES) {}
        }
        assert!(right >= 9, "{right} of 10");
    }
}

#[test]
fn translations_are_levels_between_caches() {
    let steps = [
        (32.0 * KIB, 2.7),
        (288.0 * KIB, 3.0),
        (2.0 * MIB, 10.0),
        (12.0 * MIB, 30.0),
        (64.0 * MIB, 90.0),
    ];
    let mut right = 0;
    for seed in 0..10 {
        let curve = curve(10, 0.02, seed, |bytes| {
            nanoseconds(bytes, 1.1, &steps, Loss::Oldest)
        });
        let found = ends(&levels(&curve).unwrap());
        right += u32::from(are_those(&found, &steps));
        if !are_those(&found, &steps) {}
    }
    assert!(right >= 9, "{right} of 10");
}

#[test]
fn a_flat_curve_has_one_level_however_noisy() {
    for noise in [0.0, 0.02, 0.1] {
        let many = (0..10)
            .map(|seed| curve(10, noise, seed, |_| 5.0))
            .filter(|curve| levels(curve).unwrap().len() != 1)
            .count();
        assert!(many <= 1, "{many} of 10 with noise {noise}");
    }
}

#[test]
fn a_slope_without_a_bend_is_no_level() {
    let curve = curve(10, 0.02, 3, |bytes| bytes.powf(0.2));
    assert_eq!(levels(&curve).unwrap().len(), 1);
}

#[test]
fn few_rounds_have_no_levels() {
    let few = u32::try_from(FEWEST_ROUNDS).unwrap() - 1;
    assert_eq!(levels(&curve(few, 0.02, 1, |_| 5.0)), None);
    let nothing = Curve {
        points: Vec::new(),
        ..curve(1, 0.0, 1, |_| 5.0)
    };
    assert_eq!(levels(&nothing), None);
}

#[test]
fn the_latency_of_a_level_is_that_before_its_end() {
    let curve = curve(11, 0.01, 5, |bytes| {
        nanoseconds(bytes, 1.1, &CACHES, Loss::Oldest)
    });
    let levels = levels(&curve).unwrap();
    for (level, known) in levels.iter().zip([1.1, 3.8, 15.8, 100.8]) {
        assert!(
            (level.seconds * 1e9 / known - 1.0).abs() < 0.06,
            "{level:?}"
        );
        let (low, high) = level.interval.unwrap();
        assert!(low <= level.seconds && level.seconds <= high);
    }
}

#[test]
fn the_price_is_the_difference_at_equal_footprint() {
    let walks = [(12.0 * MIB, 40.0)];
    let huge = |bytes| nanoseconds(bytes, 1.1, &CACHES, Loss::Oldest);
    let small = |bytes| huge(bytes) + nanoseconds(bytes, 0.0, &walks, Loss::Drawn);
    let prices = prices(&curve(12, 0.005, 1, small), &curve(12, 0.005, 2, huge));
    let mut covered = 0;
    for price in &prices {
        let known = nanoseconds(price.bytes as f64, 0.0, &walks, Loss::Drawn) * 1e-9;
        let (low, high) = price.interval.unwrap();
        covered += usize::from(low <= known && known <= high);
    }
    assert!(
        covered * 10 >= prices.len() * 9,
        "{covered} of {}",
        prices.len()
    );
    let last = prices.last().unwrap();
    assert_eq!(last.bytes, 1 << 30);
    assert!((last.seconds * 1e9 - 39.5).abs() < 3.0, "{last:?}");
}

fn processor() -> Processor {
    let cache = |level, bytes: f64| Cache {
        level,
        bytes: bytes as u64,
    };
    let structure = |level, entries| Structure {
        level,
        holds: Holds::Data,
        page_bytes: vec![4096],
        entries,
        ways: None,
    };
    Processor {
        caches: Ok(vec![
            cache(1, 32.0 * KIB),
            cache(2, MIB),
            cache(3, 32.0 * MIB),
        ]),
        tlb: Ok(Tlb {
            source: String::new(),
            structures: vec![structure(1, 64), structure(2, 3072)],
        }),
    }
}

/// The last cache of the curve is smaller than the processor reports, and its first TLB costs nothing.
#[test]
fn levels_are_held_against_what_the_processor_says() {
    let curve = curve(10, 0.01, 2, |bytes| {
        nanoseconds(bytes, 1.1, &CACHES, Loss::Oldest)
    });
    let sentence = summary::of_curve(&curve, Some(&processor())).sentence();
    expect!["Levels, 4k: 1.10 ns until 28 KiB to 40 KiB (L1 cache 32 KiB); 3.83 ns until 896 KiB to 1.25 MiB (L2 cache 1 MiB); 15.9 ns until 20 MiB to 28 MiB (near L3 cache 32 MiB); then 101 ns. No step near L1 TLB, 64 entries 256 KiB, L2 TLB, 3072 entries 12 MiB."].assert_eq(&sentence);
    let alone = summary::of_curve(&curve, None);
    assert!(alone.unseen.is_empty() && !alone.sentence().contains("cache"));
}

#[test]
fn a_price_is_told_beyond_what_is_remembered() {
    let (one, other) = (curve(12, 0.005, 1, |_| 50.0), curve(12, 0.005, 2, |_| 30.0));
    let summary = |dear: &Curve, cheap: &Curve| {
        let price = PagePrice {
            dear: "4k".to_owned(),
            cheap: "2m".to_owned(),
            reach_bytes: Some(12 << 20),
            by_footprint: prices(dear, cheap),
        };
        price.sentence()
    };
    expect!["Loads with 4k take longer than with 2m, the price of page walks: 20.0 ns [19.8, 20.3] at 16 MiB (TLB reach 75 %), 29.8 ns [5.19, 45.3] at 64 MiB (TLB reach 19 %), 20.3 ns [19.8, 45.2] at 256 MiB (TLB reach 5 %), 20.0 ns [19.6, 20.2] at 1 GiB (TLB reach 1 %)."].assert_eq(&summary(&one, &other).unwrap());
    assert_eq!(summary(&one, &one), None, "no difference is no price");
}

#[test]
fn rounds_that_only_one_curve_has_are_no_pairs() {
    let one = curve(3, 0.0, 1, |_| 2.0);
    let mut other = curve(3, 0.0, 1, |_| 1.0);
    for point in &mut other.points {
        point.seconds = BTreeMap::from([(7, 1e-9)]);
    }
    assert_eq!(prices(&one, &other), []);
}

//! The sizes of calls and the times of periods.

use std::time::Duration;

use hugewise_live::{
    Block, Calibration, Call, Exposure, Hold, Longest, Order, Pace, Placebos, settle, thinned,
    times,
};

const MS: Duration = Duration::from_millis(1);

/// Calls of a kernel that takes so long for the first block and for each.
fn drive(mut pace: Pace, fixed: Duration, per_block: Duration, calls: usize) -> Vec<usize> {
    let mut sizes = Vec::new();
    for _ in 0..calls {
        let blocks = pace.blocks();
        sizes.push(blocks);
        let took = fixed + per_block * u32::try_from(blocks).expect("few");
        pace.learn(Call { blocks, took });
    }
    sizes
}

#[test]
fn a_call_that_holds_throughout_stays_below_the_limit() {
    let pace = Pace::new(Hold::Throughout, MS, 64);
    let sizes = drive(pace, Duration::ZERO, MS / 8, 20);
    assert_eq!(sizes[..4], [1, 2, 4, 4], "{sizes:?}");
    assert!(sizes.iter().all(|size| *size <= 8), "{sizes:?}");
    let slow = drive(
        Pace::new(Hold::Throughout, MS, 64),
        Duration::ZERO,
        3 * MS,
        10,
    );
    assert!(
        slow.iter().all(|size| *size == 1),
        "no call is smaller than a block"
    );
}

#[test]
fn a_wait_that_every_call_has_is_shared_by_all_blocks() {
    let sizes = drive(Pace::new(Hold::BlockByBlock, MS, 64), 10 * MS, MS / 2, 20);
    assert!(
        sizes[0] == 1 && sizes[1..].iter().all(|size| *size == 64),
        "{sizes:?}"
    );
}

#[test]
fn the_longest_call_is_that_of_one_switch() {
    let mut pace = Pace::new(Hold::Throughout, MS, 8);
    pace.learn(Call {
        blocks: 1,
        took: 5 * MS,
    });
    assert_eq!(pace.longest().call, 5 * MS);
    pace.begin();
    assert_eq!(pace.longest(), Longest::default());
}

#[test]
fn blocks_with_a_hold_each_are_held_a_part_of_the_call() {
    let mut pace = Pace::new(Hold::BlockByBlock, MS, 64);
    for (blocks, took) in [(1, 2 * MS), (64, 32 * MS)] {
        pace.learn(Call { blocks, took });
    }
    assert_eq!(
        (pace.longest().call, pace.longest().hold),
        (32 * MS, 2 * MS)
    );
}

fn calibration(to_huge: f64) -> Calibration {
    Calibration {
        to_small: 0.04,
        to_huge,
        settle: 0.1,
    }
}

/// Mean share of the time that switching takes.
fn switching(calibration: &Calibration, it: &hugewise_live::Times) -> f64 {
    let switch = it.share * calibration.of_a_period(Order::PAIRS);
    switch / (switch + it.settle + it.period)
}

#[test]
fn switching_takes_a_tenth_of_the_time_at_most() {
    let minute = Duration::from_secs(60);
    for to_huge in [0.01, 0.2, 1.0, 30.0] {
        let calibration = calibration(to_huge);
        let it = times(&calibration, Order::PAIRS, minute, 0.5, None);
        let part = switching(&calibration, &it);
        assert!(part <= 0.1001, "{to_huge}: {part}, {it:?}");
        let all = f64::from(Order::PAIRS.periods) * (it.period + it.settle) / 0.9;
        assert!(all <= 68.0, "{it:?}");
        assert!(it.period >= 0.5, "{it:?}");
    }
    let quick = times(&calibration(0.01), Order::PAIRS, minute, 0.5, None);
    assert_eq!((quick.period, quick.share), (0.5, 1.0));
    let large = times(&calibration(30.0), Order::PAIRS, minute, 0.5, None);
    assert!(large.share < 0.03, "{large:?}");
}

/// Counts the switches of random blocks of two huge and two small periods.
#[test]
fn the_mean_time_of_switching_is_that_of_random_blocks() {
    let (calibration, rounds) = (calibration(0.2), 20_000);
    let mut random = fastrand::Rng::with_seed(7);
    let mut placebos = Placebos::with_seed(7);
    let (mut took, mut now) = (0.0, false);
    for _ in 0..rounds {
        let mut block = [true, true, false, false];
        random.shuffle(&mut block);
        for huge in block {
            took += match (huge == now, huge) {
                (false, true) => calibration.to_huge,
                (false, false) => calibration.to_small,
                (true, _) if placebos.draw() => calibration.to_huge + calibration.to_small,
                (true, _) => 0.0,
            };
            now = huge;
        }
    }
    let mean = took / f64::from(4 * rounds);
    let expected = calibration.of_a_period(Order::PAIRS);
    assert!((mean / expected - 1.0).abs() < 0.02, "{mean} {expected}");
}

/// Counts the switches of one site in the random order of the rows of a design and the second run of the first row.
#[test]
fn a_site_of_a_design_changes_before_half_of_the_periods() {
    let mut random = fastrand::Rng::with_seed(8);
    let (mut changes, mut now, rounds) = (0_u32, false, 5_000);
    for _ in 0..rounds {
        let mut round: Vec<bool> = (0..17).map(|row| row % 2 == 0).collect();
        random.shuffle(&mut round);
        for huge in round {
            changes += u32::from(huge != now);
            now = huge;
        }
    }
    let mean = f64::from(changes) / f64::from(17 * rounds);
    let expected = Order::of_design(17).switches;
    assert!((mean / expected - 1.0).abs() < 0.07, "{mean}");
}

#[test]
fn a_design_has_time_for_its_rounds() {
    let minute = Duration::from_secs(60);
    for (round, least) in [(9, 64), (17, 64), (33, 66)] {
        let order = Order::of_design(round);
        assert_eq!(order.periods, least);
        let it = times(&calibration(0.2), order, minute, 0.5, None);
        let all = f64::from(order.periods) * (it.period + it.settle) / 0.9;
        assert!(all <= 68.0, "{round}: {it:?}");
    }
}

#[test]
fn what_the_user_asks_for_is_kept() {
    let minute = Duration::from_secs(60);
    let it = times(
        &calibration(0.2),
        Order::PAIRS,
        minute,
        0.5,
        Some(Duration::from_millis(300)),
    );
    assert!((it.period - 0.3).abs() < 1e-9 && it.share >= 1.0, "{it:?}");
    let slow = times(&calibration(0.01), Order::PAIRS, minute, 5.0, None);
    assert!((slow.period - 5.0).abs() < 1e-9, "{slow:?}");
}

#[test]
fn blocks_that_stay_are_drawn_at_random_and_sorted() {
    let block = |index: u64| Block {
        start: index << 21,
        is_huge: false,
    };
    let all: Vec<Block> = (0..100).map(block).collect();
    assert_eq!(thinned(all.clone(), 1.0, 7), all);
    let some = thinned(all.clone(), 0.2, 7);
    assert_eq!(some.len(), 20);
    assert!(some.is_sorted());
    // Half a dozen runs or more, so that no place has most of them; in a run one call is enough.
    let runs = |blocks: &[Block]| {
        blocks
            .chunk_by(|a, b| a.start + (2 << 20) == b.start)
            .count()
    };
    assert!((3..=10).contains(&runs(&some)), "{some:?}");
    let many: Vec<Block> = (0..10_000).map(block).collect();
    assert!(runs(&thinned(many, 0.2, 7)) <= 2000 / 32 + 1);
    assert_ne!(some, all[..20]);
    assert_ne!(some, thinned(all.clone(), 0.2, 8));
    assert_eq!(thinned(all, 0.0001, 7).len(), 1);
    assert!(thinned(Vec::new(), 0.5, 7).is_empty());
}

#[test]
fn work_settles_when_it_is_as_later() {
    let flat = vec![10.0, 10.1, 9.9, 10.0, 10.1, 9.9, 10.0, 10.05];
    assert!((settle(std::slice::from_ref(&flat), 0.05) - 0.05).abs() < 1e-9);
    let slow = vec![5.0, 6.0, 8.0, 10.0, 10.1, 9.9, 10.0, 10.05];
    assert!((settle(&[flat, slow], 0.05) - 0.15).abs() < 1e-9);
    assert!((settle(&[], 0.05) - 0.05).abs() < 1e-9);
}

#[test]
fn a_period_whose_blocks_changed_is_marked() {
    let exposure = |begin: u64, end: u64| Exposure {
        switched: 100,
        begin,
        end,
    };
    let is_marked = |begin, end, huge| exposure(begin, end).mark(huge).is_some();
    assert!(!is_marked(100, 90, true) && is_marked(100, 89, true) && is_marked(0, 100, true));
    assert!(!is_marked(0, 10, false) && is_marked(0, 11, false) && is_marked(100, 0, false));
}

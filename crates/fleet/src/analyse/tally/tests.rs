use super::*;

fn row(unit: &str, arm: &str, phase: Phase, start: i64, mean: f64) -> Row {
    Row {
        experiment: "x".into(),
        plan: "p".into(),
        unit: unit.into(),
        cluster: unit.into(),
        stratum: "s".into(),
        arm: arm.into(),
        stage: 0,
        saturation: None,
        start,
        seconds: 10.0,
        phase,
        exposure: Some(1.0),
        proof: Proof::Proved,
        ending: Ending::Whole,
        metric: "p99_seconds".into(),
        sums: Sums {
            n: 2,
            mean,
            m2: 0.0,
        },
        histogram: None,
    }
}

#[test]
fn rows_are_added_up_in_any_order_and_washout_is_left_out() {
    let rows = [
        row("a", "treated", Phase::Before, 0, 2.0),
        row("a", "treated", Phase::Washout, 10, 99.0),
        row("a", "treated", Phase::During, 20, 4.0),
        row("a", "treated", Phase::During, 30, 6.0),
    ];
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
        let mut tally = Tally::new(None);
        for at in order {
            tally.add(&rows[at]).expect("a row");
        }
        let means = &tally.metrics["p99_seconds"][&0];
        assert_eq!((means.before.mean, means.during.mean), (2.0, 5.0));
        assert_eq!((means.during.n, means.during.m2), (4, 4.0));
        assert_eq!(tally.units[0].last, 40.0);
    }
}

#[test]
fn a_unit_keeps_the_arm_that_it_began_with() {
    let mut tally = Tally::new(None);
    for row in [
        row("a", "b", Phase::During, 50, 1.0),
        row("a", "a", Phase::During, 20, 1.0),
        row("a", "past", Phase::Before, 0, 1.0),
    ] {
        tally.add(&row).expect("a row");
    }
    let unit = &tally.units[0];
    assert_eq!((unit.arm.as_str(), unit.crossed), ("a", true));
}

#[test]
fn a_unit_vanishes_when_others_go_on_unless_it_was_stopped() {
    let mut tally = Tally::new(None);
    tally
        .add(&row("a", "x", Phase::During, 0, 1.0))
        .expect("a row");
    let mut stopped = row("b", "x", Phase::During, 0, 1.0);
    stopped.ending = Ending::Stopped;
    tally.add(&stopped).expect("a row");
    tally
        .add(&row("c", "x", Phase::During, 100, 1.0))
        .expect("a row");
    let vanished = tally
        .units
        .iter()
        .map(|unit| unit.has_vanished(tally.end()));
    assert_eq!(vanished.collect::<Vec<_>>(), [true, false, false]);
}

#[test]
fn what_no_agent_writes_is_refused() {
    let mut tally = Tally::new(None);
    tally
        .add(&row("a", "x", Phase::During, 0, 1.0))
        .expect("a row");
    let mut other = row("a", "x", Phase::During, 0, 1.0);
    other.experiment = "y".into();
    assert!(tally.add(&other).is_err());
    assert!(
        tally
            .add(&row("a", "x", Phase::During, 0, f64::NAN))
            .is_err()
    );
    assert_eq!(tally.rows, 1);
}

#[test]
fn a_mean_of_zero_has_no_logarithm() {
    let mut tally = Tally::new(None);
    tally
        .add(&row("a", "x", Phase::During, 0, 1.0))
        .expect("a row");
    assert_eq!(tally.scale("p99_seconds"), Scale::Log);
    tally
        .add(&row("b", "x", Phase::During, 0, 0.0))
        .expect("a row");
    assert_eq!(tally.scale("p99_seconds"), Scale::Plain);
}

#[test]
fn rows_that_come_twice_count_once() {
    let mut other = row("a", "x", Phase::During, 0, 7.0);
    other.metric = "another".into();
    let rows = [
        row("a", "x", Phase::During, 0, 1.0),
        row("a", "x", Phase::During, 10, 3.0),
        other,
    ];
    let mut tally = Tally::new(None);
    for row in rows.iter().chain(&rows[..2]) {
        tally.add(row).expect("a row");
    }
    assert_eq!((tally.rows, tally.repeated), (5, 2));
    let during = tally.metrics["p99_seconds"][&0].during;
    assert_eq!((during.n, during.mean), (4, 2.0));
    // A period has a row for each metric, and proves its settings once.
    assert_eq!((tally.units[0].periods, tally.proofs), (2, [2, 0, 0]));
}

#[test]
fn a_unit_with_pauses_has_not_vanished_in_one() {
    let mut tally = Tally::new(None);
    for start in [0, 100, 200] {
        tally
            .add(&row("a", "x", Phase::During, start, 1.0))
            .expect("a row");
    }
    assert!(!tally.units[0].has_vanished(325.0));
    assert!(tally.units[0].has_vanished(335.0));
}

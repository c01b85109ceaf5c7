use super::super::loops::{PageSize, Reach, Side};
use super::*;

/// SplitMix64, so that every run draws the same numbers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) as f64 / u64::MAX as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.next()
    }
}

/// The noise of instructions: other programs do not change the instructions of a loop.
const EXACT: f64 = 0.001;

/// A random processor with other load.
struct Machine {
    random: Random,
    /// The chance that other programs disturb a round.
    disturbed: f64,
    /// The part of the time that a counter is on the hardware.
    running: f64,
}

impl Machine {
    fn new(seed: u64) -> Self {
        Self {
            random: Random(seed),
            disturbed: 0.05,
            running: 1.0,
        }
    }

    /// The true count for each access of a kind of event in a loop.
    fn truth(&mut self, kind: &str, one: &Loop) -> f64 {
        let cycles = cycles(one);
        match expected(kind, one) {
            Some(Expected::None | Expected::NoTime) => self.random.between(0.0, 0.005),
            Some(Expected::One) => self.random.between(0.88, 1.2),
            Some(Expected::Instructions) => 9.0,
            Some(Expected::ClockRate) => cycles,
            Some(Expected::Added(_)) => 60.0 * self.random.between(0.6, 1.1),
            Some(Expected::Within(_)) => 0.7 * cycles,
            None => self.random.between(0.0, 1.0),
        }
    }

    /// The rounds of a loop with so many events for each access: every round differs by some percent, and a disturbed
    /// round has more events. The counter multiplies the sum by the factor.
    fn rounds(&mut self, per_access: f64, noise: f64, factor: f64) -> Vec<Round> {
        let one = |round: u64| {
            let accesses = ACCESSES << (round % 2);
            let mut rate = per_access * self.random.between(1.0 - noise, 1.0 + noise);
            if noise > EXACT && self.random.next() < self.disturbed {
                rate += self.random.between(0.0, 0.5) * per_access.max(0.1);
            }
            let jitter = 0.1 * (1.0 - self.running);
            let seen = factor * self.running * self.random.between(1.0 - jitter, 1.0 + jitter);
            let enabled = accesses as f64 * 30.0;
            Round {
                accesses,
                tally: Tally::Counted {
                    value: (rate * seen * accesses as f64).round() as u64,
                    enabled_ns: enabled as u64,
                    running_ns: (enabled * self.running) as u64,
                },
            }
        };
        (0..6).map(one).collect()
    }

    /// An event named as `kind` that counts `truth`, times a factor.
    fn event(&mut self, kind: &str, truth: &str, factor: f64) -> CountedEvent {
        let rounds = LOOPS.iter().map(|one| {
            let rate = self.truth(truth, one);
            let noise = if truth == INSTRUCTIONS { EXACT } else { 0.05 };
            (one.name, self.rounds(rate, noise, factor))
        });
        CountedEvent {
            pmu: "cpu".to_owned(),
            kind: kind.to_owned(),
            event: kind.to_uppercase(),
            code: String::new(),
            rounds: rounds.collect(),
        }
    }

    /// Cycles, and one event.
    fn counted(&mut self, kind: &str, truth: &str, factor: f64) -> CountedEvents {
        CountedEvents {
            events: vec![
                self.event(kind, truth, factor),
                self.event(CYCLES, CYCLES, 1.0),
            ],
            instructions: LOOPS.iter().map(|one| (one.name, 9.0)).collect(),
            ..CountedEvents::default()
        }
    }

    fn verdict(&mut self, kind: &str, truth: &str, factor: f64) -> Verdict {
        self.counted(kind, truth, factor).decide()[0]
            .verdict
            .clone()
    }
}

fn cycles(one: &Loop) -> f64 {
    match (one.side, one.reach) {
        (Side::Read, Reach::Many) if one.page == PageSize::Small => 100.0,
        (_, Reach::Many) => 60.0,
        (_, Reach::Lines) => 40.0,
        _ => 15.0,
    }
}

/// One default kind of each sort.
const KINDS_OF_ALL_SORTS: [&str; 9] = [
    "dtlb_walks",
    "dtlb_load_walks",
    "dtlb_store_walks",
    "itlb_walks",
    "dtlb_load_walks_4k",
    "dtlb_walks_2m",
    "dtlb_load_walk_active",
    "itlb_walk_active",
    INSTRUCTIONS,
];

#[test]
fn a_right_event_is_verified() {
    for kind in KINDS_OF_ALL_SORTS {
        let mut machine = Machine::new(1);
        assert_eq!(
            machine.verdict(kind, kind, 1.0),
            Verdict::Verified,
            "{kind}"
        );
    }
}

#[test]
fn a_scaled_event_is_wrong_by_its_factor() {
    for kind in KINDS_OF_ALL_SORTS {
        for factor in [0.25, 4.0] {
            let verdict = Machine::new(2).verdict(kind, kind, factor);
            match verdict {
                Verdict::Wrong {
                    fault: Fault::Scaled { factor: found },
                } => assert!(
                    found / factor > 0.5 && found / factor < 2.0,
                    "{kind}: {found}"
                ),
                Verdict::Wrong { .. } if kind.ends_with("_active") => {}
                // Few cycles of walks can be right: other work hides the rest.
                Verdict::Verified if kind.ends_with("_active") && factor < 1.0 => {}
                other => panic!("{kind} × {factor}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_multiplexed_event_is_extrapolated_or_undecided() {
    for kind in KINDS_OF_ALL_SORTS {
        let mut shared = Machine {
            running: 0.5,
            ..Machine::new(3)
        };
        let verdict = shared.verdict(kind, kind, 1.0);
        assert_eq!(verdict, Verdict::Verified, "{kind}");
        let verdict = shared.verdict(kind, kind, 4.0);
        assert!(
            matches!(verdict, Verdict::Wrong { .. }),
            "{kind}: {verdict:?}"
        );
        let mut crowded = Machine {
            running: 0.1,
            ..Machine::new(3)
        };
        let why = Doubt::NotCounted {
            missing: Missing::NeverScheduled,
        };
        let verdict = crowded.verdict(kind, kind, 1.0);
        assert_eq!(verdict, Verdict::Undecided { why }, "{kind}");
    }
}

#[test]
fn a_swapped_event_is_named_by_what_it_counts() {
    for (kind, truth) in [
        ("dtlb_load_walks", "dtlb_store_walks"),
        ("dtlb_store_walks", "dtlb_load_walks"),
        ("dtlb_load_walks", "itlb_walks"),
        ("itlb_walks", "dtlb_walks"),
        ("dtlb_walks", "itlb_walks"),
        ("dtlb_walks_4k", "dtlb_walks_2m"),
        ("dtlb_load_walks", "dtlb_walks"),
    ] {
        let verdict = Machine::new(4).verdict(kind, truth, 1.0);
        let fault = Fault::Resembles {
            kind: truth.to_owned(),
        };
        assert_eq!(verdict, Verdict::Wrong { fault }, "{kind} counts {truth}");
    }
}

#[test]
fn a_dead_event_is_wrong() {
    for kind in KINDS_OF_ALL_SORTS {
        let verdict = Machine::new(5).verdict(kind, kind, 0.0);
        let dead = Verdict::Wrong { fault: Fault::Dead };
        assert_eq!(verdict, dead, "{kind}");
    }
}

#[test]
fn a_count_that_does_not_grow_with_the_accesses_is_wrong() {
    let mut counted = Machine::new(6).counted("itlb_walks", "itlb_walks", 1.0);
    let rounds = counted.events[0].rounds.get_mut("code-many").unwrap();
    for round in rounds {
        round.tally = Tally::Counted {
            value: ACCESSES * 142 / 100,
            enabled_ns: 1000,
            running_ns: 1000,
        };
    }
    let decided = &counted.decide()[0];
    let test = decided.tests.iter().find(|test| test.on == "code-many");
    assert_eq!(test.unwrap().result, TestResult::NotProportional);
    assert!(matches!(decided.verdict, Verdict::Wrong { .. }));
}

#[test]
fn without_the_loop_there_is_no_decision() {
    let mut counted = Machine::new(7).counted("dtlb_walks_2m", "dtlb_walks_2m", 1.0);
    let missing = Missing::not_supported("MADV_COLLAPSE");
    for one in LOOPS.iter().filter(|one| one.page == PageSize::Huge) {
        counted.events[0].rounds.remove(one.name);
        counted.absent.insert(one.name, missing.clone());
    }
    let on = "read-many-huge".to_owned();
    let why = Doubt::LoopAbsent { on, missing };
    assert_eq!(counted.decide()[0].verdict, Verdict::Undecided { why });
    let verdict = Machine::new(7).verdict("dtlb_walks_1g", "dtlb_walks_1g", 1.0);
    let why = Doubt::NoLoop;
    assert_eq!(verdict, Verdict::Undecided { why });
}

/// Decisions on right events of 500 machines for each kind: the shares of wrong and undecided ones.
fn errors(disturbed: f64, running: f64) -> (f64, f64) {
    let (mut wrong, mut undecided, mut all) = (0, 0, 0);
    for seed in 0..500 {
        let mut machine = Machine {
            disturbed,
            running,
            ..Machine::new(1000 + seed)
        };
        for kind in KINDS_OF_ALL_SORTS {
            all += 1;
            match machine.verdict(kind, kind, 1.0) {
                Verdict::Verified => {}
                Verdict::Wrong { .. } => wrong += 1,
                Verdict::Undecided { .. } => undecided += 1,
            }
        }
    }
    (
        f64::from(wrong) / f64::from(all),
        f64::from(undecided) / f64::from(all),
    )
}

/// The figures of the guide: docs/guide/tlb-misses.md.
#[test]
fn right_events_are_rarely_refused() {
    let percent = |share: f64| (share * 10_000.0).round() / 100.0;
    let found = [errors(0.05, 1.0), errors(0.3, 1.0), errors(0.05, 0.5)];
    let found = found.map(|(wrong, undecided)| (percent(wrong), percent(undecided)));
    // In quiet, on a machine with much other load, and with counters that others use half of the time.
    assert_eq!(found, [(0.0, 0.38), (0.02, 8.62), (0.0, 0.04)]);
}

//! Decides whether an event counts what its kind says.
//!
//! Every test compares the rounds of one loop with limits. A test decides only if all rounds but one agree: a
//! disturbance then makes it undecided, and never turns a right event into a wrong one by a single round.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::expect::{Expected, Limits, LoopFigures, expected, is_testable};
use super::loops::{ACCESSES, LOOPS, Loop};
use crate::stat::kind::{CYCLES, INSTRUCTIONS, KINDS};
use crate::stat::{Refused, Tally};
use hugewise_base::missing::Missing;

/// One round of a loop under one event.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// The number of accesses.
    pub accesses: u64,
    /// The count.
    pub tally: Tally,
}

/// The rounds of all loops under one event.
#[derive(Clone, Debug, PartialEq)]
pub struct CountedEvent {
    /// The event source.
    pub pmu: String,
    /// The kind that the processor's table gives to the event.
    pub kind: String,
    /// The processor's name for the event.
    pub event: String,
    /// Its code for the kernel.
    pub code: String,
    /// The rounds, by loop.
    pub rounds: BTreeMap<&'static str, Vec<Round>>,
}

/// Everything that the loops showed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CountedEvents {
    /// The events.
    pub events: Vec<CountedEvent>,
    /// Events that the processor's table has and that could not be counted.
    pub refused: Vec<Refused>,
    /// Instructions of one access, by loop.
    pub instructions: BTreeMap<&'static str, f64>,
    /// Why loops did not run.
    pub absent: BTreeMap<&'static str, Missing>,
}

/// The decision for one event.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct DecidedEvent {
    /// The event source.
    pub pmu: String,
    /// The kind of event.
    pub kind: String,
    /// The processor's name for the event.
    pub event: String,
    /// Its code for the kernel.
    pub code: String,
    /// The decision.
    pub verdict: Verdict,
    /// The tests, in the order of the loops.
    pub tests: Vec<Test>,
}

/// The decision for an event.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub enum Verdict {
    /// It does in every loop.
    Verified,
    /// It does not.
    Wrong {
        /// The error.
        #[serde(flatten)]
        fault: Fault,
    },
    /// Unknown.
    Undecided {
        /// Why.
        #[serde(flatten)]
        why: Doubt,
    },
}

/// The error of an event.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case", tag = "fault")]
pub enum Fault {
    /// It counts nothing.
    Dead,
    /// It counts the right loops, but each access so many times.
    Scaled {
        /// The count for each access.
        factor: f64,
    },
    /// It counts what another kind of event should.
    Resembles {
        /// That kind.
        kind: String,
    },
    /// Anything else.
    Other,
}

/// Why there is no decision.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case", tag = "doubt")]
pub enum Doubt {
    /// No loop has a known number of these events.
    NoLoop,
    /// The loop that has these events did not run.
    LoopAbsent {
        /// The loop.
        on: String,
        /// Why.
        missing: Missing,
    },
    /// The event could not be counted.
    NotCounted {
        /// Why.
        missing: Missing,
    },
    /// The rounds contradict each other.
    Disturbed {
        /// The loop.
        on: String,
    },
}

/// One comparison.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Test {
    /// The loop.
    pub on: String,
    /// The median count for each access.
    pub per_access: f64,
    /// The smallest of the rounds.
    pub least: f64,
    /// The largest of the rounds.
    pub most: f64,
    /// The smallest right count for each access.
    pub low: f64,
    /// The largest right count for each access.
    pub high: f64,
    /// The smallest part of a round for which the counter was on the hardware. The rest is extrapolated.
    pub running: f64,
    /// True if the loop has events of this kind, so that a dead counter fails.
    pub positive: bool,
    /// The count of a long round over that of a short one; 2 is right.
    pub growth: Option<f64>,
    /// The result.
    pub result: TestResult,
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum TestResult {
    /// The count is right.
    Right,
    /// Too few.
    TooFew,
    /// Too many.
    TooMany,
    /// It does not grow with the number of accesses.
    NotProportional,
    /// The rounds contradict each other.
    Unclear,
}

/// The least part of a round that a counter must be on the hardware.
const LEAST_RUNNING: f64 = 0.2;
/// The limits of the count of a long round over that of a short one. A constant has 1, a square 4.
const DOUBLE: Limits = Limits {
    low: 1.3,
    high: 3.1,
};
/// The additional tolerance for a count that ran for no time. It falls linearly to 0 for the full time.
const EXTRAPOLATION: f64 = 0.2;
/// Rounds that may disagree with the others.
const ODD_ROUNDS: usize = 1;

impl CountedEvents {
    /// Decides on every event, and on those that could not be counted.
    #[must_use]
    pub fn decide(&self) -> Vec<DecidedEvent> {
        let counted = self.events.iter().map(|event| self.event(event));
        let refused = self.refused.iter().map(|refused| DecidedEvent {
            pmu: String::new(),
            kind: refused.kind.clone(),
            event: refused.event.clone(),
            code: String::new(),
            verdict: Verdict::Undecided {
                why: Doubt::NotCounted {
                    missing: refused.missing.clone(),
                },
            },
            tests: Vec::new(),
        });
        counted.chain(refused).collect()
    }

    fn event(&self, event: &CountedEvent) -> DecidedEvent {
        let tests = self.tests(event, &event.kind);
        let verdict = match verdict(&tests) {
            Some(true) => Verdict::Verified,
            Some(false) => Verdict::Wrong {
                fault: self.fault(event, &tests),
            },
            None => Verdict::Undecided {
                why: self.doubt(event, &tests),
            },
        };
        DecidedEvent {
            pmu: event.pmu.clone(),
            kind: event.kind.clone(),
            event: event.event.clone(),
            code: event.code.clone(),
            verdict,
            tests,
        }
    }

    /// Compares an event with the expectations of a kind, in the order of the loops.
    fn tests(&self, event: &CountedEvent, kind: &str) -> Vec<Test> {
        let one = |one: &'static Loop| {
            let right = expected(kind, one)?;
            let rounds = event.rounds.get(one.name)?;
            let reference = match right {
                Expected::Added(reference) => self.figures(&event.pmu, reference),
                _ => LoopFigures::default(),
            };
            let limits = right.limits(one, self.figures(&event.pmu, one), reference)?;
            test(one.name, rounds, limits, right)
        };
        LOOPS.iter().filter_map(one).collect()
    }

    /// The known figures of a loop, without the event.
    fn figures(&self, pmu: &str, of: &Loop) -> LoopFigures {
        let mut cycles = self.events.iter();
        let cycles = cycles.find(|event| event.kind == CYCLES && event.pmu == pmu);
        let rounds = cycles.and_then(|event| event.rounds.get(of.name));
        let rounds = rounds.map_or(&[][..], |rounds| &rounds[..]);
        LoopFigures {
            instructions: self.instructions.get(of.name).copied(),
            cycles: median(rounds.iter().filter_map(Round::per_access).collect()),
            nanoseconds: median(rounds.iter().filter_map(Round::nanoseconds).collect()),
        }
    }

    fn fault(&self, event: &CountedEvent, tests: &[Test]) -> Fault {
        if tests.iter().all(|test| test.most == 0.0) {
            return Fault::Dead;
        }
        if let Some(factor) = scale(tests) {
            return Fault::Scaled { factor };
        }
        let others = KINDS.iter().map(|kind| kind.name);
        let mut others = others.filter(|kind| ![CYCLES, INSTRUCTIONS, &event.kind].contains(kind));
        let fits = |kind: &&str| verdict(&self.tests(event, kind)) == Some(true);
        match others.find(fits) {
            Some(kind) => Fault::Resembles {
                kind: kind.to_owned(),
            },
            None => Fault::Other,
        }
    }

    fn doubt(&self, event: &CountedEvent, tests: &[Test]) -> Doubt {
        if let Some(test) = tests.iter().find(|test| test.result == TestResult::Unclear) {
            return Doubt::Disturbed {
                on: test.on.clone(),
            };
        }
        let positive = |one: &&Loop| expected(&event.kind, one).is_some_and(Expected::is_positive);
        let mut positive = LOOPS.iter().filter(positive);
        if !is_testable(&event.kind) {
            return Doubt::NoLoop;
        }
        let absent = positive.find_map(|one| Some((one, self.absent.get(one.name)?)));
        match absent {
            Some((one, missing)) => Doubt::LoopAbsent {
                on: one.name.to_owned(),
                missing: missing.clone(),
            },
            None => Doubt::NotCounted {
                missing: reason(event),
            },
        }
    }
}

/// The first reason in the rounds; a counter without a reason had too little time.
fn reason(event: &CountedEvent) -> Missing {
    let rounds = event.rounds.values().flatten();
    let mut missing = rounds.filter_map(|round| match &round.tally {
        Tally::Missing { missing } => Some(missing.clone()),
        Tally::Counted { .. } => None,
    });
    missing.next().unwrap_or(Missing::NeverScheduled)
}

/// Returns true if all tests are right and a dead counter would fail one, false if a test is wrong, and otherwise `None`.
fn verdict(tests: &[Test]) -> Option<bool> {
    if tests.iter().any(Test::is_wrong) {
        return Some(false);
    }
    let right = tests.iter().all(Test::is_right);
    (right && tests.iter().any(|test| test.positive)).then_some(true)
}

/// The common factor of all counts of loops that have these events, if those without have none.
fn scale(tests: &[Test]) -> Option<f64> {
    /// Counts that belong to one factor.
    const SPREAD: f64 = 1.8;
    let (positive, none): (Vec<&Test>, Vec<&Test>) = tests.iter().partition(|test| test.positive);
    /// The tolerance for loops without events.
    const FEW: f64 = 4.0;
    /// The limits of a count are closer than this. The limits of cycles are too wide to show a factor.
    const NARROW: f64 = 3.0;
    if positive.iter().any(|test| test.high > NARROW * test.low) {
        return None;
    }
    let factors: Vec<f64> = positive
        .iter()
        .map(|test| test.per_access / (test.low * test.high).sqrt())
        .collect();
    let least = factors.iter().copied().fold(f64::INFINITY, f64::min);
    let most = factors.iter().copied().fold(0.0, f64::max);
    let is_none = none.iter().all(|test| test.per_access <= FEW * test.high);
    let product: f64 = factors.iter().map(|factor| factor.ln()).sum();
    let mean = (product / factors.len() as f64).exp();
    (is_none && least > 0.0 && most <= SPREAD * least).then_some(mean)
}

impl Round {
    /// The count for each access, extrapolated if the counter was on the hardware for a part of the time.
    fn per_access(&self) -> Option<f64> {
        let (value, enabled, running) = self.counted()?;
        Some(value as f64 * (enabled as f64 / running as f64) / self.accesses as f64)
    }

    /// The time of one access, in nanoseconds.
    fn nanoseconds(&self) -> Option<f64> {
        let (_, enabled, _) = self.counted()?;
        Some(enabled as f64 / self.accesses as f64)
    }

    fn running(&self) -> Option<f64> {
        let (_, enabled, running) = self.counted()?;
        Some(running as f64 / enabled as f64)
    }

    fn counted(&self) -> Option<(u64, u64, u64)> {
        match self.tally {
            Tally::Counted {
                value,
                enabled_ns,
                running_ns,
            } => {
                let enough = running_ns as f64 >= LEAST_RUNNING * enabled_ns as f64;
                (running_ns > 0 && enough).then_some((value, enabled_ns, running_ns))
            }
            Tally::Missing { .. } => None,
        }
    }
}

impl Test {
    /// Returns true if the count is right.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.result == TestResult::Right
    }

    /// Returns true if the count is wrong; an unclear one is neither.
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        !matches!(self.result, TestResult::Right | TestResult::Unclear)
    }
}

/// Compares rounds with limits; `None` if a round has no count.
fn test(on: &str, rounds: &[Round], limits: Limits, right: Expected) -> Option<Test> {
    let rates: Option<Vec<f64>> = rounds.iter().map(Round::per_access).collect();
    let rates = rates.filter(|rates| !rates.is_empty())?;
    let running = rounds.iter().filter_map(Round::running).fold(1.0, f64::min);
    let error = EXTRAPOLATION * (1.0 - running);
    let limits = Limits {
        low: limits.low * (1.0 - error),
        high: limits.high * (1.0 + error),
    };
    let growth = right.is_positive().then(|| growth(rounds)).flatten();
    let result = match result(&rates, limits) {
        TestResult::Right if growth.is_some_and(|growth| !DOUBLE.contain(growth)) => {
            TestResult::NotProportional
        }
        other => other,
    };
    Some(Test {
        on: on.to_owned(),
        per_access: median(rates.clone())?,
        least: rates.iter().copied().fold(f64::INFINITY, f64::min),
        most: rates.iter().copied().fold(0.0, f64::max),
        low: limits.low,
        high: limits.high,
        running,
        positive: right.is_positive(),
        growth,
        result,
    })
}

fn result(rates: &[f64], limits: Limits) -> TestResult {
    let enough = rates.len().saturating_sub(ODD_ROUNDS).max(1);
    let few = rates.iter().filter(|&&rate| rate < limits.low).count();
    let many = rates.iter().filter(|&&rate| rate > limits.high).count();
    match () {
        () if rates.len() - few - many >= enough => TestResult::Right,
        () if few >= enough => TestResult::TooFew,
        () if many >= enough => TestResult::TooMany,
        () => TestResult::Unclear,
    }
}

/// The median count of long rounds over that of short ones.
fn growth(rounds: &[Round]) -> Option<f64> {
    let of = |accesses: u64| {
        let rounds = rounds.iter().filter(|round| round.accesses == accesses);
        let counts = rounds.filter_map(|round| Some(round.per_access()? * accesses as f64));
        median(counts.collect())
    };
    let (short, long) = (of(ACCESSES)?, of(2 * ACCESSES)?);
    (short > 0.0).then(|| long / short)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        length if length % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

#[cfg(test)]
mod tests;

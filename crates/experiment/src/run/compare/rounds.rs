//! Blocks: the trials of two arms in each round.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::base::missing::Missing;
use crate::run::compare::effect::Draws;
use crate::run::compare::{Scale, Warning};
use crate::run::record::Record;
use crate::run::stats::tail::Round;
use crate::run::stats::{Draw, Sample};
use crate::run::trial::{Mark, Outcome, Reading, Role, Trial};

/// The trials of one arm in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arm<'a> {
    /// A policy's own trials.
    Policy(&'a str),
    /// The second run of a baseline.
    Control(&'a str),
}

/// The trials of one arm by round.
type Column<'a> = BTreeMap<u32, Vec<&'a Trial>>;

/// The trials of the whole rounds of a record, by arm and round.
#[derive(Debug)]
pub(super) struct Rounds<'a> {
    arms: BTreeMap<&'a str, Column<'a>>,
    /// By the policy that has a second run.
    controls: BTreeMap<&'a str, Column<'a>>,
    /// Number of whole rounds.
    pub(super) whole: u32,
    /// Rounds in which some trial never ran because of a signal, a crash or a full disk. They are left out so that the
    /// data end at a decision point.
    cut_off: u32,
}

impl<'a> Rounds<'a> {
    pub(super) fn of(record: &'a Record) -> Self {
        let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
        let planned = |trial: &&Trial| {
            let policies = &mut record.header.plan.policies.iter();
            policies.any(|policy| policy.name == trial.policy)
        };
        for trial in record.trials.iter().filter(planned) {
            *sizes.entry(trial.round).or_default() += 1;
        }
        let fewest = |round: u32| record.fewest_trials(round);
        let mut rounds = Self {
            arms: BTreeMap::new(),
            controls: BTreeMap::new(),
            whole: sizes
                .iter()
                .filter(|&(&at, &size)| size >= fewest(at))
                .count() as u32,
            cut_off: sizes
                .iter()
                .filter(|&(&at, &size)| size < fewest(at))
                .count() as u32,
        };
        for trial in record.trials.iter().filter(|t| {
            sizes
                .get(&t.round)
                .is_some_and(|&size| size >= fewest(t.round))
        }) {
            let arm = match trial.role {
                Role::Arm => rounds.arms.entry(&trial.policy).or_default(),
                Role::Control => rounds.controls.entry(&trial.policy).or_default(),
                Role::Cold => continue,
            };
            arm.entry(trial.round).or_default().push(trial);
        }
        rounds
    }

    pub(super) fn trials(&self, arm: Arm) -> impl Iterator<Item = &'a Trial> {
        self.column(arm)
            .into_iter()
            .flat_map(|column| column.values().flatten().copied())
    }

    fn column(&self, arm: Arm) -> Option<&Column<'a>> {
        match arm {
            Arm::Policy(name) => self.arms.get(name),
            Arm::Control(name) => self.controls.get(name),
        }
    }

    /// The rounds in which `metric` was read in both arms of trials that succeeded, with the further runs of the
    /// baseline.
    pub(super) fn draws(&self, metric: &str, baseline: &str, policy: &str) -> Pairs<'a> {
        let mut pairs = self.pairs(metric, Arm::Policy(baseline), Arm::Policy(policy));
        let Some(control) = self.column(Arm::Control(baseline)) else {
            return pairs;
        };
        for (round, block) in pairs.numbers.iter().zip(&mut pairs.blocks) {
            let trials = control.get(round).into_iter().flatten();
            let succeeded = trials.filter(|trial| trial.succeeded());
            let read = succeeded.filter_map(|trial| numbers(trial, metric).ok());
            block.baseline.extend(read);
        }
        pairs
    }

    /// The rounds in which `metric` was read in both arms of trials that succeeded.
    pub(super) fn pairs(&self, metric: &str, baseline: Arm, policy: Arm) -> Pairs<'a> {
        let mut pairs = Pairs::default();
        pairs.left_out.cut_off = self.cut_off;
        let (Some(first), Some(second)) = (self.column(baseline), self.column(policy)) else {
            return pairs;
        };
        for (round, a) in first {
            if let Some(b) = second.get(round) {
                pairs.add(metric, *round, [a, b]);
            }
        }
        pairs
    }
}

/// Numbers below this have finite differences and sums.
const LARGEST: f64 = 1e300;

/// The numbers of a reading, or why there are none.
pub(super) fn numbers<'a>(trial: &'a Trial, metric: &str) -> Result<Sample<'a>, Cow<'a, Missing>> {
    let values = match trial.readings.get(metric) {
        Some(Reading::Value { value }) => std::slice::from_ref(value),
        Some(Reading::Values { values }) => values,
        Some(Reading::Histogram { histogram }) if histogram.count() > 0 => {
            return Ok(Sample::Counted(histogram));
        }
        Some(Reading::Histogram { .. }) => return Err(Cow::Owned(Missing::NotPrinted)),
        Some(Reading::Missing { missing }) => return Err(Cow::Borrowed(missing)),
        None => return Err(Cow::Owned(Missing::NotAsked)),
    };
    if values.is_empty() || !values.iter().all(|value| value.abs() < LARGEST) {
        let error = format!("{metric}: not a number, or too large for one");
        return Err(Cow::Owned(Missing::Unreadable { error }));
    }
    Ok(Sample::Plain(values))
}

/// The readings of one round. Neither arm is empty.
#[derive(Clone, Debug)]
pub(super) struct Block<'a> {
    pub(super) baseline: Vec<Sample<'a>>,
    pub(super) policy: Vec<Sample<'a>>,
}

/// The readings of one metric in two arms, by round.
#[derive(Debug, Default)]
pub(super) struct Pairs<'a> {
    pub(super) blocks: Vec<Block<'a>>,
    /// The numbers of these rounds.
    numbers: Vec<u32>,
    left_out: LeftOut,
}

/// Trials left out of a comparison, and doubts about the rest.
#[derive(Clone, Debug, Default)]
struct LeftOut {
    cut_off: u32,
    failed: u32,
    failure: Option<Outcome>,
    missing: u32,
    why: Option<Missing>,
    marked: u32,
    mark: Option<Mark>,
}

impl<'a> Pairs<'a> {
    fn add(&mut self, metric: &str, round: u32, arms: [&[&'a Trial]; 2]) {
        let failed = arms.into_iter().flatten().find(|trial| !trial.succeeded());
        if let Some(failed) = failed {
            self.left_out.failed += 1;
            self.left_out
                .failure
                .get_or_insert_with(|| failed.outcome.clone());
        }
        let mut why = None;
        let mut read = |arm: &[&'a Trial]| -> Vec<Sample<'a>> {
            let succeeded = arm.iter().copied().filter(|trial| trial.succeeded());
            let read = succeeded.filter_map(|trial| {
                let numbers = numbers(trial, metric);
                numbers
                    .map_err(|it| why.get_or_insert(it.into_owned()))
                    .ok()
            });
            read.collect()
        };
        let (baseline, policy) = (read(arms[0]), read(arms[1]));
        if baseline.is_empty() || policy.is_empty() {
            self.left_out.missing += u32::from(why.is_some());
            self.left_out.why = self.left_out.why.take().or(why);
            return;
        }
        self.numbers.push(round);
        self.blocks.push(Block { baseline, policy });
        let trials = arms.into_iter().flatten();
        for trial in trials.filter(|trial| !trial.marks.is_empty()) {
            self.left_out.marked += 1;
            self.left_out
                .mark
                .get_or_insert_with(|| trial.marks[0].clone());
        }
    }

    /// Number of rounds read in both arms.
    pub(super) fn n(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// One run of each arm per round, in the order in which they ran, and the further ones separately.
    pub(super) fn rounds(&self) -> Vec<Round<'a>> {
        let blocks = self.blocks.iter();
        let pairs =
            blocks.flat_map(|it| it.baseline.iter().copied().zip(it.policy.iter().copied()));
        pairs.collect()
    }

    /// The typical value of each trial: its number, or the median of its numbers.
    pub(super) fn centers(&self) -> Draws {
        self.draws_of(Sample::middle)
            .unwrap_or_else(|| Draws::of(Vec::new()))
    }

    /// The same, keyed by the number of the round.
    pub(super) fn by_round(&self) -> (Scale, BTreeMap<u32, Draw>) {
        let draws = self.centers();
        let numbers = self.numbers.iter().copied();
        (draws.scale, numbers.zip(draws.scaled).collect())
    }

    /// The largest value of each trial.
    pub(super) fn largest(&self) -> Draws {
        self.draws_of(Sample::largest)
            .unwrap_or_else(|| Draws::of(Vec::new()))
    }

    /// One number for each trial; `None` if the first trial of an arm lacks it.
    pub(super) fn draws_of(&self, one: impl Fn(Sample<'a>) -> Option<f64>) -> Option<Draws> {
        let draws = self.blocks.iter().map(|block| {
            let [policy, baseline] =
                [&block.policy, &block.baseline].map(|arm| arm.iter().filter_map(|it| one(*it)));
            Draw::new(policy, baseline)
        });
        Some(Draws::of(draws.collect::<Option<_>>()?))
    }

    /// Number of values of both arms, over all rounds.
    pub(super) fn counts(&self) -> (usize, usize) {
        let rounds = self.rounds();
        let sizes = rounds.iter().map(|(a, b)| (a.count(), b.count()));
        sizes.fold((0, 0), |(x, y), (a, b)| {
            (x.saturating_add(a), y.saturating_add(b))
        })
    }

    /// Number of trials of both arms, without those of the control.
    fn compared(&self) -> usize {
        2 * self.rounds().len()
    }

    /// The warnings about the numbers.
    pub(super) fn warnings(&self) -> Vec<Warning> {
        let left_out = self.left_out.clone();
        let failed = left_out.failure.map(|first| Warning::FailedRounds {
            rounds: left_out.failed,
            first,
        });
        let unread = left_out.why.map(|why| match self.blocks.is_empty() {
            true => Warning::NotRead(why),
            false => Warning::UnreadRounds {
                rounds: left_out.missing,
                why,
            },
        });
        let marked = left_out.mark.map(|first| Warning::Marked {
            trials: left_out.marked,
            of: self.compared(),
            first,
        });
        let rounds = left_out.cut_off;
        let cut_off = (rounds > 0).then_some(Warning::CutOff { rounds });
        let all = [failed, unread, marked, cut_off];
        all.into_iter().flatten().collect()
    }
}

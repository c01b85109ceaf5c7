//! Decides which trials on cold memory are worth their time once the rounds are over.

use std::time::Duration;

use super::Record;
use crate::base::units::MIB;
use crate::run::metric::MetricId;
use crate::run::plan::{HostMemory, USUAL_TIME};
use crate::run::stats::median;
use crate::run::trial::{Role, huge_memory};

/// How long the hypervisor needs to take freed memory back. A guest reports it after two seconds
/// (`PAGE_REPORTING_DELAY`, mm/page_reporting.c), and memory freed during a report two seconds later.
pub const COLD_REST: Duration = Duration::from_millis(4000);
/// The additional wait of the first one. The rounds warmed a lot of memory, and freed it while the guest reported.
/// Without the wait, the first run got warm memory after a pause long enough for the later ones.
pub const FIRST_WAIT: Duration = Duration::from_secs(2);
/// Runs of each policy: a block of three and one of two. Fewer decide nothing.
const FEWEST: u32 = FIRST_BLOCK + LATER_BLOCK;
/// Runs of each policy if there is time for them; more are worth less.
const MOST: u32 = FIRST_BLOCK + 3 * LATER_BLOCK;
/// Runs of each policy in the first block and in each other.
const FIRST_BLOCK: u32 = 3;
const LATER_BLOCK: u32 = 2;
/// How much longer a trial can take after a pause than on warm memory: 1.4 times for a program of one second that
/// touched 180 MiB, including the overhead of a trial.
const LONGER_AFTER_REST: f64 = 1.4;
/// The share of the rounds' time for cold trials if no policy is requested, or time has no limit.
const MOST_TIME: f64 = 0.1;
/// The share of the usual time for cold trials of a requested policy if time has no limit.
const MOST_OF_USUAL: f64 = 0.5;
/// Their duration is a rough forecast, so they start if there is nearly enough time.
const OVERRUN: f64 = 1.1;
/// Longer trials are not repeated for this.
const LONGEST: f64 = 6.0;
/// With less huge memory there is no visible price.
const LEAST_HUGE_BYTES: f64 = 32.0 * MIB as f64;

/// A run of the policy and one of the baseline, each with its pause, if the longest trial takes so many seconds; `None`
/// if that is too long.
fn pair_of(longest: f64) -> Option<Duration> {
    (longest <= LONGEST)
        .then(|| 2 * (COLD_REST + Duration::from_secs_f64(LONGER_AFTER_REST * longest)))
}

/// Duration of the fewest pairs with an interval.
fn fewest(pair: Duration) -> Duration {
    FIRST_WAIT + FEWEST * pair
}

/// How many pairs fit into `most`, which has time for the fewest or nearly.
fn fitting(pair: Duration, most: Duration) -> u32 {
    let pairs = most.saturating_sub(FIRST_WAIT).as_secs_f64() / pair.as_secs_f64();
    (pairs as u32).clamp(FEWEST, MOST)
}

/// A run after idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleRun {
    /// The block in which its position was randomised: the round of its trial.
    pub block: u32,
    /// Index of its policy in the plan.
    pub policy: usize,
}

/// The remaining runs on cold memory, of a policy and of the baseline.
struct ColdPairs {
    policy: usize,
    /// Duration of one of each.
    pair: Duration,
    count: u32,
}

impl Record {
    /// Returns true if a start on cold memory is a question: one program, whose memory is warmed on a host that takes
    /// it back.
    #[must_use]
    pub fn prices_cold_memory(&self) -> bool {
        let plan = &self.header.plan;
        let is_one = plan.programs.is_empty() && plan.service.is_none() && plan.bench.is_none();
        let warmed = plan.host_memory == HostMemory::Warm;
        is_one && warmed && self.header.host.taken_back_bytes().is_some()
    }

    /// Wall times of the runs of a policy after a pause, in seconds.
    pub(in crate::run) fn rested_walls(&self, policy: &str) -> Vec<f64> {
        let own = self.cold.iter();
        let own = own.filter(|trial| trial.policy == policy && trial.succeeded());
        own.filter_map(|trial| trial.value(MetricId::WallSeconds))
            .collect()
    }

    /// The trials to run on cold memory, in order. Each block has as many runs of the baseline as of the `asked`
    /// policy, or else of the one with the most huge memory, in a random order. Empty if there is no time for enough
    /// trials to decide. `spent` is the duration of the rounds.
    #[must_use]
    pub fn cold_trials_due(&self, spent: Duration, asked: Option<&str>) -> Vec<IdleRun> {
        let Some(due) = self.cold_pairs(spent, asked) else {
            return Vec::new();
        };
        let policies = [due.policy, self.header.plan.baseline_index()];
        let ran = self.cold.iter().map(|trial| trial.round + 1);
        let first = ran.max().unwrap_or(0);
        let mut left = due.count;
        let sizes = (first..).map_while(|block| {
            let size = if block == 0 { FIRST_BLOCK } else { LATER_BLOCK };
            left = left.checked_sub(size)?;
            Some((block, size))
        });
        let blocks = sizes.flat_map(|(block, size)| self.idle_block(block, size, policies));
        blocks.collect()
    }

    fn idle_block(&self, block: u32, size: u32, policies: [usize; 2]) -> Vec<IdleRun> {
        let mut runs = policies.repeat(size as usize);
        let seed = self.header.plan.seed ^ !u64::from(block);
        fastrand::Rng::with_seed(seed).shuffle(&mut runs);
        let run = |policy| IdleRun { block, policy };
        runs.into_iter().map(run).collect()
    }

    /// Duration of the fewest trials on cold memory after rounds of `spent`; `None` if none are worth it, or there is
    /// no time.
    #[must_use]
    pub fn time_of_cold_trials(&self, spent: Duration, asked: Option<&str>) -> Option<Duration> {
        self.cold_pairs(spent, asked).map(|due| fewest(due.pair))
    }

    fn cold_pairs(&self, spent: Duration, asked: Option<&str>) -> Option<ColdPairs> {
        let policy = self.cold_policy(asked)?;
        let pair = self.time_of_pair(policy)?;
        let time = fewest(pair);
        let is_asked = self.is_the_one(policy, asked);
        let most = match is_asked {
            true => self.most_for_the_one(spent, time),
            false => self.left(spent).min(spent.mul_f64(MOST_TIME)),
        };
        // A policy that was not requested gets the fewest, and so does one that follows whatever the duration.
        let count = match is_asked {
            true => fitting(pair, most.min(self.left(spent)).div_f64(OVERRUN)),
            false => FEWEST,
        };
        (time <= most).then_some(ColdPairs {
            policy,
            pair,
            count,
        })
    }

    /// Duration of more trials on cold memory of a policy and the baseline, in an experiment that continues without a
    /// given time; `None` if it has none.
    #[must_use]
    pub fn time_of_more_cold_trials(&self, policy: &str) -> Option<Duration> {
        let asked = Some(policy);
        let huge = self.cold_policy(asked);
        let huge = huge.filter(|it| self.is_the_one(*it, asked))?;
        self.time_of_pair(huge).map(fewest)
    }

    /// Duration of a run on cold memory of a policy and one of the baseline, including pauses; `None` if one is too
    /// long.
    #[must_use]
    pub fn time_of_pair(&self, policy: usize) -> Option<Duration> {
        let turns = [policy, self.header.plan.baseline_index()];
        let walls = turns.map(|policy| self.middle_of(policy, MetricId::WallSeconds));
        let longest = walls.into_iter().flatten().fold(0.0, f64::max);
        pair_of(longest)
    }

    /// Duration of the trials on cold memory after rounds of `spent`, if a trial on warm memory takes `trial`: zero if
    /// none are worth it, or there is no time.
    #[must_use]
    pub fn cold_trials_to_come(&self, trial: Duration, spent: Duration) -> Duration {
        let pair = pair_of(trial.as_secs_f64()).filter(|_| self.prices_cold_memory());
        let time = pair.map(fewest);
        let time = time.filter(|time| *time <= self.most_for_the_one(spent, *time));
        time.unwrap_or_default()
    }

    /// The time for the trials of the requested policy. An answer needs them as much as the fewest rounds that can
    /// decide. If no time is given and both do not fit into the usual one, they follow whatever the total duration.
    /// Otherwise they get the time left by the rounds.
    fn most_for_the_one(&self, spent: Duration, time: Duration) -> Duration {
        let bounds = &self.header.plan.bounds;
        let run = self.rounds_run();
        let fits = |least: u32, most: Duration| {
            let fewest = spent.mul_f64(f64::from(least) / f64::from(run.max(1)));
            fewest + time <= most
        };
        let least = bounds.least_rounds;
        let follows =
            |least: u32| run <= least || bounds.max_time.is_some_and(|most| !fits(least, most));
        if least.is_some_and(follows) {
            return Duration::MAX;
        }
        match bounds.max_time {
            Some(_) => self.left(spent),
            None => spent
                .mul_f64(MOST_TIME)
                .max(USUAL_TIME.mul_f64(MOST_OF_USUAL)),
        }
    }

    /// The time left after rounds of `spent`.
    fn left(&self, spent: Duration) -> Duration {
        let most = self.header.plan.bounds.max_time;
        most.map_or(Duration::MAX, |most| {
            most.saturating_sub(spent).mul_f64(OVERRUN)
        })
    }

    /// The policy with an open question about starts on cold memory.
    fn cold_policy(&self, asked: Option<&str>) -> Option<usize> {
        if !self.prices_cold_memory() {
            return None;
        }
        let baseline = self.header.plan.baseline_index();
        let is_asked = |policy: &usize| *policy != baseline && self.is_the_one(*policy, asked);
        let asked = self.huge_policies().find(is_asked);
        let found = asked.or_else(|| self.most_huge_policy());
        found.filter(|policy| *policy != baseline)
    }

    fn is_the_one(&self, policy: usize, asked: Option<&str>) -> bool {
        asked == Some(self.header.plan.policies[policy].name.as_str())
    }

    /// The policy with the most huge memory, if any has enough.
    fn most_huge_policy(&self) -> Option<usize> {
        let size = |policy: &usize| self.huge_bytes(*policy);
        self.huge_policies()
            .max_by(|a, b| size(a).total_cmp(&size(b)))
    }

    /// The policies with enough huge memory to see a price.
    fn huge_policies(&self) -> impl Iterator<Item = usize> {
        let policies = 0..self.header.plan.policies.len();
        policies.filter(|policy| self.huge_bytes(*policy) >= LEAST_HUGE_BYTES)
    }

    fn huge_bytes(&self, policy: usize) -> f64 {
        let page = self.header.host.pmd_bytes().unwrap_or(0) as f64;
        huge_memory(|metric| self.middle_of(policy, metric), page).unwrap_or(0.0)
    }

    fn middle_of(&self, policy: usize, metric: MetricId) -> Option<f64> {
        let name = &self.header.plan.policies.get(policy)?.name;
        let trials = self.trials.iter();
        let trials = trials.filter(|it| it.role == Role::Arm && it.policy == *name);
        let trials = trials.filter(|trial| trial.succeeded());
        let values: Vec<f64> = trials.filter_map(|trial| trial.value(metric)).collect();
        median(&values)
    }
}

//! Which trials on cold memory are worth their time once the rounds are over.

use std::time::Duration;

use super::Record;
use crate::base::units::MIB;
use crate::run::metric::MetricId;
use crate::run::plan::HostMemory;
use crate::run::stats::median;
use crate::run::trial::{Role, huge_memory};

/// How long the hypervisor needs to take freed memory back: a guest reports it after two seconds
/// (`PAGE_REPORTING_DELAY`, mm/page_reporting.c), and what was freed while it reports two seconds later.
pub const COLD_REST: Duration = Duration::from_millis(4000);
/// How long the first of them waits besides. What the rounds warmed is much, and was freed while the guest
/// reported: without the wait it met warm memory after a rest that was enough for those behind it.
pub const FIRST_WAIT: Duration = Duration::from_secs(2);
/// Starts of each policy: fewer have no interval.
const STARTS: u32 = 4;
/// The share of the time of the rounds that cold trials may take.
const MOST_TIME: f64 = 0.1;
/// The share of the whole time that cold trials may take where a policy is asked for: whether it
/// gains after a rest too is a part of the answer.
pub const COLD_SHARE: f64 = 0.5;
/// The whole time of an experiment that has no limit.
const USUAL_TIME: Duration = Duration::from_secs(90);
/// Longer trials are not repeated for this.
const LONGEST: f64 = 6.0;
/// With less huge memory there is no price to see.
const LEAST_HUGE_BYTES: f64 = 32.0 * MIB as f64;

/// What all of them take, where the longest trial takes so many seconds.
fn needed(longest: f64) -> f64 {
    FIRST_WAIT.as_secs_f64() + f64::from(2 * STARTS) * (COLD_REST.as_secs_f64() + longest)
}

impl Record {
    /// Whether a start on cold memory is a question: one program, whose memory is warmed on a host that takes it back.
    #[must_use]
    pub fn prices_cold_memory(&self) -> bool {
        let plan = &self.header.plan;
        let is_one = plan.programs.is_empty() && plan.service.is_none() && plan.bench.is_none();
        let warmed = plan.host_memory == HostMemory::Warm;
        is_one && warmed && self.header.host.taken_back_bytes().is_some()
    }

    /// Wall times of the starts of a policy after a rest, in seconds.
    pub(in crate::run) fn rested_walls(&self, policy: &str) -> Vec<f64> {
        let own = self.cold.iter();
        let own = own.filter(|trial| trial.policy == policy && trial.succeeded());
        own.filter_map(|trial| trial.value(MetricId::WallSeconds))
            .collect()
    }

    /// The policies of the trials to run on cold memory, in order, as indices of the plan: by turns
    /// the one that is `asked` for, or else the one with the most huge memory, and the baseline. None where there is
    /// no time for as many as have an interval. `spent` is what the rounds took.
    #[must_use]
    pub fn cold_trials_due(&self, spent: Duration, asked: Option<&str>) -> Vec<usize> {
        let plan = &self.header.plan;
        let needed = self.time_of_cold_trials(spent, asked);
        let left = plan.bounds.max_time.map(|most| most.saturating_sub(spent));
        let left = left.filter(|_| !self.has_usual_time());
        let fits = |needed: &Duration| left.is_none_or(|left| *needed <= left);
        let Some((huge, _)) = self.cold_policy(asked).zip(needed.filter(fits)) else {
            return Vec::new();
        };
        [huge, plan.baseline_index()].repeat(STARTS as usize)
    }

    /// What the trials on cold memory take after rounds of `spent`; `None` where none are worth it.
    #[must_use]
    pub fn time_of_cold_trials(&self, spent: Duration, asked: Option<&str>) -> Option<Duration> {
        let plan = &self.header.plan;
        let huge = self.cold_policy(asked)?;
        let turns = [huge, plan.baseline_index()];
        let walls = turns.map(|policy| self.middle_of(policy, MetricId::WallSeconds));
        let longest = walls.into_iter().flatten().fold(0.0, f64::max);
        let for_advice = match self.is_the_one(huge, asked) {
            true => self.most_for_advice(spent),
            false => 0.0,
        };
        let most = (MOST_TIME * spent.as_secs_f64()).max(for_advice);
        let needed = needed(longest);
        (longest <= LONGEST && needed <= most).then(|| Duration::from_secs_f64(needed))
    }

    /// What trials on cold memory may take behind the rounds, where a trial takes so long.
    #[must_use]
    pub fn cold_trials_to_come(&self, trial: Duration) -> Duration {
        let needed = needed(trial.as_secs_f64());
        let is_short = trial.as_secs_f64() <= LONGEST;
        // Rounds may take all of the other share.
        let rounds = self.whole_time().mul_f64(1.0 - COLD_SHARE);
        match self.prices_cold_memory() && is_short && needed <= self.most_for_advice(rounds) {
            true => Duration::from_secs_f64(needed),
            false => Duration::ZERO,
        }
    }

    /// An answer needs them as it needs the fewest rounds that can decide: where nobody gave a time, they are run
    /// like these, however long they take. Of a given time they have their share, and what the rounds leave.
    fn most_for_advice(&self, spent: Duration) -> f64 {
        let whole = self.whole_time();
        let left = whole.saturating_sub(spent);
        match self.has_usual_time() {
            true => f64::INFINITY,
            false => left.max(whole.mul_f64(COLD_SHARE)).as_secs_f64(),
        }
    }

    fn whole_time(&self) -> Duration {
        self.header.plan.bounds.max_time.unwrap_or(USUAL_TIME)
    }

    fn has_usual_time(&self) -> bool {
        self.header.plan.bounds.least_rounds.is_some()
    }

    /// The policy whose start on cold memory is a question.
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

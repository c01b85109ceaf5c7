//! Failures in the first trials, caused by huge pages or by the mechanism that provides them.

use std::cell::RefCell;
use std::collections::BTreeMap;

use hugewise_experiment::run::policy::realise::{Realisation, TreeTracer};
use hugewise_experiment::run::policy::{Means, Policy};
use hugewise_experiment::run::record::{Header, RemovalReason};
use hugewise_experiment::run::trial::{Clash, Trial};

/// A failure of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// How the command ended.
    how: String,
    /// A known reason why the policy's mechanism breaks the command.
    pub clash: Option<Clash>,
}

impl Failure {
    fn of(header: &Header, trial: &Trial) -> Self {
        let realisation = header.realisations.get(&trial.policy);
        Self {
            how: how_it_failed(trial),
            clash: realisation.and_then(|it| clash(it, trial)),
        }
    }

    /// Returns the reason for which the policy is dropped.
    pub fn reason(self) -> RemovalReason {
        match self.clash {
            Some(clash) => RemovalReason::OurMeans {
                how: self.how,
                clash,
            },
            None => RemovalReason::Fails(self.how),
        }
    }
}

/// The first failure of each policy under which no trial succeeded.
#[derive(Debug, Default)]
pub struct Failures {
    /// `None` once a trial succeeded.
    first: RefCell<BTreeMap<String, Option<Failure>>>,
}

impl Failures {
    /// Learns from a trial.
    pub fn learn(&self, header: &Header, trial: &Trial) {
        let failure = (!trial.succeeded()).then(|| Failure::of(header, trial));
        let mut first = self.first.borrow_mut();
        let known = first.entry(trial.policy.clone()).or_insert(failure.clone());
        *known = known.take().filter(|_| failure.is_some());
    }

    /// Forgets the failures of a policy that is now applied in another way.
    pub fn forget(&self, policy: &str) {
        self.first.borrow_mut().remove(policy);
    }

    /// Returns the policies that always failed; empty if the baseline is one of them.
    pub fn found(&self, header: &Header) -> BTreeMap<String, Failure> {
        let first = self.first.borrow();
        let failed = first
            .iter()
            .filter_map(|(policy, how)| Some((policy.clone(), how.clone()?)));
        let failed: BTreeMap<String, Failure> = failed.collect();
        match failed.contains_key(&header.plan.baseline) {
            true => BTreeMap::new(),
            false => explained(header, failed),
        }
    }
}

/// A mechanism that breaks the command without huge pages is also the cause with huge pages.
fn explained(header: &Header, failed: BTreeMap<String, Failure>) -> BTreeMap<String, Failure> {
    let realisation = |policy: &str| header.realisations.get(policy);
    let controls = header.plan.policies.iter();
    let controls = controls.filter(|it| it.is_idle_means() && failed.contains_key(&it.name));
    let broken: Vec<&Realisation> = controls.filter_map(|it| realisation(&it.name)).collect();
    let is_broken = |it: &Realisation| broken.iter().any(|other| has_same_means(it, other));
    let explain = |(policy, failure): (String, Failure)| {
        let is_by_means = realisation(&policy).is_some_and(is_broken);
        let unexplained = is_by_means.then_some(Clash::Unexplained);
        let clash = failure.clash.or(unexplained);
        (policy, Failure { clash, ..failure })
    };
    failed.into_iter().map(explain).collect()
}

fn has_same_means(one: &Realisation, other: &Realisation) -> bool {
    let is_traced = |it: &Realisation| !it.tracer.is_none();
    let is_preloaded = |it: &Realisation| it.library.is_some();
    is_traced(one) && is_traced(other) || is_preloaded(one) && is_preloaded(other)
}

/// The reason that the trial shows. A seccomp filter kills with SIGSYS.
fn clash(realisation: &Realisation, trial: &Trial) -> Option<Clash> {
    if !realisation.is_traced() && realisation.library.is_none() {
        return None;
    }
    let is_filtered = trial.outcome.is_by_a_filter();
    let tracing = trial.read_back.tracing.as_ref();
    let first = tracing.and_then(|it| it.clashes.first().copied());
    match is_filtered {
        true => Some(Clash::OwnFilter),
        false => first.filter(|&it| it != Clash::OwnFilter),
    }
}

/// The policy with another mechanism, if a tracer breaks the command and the user did not ask for one.
pub fn without_tracer(policy: &Policy, realisation: &Realisation, clash: Clash) -> Option<Policy> {
    let may_change = policy.settings.means.is_none() && realisation.tracer == TreeTracer::Huge;
    (clash.is_about_tracing() && may_change).then(|| {
        let mut other = policy.clone();
        other.settings.means = Some(Means::Preload);
        other
    })
}

/// How a trial failed, and whether its memory limit was the cause.
fn how_it_failed(trial: &Trial) -> String {
    let killed = trial.read_back.cgroup.and_then(|cgroup| cgroup.killed);
    match killed.filter(|&killed| killed > 0) {
        Some(_) => format!("{}, because its memory limit was reached", trial.outcome),
        None => trial.outcome.to_string(),
    }
}

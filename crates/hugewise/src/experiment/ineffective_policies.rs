//! Policies that the first trials show to be useless: they cannot act on the program, it fails under them, or they show
//! no more than others. They are dropped.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use hugewise_experiment::run::policy::cannot_act::not_preloaded;
use hugewise_experiment::run::policy::realise::Realisation;
use hugewise_experiment::run::policy::{Executable, ObservedProgram, Policy, Settings, cannot_act};
use hugewise_experiment::run::record::{Header, Removal, RemovalReason};
use hugewise_experiment::run::trial::Trial;
use hugewise_linux::apply::executable::read_executable;

use super::default_policies::UsualReach;
use super::failures::Failures;
use super::recorder::Recorder;
use crate::exit;

/// The policies of an experiment that cannot act, according to its trials so far.
#[derive(Debug, Default)]
pub struct IdlePolicies {
    /// The reasons, by policy name.
    reasons: RefCell<BTreeMap<String, RemovalReason>>,
    /// How the first trials failed.
    pub failures: Failures,
    /// The executed files, by path.
    executables: RefCell<BTreeMap<String, Option<Executable>>>,
    /// What the default policies reach; `None` if the user chose policies, which are all kept.
    reach: Option<UsualReach>,
}

impl IdlePolicies {
    /// The same for the default policies, some of which may show no more than others.
    pub fn of_the_usual() -> Self {
        Self {
            reach: Some(UsualReach::default()),
            ..Self::default()
        }
    }

    /// Returns true if a later trial can still show that some policies show no more than others.
    pub fn is_open(&self, header: &Header) -> bool {
        let is_open = |reach: &UsualReach| reach.is_open(header);
        header.plan.bench.is_none() && self.reach.as_ref().is_some_and(is_open)
    }

    /// Returns true if none was found since the last drop.
    pub fn is_empty(&self) -> bool {
        self.reasons.borrow().is_empty()
    }

    /// Returns true if a policy is one of them.
    pub fn has(&self, policy: &str) -> bool {
        self.reasons.borrow().contains_key(policy)
    }

    /// Learns from a trial. Skips benches: their program is our own, made for its policies.
    pub fn learn(&self, header: &Header, trial: &Trial) {
        if header.plan.bench.is_some() {
            return;
        }
        self.learn_what_acts(header, trial);
        let spared = self.reach.as_ref().map(|it| it.learn(header, trial));
        // The reason that a policy cannot act is more informative.
        for (policy, why) in spared.unwrap_or_default() {
            self.reasons.borrow_mut().entry(policy).or_insert(why);
        }
    }

    fn learn_what_acts(&self, header: &Header, trial: &Trial) {
        self.failures.learn(header, trial);
        if !trial.succeeded() {
            return;
        }
        let may_be_ignored = |policy: &&Policy| sets_program(policy) || preloads(header, policy);
        let plan = &header.plan;
        let program = plan.program_of(&trial.policy);
        let same = |it: &&Policy| plan.program_of(&it.name) == program;
        for policy in plan.policies.iter().filter(may_be_ignored).filter(same) {
            if !self.has(&policy.name)
                && let Some(why) = self.reason(header, trial, policy)
            {
                let why = RemovalReason::CannotAct(why);
                self.reasons.borrow_mut().insert(policy.name.clone(), why);
            }
        }
    }

    /// Drops, after the first round, the policies under which every trial failed, unless the baseline is one of them.
    pub fn judge_failures(&self, header: &Header) {
        for (policy, failure) in self.failures.found(header) {
            self.add(policy, failure.reason());
        }
    }

    /// Adds a policy that was found elsewhere.
    pub fn add(&self, policy: String, why: RemovalReason) {
        self.reasons.borrow_mut().insert(policy, why);
    }

    fn reason(&self, header: &Header, trial: &Trial, policy: &Policy) -> Option<String> {
        let tree = trial.read_back.tree.as_ref()?;
        let executable = self.executable(&tree.largest.program);
        let realisation = |name: &str| header.realisations.get(name);
        let preloaded = realisation(&trial.policy).and_then(|set| set.preload.as_ref());
        let preloaded = preloaded.map(|path| std::fs::canonicalize(path).unwrap_or_default());
        let program = ObservedProgram {
            tree,
            executable: executable.as_ref(),
            preloaded: preloaded.as_deref().and_then(Path::to_str),
            huge_page_bytes: header.host.pmd_bytes(),
        };
        let own = realisation(&policy.name).filter(|_| trial.policy == policy.name);
        let missed = |expected: &&Realisation| {
            let is_static = expected.library.is_some() && program.is_statically_linked();
            let read_back = &trial.read_back;
            is_static
                || read_back.library == Some(false)
                || read_back.allocator.as_deref() == Some("")
        };
        let missed = own.filter(missed);
        cannot_act(&policy.settings, &program).or_else(|| Some(not_preloaded(missed?, &program)))
    }

    fn executable(&self, path: &str) -> Option<Executable> {
        let mut known = self.executables.borrow_mut();
        let read = || read_executable(Path::new(path));
        known.entry(path.to_owned()).or_insert_with(read).clone()
    }

    /// Drops them before a round.
    ///
    /// # Errors
    /// The baseline is one of them, or nothing remains to compare with it.
    pub fn drop_from(&self, recorder: &mut Recorder, round: u32) -> Result<()> {
        for (policy, why) in self.reasons.take() {
            let removal = Removal { round, policy, why };
            let plan = &recorder.record().header.plan;
            if plan.is_baseline(&removal.policy) {
                let refusal = match plan.programs.is_empty() {
                    true => format!(
                        "the baseline {removal}; begin with another policy, such as --policy as-is"
                    ),
                    false => format!("{removal}; mend that program or leave it out"),
                };
                return Err(exit::refused(refusal));
            }
            recorder.remove(removal);
        }
        let record = recorder.record();
        let plan = &record.header.plan;
        match record.removals.last() {
            Some(removal) if plan.policies.len() < 2 => Err(exit::refused(format!(
                "nothing is left to compare with {}: {removal}",
                plan.baseline
            ))),
            _ => Ok(()),
        }
    }
}

/// Returns true if a policy sets something that a program can ignore.
fn sets_program(policy: &Policy) -> bool {
    let Settings {
        malloc,
        text,
        runtimes,
        ..
    } = &policy.settings;
    malloc.is_some() || text.is_some() || !runtimes.is_empty()
}

/// Returns true if a policy uses a library that a program may not load.
fn preloads(header: &Header, policy: &Policy) -> bool {
    let realisation = header.realisations.get(&policy.name);
    realisation.is_some_and(|it| it.library.is_some())
}

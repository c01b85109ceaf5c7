//! Settings of runtimes, as reported by the runtimes themselves.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;

use hugewise_experiment::run::policy::realise::Realisation;
use hugewise_experiment::run::policy::runtime::{Answers, complaints, not_taken};
use hugewise_experiment::run::policy::{Policy, Settings, environment};
use hugewise_experiment::run::trial::{Mark, Trial};
use hugewise_linux::apply::runtime;
use hugewise_linux::apply::runtime::CommandContext;
use hugewise_linux::collect::TrialObservation;
use hugewise_linux::machine::identity::Identity;

use crate::options::Options;

/// The answers of the runtimes for each policy, by its name.
#[derive(Debug, Default)]
pub struct Runtimes(RefCell<BTreeMap<String, Answers>>);

impl Runtimes {
    /// Asks the runtimes of a command, in the form it has under a policy, how they apply that policy. Asks while the
    /// policy is active, and only once, because the answers would not change.
    pub fn ask(
        &self,
        options: &Options,
        words: &[OsString],
        policy: &Policy,
        realisation: &Realisation,
        identity: Option<&Identity>,
    ) -> Answers {
        if let Some(known) = self.0.borrow().get(&policy.name) {
            return known.clone();
        }
        let environment = environment(&realisation.environment, |name| std::env::var(name).ok());
        let start = CommandContext {
            words,
            environment: &environment,
            identity,
            directory: options.directory.as_deref(),
        };
        let answers = runtime::ask(&policy.settings, start);
        let mut known = self.0.borrow_mut();
        known.insert(policy.name.clone(), answers.clone());
        answers
    }
}

/// Adds the answers of the runtimes to a trial.
pub fn note_answers(trial: &mut Trial, settings: &Settings, answers: Answers) {
    let refused = not_taken(settings, &answers).into_iter();
    trial
        .marks
        .extend(refused.map(|detail| Mark::NotApplied { detail }));
    trial.read_back.runtimes = answers;
}

/// Adds the complaints that runtimes printed while the trial ran.
pub fn note_complaints(observed: &mut TrialObservation, settings: &Settings) {
    if settings.runtimes.is_empty() {
        return;
    }
    let log = observed.served.as_ref().map(|served| &served.log);
    let printed = [&observed.stderr_tail, &observed.output].into_iter();
    // A load describes itself; a server's messages are in its log.
    let printed: Vec<&Vec<u8>> = log.map_or_else(|| printed.collect(), |log| vec![log]);
    let said: Vec<String> = printed.into_iter().flat_map(|it| complaints(it)).collect();
    let marks = said.into_iter().map(|detail| Mark::NotApplied { detail });
    observed.marks.extend(marks);
}

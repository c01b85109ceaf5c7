//! The whole knowledge: the compiled-in files, extended by the user's files.

use std::collections::BTreeMap;

use super::condition::Truth;
use super::fact::Facts;
use super::rule::Rule;
use super::subject::{Subject, SubjectKind, beside};
use super::tried::{Experiment, Tried, kept};
use hugewise_base::plain::plain_error;
use hugewise_experiment::run::policy::Policy;

/// The files of `knowledge/`: name and text.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/knowledge.rs"));

/// The newest supported schema version of a file.
const SCHEMA: u32 = 1;

/// Subjects by name.
#[derive(Clone, Debug)]
pub struct Knowledge {
    subjects: BTreeMap<String, Subject>,
    experiments: Vec<Experiment>,
}

impl Knowledge {
    /// Returns the compiled-in knowledge.
    ///
    /// # Errors
    /// Returns the name of the file and the mistake if a file is wrong. A test ensures that none is.
    pub fn compiled() -> Result<Self, String> {
        let mut all = Self {
            subjects: BTreeMap::new(),
            experiments: kept()?,
        };
        for (name, text) in FILES {
            all.extend(name, text)?;
        }
        Ok(all)
    }

    /// Returns the compiled-in knowledge about executables with these names, without experiments. Files that do not
    /// contain such a name are skipped, because reading all of them is slow and few programs are in any.
    ///
    /// # Errors
    /// Same as for [`compiled`](Self::compiled).
    pub fn of_executables(names: &[&str]) -> Result<Self, String> {
        let mut some = Self {
            subjects: BTreeMap::new(),
            experiments: Vec::new(),
        };
        let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        let holds = |text: &str| quoted.iter().any(|name| text.contains(name));
        for (name, text) in FILES.iter().filter(|(_, text)| holds(text)) {
            some.extend(name, text)?;
        }
        some.subjects
            .retain(|_, subject| names.iter().any(|name| subject.is_executed_as(name)));
        Ok(some)
    }

    /// Adds a file. It replaces rules with the same id; other rules of a subject are kept.
    ///
    /// # Errors
    /// Returns the name of the file and the mistake if the file is wrong.
    pub fn extend(&mut self, name: &str, text: &str) -> Result<(), String> {
        let subject: Subject =
            toml::from_str(text).map_err(|why| format!("{name}: {}", plain_error(&why)))?;
        if subject.schema != SCHEMA {
            return Err(format!(
                "{name}: schema {} is not known; this version reads schema {SCHEMA}",
                subject.schema
            ));
        }
        let Some(own) = self.subjects.get_mut(&subject.name) else {
            self.subjects.insert(subject.name.clone(), subject);
            return Ok(());
        };
        own.rules
            .retain(|rule| !subject.rules.iter().any(|new| new.id == rule.id));
        own.rules.extend(subject.rules);
        own.detect = subject.detect.or(own.detect.take());
        Ok(())
    }

    /// The subjects, by name.
    pub fn subjects(&self) -> impl Iterator<Item = &Subject> {
        self.subjects.values()
    }

    /// Returns true if a rule uses a fact. Facts that no rule uses must not be read: variables and settings can contain
    /// passwords.
    #[must_use]
    pub fn asks_for(&self, fact: &str) -> bool {
        let rules = self.subjects().flat_map(|subject| &subject.rules);
        let mut conditions = rules.flat_map(|rule| rule.conditions());
        conditions.any(|condition| condition.facts().contains(&fact))
    }

    /// Paths of the files that an executable can load on its own.
    pub fn loaded_by(&self, exe: &str) -> impl Iterator<Item = String> {
        let detections = self
            .subjects()
            .filter_map(|subject| subject.detect.as_ref());
        let names = detections.flat_map(|detect| &detect.loads);
        names.filter_map(move |name| beside(exe, name))
    }

    /// Returns the tests of a rule, each with its result if the record is kept.
    #[must_use]
    pub fn tried(&self, rule: &Rule) -> Vec<Tried> {
        let tests = rule.tested.iter().cloned();
        let tried = tests.map(|test| {
            let mut kept = self.experiments.iter();
            let own = kept.find(|it| it.record == test.record);
            Tried {
                machine: own.map(|it| it.machine.clone()),
                effect: own.and_then(|it| it.effect_of(&test).cloned()),
                test,
            }
        });
        tried.collect()
    }

    /// Returns a setting of the program that can make it faster, as a policy; `None` if no rule has one.
    #[must_use]
    pub fn own_setting(&self, program: &str) -> Option<Policy> {
        let rules = &self.called(program)?.rules;
        let mut settings = rules.iter().filter_map(Rule::own_setting);
        settings.find_map(|set| match set.own_policy() {
            Some(policy) => policy.parse().ok(),
            None => set.arguments_policy(),
        })
    }

    /// Returns a policy that only adds arguments and can make the program faster, unless the program is known to follow
    /// that rule. For knowledge about one program.
    #[must_use]
    pub fn own_arguments(&self, facts: &Facts) -> Option<Policy> {
        let open = |subject: &Subject, rule: &Rule| {
            rule.followed(facts, subject.order) != Some(Truth::Yes)
        };
        let mut settings = self.subjects().flat_map(|subject| {
            let rules = subject.rules.iter().filter(move |rule| open(subject, rule));
            rules.filter_map(Rule::own_setting)
        });
        settings.find_map(|set| set.arguments_policy())
    }

    /// Returns the application of an executable, and the vendor or maintainer that disables huge pages for it, with the
    /// date: `Redis (vendor, 2020-10-27)`. `None` if no such rule is known.
    #[must_use]
    pub fn against_huge_pages(&self, executable: &str) -> Option<String> {
        let is_it = |subject: &&Subject| {
            subject.kind == SubjectKind::Application && subject.is_executed_as(executable)
        };
        let subject = self.subjects().find(is_it)?;
        let rule = subject
            .rules
            .iter()
            .find(|rule| rule.is_against_huge_pages())?;
        Some(format!("{} ({}, {})", subject.title, rule.by, rule.said))
    }

    /// Returns the subject with this name.
    #[must_use]
    pub fn subject(&self, name: &str) -> Option<&Subject> {
        self.subjects.get(name)
    }

    /// Returns the subject that people call by this word: its name, title, alias or executable, such as `openjdk`,
    /// `java` or `postgres`.
    #[must_use]
    pub fn called(&self, word: &str) -> Option<&Subject> {
        let is_title = |subject: &&Subject| {
            let aliases = subject.aliases.iter().chain([&subject.title]);
            aliases
                .into_iter()
                .any(|name| name.eq_ignore_ascii_case(word))
        };
        let is_file = |subject: &&Subject| subject.is_executed_as(word);
        let title = || self.subjects().find(is_title);
        let file = || self.subjects().find(is_file);
        self.subject(word).or_else(title).or_else(file)
    }
}

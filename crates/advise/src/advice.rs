//! Advice for a machine: the rules that apply to its programs, and whether they are followed.

use serde::Serialize;

use super::condition::Truth;
use super::contradiction::{self, Contradiction};
use super::fact::{Facts, WALKED};
use super::knowledge::Knowledge;
use super::measured::Measurement;
pub use super::observation::{Observation, Part};
pub use super::program::Program;
use super::program::{complaint, rules, subjects};
use super::ruling::{Ruling, Standing};
use super::version::Version;

/// The kind and version of the JSON document.
pub const FORMAT: &str = "hugewise-advice 1";

/// The advice.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// [`FORMAT`].
    pub format: &'static str,
    /// Known facts of the machine.
    pub host: Facts,
    /// The running programs, and the machine itself.
    pub programs: Vec<Program>,
    /// Machine settings for which programs want different values.
    pub contradictions: Vec<Contradiction>,
}

/// Derives the advice for the observed programs.
#[must_use]
pub fn advise(
    knowledge: &Knowledge,
    host: &Facts,
    observed: Vec<Observation>,
    measurements: &[Measurement],
) -> Advice {
    let programs = observed.into_iter();
    let programs: Vec<_> = programs
        .map(|one| Program::judged(knowledge, host, one, measurements))
        .collect();
    Advice {
        format: FORMAT,
        host: host.clone(),
        contradictions: contradiction::find(&programs, host),
        programs,
    }
}

impl Advice {
    /// Returns one line for `--check` per rule that is not followed: the rule's name, its demand, and the processes
    /// with their differences. Processes with equal differences share a line.
    #[must_use]
    pub fn complaints(&self) -> Vec<String> {
        let mut found: Vec<(&Ruling, Vec<&Program>)> = Vec::new();
        for (program, ruling) in self.neglected() {
            let mut known = found.iter_mut();
            let same = |one: &Ruling| one.id == ruling.id && one.differs == ruling.differs;
            match known.find(|(one, _)| same(one)) {
                Some((_, programs)) => programs.push(program),
                None => found.push((ruling, vec![program])),
            }
        }
        let found = found.iter();
        found
            .map(|(ruling, programs)| complaint(ruling, programs))
            .collect()
    }

    /// Rules of the kernel or a vendor that apply here, are not refuted and are not followed.
    pub fn neglected(&self) -> impl Iterator<Item = (&Program, &Ruling)> {
        let all = self
            .programs
            .iter()
            .flat_map(|program| program.rulings.iter().map(move |ruling| (program, ruling)));
        all.filter(|(_, ruling)| ruling.binds && ruling.standing <= Standing::NotFollowed)
    }
}

/// Returns true if a rule that can apply to a process depends on a value that the kernel computes only by walking the
/// page tables. The walk holds a lock of the process, so it must not be done in vain.
#[must_use]
pub fn needs_page_walk(knowledge: &Knowledge, host: &Facts, observed: &Observation) -> bool {
    subjects(knowledge, host, observed).any(|(subject, facts)| {
        rules(subject, observed).any(|rule| {
            let mut names = rule.conditions().flat_map(|condition| condition.facts());
            let has_aim = rule.set.as_ref().is_some_and(|set| set.aim().is_some());
            let is_judged_by_pages = rule.followed.is_some() && has_aim;
            (is_judged_by_pages || names.any(|name| WALKED.contains(&name)))
                && rule.applies(&facts, subject.order) != Truth::No
        })
    })
}

/// Returns an application that is not running, as in `--app NAME=VERSION`.
///
/// # Errors
/// Fails if there is no such subject, or if the version has no number.
pub fn named(knowledge: &Knowledge, text: &str) -> Result<Observation, String> {
    let (name, version) = match text.split_once('=') {
        Some((name, version)) => (name, Some(version)),
        None => (text, None),
    };
    let subject = knowledge
        .called(name)
        .ok_or_else(|| format!("nothing is known about `{name}`"))?;
    if version == Some("") {
        return Err(format!(
            "no version follows `=`; write {name}=VERSION, or {name} alone"
        ));
    }
    if let Some(version) = version
        && Version::parse(version, subject.order).is_none()
    {
        return Err(format!("`{version}` is no version"));
    }
    let part = Part::new(subject, version.map(str::to_owned));
    Ok(Observation {
        name: subject.name.clone(),
        parts: vec![part],
        ..Observation::default()
    })
}

//! The documentation of causes and facts: claim, evidence, refutation and where to look next.

use serde::Deserialize;

/// The explanation of one cause or fact.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Explanation {
    /// Its name: that of a [`CauseId`](super::CauseId), or of a function of [`facts`](super::facts).
    pub name: String,
    /// The claim.
    pub claims: String,
    /// The evidence.
    pub evidence: String,
    /// Observations that would refute it.
    pub refuted: String,
    /// Where to look next.
    pub next: String,
}

#[derive(Deserialize)]
struct File {
    explanation: Vec<Explanation>,
}

/// Returns all explanations: of causes in the order in which they are listed, then of facts.
///
/// # Errors
/// The compiled file is malformed, which a test excludes.
pub fn explanations() -> Result<Vec<Explanation>, toml::de::Error> {
    let file: File = toml::from_str(include_str!("explain.toml"))?;
    Ok(file.explanation)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::CauseId;
    use super::*;

    #[test]
    fn every_cause_is_explained_once_and_in_full() {
        let all = explanations().expect("a good file");
        let names: BTreeSet<&str> = all.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names.len(), all.len(), "each once");
        let causes: Vec<&str> = CauseId::ALL.iter().map(|id| id.name()).collect();
        let listed: Vec<&str> = all
            .iter()
            .map(|it| it.name.as_str())
            .take(causes.len())
            .collect();
        assert_eq!(listed, causes);
        for it in &all {
            for text in [&it.claims, &it.evidence, &it.refuted, &it.next] {
                assert!(
                    text.len() > 10 && text.ends_with('.'),
                    "{}: {text}",
                    it.name
                );
            }
        }
    }
}

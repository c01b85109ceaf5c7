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

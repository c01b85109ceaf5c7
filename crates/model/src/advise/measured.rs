//! What was measured on this machine, and what it means for a rule.

use serde::Serialize;

use super::rule::{Change, Rule};

/// The effect of a policy on a program's wall time, from a record on this machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// File of the record.
    pub record: String,
    /// When it was made, in milliseconds since 1970.
    pub unix_ms: u64,
    /// The program, as it was called.
    pub program: String,
    /// Kernel release.
    pub kernel: String,
    /// The policy.
    pub policy: String,
    /// Change of the wall time with its interval, as ratios: 0.97 is 3 % less.
    pub change: [f64; 3],
    /// What is decided.
    pub outcome: Option<Change>,
}

/// What a measurement means for a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Belief {
    /// The effect came as the rule says.
    Confirmed,
    /// It came otherwise.
    Refuted,
}

impl Measurement {
    /// Whether it is of an executable on this kernel.
    #[must_use]
    pub fn is_of(&self, exe: &str, kernel: &str) -> bool {
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        name(&self.program) == name(exe) && self.kernel == kernel
    }

    /// Whether its policy is what a rule recommends.
    #[must_use]
    pub fn is_about(&self, rule: &Rule) -> bool {
        let set = rule.set.as_ref();
        set.and_then(|set| set.policy.as_ref()) == Some(&self.policy)
    }

    /// What it means for a rule that says something of the wall time.
    #[must_use]
    pub fn belief(&self, rule: &Rule) -> Option<Belief> {
        match (rule.effects.wall?, self.outcome?) {
            (Change::Depends, _) | (_, Change::Depends) => None,
            (said, came) if said == came => Some(Belief::Confirmed),
            _ => Some(Belief::Refuted),
        }
    }

    /// The change with its interval, for people.
    #[must_use]
    pub fn words(&self) -> String {
        let percent = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
        let [change, low, high] = self.change.map(percent);
        format!(
            "wall time {change} (95 %: {low} to {high}) with {}",
            self.policy
        )
    }
}

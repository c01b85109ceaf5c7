//! Presets: flags that are set together.

use std::time::Duration;

use clap::ValueEnum;

use super::Options;
use crate::turn::Wait;

/// The purpose of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Preset {
    /// A pipeline: it must end in time, and its machine may be busy
    Ci,
}

/// The time limit of a run in a pipeline.
const CI_TIME: Duration = Duration::from_secs(300);
/// How long a pipeline waits for the machine.
const CI_WAIT: Duration = Duration::from_secs(600);

impl Options {
    /// Fills in the flags of the preset that the user did not set.
    pub fn preset(mut self) -> Self {
        if self.preset == Some(Preset::Ci) {
            let is_limited = self.limits.max_time.is_some() || self.limits.max_rounds.is_some();
            self.limits.max_time = self.limits.max_time.or((!is_limited).then_some(CI_TIME));
            self.wait = self.wait.or(Some(Wait::UpTo(CI_WAIT)));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipeline_has_a_budget_unless_it_names_one() {
        let ci = || Options {
            preset: Some(Preset::Ci),
            ..Options::default()
        };
        assert_eq!(ci().preset().limits.max_time, Some(CI_TIME));
        let mut rounds = ci();
        rounds.limits.max_rounds = Some(20);
        assert_eq!(rounds.preset().limits.max_time, None);
        assert_eq!(ci().preset().wait, Some(Wait::UpTo(CI_WAIT)));
        assert_eq!(Options::default().preset().limits.max_time, None);
    }
}

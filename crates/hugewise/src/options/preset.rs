//! Flags that go together.

use std::time::Duration;

use clap::ValueEnum;

use super::Options;
use crate::turn::Wait;

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Preset {
    /// A pipeline: it must end in time, and its machine may be busy
    Ci,
}

/// The time of a run in a pipeline.
const CI_TIME: Duration = Duration::from_secs(300);
/// How long a pipeline waits for its machine.
const CI_WAIT: Duration = Duration::from_secs(600);

impl Options {
    /// The options with those of their preset, where they say nothing themselves.
    pub fn preset(mut self) -> Self {
        if self.preset == Some(Preset::Ci) {
            let is_limited = self.limits.max_time.is_some() || self.limits.max_rounds.is_some();
            self.limits.max_time = self.limits.max_time.or((!is_limited).then_some(CI_TIME));
            self.wait = self.wait.or(Some(Wait::UpTo(CI_WAIT)));
        }
        self
    }
}

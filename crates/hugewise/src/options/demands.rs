//! Conditions for a pipeline: `--fail-if`, `--strict`.

use clap::Args;
use hugewise_experiment::run::gate::Gate;

use super::JUDGE;

/// Flags of `run` and `report` that turn a result into an exit code.
#[derive(Clone, Debug, Default, Args)]
pub struct Demands {
    /// Exit with code 5 if this holds: 'wall_seconds > +2%'
    ///
    /// It holds if the whole confidence interval of a policy is beyond the limit. With programs, it compares each with
    /// the first under each policy; 'interaction < -2%' compares their gains. Repeat for more.
    #[arg(long, value_name = "COND", help_heading = JUDGE)]
    pub fail_if: Vec<Gate>,

    /// Exit with code 7 if anything about the result is in doubt
    ///
    /// The result is in doubt if the control failed, a policy was not applied, nothing is decided, or a --fail-if is
    /// not decided. To be safe, an inconclusive control counts too: it confirms nothing, although it does not weaken
    /// the answer.
    #[arg(long, hide_short_help = true, help_heading = JUDGE)]
    pub strict: bool,
}

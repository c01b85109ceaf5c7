//! The surroundings of a command in a trial.

use hugewise_linux::machine::identity::Identity;
use hugewise_linux::spawn::{AtExit, CgroupChoice, Launch, Output};

use crate::options::{Options, Switch};

/// Returns all but the words of the command and the settings of a policy.
pub fn surroundings(
    options: &Options,
    identity: Option<&Identity>,
    output: Output,
    at_exit: AtExit,
) -> Launch {
    Launch {
        identity: identity.cloned(),
        directory: options.directory.clone(),
        stdin: options.stdin.clone(),
        output,
        timeout: options.timeout,
        at_exit,
        group: match options.own_cgroup {
            Some(Switch::On) => CgroupChoice::Make,
            _ => CgroupChoice::Leave,
        },
        ..Launch::new(Vec::new())
    }
}

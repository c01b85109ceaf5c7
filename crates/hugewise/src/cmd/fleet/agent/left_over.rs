//! Settings that a killed agent left, where its guardian was killed with it, as in a container.
//! They must be back before the machine is read: else they would look like its own.

use anyhow::Result;
use hugewise_linux::machine::error::Kind;
use hugewise_linux::machine::root::Root;
use hugewise_linux::machine::turn::take_settings;
use hugewise_linux::undo::{Place, undo};

use crate::stderr::message;
use crate::{exit, paths};

/// Puts them back, if there are any and nobody holds the settings.
pub(super) fn put_back(root: &Root) -> Result<()> {
    if !paths::is_left_over() {
        return Ok(());
    }
    if let Some(needed) = paths::root_is_needed() {
        return Err(exit::refused(format!(
            "a killed experiment left settings behind; {needed}"
        )));
    }
    let hold = match take_settings() {
        Ok(hold) => hold,
        // Somebody was faster, and restores them.
        Err(error) if matches!(error.kind, Kind::Busy { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let report = undo(&hold, &Place::new(root, &paths::machine_state()))?;
    for restored in &report.restored {
        message(format_args!(
            "a killed experiment had left /{} at {}; it is {} again",
            restored.path, restored.from, restored.to
        ));
    }
    for left in &report.left_behind {
        message(left);
    }
    Ok(())
}

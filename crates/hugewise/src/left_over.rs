//! Settings left by a killed experiment whose guardian was killed with it, as in a container. They are restored before
//! the machine's settings are read, or else they would be taken for the original ones.

use anyhow::Result;
use hugewise_linux::machine::error::Kind;
use hugewise_linux::machine::lock::Hold;
use hugewise_linux::machine::root::Root;
use hugewise_linux::machine::turn::take_settings;
use hugewise_linux::undo::{UndoFolder, UndoReport, undo};

use crate::stderr::message;
use crate::{exit, paths};

/// Restores left-over settings, unless another process holds the settings.
///
/// # Errors
/// Only root may restore them; the journal cannot be read.
pub fn put_back(root: &Root) -> Result<()> {
    if !paths::is_left_over() {
        return Ok(());
    }
    if let Some(needed) = paths::root_is_needed() {
        return Err(exit::refused(format!(
            "a killed experiment left settings behind; {needed}"
        )));
    }
    match take_settings() {
        Ok(hold) => put_back_under(&hold, root),
        // Another process came first and restores them.
        Err(error) if matches!(error.kind, Kind::Busy { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Restores left-over settings while the settings are held already.
///
/// # Errors
/// The journal cannot be read.
pub fn put_back_under(hold: &Hold, root: &Root) -> Result<()> {
    tell(&undo(
        hold,
        &UndoFolder::new(root, &paths::machine_state()),
    )?);
    Ok(())
}

/// Reports which settings were restored and which were not.
pub fn tell(report: &UndoReport) {
    for restored in &report.restored {
        message(format_args!("after a killed experiment, {restored}"));
    }
    for left in &report.left_behind {
        message(left);
    }
}

//! Settings that a killed experiment left, where its guardian was killed with it, as in a container.
//! They must be back before the machine is read: else they would look like its own.

use anyhow::Result;
use hugewise_linux::machine::error::Kind;
use hugewise_linux::machine::lock::Hold;
use hugewise_linux::machine::root::Root;
use hugewise_linux::machine::turn::take_settings;
use hugewise_linux::undo::{UndoFolder, UndoReport, undo};

use crate::stderr::message;
use crate::{exit, paths};

/// Puts them back, if there are any and nobody holds the settings.
///
/// # Errors
/// Only root may; the journal cannot be read.
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
        // Somebody was faster, and restores them.
        Err(error) if matches!(error.kind, Kind::Busy { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Puts them back where the settings are held already.
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

/// Says what was put back, and what was not.
pub fn tell(report: &UndoReport) {
    for restored in &report.restored {
        message(format_args!("after a killed experiment, {restored}"));
    }
    for left in &report.left_behind {
        message(left);
    }
}

//! Whose turn it is: one experiment at a time, and one program that changes settings.
//!
//! Three locks. *Everybody's* lies where every user can open it, so one user's experiment and
//! another's keep apart; whoever holds it for ever stops other users, but not root. Root's own two
//! lie where only root can open them: *measuring*, and *settings*, which a program that runs under
//! changed settings (`exec --system`) keeps while others may measure without changing any.
//!
//! Root asks its own two alone, and takes everybody's only so that others see its turn. Who holds everybody's tells nothing: an
//! ordinary user may have a program of root hold it, such as one that is set-user-ID, or put a link to another lock in its place.

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::machine::error::{Error, Kind, Result};
use crate::machine::identity;
use crate::machine::lock::{self, Access, Hold, holder_of};

/// The folder of root's locks.
const OWN_DIR: &str = "/run/hugewise";

/// What somebody wants the machine for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To measure under the settings that are in force.
    Measure,
    /// To change settings, and perhaps to measure.
    Change,
}

/// The machine, for one experiment.
#[derive(Debug)]
pub struct Turn {
    /// Nobody else measures as long as these live.
    pub measuring: Vec<Hold>,
    /// Nobody else changes settings as long as this lives.
    pub settings: Settings,
    /// An ordinary user's process that holds everybody's lock, which does not stop root.
    pub beside: Option<u32>,
}

/// Who may change the machine's settings.
#[derive(Debug)]
pub enum Settings {
    /// We.
    Ours(Hold),
    /// A process that changed them and runs on.
    HeldBy(u32),
}

/// Takes the machine without waiting for it.
///
/// # Errors
/// [`Kind::Busy`] where another process has it; a lock cannot be opened.
pub fn take(purpose: Purpose) -> Result<Turn> {
    match has_own_locks() {
        true => take_as_root(purpose),
        false => take_as_user(purpose),
    }
}

fn take_as_user(purpose: Purpose) -> Result<Turn> {
    let everybodys = lock::hold(&lock::default_dir())?;
    // Root may measure without everybody's lock, where a user held it first.
    if let Some(holder) = holder_of(&own("measuring")) {
        return Err(busy(Some(holder), &own("measuring")));
    }
    let (measuring, settings) = match (settings_holder(), purpose) {
        (None, _) => (Vec::new(), Settings::Ours(everybodys)),
        (Some(holder), Purpose::Measure) => (vec![everybodys], Settings::HeldBy(holder)),
        (Some(holder), Purpose::Change) => return Err(busy(Some(holder), &own("settings"))),
    };
    Ok(Turn {
        measuring,
        settings,
        beside: None,
    })
}

fn take_as_root(purpose: Purpose) -> Result<Turn> {
    if let (Some(pid), Purpose::Change) = (settings_holder(), purpose) {
        return Err(busy(Some(pid), &own("settings")));
    }
    let mut measuring = vec![hold_own("measuring")?];
    let beside = match lock::hold(&lock::default_dir()) {
        Ok(hold) => {
            measuring.push(hold);
            None
        }
        Err(error) => match error.kind {
            Kind::Busy { holder } => holder,
            // Whatever a user planted there does not stop root.
            _ => None,
        },
    };
    let settings = match hold_own("settings") {
        Ok(hold) => Settings::Ours(hold),
        Err(error) => match (&error.kind, purpose) {
            (Kind::Busy { holder: Some(pid) }, Purpose::Measure) => Settings::HeldBy(*pid),
            _ => return Err(error),
        },
    };
    Ok(Turn {
        measuring,
        settings,
        beside,
    })
}

/// Takes the lock of the settings alone, to put back what a killed process changed.
///
/// # Errors
/// As [`take`].
pub fn take_settings() -> Result<Hold> {
    match has_own_locks() {
        true => hold_own("settings"),
        false => lock::hold(&lock::default_dir()),
    }
}

/// The process that changed settings and still runs.
#[must_use]
pub fn settings_holder() -> Option<u32> {
    holder_of(&own("settings"))
}

fn own(name: &str) -> PathBuf {
    Path::new(OWN_DIR).join(format!("{name}.lock"))
}

/// Takes one of root's locks.
fn hold_own(name: &str) -> Result<Hold> {
    lock::hold_file(own(name), Access::Owner)
}

/// Whether we are root and there is a place for root's locks, which is made. The folder is open,
/// so that everybody can see who holds them.
fn has_own_locks() -> bool {
    let folder = Path::new(OWN_DIR);
    let make = || {
        DirBuilder::new().mode(0o755).create(folder)?;
        fs::set_permissions(folder, Permissions::from_mode(0o755))
    };
    // Somebody may have been faster.
    identity::is_root() && (is_of_root_alone(folder) || make().is_ok() || is_of_root_alone(folder))
}

/// Whether a folder is one in which root alone makes files.
fn is_of_root_alone(folder: &Path) -> bool {
    const OTHERS: u32 = 0o022;
    let found = folder.symlink_metadata();
    found.is_ok_and(|it| it.is_dir() && it.uid() == 0 && it.mode() & OTHERS == 0)
}

fn busy(holder: Option<u32>, path: &Path) -> Error {
    Error {
        kind: Kind::Busy { holder },
        doing: "locking".to_owned(),
        path: Some(path.to_owned()),
        source: None,
    }
}

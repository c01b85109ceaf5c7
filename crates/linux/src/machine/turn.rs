//! Coordinates programs on the machine: one experiment at a time, and one program that changes settings.
//!
//! Three locks. *Everybody's* lock is accessible to every user, so that experiments of different users exclude each
//! other; a user who holds it for ever stops other users, but not root. Root's two locks are accessible only to root:
//! *measuring*, and *settings*. A program run under changed settings (`exec --system`) holds the latter, while others
//! may measure without changing settings.
//!
//! Root checks only its own two locks, and takes everybody's only so that others can see it. The holder of everybody's
//! lock proves nothing: an ordinary user can make a program of root hold it, such as a set-user-ID program, or replace
//! it by a link to another lock.

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::machine::error::{Error, Kind, Result};
use crate::machine::identity;
use crate::machine::lock::{self, Access, Hold, holder_of};

/// The directory of root's locks.
const OWN_DIR: &str = "/run/hugewise";

/// The intended use of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Measuring under the current settings.
    Measure,
    /// Changing settings, and perhaps measuring.
    Change,
}

/// The machine, for one experiment.
#[derive(Debug)]
pub struct Turn {
    /// These locks exclude other measurements.
    pub measuring: Vec<Hold>,
    /// This lock excludes other changes of settings.
    pub settings: Settings,
    /// The PID of an ordinary user's process that holds everybody's lock, which does not stop root.
    pub beside: Option<u32>,
}

/// The program that may change the machine's settings.
#[derive(Debug)]
pub enum Settings {
    /// This one.
    Ours(Hold),
    /// A running process that has changed them.
    HeldBy(u32),
}

/// Takes the machine without waiting for it.
///
/// # Errors
/// [`Kind::Busy`] if another process has it; a lock cannot be opened.
pub fn take(purpose: Purpose) -> Result<Turn> {
    match has_own_locks() {
        true => take_as_root(purpose),
        false => take_as_user(purpose),
    }
}

fn take_as_user(purpose: Purpose) -> Result<Turn> {
    let everybodys = lock::hold(&lock::default_dir())?;
    // Root may measure without everybody's lock, if a user took it first.
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
            // A lock planted by a user does not stop root.
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

/// Takes only the lock of the settings, to restore the changes of a killed process.
///
/// # Errors
/// The same as for [`take`].
pub fn take_settings() -> Result<Hold> {
    match has_own_locks() {
        true => hold_own("settings"),
        false => lock::hold(&lock::default_dir()),
    }
}

/// Returns the running process that has changed settings.
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

/// Returns true if this process is root and the directory for root's locks exists; creates it if necessary. Everybody
/// may read the directory, to see who holds the locks.
fn has_own_locks() -> bool {
    let folder = Path::new(OWN_DIR);
    let make = || {
        DirBuilder::new().mode(0o755).create(folder)?;
        fs::set_permissions(folder, Permissions::from_mode(0o755))
    };
    // Another process may have created it first.
    identity::is_root() && (is_of_root_alone(folder) || make().is_ok() || is_of_root_alone(folder))
}

/// Returns true if only root can create files in a directory.
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

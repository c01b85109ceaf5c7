//! The result of `doctor --verify-counters`, in the user's state folder.

use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::Result;
use hugewise_base::host::Host;
use hugewise_base::verification::Verification;
use hugewise_linux::file::folder::Folder;
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::verify::{EventIdentity, identity, standing};
use hugewise_observe::verify::{FORMAT, VerificationResult};

use crate::stderr::message;
use crate::{exit, file, invoker, output, paths};

/// The name of the file.
const FILE: &str = "counters.json";

/// Keeps a result; returns its file.
pub fn keep(result: &VerificationResult) -> Result<PathBuf> {
    let folder = paths::records()?;
    let rights = invoker::rights()?;
    let text = output::json(result)?;
    let kept = Folder::make_all(&folder, &rights)
        .and_then(|made| made.replace(FILE, text.as_bytes(), 0o644));
    let path = folder.join(FILE);
    match kept {
        Ok(()) => Ok(path),
        Err(error) => Err(exit::usage(format!(
            "keeping the result in {}: {error}{}",
            path.display(),
            invoker::rights_hint()
        ))),
    }
}

/// Returns the newest result. An unreadable one is reported, and counts as none.
pub fn newest() -> Option<VerificationResult> {
    let path = paths::records().ok()?.join(FILE);
    let bytes = match file::read_found(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        Err(error) => {
            message(format_args!("{}: {error}", path.display()));
            return None;
        }
    };
    match serde_json::from_slice::<VerificationResult>(&bytes) {
        Ok(result) if result.format == FORMAT => Some(result),
        Ok(result) => {
            let format = result.format;
            message(format_args!(
                "{}: format {format}, not {FORMAT}",
                path.display()
            ));
            None
        }
        Err(error) => {
            message(format_args!("{}: {error}", path.display()));
            None
        }
    }
}

/// The result of the verification for the events of a measurement on this machine.
pub fn of(root: &Root, host: &Host, events: &[EventIdentity]) -> Verification {
    standing(events, newest().as_ref(), &identity(root, host))
}

//! The plan as a file.

use std::io::{Error, ErrorKind};
use std::path::Path;

use anyhow::Result;
use hugewise_base::plain::plain;
use hugewise_fleet::assign::digest;
use hugewise_fleet::plan::Plan;

use crate::{exit, file};

/// A plan with what tells it from a later version of itself.
#[derive(Clone, Debug)]
pub(super) struct PlanFile {
    pub(super) plan: Plan,
    pub(super) digest: String,
}

/// Reads it.
///
/// # Errors
/// It cannot be read, or is wrong; with the line.
pub(super) fn read(path: &Path) -> Result<PlanFile> {
    parse(path, file::read(path))
}

/// Reads it once more: only a regular file, because somebody may have put a pipe there meanwhile.
pub(super) fn read_again(path: &Path) -> Result<PlanFile> {
    parse(path, file::read_found(path))
}

fn parse(path: &Path, bytes: std::io::Result<Vec<u8>>) -> Result<PlanFile> {
    let wrong = |problem: String| exit::usage(format!("the plan {}: {problem}", path.display()));
    let bytes = bytes.map_err(|error| exit::usage(unread(path, &error)))?;
    let text = String::from_utf8(bytes).map_err(|error| wrong(error.to_string()))?;
    let plan = text.parse().map_err(|problem: String| {
        let name = plain(&path.to_string_lossy());
        exit::lines(
            exit::Exit::Usage,
            format_args!("the plan {name}: {problem}"),
        )
    })?;
    Ok(PlanFile {
        plan,
        digest: digest(&text),
    })
}

/// What keeps a plan from being read, and what to give.
fn unread(path: &Path, error: &Error) -> String {
    let path = path.display();
    let problem = match error.kind() {
        ErrorKind::NotFound => format!("there is no plan {path}"),
        _ => format!("the plan {path} cannot be read: {error}"),
    };
    format!("{problem}; a plan is the TOML file of an experiment (docs/guide/fleet.md)")
}

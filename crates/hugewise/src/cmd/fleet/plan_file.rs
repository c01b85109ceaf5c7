//! The plan as a file.

use std::io::{Error, ErrorKind};
use std::path::Path;

use anyhow::Result;
use hugewise_base::plain::plain;
use hugewise_fleet::assign::digest;
use hugewise_fleet::plan::Plan;

use crate::{exit, file};

/// A plan with a hash that distinguishes its versions.
#[derive(Clone, Debug)]
pub(super) struct PlanFile {
    pub(super) plan: Plan,
    pub(super) digest: String,
}

/// Reads a plan.
///
/// # Errors
/// The plan cannot be read, or is wrong; the error names the line.
pub(super) fn read(path: &Path) -> Result<PlanFile> {
    parse(path, file::read(path))
}

/// Reads the plan again. Accepts only a regular file, because it may have been replaced by a pipe.
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

/// Explains why a plan cannot be read, and what to give instead.
fn unread(path: &Path, error: &Error) -> String {
    let path = path.display();
    let problem = match error.kind() {
        ErrorKind::NotFound => format!("there is no plan {path}"),
        _ => format!("the plan {path} cannot be read: {error}"),
    };
    format!("{problem}; a plan is the TOML file of an experiment (docs/guide/fleet.md)")
}

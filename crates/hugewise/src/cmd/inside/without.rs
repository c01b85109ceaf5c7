//! Whole runs are compared, however long they are.

use std::path::PathBuf;

use anyhow::Result;
use hugewise_linux::machine::root::Root;

use crate::exit::Exit;
use crate::experiment::rounds::{LongRuns, Scout, Switchbacks};
use crate::options::{Options, PageFile};
use crate::output::Output;

/// Returns no scout.
pub fn scout(_: &Root) -> Option<Box<dyn Scout>> {
    None
}

/// Returns nothing.
pub fn switchbacks(_: &Root, _: &Output) -> Option<Box<dyn Switchbacks>> {
    None
}

/// Returns the error.
///
/// # Errors
/// Always.
pub fn go_on(
    _: &Root,
    _: &Options,
    long: &LongRuns,
    _: Option<PathBuf>,
    _: &PageFile,
    _: &Output,
) -> Result<Exit> {
    Err(long.clone().into())
}

//! One inspection of a process, as `watch` shows it.

use anyhow::Result;
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::address_space::Depth;
use hugewise_observe::inspect::view::{Inspection, map};
use hugewise_text::Style;
use hugewise_text::document::Document;
use hugewise_text::plain_text::level;

use super::processes;
use crate::exit;

/// Inspects a process as a document, with its map in this number of columns. Page frames are not read.
///
/// # Errors
/// The process is gone, or cannot be read.
pub fn document(root: &Root, pid: u32, style: &Style) -> Result<Document> {
    let read = processes::read(root, pid, Depth::Pages, Inspection::in_short)?;
    let inspection = read.map_err(|why| exit::refused(format!("process {pid}: {why}")))?;
    let mut document = inspection.document(None, level(style.verbose));
    document
        .sections
        .extend(map(&inspection, style, &|_| false).sections);
    Ok(document)
}

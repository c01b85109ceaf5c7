//! `--write`: files that make the advice permanent, for review.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use hugewise_advise::advice::Advice;
use hugewise_advise::persistent::files;
use hugewise_linux::file::folder::Folder;
use hugewise_text::number::counted;

use crate::output::Output;
use crate::stderr::message;
use crate::{exit, invoker};

/// Writes the files into a folder, which is created if missing. Existing files are kept.
pub(super) fn write(folder: &Path, advice: &Advice, output: &Output) -> Result<()> {
    let files = files(advice);
    if files.is_empty() {
        if !output.quiet {
            message("wrote nothing: no applicable rule has a file");
        }
        return Ok(());
    }
    let rights = invoker::rights()?;
    let made = Folder::make_all(folder, &rights);
    made.map_err(|why| {
        exit::usage(format!(
            "--write: {} cannot be made: {why}",
            folder.display()
        ))
    })?;
    for file in &files {
        let path = folder.join(&file.path);
        if path.exists() {
            return Err(exit::usage(format!(
                "--write: {} exists; name an empty folder",
                path.display()
            )));
        }
        let above = path.parent().unwrap_or(folder);
        let written = Folder::make_all(above, &rights)
            .and_then(|above| above.create(path.file_name().unwrap_or_default()))
            .and_then(|mut made| made.write_all(file.text.as_bytes()));
        written.map_err(|why| exit::usage(format!("--write: {}: {why}", path.display())))?;
    }
    if !output.quiet {
        message(format_args!(
            "wrote {} to {}; nothing was applied",
            counted(files.len() as u64, "file"),
            folder.display()
        ));
    }
    Ok(())
}

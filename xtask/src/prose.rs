//! Checks the English of Markdown, Rust comments and Rust string literals against the rules of `docs/STYLE.md`.
//!
//! The patterns are hints: a flagged sentence can be good English. So each kind of text has a limit, not a ban.
//! To add a pattern, add it to `patterns.toml`, with sentences with and without it.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

mod file;
mod limits;
mod patterns;
mod sentences;
mod summary;

use file::File;

/// Arguments of `prose`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Also list every flagged sentence, with its patterns
    #[arg(long)]
    list: bool,
    /// Files and folders to count [default: check the repository against its limits]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

/// Counts the flagged sentences of the paths, or checks the repository against its limits.
///
/// # Errors
///
/// A file cannot be read, or a part of the repository is over its limit.
pub fn run(arguments: &Arguments) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let all = limits::places().map(PathBuf::from);
    let (from, paths) = match arguments.paths.as_slice() {
        [] => (root.as_path(), all.collect()),
        paths => (Path::new(""), paths.to_vec()),
    };
    let files = file::read(from, &paths)?;
    if arguments.list {
        files.iter().for_each(File::print_flagged);
    }
    if !arguments.paths.is_empty() {
        print!("{}", summary::of(&files));
        return Ok(());
    }
    print!("{}", summary::of_kinds(&files));
    let over = limits::over(&files);
    if over.is_empty() {
        return Ok(());
    }
    bail!(
        "over the limit; `cargo xtask prose --list PATH` lists the sentences, and docs/STYLE.md has the rules:\n{}",
        over.join("\n")
    )
}

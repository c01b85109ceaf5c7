//! Lists the files of the knowledge, so that they are compiled in and a new one needs no line of code.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "it runs while the model is built, and is no part of it"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> std::io::Result<()> {
    let own = |name| PathBuf::from(env::var_os(name).expect("cargo sets it"));
    let folder = own("CARGO_MANIFEST_DIR").join("knowledge");
    println!("cargo:rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(&folder)?.collect::<Result<Vec<_>, _>>()?;
    let mut files: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "toml"));
    files.sort();
    fs::write(own("OUT_DIR").join("knowledge.rs"), list(&files))
}

/// The files as a list of names and texts.
fn list(files: &[PathBuf]) -> String {
    let mut list = "&[\n".to_owned();
    for path in files {
        let name = path.file_name().unwrap_or_default();
        let (name, path): (&Path, _) = (name.as_ref(), path.display().to_string());
        writeln!(list, "    ({name:?}, include_str!({path:?})),").expect("a String takes all");
    }
    list + "]\n"
}

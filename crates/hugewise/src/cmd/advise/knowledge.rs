//! The knowledge base: the compiled-in rules, extended by the user's files.

use std::path::PathBuf;

use anyhow::Result;
use hugewise_advise::knowledge::Knowledge;
use hugewise_base::plain::plain;

use crate::exit;
use crate::file;

/// Reads the knowledge base.
pub(super) fn read() -> Result<Knowledge> {
    let mut knowledge = Knowledge::compiled().map_err(anyhow::Error::msg)?;
    for path in own_files() {
        let name = path.display().to_string();
        let bytes = file::read_found(&path).map_err(|why| exit::usage(format!("{name}: {why}")))?;
        let text = String::from_utf8_lossy(&bytes);
        let wrong = |why| exit::lines(exit::Exit::Usage, why);
        knowledge.extend(&plain(&name), &text).map_err(wrong)?;
    }
    Ok(knowledge)
}

/// The user's files, in `$XDG_CONFIG_HOME/hugewise/knowledge` or `~/.config/hugewise/knowledge`.
fn own_files() -> Vec<PathBuf> {
    let named = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config"));
    let folder = named.filter(|path| path.is_absolute()).or(home);
    let folder = folder.map(|folder| folder.join("hugewise/knowledge"));
    let entries = folder.and_then(|folder| std::fs::read_dir(folder).ok());
    let paths = entries
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .collect();
    files.sort();
    files
}

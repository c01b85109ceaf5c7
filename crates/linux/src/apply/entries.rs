//! The settings that an experiment will change, with their original values.

use hugewise_base::setting::{MIN_FREE, is_setting};
use hugewise_experiment::run::policy::realise::{FileWrite, Realisation};

use super::other;
use crate::machine::error::Result;
use crate::undo::{Change, Entry, UndoFolder};

/// Returns the entries for the journal: all files written by any policy, in the order of writing, after the files that
/// follow them.
pub(super) fn read_entries(
    place: &UndoFolder,
    realisations: &[&Realisation],
) -> Result<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::new();
    for file in realisations.iter().flat_map(|each| &each.files) {
        add_write(place, &mut entries, file)?;
    }
    // Writing `enabled` or `shmem_enabled` starts or stops khugepaged, which changes the follower.
    let modes = entries.iter().any(|entry| entry.path.ends_with("enabled"));
    if modes && place.root().path(MIN_FREE).exists() {
        entries.insert(0, read_entry(place, MIN_FREE, Change::Follows)?);
    }
    Ok(entries)
}

fn add_write(place: &UndoFolder, entries: &mut Vec<Entry>, file: &FileWrite) -> Result<()> {
    let known = entries.iter_mut().find(|entry| entry.path == file.path);
    if let Some(Entry {
        change: Change::Written(values),
        ..
    }) = known
    {
        if !values.contains(&file.value) {
            values.push(file.value.clone());
        }
        return Ok(());
    }
    let change = Change::Written(vec![file.value.clone()]);
    entries.push(read_entry(place, &file.path, change)?);
    Ok(())
}

fn read_entry(place: &UndoFolder, path: &str, change: Change) -> Result<Entry> {
    if !is_setting(path) {
        let what = format!("/{path} is not a setting of huge pages");
        return Err(other("journalling", what));
    }
    Ok(Entry {
        path: path.to_owned(),
        original: place.value(path)?,
        change,
    })
}

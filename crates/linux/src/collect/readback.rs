//! What was really in force while a trial ran.

use std::collections::BTreeMap;

use hugewise_model::host::ThpDisable;
use hugewise_model::observation::{Mark, ReadBack};

use super::Watch;
use crate::root::Root;
use crate::spawn::ExitReading;

/// The value in force of a settings file: the word in brackets, or the whole text. `None` when
/// it cannot be read.
#[must_use]
pub fn in_force(root: &Root, path: &str) -> Option<String> {
    let text = root.read_trimmed(path).ok()?;
    let chosen = text
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    Some(chosen.map_or_else(|| text.clone(), |(word, _)| word.to_owned()))
}

pub(super) fn read_files(root: &Root, watch: &Watch) -> BTreeMap<String, String> {
    watch
        .expected
        .keys()
        .filter_map(|path| Some((path.clone(), in_force(root, path)?)))
        .collect()
}

/// Settings that were not, or did not stay, what the trial needed.
pub(super) fn drift(
    watch: &Watch,
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Vec<Mark> {
    let found = |path: &String, expected: &String| {
        [before, after]
            .into_iter()
            .filter_map(|files| files.get(path))
            .find(|value| *value != expected)
            .cloned()
    };
    watch
        .expected
        .iter()
        .filter_map(|(path, expected)| {
            Some(Mark::SettingDrifted {
                path: path.clone(),
                expected: expected.clone(),
                found: found(path, expected)?,
            })
        })
        .collect()
}

pub(super) fn read_back(
    files: BTreeMap<String, String>,
    thp_disable: Option<ThpDisable>,
    watch: &Watch,
    exit: Option<&ExitReading>,
) -> ReadBack {
    let found = exit.and_then(|exit| exit.preload_found);
    let allocator = watch
        .preload
        .as_ref()
        .and_then(|path| found.map(|found| if found { path.clone() } else { String::new() }));
    ReadBack {
        files,
        thp_disable,
        allocator,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_in_brackets_is_in_force() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = Root::at(folder.path());
        std::fs::write(root.path("enabled"), "always [madvise] never\n").expect("a file");
        std::fs::write(root.path("pages"), "4096\n").expect("a file");
        assert_eq!(in_force(&root, "enabled").as_deref(), Some("madvise"));
        assert_eq!(in_force(&root, "pages").as_deref(), Some("4096"));
        assert_eq!(in_force(&root, "absent"), None);
    }

    #[test]
    fn a_change_in_the_middle_is_seen() {
        let one = |value: &str| BTreeMap::from([("enabled".to_owned(), value.to_owned())]);
        let watch = Watch {
            expected: one("always"),
            preload: None,
        };
        assert!(drift(&watch, &one("always"), &one("always")).is_empty());
        let [Mark::SettingDrifted { found, .. }] =
            &drift(&watch, &one("always"), &one("never"))[..]
        else {
            panic!("one mark")
        };
        assert_eq!(found, "never");
    }
}

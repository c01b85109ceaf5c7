//! Whether the policy was in force.

use std::collections::BTreeMap;

use hugewise_model::policy::realise::Realisation;

use super::sampler::Samples;
use crate::root::Root;
use crate::spawn::End;

/// The values in force of some settings files; those that cannot be read are left out.
pub(super) fn files(root: &Root, paths: &[String]) -> BTreeMap<String, String> {
    paths
        .iter()
        .filter_map(|path| Some((path.clone(), in_force(root, path)?)))
        .collect()
}

/// The value of one settings file: the choice in brackets where the file lists choices.
pub(super) fn in_force(root: &Root, path: &str) -> Option<String> {
    Some(chosen(&root.read_trimmed(path).ok()?).to_owned())
}

fn chosen(text: &str) -> &str {
    let bracketed = text
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    bracketed.map_or(text, |(choice, _)| choice)
}

/// The library of the policy as it was found: its path, or nothing when it was looked for and
/// not there; `None` when nobody asked or nobody could look.
pub(super) fn allocator(expected: &Realisation, end: &End, samples: &Samples) -> Option<String> {
    let library = expected.preload.as_ref()?;
    let at_exit = end.exit.as_ref().ok().and_then(|exit| exit.preload_found);
    let looked = at_exit.is_some() || samples.count > 0;
    let found = samples.library_found || at_exit == Some(true);
    looked.then(|| {
        if found {
            library.clone()
        } else {
            String::new()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_in_brackets_is_in_force() {
        assert_eq!(chosen("always [madvise] never"), "madvise");
        assert_eq!(chosen("511"), "511");
        assert_eq!(chosen("torn [value"), "torn [value");
    }
}

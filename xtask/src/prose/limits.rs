//! The limits of flagged sentences in the parts of the repository.

use std::collections::BTreeMap;

use super::file::{File, Tally};
use super::sentences::Kind;
use super::summary::descending;

/// A limit for one kind of text.
struct Limit {
    kind: Kind,
    parts: Parts,
    /// The largest flagged part, in percent.
    most: f64,
}

/// The parts to which a limit applies separately.
enum Parts {
    /// Each crate of [`CRATES`].
    EachCrate,
    /// All files below these paths together.
    Together(&'static str, &'static [&'static str]),
}

/// The folders of crates; those in `crates` are separate parts.
const CRATES: &[&str] = &["crates", "xtask", "fuzz"];
/// The documents, without CHANGELOG.md.
const DOCUMENTS: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "SECURITY.md",
    "contrib",
    "docs",
    "examples",
];

/// All limits.
const LIMITS: [Limit; 3] = [
    Limit {
        kind: Kind::Comment,
        parts: Parts::EachCrate,
        most: 10.0,
    },
    Limit {
        kind: Kind::Literal,
        parts: Parts::Together("crates", CRATES),
        most: 5.0,
    },
    Limit {
        kind: Kind::Markdown,
        parts: Parts::Together("documents", DOCUMENTS),
        most: 5.0,
    },
];

/// The number of files named for a part over its limit.
const WORST: usize = 5;

/// Returns the paths with limits, relative to the root of the repository.
pub fn places() -> impl Iterator<Item = &'static str> {
    CRATES.iter().chain(DOCUMENTS).copied()
}

impl Parts {
    /// Returns the name of the part with this file, if it has a limit.
    fn of<'a>(&self, path: &'a str) -> Option<&'a str> {
        let is_below = |place: &&&str| {
            let rest = path.strip_prefix(**place);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        match self {
            Self::Together(name, places) => places.iter().find(is_below).map(|_| *name),
            Self::EachCrate => {
                let place = CRATES.iter().find(is_below)?;
                let inner = path[place.len()..].split('/').nth(1)?;
                let end = if *place == "crates" {
                    inner.len() + 1
                } else {
                    0
                };
                Some(&path[..place.len() + end])
            }
        }
    }
}

/// Returns a description of each part over its limit, with its worst files.
pub fn over(files: &[File]) -> Vec<String> {
    LIMITS.iter().flat_map(|limit| limit.over(files)).collect()
}

/// The count of a part, with the flagged sentences of each file.
type Part<'a> = (Tally, Vec<(&'a str, usize)>);

impl Limit {
    fn over(&self, files: &[File]) -> Vec<String> {
        let mut parts: BTreeMap<&str, Part<'_>> = BTreeMap::new();
        for file in files {
            if let Some(name) = self.parts.of(&file.path) {
                let tally = file.tally(self.kind);
                let (all, counts) = parts.entry(name).or_default();
                all.add(tally);
                counts.push((&file.path, tally.flagged));
            }
        }
        let over = parts
            .into_iter()
            .filter(|(_, (all, _))| all.percent() > self.most);
        over.map(|(name, (all, counts))| self.described(name, all, counts))
            .collect()
    }

    fn described(&self, name: &str, all: Tally, counts: Vec<(&str, usize)>) -> String {
        let mut text = format!(
            "{name}, {}: {} of {} sentences are flagged, {:.1} % (limit {} %)",
            self.kind.name(),
            all.flagged,
            all.sentences,
            all.percent(),
            self.most
        );
        for (path, count) in descending(counts.into_iter()).iter().take(WORST) {
            text.push_str(&format!("\n  {count:6} {path}"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prose::sentences::Sentence;

    fn file(path: &str, kind: Kind, sentences: usize, flagged: usize) -> File {
        let text = String::new();
        let sentence = |index| {
            let flags = if index < flagged {
                vec!["bent"]
            } else {
                Vec::new()
            };
            let text = text.clone();
            (
                Sentence {
                    line: 1,
                    kind,
                    text,
                },
                flags,
            )
        };
        File {
            path: path.to_owned(),
            sentences: (0..sentences).map(sentence).collect(),
        }
    }

    #[test]
    fn a_limit_itself_is_allowed() {
        let at = file("crates/a/src/x.rs", Kind::Comment, 100, 10);
        assert_eq!(over(&[at]), [""; 0]);
        let above = [file("crates/a/src/x.rs", Kind::Comment, 100, 11)];
        let expected = "crates/a, comment: 11 of 100 sentences are flagged, 11.0 % (limit 10 %)\n      11 crates/a/src/x.rs";
        assert_eq!(over(&above), [expected]);
    }

    #[test]
    fn comments_count_by_crate_and_literals_together() {
        let comments = [
            file("crates/a/src/x.rs", Kind::Comment, 10, 4),
            file("crates/b/src/x.rs", Kind::Comment, 90, 0),
            file("xtask/src/x.rs", Kind::Comment, 10, 0),
        ];
        let over_limit = over(&comments);
        assert_eq!(over_limit.len(), 1);
        assert!(
            over_limit[0].starts_with("crates/a, comment: 4 of 10"),
            "{over_limit:?}"
        );
        let literals = [
            file("crates/a/src/x.rs", Kind::Literal, 10, 4),
            file("xtask/src/x.rs", Kind::Literal, 90, 0),
        ];
        assert_eq!(over(&literals), [""; 0]);
    }

    #[test]
    fn parts_are_named_by_folder() {
        let part = |path| Parts::EachCrate.of(path);
        assert_eq!(part("crates/linux/src/a/b.rs"), Some("crates/linux"));
        assert_eq!(part("xtask/src/a.rs"), Some("xtask"));
        assert_eq!(part("docs/guide/a.md"), None);
        let documents = Parts::Together("documents", DOCUMENTS);
        assert_eq!(documents.of("docs/guide/a.md"), Some("documents"));
        assert_eq!(documents.of("README.md"), Some("documents"));
        assert_eq!(documents.of("CHANGELOG.md"), None);
        assert_eq!(documents.of("docstore/a.md"), None);
    }
}

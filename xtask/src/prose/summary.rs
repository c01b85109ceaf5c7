//! The numbers of some files, as text.

use std::fmt::Write;

use super::file::{File, Tally};
use super::sentences::Kind;

/// The number of files in a list of the worst.
const WORST: usize = 10;

/// Returns the sentences and the flagged ones by kind of text.
pub fn of_kinds(files: &[File]) -> String {
    let mut text = String::new();
    for kind in Kind::ALL {
        let mut all = Tally::default();
        files.iter().for_each(|file| all.add(file.tally(kind)));
        if all.sentences > 0 {
            let Tally { sentences, flagged } = all;
            let (name, percent) = (kind.name(), all.percent());
            let _ = writeln!(
                text,
                "{name}: {sentences} sentences, {flagged} flagged ({percent:.0} %)"
            );
        }
    }
    text
}

/// Returns the numbers by kind, by pattern, and by file for the worst files.
pub fn of(files: &[File]) -> String {
    let flags = files.iter().flat_map(|file| &file.sentences);
    let patterns = descending(flags.flat_map(|(_, flags)| flags).map(|name| (*name, 1)));
    let flagged = |file: &File| Kind::ALL.map(|kind| file.tally(kind).flagged).iter().sum();
    let files_by_name = files.iter().map(|file| (file.path.as_str(), flagged(file)));
    let worst = descending(files_by_name).into_iter().take(WORST);
    let mut text = of_kinds(files);
    for (name, count) in patterns.into_iter().chain(worst) {
        let _ = writeln!(text, "  {count:6} {name}");
    }
    text
}

/// Returns the sum of the counts of each name, the largest first, without zeros.
pub fn descending<'a>(counts: impl Iterator<Item = (&'a str, usize)>) -> Vec<(&'a str, usize)> {
    let mut sums = std::collections::BTreeMap::new();
    counts.for_each(|(name, count)| *sums.entry(name).or_default() += count);
    let mut sums: Vec<(&str, usize)> = sums.into_iter().filter(|(_, sum)| *sum > 0).collect();
    sums.sort_by_key(|(_, sum)| std::cmp::Reverse(*sum));
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prose::sentences::Sentence;

    #[test]
    fn numbers_are_by_kind_pattern_and_file() {
        let sentence = |flags: &[&'static str]| {
            let text = String::new();
            let (line, kind) = (1, Kind::Comment);
            (Sentence { line, kind, text }, flags.to_vec())
        };
        let file = |path: &str, sentences| File {
            path: path.to_owned(),
            sentences,
        };
        let files = [
            file("a.rs", vec![sentence(&["bent"]), sentence(&[])]),
            file(
                "b.rs",
                vec![sentence(&["bent", "long"]), sentence(&["bent"])],
            ),
            file("c.rs", vec![sentence(&[])]),
        ];
        let expected = "comment: 5 sentences, 3 flagged (60 %)\n       3 bent\n       1 long\n       2 b.rs\n       1 a.rs\n";
        assert_eq!(of(&files), expected);
    }
}

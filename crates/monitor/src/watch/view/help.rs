//! The keys, and the terms on the screen.

use crate::watch::keys::BINDINGS;
use hugewise_text::document::{Document, Field, Section};

/// Terms of the kernel's counters.
const WORDS: [(&str, &str); 6] = [
    ("huge faults", "page faults that got a huge page"),
    (
        "fallbacks",
        "page faults that wanted a huge page, found none free, and got smaller pages",
    ),
    ("collapses", "base pages that became a huge page later"),
    ("splits", "huge pages that became smaller ones"),
    (
        "compaction stalls",
        "tasks that had to move pages themselves to get a free block",
    ),
    (
        "reclaim stalls",
        "tasks that had to free memory themselves to get some",
    ),
];

/// The help.
pub(super) fn document() -> Document {
    let keys = BINDINGS.iter().map(|binding| {
        let keys = binding.keys.iter().map(|key| key.name());
        Field::new(keys.collect::<Vec<_>>().join(" "), binding.meaning)
    });
    let words = WORDS.map(|(word, meaning)| Field::new(word, meaning));
    Document::new([
        Section::titled("Keys").with(keys.collect::<Vec<_>>()),
        Section::titled("Words").with(words.to_vec()),
    ])
}

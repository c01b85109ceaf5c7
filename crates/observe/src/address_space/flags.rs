use serde::{Deserialize, Serialize};

/// The flags in the `VmFlags` line of `/proc/PID/smaps` (show_smap_vma_flags, fs/proc/task_mmu.c): a set of two-letter
/// words.
///
/// Stored as bits, because one address space can have tens of thousands of mappings. Unknown words are dropped; no such
/// word affects huge pages.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(from = "Vec<String>", into = "Vec<String>")]
pub struct VmFlags(u64);

/// Every word, indexed by its bit.
const WORDS: [&str; 38] = [
    "rd", "wr", "ex", "sh", "mr", "mw", "me", "ms", "gd", "pf", "lo", "io", "sr", "rr", "dc", "de",
    "lf", "ac", "nr", "ht", "sf", "ar", "wf", "dd", "sd", "mm", "hg", "nh", "mg", "bt", "mt", "um",
    "uw", "ui", "ss", "sl", "dp", "gu",
];

impl VmFlags {
    /// The set of these words.
    #[must_use]
    pub fn of<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        words.into_iter().fold(Self::default(), |mut set, word| {
            set.insert(word.as_bytes());
            set
        })
    }

    /// Adds a word; ignores unknown words.
    pub fn insert(&mut self, word: &[u8]) {
        self.0 |= bit(word);
    }

    /// Returns true if the word is in the set.
    #[must_use]
    pub fn has(self, word: &str) -> bool {
        self.0 & bit(word.as_bytes()) != 0
    }

    /// Returns the first of these words that is in the set.
    #[must_use]
    pub fn first_of(self, words: &[&'static str]) -> Option<&'static str> {
        words.iter().copied().find(|word| self.has(word))
    }

    /// Returns the words of the set, in the kernel's order.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        WORDS
            .iter()
            .enumerate()
            .filter(move |(bit, _)| self.0 & (1 << bit) != 0)
            .map(|(_, &word)| word)
    }

    /// Returns the words that are in exactly one of the two sets.
    #[must_use]
    pub fn difference(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }

    /// Returns true if the set is empty, which never happens for a real mapping.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// The bit of a word; 0 for an unknown word. Compares both bytes in one step, because comparing slices would call the C
/// library for each.
fn bit(word: &[u8]) -> u64 {
    let place = <[u8; 2]>::try_from(word)
        .ok()
        .and_then(|word| PAIRS.iter().position(|&known| known == word));
    place.map_or(0, |place| 1 << place)
}

/// [`WORDS`], as bytes.
const PAIRS: [[u8; 2]; WORDS.len()] = {
    let mut pairs = [[0; 2]; WORDS.len()];
    let mut place = 0;
    while place < WORDS.len() {
        let word = WORDS[place].as_bytes();
        pairs[place] = [word[0], word[1]];
        place += 1;
    }
    pairs
};

impl From<Vec<String>> for VmFlags {
    fn from(words: Vec<String>) -> Self {
        Self::of(words.iter().map(String::as_str))
    }
}

impl From<VmFlags> for Vec<String> {
    fn from(flags: VmFlags) -> Self {
        flags.words().map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back() {
        let flags = VmFlags::of(["rd", "wr", "hg", "zz"]);
        assert_eq!(flags.words().collect::<Vec<_>>(), ["rd", "wr", "hg"]);
        assert!(flags.has("hg") && !flags.has("nh") && !flags.has("zz"));
        assert_eq!(flags.first_of(&["nh", "wr", "hg"]), Some("wr"));
        let advised = flags.difference(VmFlags::of(["rd", "wr"]));
        assert_eq!(advised, VmFlags::of(["hg"]));
        let json = serde_json::to_string(&flags).unwrap();
        assert_eq!(json, r#"["rd","wr","hg"]"#);
        assert_eq!(serde_json::from_str::<VmFlags>(&json).unwrap(), flags);
    }
}

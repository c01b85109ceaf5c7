//! "Did you mean …?" for every word that must be one of a list.

/// Words with a lower similarity are not suggested.
const ALIKE: f64 = 0.75;

/// The number of words listed with a suggestion.
const FEW: usize = 10;

/// Returns the known word that is most similar to `word`, if any is similar enough.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let known = known
        .into_iter()
        .map(|known| (likeness(&word, &known.to_lowercase()), known));
    let best = known.max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.filter(|(likeness, _)| *likeness >= ALIKE)
        .map(|(_, known)| known)
}

/// Jaro's similarity, raised for a common prefix as by Winkler, but at any similarity: `walltime` means `wall_seconds`.
/// The measure is too strict on one slip in a short word (`tph`), so one slip always counts as close.
fn likeness(one: &str, other: &str) -> f64 {
    if strsim::damerau_levenshtein(one, other) == 1 && one.len() > 2 {
        return 0.99;
    }
    let similarity = strsim::jaro(one, other);
    let pairs = one.chars().zip(other.chars()).take(4);
    let common = pairs.take_while(|(one, other)| one == other).count();
    similarity + 0.1 * common as f64 * (1.0 - similarity)
}

/// Returns `did you mean …?`, and the known words if they are few or no word is similar.
#[must_use]
pub fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let all = format!("there are {}", known.join(", "));
    match nearest(word, known.iter().copied()) {
        Some(near) if (2..=FEW).contains(&known.len()) => format!("did you mean `{near}`? ({all})"),
        Some(near) => format!("did you mean `{near}`?"),
        None => all,
    }
}

/// Returns `; did you mean …?` if a known word is similar, otherwise an empty text.
#[must_use]
pub fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near = nearest(word, known);
    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_finds_its_word_and_another_word_finds_none() {
        let known = ["wall_seconds", "minor_faults_total", "peak_rss_bytes"];
        for word in ["wall_second", "wal_seconds", "wallseconds", "walltime"] {
            assert_eq!(nearest(word, known), Some("wall_seconds"), "{word}");
        }
        assert_eq!(nearest("tph", ["thp", "mthp"]), Some("thp"));
        assert_eq!(nearest("vma_smal", ["VMA_SMALL"]), Some("VMA_SMALL"));
        let processes = ["redis-server", "postgres", "python3", "java"];
        for (word, meant) in [
            ("redis", "redis-server"),
            ("red", "redis-server"),
            ("potsgers", "postgres"),
            ("postgre", "postgres"),
            ("pyhton", "python3"),
            ("jav", "java"),
        ] {
            assert_eq!(nearest(word, processes), Some(meant), "{word}");
        }
        assert_eq!(nearest("zebra", known), None);
        assert_eq!(nearest("ALWAYS", ["never", "always"]), Some("always"));
        assert_eq!(nearest("sometimes", ["never", "always"]), None);
        assert_eq!(hint("zebra", ["a", "b"]), "there are a, b");
        let both = "did you mean `brk`? (there are brk, mmap)";
        assert_eq!(hint("sbrk", ["brk", "mmap"]), both);
    }
}

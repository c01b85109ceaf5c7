//! "Did you mean …?" for every word that must be one of a list.

/// Words less alike than this are not suggested.
const ALIKE: f64 = 0.75;

/// The known word that is most like the one that was typed, if any is like it.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |known: &str| strsim::jaro_winkler(word, known);
    let known = known.into_iter().map(|known| (likeness(known), known));
    let best = known.max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.filter(|(likeness, _)| *likeness >= ALIKE)
        .map(|(_, known)| known)
}

/// `did you mean …?`, or all known words where none is like it.
pub fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_finds_its_word_and_another_word_finds_none() {
        let known = ["wall_seconds", "minor_faults_total", "peak_rss_bytes"];
        for word in ["wall_second", "wal_seconds", "wallseconds", "wall_time"] {
            assert_eq!(nearest(word, known), Some("wall_seconds"), "{word}");
        }
        assert_eq!(nearest("zebra", known), None);
        assert_eq!(hint("zebra", ["a", "b"]), "there are a, b");
    }
}

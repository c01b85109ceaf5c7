/// `; did you mean …?` when one of the candidates is a typing slip away, else nothing.
pub(super) fn suggestion<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(typed, candidates).map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

/// The candidate closest to what was typed, if it is close enough to be meant: at most one
/// slip in three characters.
fn nearest<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    let bound = typed.chars().count().div_ceil(3);
    candidates
        .into_iter()
        .map(|each| (distance(&typed, each), each))
        .filter(|&(slips, _)| slips <= bound)
        .min_by_key(|&(slips, _)| slips)
        .map(|(_, each)| each)
}

/// Levenshtein's distance: insertions, deletions and replacements.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_of_known_pairs() {
        for (a, b, slips) in [
            ("", "", 0),
            ("kitten", "sitting", 3),
            ("defrg", "defrag", 1),
        ] {
            assert_eq!(distance(a, b), slips, "{a} {b}");
            assert_eq!(distance(b, a), slips, "{b} {a}");
        }
    }

    #[test]
    fn only_slips_are_suggested() {
        assert_eq!(nearest("alway", ["never", "always"]), Some("always"));
        assert_eq!(nearest("ALWAYS", ["never", "always"]), Some("always"));
        assert_eq!(nearest("sometimes", ["never", "always"]), None);
    }
}

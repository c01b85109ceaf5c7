//! What a word that nothing is called was meant to be.

/// How alike two words must be (Jaro–Winkler, 1 for the same): a slip of a key, or a beginning
/// that was left unfinished.
const ALIKE: f64 = 0.8;

/// `; did you mean …?` when one of the candidates is a typing slip away, else nothing.
pub fn suggestion<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let near = did_you_mean(typed, candidates);
    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

/// The candidate that is most like what was typed, if it is close enough to be meant.
pub fn did_you_mean<'a>(
    typed: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    candidates
        .into_iter()
        .map(|each| (strsim::jaro_winkler(&typed, each), each))
        .filter(|&(alike, _)| alike >= ALIKE)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, each)| each)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_slips_and_beginnings_are_suggested() {
        assert_eq!(did_you_mean("alway", ["never", "always"]), Some("always"));
        assert_eq!(did_you_mean("ALWAYS", ["never", "always"]), Some("always"));
        assert_eq!(did_you_mean("sometimes", ["never", "always"]), None);
        let metrics = ["user_seconds", "wall_seconds", "minor_faults_total"];
        assert_eq!(did_you_mean("wall", metrics), Some("wall_seconds"));
        assert_eq!(
            did_you_mean("minor_fault", metrics),
            Some("minor_faults_total")
        );
        assert_eq!(did_you_mean("throughput", metrics), None);
    }
}

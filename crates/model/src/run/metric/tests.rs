use super::*;

#[test]
fn names_are_unique_and_end_in_their_unit() {
    let mut seen = std::collections::BTreeSet::new();
    for metric in METRICS {
        assert!(seen.insert(&metric.name), "{} twice", metric.name);
        let suffix = metric.unit.suffix();
        let suffix = suffix.expect("the table has no unit of its own");
        assert!(
            metric.name.ends_with(suffix),
            "{} lacks {suffix}",
            metric.name
        );
        let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        assert!(metric.name.chars().all(legal), "{}", metric.name);
        assert!(
            metric.label.chars().count() <= 24,
            "{} is too long",
            metric.label
        );
        assert!(metric.doc.ends_with('.'), "{}", metric.name);
    }
}

#[test]
fn folio_sizes_are_a_family() {
    assert_eq!(
        find("mthp_64kib_peak_bytes").map(|m| m.unit),
        Some(Unit::Bytes)
    );
    assert_eq!(
        find("mthp_64kib_anon_fault_alloc_total").map(|m| m.unit),
        Some(Unit::Count)
    );
    assert!(find("mthp_xkib_peak_bytes").is_none());
    assert!(find("no_such_metric").is_none());
}

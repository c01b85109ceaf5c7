use super::*;

#[test]
fn names_are_unique_and_end_in_their_unit() {
    for table in FAMILIES.iter() {
        let names: std::collections::BTreeSet<_> =
            table.metrics.iter().map(|metric| &metric.name).collect();
        assert_eq!(names.len(), table.metrics.len(), "{}", table.names);
    }
    for metric in FAMILIES.iter().flat_map(|table| table.metrics) {
        // A spelled-out unit has the suffix of a rate.
        let suffix = metric.unit.suffix().unwrap_or("_per_second");
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
fn an_id_is_its_row_and_its_name() {
    for id in MetricId::all() {
        assert_eq!(id.name().parse(), Ok(id));
        assert_eq!(id.metric().name, id.name());
        let json = serde_json::to_value(id).unwrap();
        assert_eq!(json, id.name());
        assert_eq!(serde_json::from_value::<MetricId>(json).unwrap(), id);
    }
    assert_eq!("wall_second".parse::<MetricId>(), Err(UnknownMetric));
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

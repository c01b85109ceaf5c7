//! Every field of a record is in FORMAT.md.

use hugewise_model::base::host::Balloon;
use hugewise_model::base::missing::Missing;
use hugewise_model::run::metric::Better;
use hugewise_model::run::plan::{HostMemory, PrintedMetric};
use hugewise_model::run::record;
use hugewise_model::run::record::Line;
use hugewise_model::run::trial::{FirstTouch, Mark, Reading};
use serde_json::Value;
use strum::IntoEnumIterator;

use crate::sample;

#[test]
fn no_field_of_a_record_is_undocumented() {
    let format = include_str!("../../../../FORMAT.md");
    let mut names = std::collections::BTreeSet::new();
    let mut record = sample::clear_win();
    record.header.plan.printed.push(PrintedMetric {
        name: "rate".to_owned(),
        pattern: "([0-9]+)".to_owned(),
        unit: "1/s".to_owned(),
        better: Better::Higher,
    });
    record.trials[0].stderr_tail = Some("x".to_owned());
    record.header.plan.host_memory = HostMemory::Warm;
    record.header.host.balloon = Some(Balloon {
        driver: "virtio_balloon".to_owned(),
        reported_block_bytes: Some(2 << 20),
    });
    record.trials[0].first_touch = Some(FirstTouch {
        wanted_bytes: Some(4 << 20),
        ..FirstTouch::of(2 << 20, 2 << 20, &[0.005], &[0.0002])
    });
    record.trials[0].read_back.allocator = Some(String::new());
    record
        .end
        .as_mut()
        .unwrap()
        .left_behind
        .push("x".to_owned());
    for mark in marks() {
        record.trials[0].marks.push(mark);
    }
    record.trials[0].readings = missing()
        .into_iter()
        .enumerate()
        .map(|(index, missing)| (format!("wall_seconds_{index}"), Reading::missing(missing)))
        .collect();
    let lines = [
        record::to_line(&Line::Header(record.header.clone())),
        record::to_line(&Line::Trial(record.trials[0].clone())),
        record::to_line(&Line::Trial(record.trials[1].clone())),
        record::to_line(&Line::End(record.end.clone().unwrap())),
    ];
    for line in lines {
        fields(&serde_json::from_str(&line).unwrap(), &mut names);
    }
    assert!(names.len() > 60, "the sample has few fields: {names:?}");
    let unknown: Vec<&String> = names
        .iter()
        .filter(|name| !format.contains(&format!("`{name}`")))
        .collect();
    assert!(
        unknown.is_empty(),
        "FORMAT.md does not say what these are: {unknown:?}"
    );
}

pub(super) fn marks() -> Vec<Mark> {
    Mark::iter().collect()
}

pub(super) fn missing() -> Vec<Missing> {
    Missing::iter().collect()
}

/// Names of fields, and the words that stand for kinds. Maps from names or sizes to things are
/// left out below their own name: their keys are data.
pub(super) fn fields(value: &Value, names: &mut std::collections::BTreeSet<String>) {
    const MAPS: &[&str] = &[
        "readings",
        "realisations",
        "files",
        "khugepaged",
        "sizes",
        "hugetlb",
        "allocators",
    ];
    const KINDS: &[&str] = &["line", "why", "hazard", "how", "role", "reason"];
    match value {
        Value::Array(items) => items.iter().for_each(|item| fields(item, names)),
        Value::Object(object) => {
            for (key, value) in object {
                names.insert(key.clone());
                match value {
                    Value::Object(map) if MAPS.contains(&key.as_str()) => {
                        map.values().for_each(|v| fields(v, names));
                    }
                    Value::String(kind) if KINDS.contains(&key.as_str()) => {
                        names.insert(kind.clone());
                    }
                    _ => fields(value, names),
                }
            }
        }
        _ => {}
    }
}

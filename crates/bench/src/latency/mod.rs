//! `bench latency`: chooses the measured footprints, and derives results from the curve of one policy or from the
//! curves of two.

use std::collections::BTreeMap;

use hugewise_base::units::{KIB, MIB};
use hugewise_experiment::run::cells::{Bench, BenchCell};
use hugewise_experiment::run::compare::medians::{Medians, arm_trials};
use hugewise_experiment::run::metric::cells::{CellMetric, PageKind, pages_name};
use hugewise_experiment::run::policy::Policy;
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::stats::median;
use hugewise_experiment::run::trial::Reading;

mod fit;
pub mod levels;
pub mod price;
pub mod summary;
#[cfg(test)]
mod tests;

pub use levels::{Ends, Level, levels};
pub use price::{Price, prices};
pub use summary::{Summary, summary};

/// The metric of a cell.
const METRIC: &str = CellMetric::LatencySeconds.name();
/// The buffer of the loaded cache lines.
const BUFFER: &str = "lines";

/// Up to here there are four footprints per octave, above only two: larger footprints measure memory and translations,
/// and take most of the time.
const FINE_BELOW: u64 = 64 * MIB;

/// Returns the footprints from 4 KiB to `largest`: 4, 5, 6 and 7 times a power of two.
#[must_use]
pub fn footprints(largest: u64) -> Vec<u64> {
    let octaves = (0..48).map(|power| KIB << power);
    let all = octaves.flat_map(|unit| {
        let fine: &[u64] = if 4 * unit < FINE_BELOW {
            &[4, 5, 6, 7]
        } else {
            &[4, 6]
        };
        fine.iter().map(move |parts| parts * unit)
    });
    all.take_while(|&bytes| bytes <= largest).collect()
}

/// The latencies of one policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Name of the policy.
    pub policy: String,
    /// Page size of nearly all of the largest footprint, if it was uniform.
    pub page_bytes: Option<u64>,
    /// By footprint, ascending.
    pub points: Vec<FootprintPoint>,
}

/// The latencies at one footprint.
#[derive(Clone, Debug, PartialEq)]
pub struct FootprintPoint {
    /// The footprint.
    pub bytes: u64,
    /// Seconds per load, by round; never empty.
    pub seconds: BTreeMap<u32, f64>,
}

impl FootprintPoint {
    /// Returns the value of the median round.
    #[must_use]
    pub fn median(&self) -> f64 {
        let values: Vec<f64> = self.seconds.values().copied().collect();
        median(&values).unwrap_or(f64::NAN)
    }
}

/// Returns the curves of a record, in the order of its policies; empty unless the record is of `bench latency`.
#[must_use]
pub fn curves(record: &Record) -> Vec<Curve> {
    let plan = &record.header.plan;
    let Some(bench) = plan.bench.as_ref().filter(|it| it.suite == "latency") else {
        return Vec::new();
    };
    let medians = Medians::of(record);
    let curve = |policy: &Policy| Curve {
        policy: policy.name.clone(),
        page_bytes: page_bytes(record, bench, policy, &medians),
        points: points(record, bench, &policy.name),
    };
    plan.policies.iter().map(curve).collect()
}

fn points(record: &Record, bench: &Bench, policy: &str) -> Vec<FootprintPoint> {
    let mut points: BTreeMap<u64, FootprintPoint> = BTreeMap::new();
    for cell in &bench.cells {
        let Some(bytes) = cell.number(0) else {
            continue;
        };
        let name = cell.reading(METRIC);
        for trial in arm_trials(record, policy).filter(|trial| trial.succeeded()) {
            if let Some(&Reading::Value { value }) = trial.readings.get(&name)
                && value > 0.0
            {
                let fresh = || FootprintPoint {
                    bytes,
                    seconds: BTreeMap::new(),
                };
                let point = points.entry(bytes).or_insert_with(fresh);
                point.seconds.insert(trial.round, value);
            }
        }
    }
    points.into_values().collect()
}

/// Nearly all.
const MOST: f64 = 0.95;

fn page_bytes(
    record: &Record,
    bench: &Bench,
    policy: &Policy,
    medians: &Medians<'_>,
) -> Option<u64> {
    let largest = bench.cells.iter().max_by_key(|cell| cell.number(0))?;
    let host = &record.header.host;
    let total = largest.number(0)? as f64;
    let most = |kind: PageKind, cell: &BenchCell| {
        let name = cell.reading(&pages_name(BUFFER, kind));
        medians
            .get(&policy.name, &name)
            .is_ok_and(|bytes| bytes >= MOST * total)
    };
    let pool = policy.settings.env.values().find_map(|value| {
        let bytes = value.strip_prefix("hugetlb-")?;
        bytes.parse().ok()
    });
    let mut kinds = vec![
        (PageKind::Small, Some(host.page_bytes)),
        (PageKind::Huge, host.pmd_bytes()),
        (PageKind::Hugetlb, pool.or(host.pmd_bytes())),
    ];
    let sizes = host.thp.iter().flat_map(|thp| thp.sizes.keys());
    kinds.extend(sizes.map(|kib| (PageKind::Folio(kib * KIB), Some(kib * KIB))));
    let found = kinds.into_iter().find(|(kind, _)| most(*kind, largest));
    found.and_then(|(_, bytes)| bytes)
}

#[cfg(test)]
mod footprint_tests {
    use super::*;

    #[test]
    fn footprints_are_whole_lines_and_ascend() {
        let all = footprints(1 << 30);
        assert_eq!(all[..5], [4096, 5120, 6144, 7168, 8192]);
        assert_eq!(all[all.len() - 3..], [512 << 20, 768 << 20, 1 << 30]);
        assert!(all.is_sorted() && all.iter().all(|bytes| bytes % 256 == 0));
        assert_eq!(all.len(), 4 * 14 + 2 * 4 + 1);
        assert!(footprints(4095).is_empty());
    }
}

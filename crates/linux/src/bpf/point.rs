//! A point being traced.

use std::collections::BTreeMap;

use hugewise_base::histogram::durations::Durations;
use hugewise_observe::trace::points::{Decode, Point};
use hugewise_observe::trace::{Latencies, Losses, Part, PointKind, PointTotals, TracePoint};

use super::ladder::{Attempt, KernelTypes};
use super::probe::{Probe, RawWindow};

#[derive(Debug)]
pub(super) struct PointTracer {
    pub(super) traced: TracePoint,
    decode: Option<Decode>,
    /// The names of the key's values, if the kernel's types contain them.
    names: BTreeMap<u32, String>,
    pub(super) probe: Probe,
}

impl PointTracer {
    pub(super) fn new(
        point: &Point,
        attempt: &Attempt,
        probe: Probe,
        kernel: &KernelTypes,
    ) -> Self {
        let decode = attempt.key.map(|key| key.decode);
        let names = decode.and_then(|decode| names(decode, kernel));
        let mut places = vec![attempt.begin.clone()];
        places.extend(attempt.end.clone());
        Self {
            traced: TracePoint {
                name: point.name.to_string(),
                title: point.title.to_string(),
                preset: point.preset,
                attachment: attempt.attachment,
                places,
                includes: attempt.includes.clone(),
                notes: attempt.notes.clone(),
                kind: attempt.kind,
                parts_by: decode.map(|decode| decode.head().to_owned()),
            },
            decode,
            names: names.unwrap_or_default(),
            probe,
        }
    }

    pub(super) fn window(&self, counts: RawWindow) -> PointWindow {
        let mut window = PointWindow {
            losses: counts.losses,
            ..PointWindow::default()
        };
        for (key, histogram) in (0..).zip(counts.histograms) {
            if histogram.count() == 0 {
                continue;
            }
            window.all.merge(&histogram);
            if self.decode.is_some() {
                window.parts.insert(key, histogram);
            }
        }
        window
    }

    pub(super) fn summary(&self, window: &PointWindow) -> PointTotals {
        let latencies = |histogram: &Durations| match self.traced.kind {
            PointKind::Durations => Latencies::from(histogram),
            PointKind::Events => Latencies::events(histogram.count()),
        };
        let parts = window.parts.iter().map(|(key, histogram)| Part {
            key: self.name_of(*key),
            latencies: latencies(histogram),
        });
        PointTotals {
            name: self.traced.name.clone(),
            all: latencies(&window.all),
            parts: parts.collect(),
            losses: window.losses,
        }
    }

    fn name_of(&self, key: u32) -> String {
        if let Some(name) = self.names.get(&key) {
            return name.clone();
        }
        match self.decode {
            Some(decode) if key + 1 >= decode.values() => "beyond".to_owned(),
            _ => key.to_string(),
        }
    }
}

fn names(decode: Decode, kernel: &KernelTypes) -> Option<BTreeMap<u32, String>> {
    match decode {
        Decode::Order => None,
        Decode::Flag(words) => {
            let words = words.into_iter().map(str::to_owned);
            Some((0..).zip(words).collect())
        }
        Decode::Enumeration { name, prefix } => {
            let values = kernel.types.enumeration(name)?;
            let short = |name: String| {
                let rest = name.strip_prefix(prefix).unwrap_or(&name);
                rest.to_ascii_lowercase()
            };
            Some(
                values
                    .into_iter()
                    .map(|(key, name)| (key, short(name)))
                    .collect(),
            )
        }
    }
}

/// Latencies of a point in a window, as histograms.
#[derive(Clone, Debug, Default)]
pub struct PointWindow {
    /// All latencies together.
    pub all: Durations,
    /// Latencies by value of the key; empty if the point has no key.
    pub parts: BTreeMap<u32, Durations>,
    /// The number of events not counted.
    pub losses: Losses,
}

impl PointWindow {
    /// Adds a later window.
    pub fn add(&mut self, later: &Self) {
        self.all.merge(&later.all);
        for (key, histogram) in &later.parts {
            self.parts.entry(*key).or_default().merge(histogram);
        }
        self.losses = self.losses.plus(later.losses);
    }
}

//! From what was seen to one reading for every metric of the table.

use std::collections::BTreeMap;
use std::time::Duration;

use hugewise_model::metric::METRICS;
use hugewise_model::observation::{Missing, Reading};

use super::group::OwnGroup;
use super::machine::Snapshot;
use super::sampler::{Sample, Samples};
use crate::proc::smaps_rollup::Rollup;
use crate::spawn::{End, ExitReading};

/// Everything that was seen of a trial.
#[derive(Debug)]
pub(super) struct Seen<'a> {
    pub(super) end: &'a End,
    pub(super) samples: &'a Samples,
    pub(super) before: &'a Snapshot,
    pub(super) after: &'a Snapshot,
    pub(super) group: &'a OwnGroup,
}

type Number = Result<f64, Missing>;

/// The readings of a trial in which nothing ran.
pub(super) fn of_nothing() -> BTreeMap<String, Reading> {
    METRICS
        .iter()
        .map(|metric| {
            (
                metric.name.to_string(),
                Reading::missing(Missing::TrialFailed),
            )
        })
        .collect()
}

/// One reading for every metric of the table, and for the folio sizes that are enabled.
pub(super) fn all(seen: &Seen<'_>) -> BTreeMap<String, Reading> {
    let mut readings: BTreeMap<String, Reading> = METRICS
        .iter()
        .map(|metric| {
            (
                metric.name.to_string(),
                Reading::from(seen.read(&metric.name)),
            )
        })
        .collect();
    readings.extend(seen.folios());
    readings
}

impl Seen<'_> {
    fn read(&self, metric: &str) -> Number {
        let usage = &self.end.usage;
        match metric {
            "wall_seconds" => Ok(nanos(self.end.wall_ns)),
            "user_seconds" => Ok(nanos(usage.user_ns)),
            "system_seconds" => Ok(nanos(usage.system_ns)),
            "minor_faults_total" => Ok(number(usage.minor_faults)),
            "major_faults_total" => Ok(number(usage.major_faults)),
            "voluntary_switches_total" => Ok(number(usage.voluntary_switches)),
            "involuntary_switches_total" => Ok(number(usage.involuntary_switches)),
            "peak_rss_bytes" => self.peak_rss(),
            "peak_tree_rss_bytes" => self.peak(|rollup| rollup.rss_bytes),
            "cgroup_peak_bytes" => self.group.peak_bytes().map(number),
            "rss_mean_bytes" => self.mean(|rollup| rollup.rss_bytes),
            "huge_zero_exit_bytes" => self.at_exit(|exit| exit.huge_zero_bytes.clone()),
            "steal_seconds" => self.before.steal_seconds(self.after),
            "other_busy_seconds" => self.before.other_busy_seconds(self.after, self.tree_cpu()),
            "free_huge_pages_before_total" => self.before.free_huge_pages.clone().map(number),
            "free_huge_pages_after_total" => self.after.free_huge_pages.clone().map(number),
            "sampling_ratio" => {
                Ok(self.samples.cost.as_secs_f64() / nanos(self.end.wall_ns.max(1)))
            }
            "samples_total" => Ok(number(self.samples.looks.len() as u64)),
            _ => self.huge(metric).unwrap_or_else(|| self.counter(metric)),
        }
    }

    /// `KIND_peak_bytes`, `KIND_mean_bytes`, `KIND_exit_bytes`.
    fn huge(&self, metric: &str) -> Option<Number> {
        let stem = metric.strip_suffix("_bytes")?;
        let (kind, when) = stem.rsplit_once('_')?;
        let of: fn(Rollup) -> u64 = match kind {
            "huge_anon" => |rollup| rollup.huge_anon_bytes,
            "huge_file" => |rollup| rollup.huge_file_bytes,
            "huge_shmem" => |rollup| rollup.huge_shmem_bytes,
            "hugetlb" => |rollup| rollup.hugetlb_bytes,
            _ => return None,
        };
        match when {
            "peak" => Some(self.peak(of)),
            "mean" => Some(self.mean(of)),
            "exit" => Some(self.at_exit(|exit| exit.rollup.clone().map(of))),
            _ => None,
        }
    }

    /// Counters of /proc/vmstat.
    fn counter(&self, metric: &str) -> Number {
        let stem = metric.strip_suffix("_total").unwrap_or(metric);
        let growth = match stem {
            "allocstall" => self
                .before
                .growth(self.after, |name| name.starts_with("allocstall")),
            "swapped_pages" => self
                .before
                .growth(self.after, |name| matches!(name, "pswpin" | "pswpout")),
            _ => self.before.growth(self.after, |name| name == stem),
        };
        growth.map(number)
    }

    /// The families that depend on the machine's folio sizes.
    fn folios(&self) -> BTreeMap<String, Reading> {
        let mut readings = BTreeMap::new();
        for (&kib, after) in &self.after.folios {
            let before = self.before.folios.get(&kib);
            let earlier = |name: &str| {
                before
                    .and_then(|stats| stats.get(name))
                    .copied()
                    .unwrap_or(0)
            };
            for (name, &value) in after.iter().filter(|(name, _)| !name.starts_with("nr_")) {
                let growth = value.saturating_sub(earlier(name));
                readings.insert(
                    format!("mthp_{kib}kib_{name}_total"),
                    Reading::of(number(growth)),
                );
            }
            let peak = self.folio_peak(kib, earlier("nr_anon"), after.contains_key("nr_anon"));
            readings.insert(format!("mthp_{kib}kib_peak_bytes"), peak.into());
            let exit = self.at_exit(|exit| {
                let folios = exit.folio_bytes.as_ref().map_err(Clone::clone)?;
                Ok(folios.get(&kib).copied().unwrap_or(0))
            });
            readings.insert(format!("mthp_{kib}kib_exit_bytes"), exit.into());
        }
        readings
    }

    /// Growth of the machine's folios of a size while the trial ran, and no less than the main
    /// process had at its end.
    fn folio_peak(&self, kib: u64, before: u64, is_counted: bool) -> Number {
        if !is_counted {
            return Err(Missing::NotSupported {
                what: "hugepages-*/stats/nr_anon (Linux 6.12)".to_owned(),
            });
        }
        let of = |sample: &Sample| sample.folios.get(&kib).copied().unwrap_or(0);
        let sampled = self
            .samples
            .peak(of)
            .map(|peak| peak.saturating_sub(before) * kib * 1024);
        let exit = self
            .end
            .exit
            .as_ref()
            .ok()
            .and_then(|exit| exit.folio_bytes.as_ref().ok());
        let at_exit = exit.map(|folios| folios.get(&kib).copied().unwrap_or(0));
        sampled.max(at_exit).map(number).ok_or(Missing::TooShort)
    }

    /// The largest process: what wait4 says, unless that is the keeper's own size, and what
    /// the main process says of itself.
    fn peak_rss(&self) -> Number {
        let of_tree = self.end.usage.peak_rss_bytes;
        let of_tree = (of_tree > self.end.floor_bytes).then_some(of_tree);
        let of_main = self
            .end
            .exit
            .as_ref()
            .ok()
            .and_then(|exit| exit.peak_rss_bytes.clone().ok());
        of_tree.max(of_main).map(number).ok_or(Missing::BelowFloor {
            floor: self.end.floor_bytes,
        })
    }

    fn exit(&self) -> Result<&ExitReading, Missing> {
        self.end.exit.as_ref().map_err(Clone::clone)
    }

    fn at_exit(&self, of: impl Fn(&ExitReading) -> Result<u64, Missing>) -> Number {
        of(self.exit()?).map(number)
    }

    /// The main process at its end, where it was read.
    fn last(&self, of: impl Fn(Rollup) -> u64) -> Option<u64> {
        self.exit()
            .ok()
            .and_then(|exit| exit.rollup.clone().ok())
            .map(of)
    }

    fn peak(&self, of: impl Fn(Rollup) -> u64 + Copy) -> Number {
        let sampled = self.samples.peak(|sample| of(sample.tree));
        sampled
            .max(self.last(of))
            .map(number)
            .ok_or(Missing::TooShort)
    }

    fn mean(&self, of: impl Fn(Rollup) -> u64 + Copy) -> Number {
        let last = self.last(of);
        let wall = Duration::from_nanos(self.end.wall_ns);
        self.samples
            .mean(|sample| of(sample.tree), wall, last)
            .ok_or(Missing::TooShort)
    }

    fn tree_cpu(&self) -> Duration {
        Duration::from_nanos(
            self.end
                .usage
                .cpu_ns()
                .saturating_add(self.end.keeper_cpu_ns),
        )
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts and bytes are far below 2^53"
)]
fn number(value: u64) -> f64 {
    value as f64
}

fn nanos(value: u64) -> f64 {
    number(value) / 1e9
}

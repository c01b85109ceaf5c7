use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::analysis::{Analysis, Whose};
use super::eligibility::Eligibility;
use super::event::{Closing, Conditions};
use hugewise_base::units::bytes_text;
use hugewise_experiment::run::stats::{Share, wilson};
use hugewise_observe::faults::Unwatched;

/// Name and version of a [`Summary`], or of an [`Absence`](super::Absence), as JSON.
pub const FORMAT: &str = "hugewise-misses-summary 1";

/// A summary of the sampled misses.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Name and version of this document.
    pub format: String,
    /// How they were sampled.
    pub conditions: Conditions,
    /// How it ended.
    pub closing: Closing,
    /// Programs whose events the kernel removed at exec.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unwatched: Vec<Unwatched>,
    /// Misses in the sample.
    pub misses: u64,
    /// Stores among them.
    pub stores: u64,
    /// The conclusion: if the misses are in memory eligible for huge pages.
    pub conclusion: Conclusion,
    /// The share of misses in eligible memory. The interval covers unknown memory: its lower end assumes that no
    /// unknown memory is eligible, its upper end that all is.
    pub could: Share,
    /// By eligibility of their memory.
    pub standings: Vec<MissShare>,
    /// By mapping, the most first.
    pub mappings: Vec<MissShare>,
    /// By page size, ascending.
    pub pages: Vec<MissShare>,
    /// By function, the most first.
    pub functions: Vec<MissShare>,
    /// Translation latency, if reported by the hardware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refill: Option<Refill>,
}

/// A part of the misses.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct MissShare {
    /// The name of an eligibility or a mapping, a page size in bytes, or a function.
    pub name: String,
    /// The same for people.
    pub label: String,
    /// Misses.
    pub misses: u64,
    /// Their share of all.
    pub share: Share,
    /// For a mapping: misses in huge pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub huge: Option<u64>,
    /// For a mapping: misses in eligible small pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub could: Option<u64>,
}

/// Translation latency, in cycles.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Refill {
    /// Median.
    pub p50_cycles: u64,
    /// 90th percentile.
    pub p90_cycles: u64,
}

/// The conclusion: if the misses are in memory eligible for huge pages.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Conclusion {
    /// There are none.
    NoMisses,
    /// More than half are, significantly.
    Are,
    /// Some are.
    Partly,
    /// Fewer than one in ten is, significantly.
    AreNot,
    /// Too few samples, or too much unknown memory.
    CannotTell,
}

impl Conclusion {
    fn of(misses: u64, could: Share) -> Self {
        const MOST: f64 = 0.5;
        const FEW: f64 = 0.1;
        if misses == 0 {
            Self::NoMisses
        } else if could.low > MOST {
            Self::Are
        } else if could.high < FEW {
            Self::AreNot
        } else if could.low < FEW && could.high > MOST {
            Self::CannotTell
        } else {
            Self::Partly
        }
    }
}

impl Analysis {
    /// Returns the summary; `None` if the end is missing.
    #[must_use]
    pub fn summary(&self) -> Option<Summary> {
        let closing = self.closing.clone()?;
        let of = |eligibility| self.standings.get(&eligibility).copied().unwrap_or(0);
        let (could, unknown) = (of(Eligibility::Eligible), of(Eligibility::Unknown));
        let could = Share {
            high: wilson(could + unknown, self.misses).high,
            ..wilson(could, self.misses)
        };
        Some(Summary {
            format: FORMAT.to_owned(),
            conditions: self.conditions.clone(),
            closing,
            unwatched: self.processes.unwatched(),
            misses: self.misses,
            stores: self.stores,
            conclusion: Conclusion::of(self.misses, could),
            could,
            standings: self.eligibility_rows(),
            mappings: self.mapping_rows(),
            pages: self.page_rows(),
            functions: self.function_rows(),
            refill: self.refill(),
        })
    }

    fn row(&self, name: String, label: String, misses: u64) -> MissShare {
        MissShare {
            name,
            label,
            misses,
            share: wilson(misses, self.misses),
            huge: None,
            could: None,
        }
    }

    fn eligibility_rows(&self) -> Vec<MissShare> {
        let rows = Eligibility::ALL.into_iter().filter_map(|eligibility| {
            let misses = *self.standings.get(&eligibility)?;
            Some(self.row(
                eligibility.name().to_owned(),
                eligibility.title().to_owned(),
                misses,
            ))
        });
        rows.collect()
    }

    fn mapping_rows(&self) -> Vec<MissShare> {
        let mut sums: BTreeMap<String, (u64, u64, u64)> = BTreeMap::new();
        for (&whose, tally) in &self.mappings {
            let sum = sums.entry(self.title(whose)).or_default();
            sum.0 += tally.misses;
            sum.1 += tally.huge;
            sum.2 += tally.could;
        }
        let rows = sums
            .into_iter()
            .map(|(name, (misses, huge, could))| MissShare {
                huge: Some(huge),
                could: Some(could),
                ..self.row(name.clone(), name, misses)
            });
        most_first(rows.collect())
    }

    /// Returns the name of a mapping; for anonymous memory, its size and address.
    fn title(&self, whose: Whose) -> String {
        let Whose::Mapping(number) = whose else {
            return match whose {
                Whose::Kernel => "[kernel]".to_owned(),
                _ => "not known".to_owned(),
            };
        };
        let mapping = &self.processes.mappings[number];
        match mapping.name.as_str() {
            "//anon" => format!(
                "anonymous {} at {:x} of {}",
                bytes_text(mapping.end - mapping.start),
                mapping.start,
                mapping.pid
            ),
            name => name.to_owned(),
        }
    }

    fn page_rows(&self) -> Vec<MissShare> {
        let rows = self.pages.iter().map(|(&page, &misses)| match page {
            Some(bytes) => self.row(bytes.to_string(), bytes_text(bytes), misses),
            None => self.row("unknown".to_owned(), "unknown".to_owned(), misses),
        });
        // Unknown sizes come first in the map, and last in the table.
        let mut rows: Vec<MissShare> = rows.collect();
        if self.pages.contains_key(&None) {
            rows.rotate_left(1);
        }
        rows
    }

    fn function_rows(&self) -> Vec<MissShare> {
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        for ((function, _), misses, _) in self.processes.code.sites() {
            let name = match function.place {
                Some(place) => format!("{} ({place})", function.name),
                None => function.name,
            };
            *sums.entry(name).or_default() += misses;
        }
        if self.kernel_code > 0 {
            sums.insert("[kernel]".to_owned(), self.kernel_code);
        }
        let rows = sums.into_iter();
        most_first(
            rows.map(|(name, misses)| self.row(name.clone(), name, misses))
                .collect(),
        )
    }

    fn refill(&self) -> Option<Refill> {
        let all: u64 = self.refills.values().sum();
        let below = |share: u64| {
            let rank = (all * share).div_ceil(100);
            let mut seen = 0;
            let mut found = self.refills.iter().filter(|(_, count)| {
                seen += **count;
                seen >= rank
            });
            found.next().map(|(&cycles, _)| cycles)
        };
        (all > 0).then_some(())?;
        Some(Refill {
            p50_cycles: below(50)?,
            p90_cycles: below(90)?,
        })
    }
}

/// Sorts by descending misses; ties by name, so that the same recording always gives the same order.
fn most_first(mut rows: Vec<MissShare>) -> Vec<MissShare> {
    rows.sort_by(|a, b| b.misses.cmp(&a.misses).then_with(|| a.name.cmp(&b.name)));
    rows
}

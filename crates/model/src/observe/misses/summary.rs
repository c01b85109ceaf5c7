use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::analysis::{Analysis, Whose};
use super::event::{Closing, Conditions};
use super::standing::Standing;
use crate::base::units::bytes_text;
use crate::run::stats::{Share, wilson};

/// Name and version of a [`Summary`], or of an [`Absence`](super::Absence), as JSON.
pub const FORMAT: &str = "hugewise-misses-summary 1";

/// What is said of a sample of misses.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// [`FORMAT`].
    pub format: String,
    /// How they were sampled.
    pub conditions: Conditions,
    /// How it ended.
    pub closing: Closing,
    /// Misses in the sample.
    pub misses: u64,
    /// Of these: stores.
    pub stores: u64,
    /// Whether it is the memory that could be huge.
    pub conclusion: Conclusion,
    /// The share of misses in memory that could be huge. Its ends take in what is not known:
    /// the lower end as if none of that could be, the upper end as if all of it could.
    pub could: Share,
    /// By how their memory stands to huge pages.
    pub standings: Vec<Row>,
    /// By mapping, the most first.
    pub mappings: Vec<Row>,
    /// By size of the page, rising.
    pub pages: Vec<Row>,
    /// By function, the most first.
    pub functions: Vec<Row>,
    /// How long translations took, where the hardware tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refill: Option<Refill>,
}

/// A part of the misses.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// What it is of: the name of a standing, a mapping, bytes of a page, a function.
    pub name: String,
    /// The same for people.
    pub label: String,
    /// Misses.
    pub misses: u64,
    /// Their share of all.
    pub share: Share,
    /// Of a mapping: those in huge pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub huge: Option<u64>,
    /// Of a mapping: those in small pages that could be huge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub could: Option<u64>,
}

/// How long translations took, in cycles.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Refill {
    /// Half took no longer.
    pub p50_cycles: u64,
    /// Nine of ten took no longer.
    pub p90_cycles: u64,
}

/// Whether the misses are in the memory that could be huge.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// There are none.
    NoMisses,
    /// More than half of them are, for certain.
    Are,
    /// Some are.
    Partly,
    /// Fewer than one in ten is, for certain.
    AreNot,
    /// Too few samples, or too little known of them.
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
    /// What it came to; `None` where the end is missing.
    #[must_use]
    pub fn summary(&self) -> Option<Summary> {
        let closing = self.closing.clone()?;
        let of = |standing| self.standings.get(&standing).copied().unwrap_or(0);
        let (could, unknown) = (of(Standing::Could), of(Standing::Unknown));
        let could = Share {
            high: wilson(could + unknown, self.misses).high,
            ..wilson(could, self.misses)
        };
        Some(Summary {
            format: FORMAT.to_owned(),
            conditions: self.conditions.clone(),
            closing,
            misses: self.misses,
            stores: self.stores,
            conclusion: Conclusion::of(self.misses, could),
            could,
            standings: self.standing_rows(),
            mappings: self.mapping_rows(),
            pages: self.page_rows(),
            functions: self.function_rows(),
            refill: self.refill(),
        })
    }

    fn row(&self, name: String, label: String, misses: u64) -> Row {
        Row {
            name,
            label,
            misses,
            share: wilson(misses, self.misses),
            huge: None,
            could: None,
        }
    }

    fn standing_rows(&self) -> Vec<Row> {
        let seen = Standing::ALL.into_iter().filter_map(|standing| {
            let misses = *self.standings.get(&standing)?;
            Some(self.row(
                standing.name().to_owned(),
                standing.title().to_owned(),
                misses,
            ))
        });
        seen.collect()
    }

    fn mapping_rows(&self) -> Vec<Row> {
        let mut sums: BTreeMap<String, (u64, u64, u64)> = BTreeMap::new();
        for (&whose, tally) in &self.mappings {
            let sum = sums.entry(self.title(whose)).or_default();
            sum.0 += tally.misses;
            sum.1 += tally.huge;
            sum.2 += tally.could;
        }
        let rows = sums.into_iter().map(|(name, (misses, huge, could))| Row {
            huge: Some(huge),
            could: Some(could),
            ..self.row(name.clone(), name, misses)
        });
        most_first(rows.collect())
    }

    /// What a mapping is called: memory without a name by its size and place.
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

    fn page_rows(&self) -> Vec<Row> {
        let rows = self.pages.iter().map(|(&page, &misses)| match page {
            Some(bytes) => self.row(bytes.to_string(), bytes_text(bytes), misses),
            None => self.row("unknown".to_owned(), "not known".to_owned(), misses),
        });
        // What is not known comes first in the map, and last in the table.
        let mut rows: Vec<Row> = rows.collect();
        if self.pages.contains_key(&None) {
            rows.rotate_left(1);
        }
        rows
    }

    fn function_rows(&self) -> Vec<Row> {
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

/// By falling misses; equals by name, so that the same recording always gives the same order.
fn most_first(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by(|a, b| b.misses.cmp(&a.misses).then_with(|| a.name.cmp(&b.name)));
    rows
}

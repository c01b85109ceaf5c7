//! Summary of a latency bench: the levels of each policy next to the caches and TLBs reported by the CPU, and the price
//! of small pages.

use serde::Serialize;

use super::levels::FEWEST_ROUNDS;
use super::{Curve, Ends, Level, Price, curves, levels, prices};
use hugewise_base::units::{Unit, bytes_text};
use hugewise_experiment::run::cells::processor::{Processor, TlbReach};
use hugewise_experiment::run::record::Record;
use hugewise_text::number::{quantity, three_digits};
use hugewise_text::wrap::plain;

/// The largest distance in octaves between an end and the reach of a structure that explains it.
const NEAR: f64 = 1.0;
/// The number of footprints with a price in a sentence.
const MOST_PRICES: usize = 4;

/// Levels and prices of a record.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Summary {
    /// For each policy.
    pub curves: Vec<CurveSummary>,
    /// For each other policy, the price of the baseline.
    pub prices: Vec<PagePrice>,
}

/// The levels of one curve.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct CurveSummary {
    /// Name of the policy.
    pub policy: String,
    /// Its page size, if uniform.
    pub page_bytes: Option<u64>,
    /// Its levels; `None` if there are too few rounds.
    pub levels: Option<Vec<NamedLevel>>,
    /// Caches and TLBs reported by the CPU within the curve, but without a visible step.
    pub unseen: Vec<NamedReach>,
}

/// One level, with the cache or TLB full at its end.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct NamedLevel {
    /// As measured.
    #[serde(flatten)]
    pub level: Level,
    /// The cache or TLB reported by the CPU, if one is near.
    pub full: Option<NamedReach>,
}

/// A cache or TLB reported by the CPU.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct NamedReach {
    /// Its name.
    pub name: String,
    /// The memory that it covers.
    pub bytes: u64,
}

/// The cost of small pages.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct PagePrice {
    /// Name of the policy that costs more.
    pub dear: String,
    /// Name of the policy it is compared with.
    pub cheap: String,
    /// The reach of the slower policy's last-level TLB, if known.
    pub reach_bytes: Option<u64>,
    /// By footprint.
    pub by_footprint: Vec<Price>,
}

/// Returns the summary of a record; `None` unless it is a latency bench.
#[must_use]
pub fn summary(record: &Record) -> Option<Summary> {
    let curves = curves(record);
    if curves.is_empty() {
        return None;
    }
    let processor = record.header.plan.bench.as_ref()?.processor.as_ref();
    let baseline = &record.header.plan.baseline;
    let dear = curves.iter().find(|curve| curve.policy == *baseline);
    let others = curves.iter().filter(|curve| curve.policy != *baseline);
    let prices = dear.into_iter().flat_map(|dear| {
        others.clone().map(|cheap| PagePrice {
            dear: dear.policy.clone(),
            cheap: cheap.policy.clone(),
            reach_bytes: last_reach(processor, dear),
            by_footprint: prices(dear, cheap),
        })
    });
    Some(Summary {
        prices: prices.collect(),
        curves: curves
            .iter()
            .map(|curve| of_curve(curve, processor))
            .collect(),
    })
}

/// Returns the reach of the last-level TLB.
fn last_reach(processor: Option<&Processor>, curve: &Curve) -> Option<u64> {
    let page = curve.page_bytes?;
    let room = processor?.tlb.as_ref().ok()?.room(page)?;
    Some(room.entries * page)
}

pub(super) fn of_curve(curve: &Curve, processor: Option<&Processor>) -> CurveSummary {
    let mut reaches = processor.map_or_else(Vec::new, |it| it.reaches(curve.page_bytes));
    let levels = levels(curve).map(|levels| {
        let named = levels.into_iter().map(|level| NamedLevel {
            full: level
                .ends
                .and_then(|ends| take_nearest(&mut reaches, &ends)),
            level,
        });
        named.collect::<Vec<_>>()
    });
    let largest = curve.points.last().map_or(0, |point| point.bytes);
    let within = reaches.into_iter().filter(|reach| reach.bytes < largest);
    CurveSummary {
        policy: curve.policy.clone(),
        page_bytes: curve.page_bytes,
        unseen: match levels {
            Some(_) => within.map(NamedReach::of).collect(),
            None => Vec::new(),
        },
        levels,
    }
}

/// Removes and returns the nearest reach that explains an end. Each explains one end only.
fn take_nearest(reaches: &mut Vec<TlbReach>, ends: &Ends) -> Option<NamedReach> {
    let away = |reach: &TlbReach| ((reach.bytes as f64).log2() - ends.middle()).abs();
    let near = reaches
        .iter()
        .enumerate()
        .filter(|(_, reach)| away(reach) <= NEAR)
        .min_by(|(_, a), (_, b)| away(a).total_cmp(&away(b)));
    let index = near?.0;
    Some(NamedReach::of(reaches.remove(index)))
}

impl NamedReach {
    fn of(reach: TlbReach) -> Self {
        Self {
            name: reach.name,
            bytes: reach.bytes,
        }
    }

    fn text(&self) -> String {
        format!("{} {}", self.name, bytes_text(self.bytes))
    }
}

impl Summary {
    /// Returns sentences, one per curve and price.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let curves = self.curves.iter().map(CurveSummary::sentence);
        curves
            .chain(self.prices.iter().filter_map(PagePrice::sentence))
            .collect()
    }
}

impl CurveSummary {
    pub(super) fn sentence(&self) -> String {
        let policy = plain(&self.policy);
        let Some(levels) = &self.levels else {
            return format!("Levels, {policy}: too few rounds, {FEWEST_ROUNDS} are needed.");
        };
        let levels: Vec<String> = levels.iter().map(NamedLevel::text).collect();
        let mut sentence = format!("Levels, {policy}: {}.", levels.join("; "));
        if !self.unseen.is_empty() {
            let unseen: Vec<String> = self.unseen.iter().map(NamedReach::text).collect();
            sentence.push_str(&format!(" No step near {}.", unseen.join(", ")));
        }
        sentence
    }
}

impl NamedLevel {
    fn text(&self) -> String {
        let latency = quantity(&Unit::Seconds, self.level.seconds);
        let Some(ends) = self.level.ends else {
            return format!("then {latency}");
        };
        let [from, to] = [ends.from_bytes, ends.to_bytes].map(bytes_text);
        let full = match &self.full {
            Some(reach) if ends.contain(reach.bytes) => format!(" ({})", reach.text()),
            Some(reach) => format!(" (near {})", reach.text()),
            None => String::new(),
        };
        format!("{latency} until {from} to {to}{full}")
    }
}

impl PagePrice {
    /// Reports the price at the largest footprints beyond the TLB reach, if the difference is significant.
    pub(super) fn sentence(&self) -> Option<String> {
        let beyond = |price: &&Price| {
            price.bytes.is_power_of_two()
                && self.reach_bytes.is_none_or(|reach| price.bytes > reach)
                && price
                    .interval
                    .is_some_and(|(low, high)| low > 0.0 || high < 0.0)
        };
        let decided: Vec<&Price> = self.by_footprint.iter().filter(beyond).collect();
        if decided.is_empty() {
            return None;
        }
        // At most a few prices, always including the largest footprint.
        let step = decided.len().div_ceil(MOST_PRICES);
        let mut some: Vec<&&Price> = decided.iter().rev().step_by(step).collect();
        some.reverse();
        let some: Vec<String> = some.into_iter().map(|price| self.at(price)).collect();
        Some(format!(
            "Loads with {} take longer than with {}, the price of page walks: {}.",
            plain(&self.dear),
            plain(&self.cheap),
            some.join(", ")
        ))
    }

    fn at(&self, price: &Price) -> String {
        let nanoseconds = |seconds: f64| three_digits(seconds * 1e9);
        let interval = price.interval.map_or_else(String::new, |(low, high)| {
            format!(" [{}, {}]", nanoseconds(low), nanoseconds(high))
        });
        let covered = self.reach_bytes.map_or_else(String::new, |reach| {
            let share = reach as f64 / price.bytes as f64;
            format!(" (TLB reach {:.0} %)", share * 100.0)
        });
        format!(
            "{} ns{interval} at {}{covered}",
            nanoseconds(price.seconds),
            bytes_text(price.bytes)
        )
    }
}

//! Every event by itself, for those who want the bare figures.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use super::why;
use crate::observe::stat::{Header, Summary, Tally};
use crate::text::number::percent;
use crate::text::wrap::plain;

/// A line for each event: how often it was seen, and for which share of the time its group had
/// its turn. What was seen is not stretched to the whole time.
///
/// # Errors
/// Only those of `out`.
pub fn render_counts(header: &Header, summary: &Summary, out: &mut impl Write) -> fmt::Result {
    if header.hardware.missing().is_some() {
        return Ok(());
    }
    writeln!(out, "\n{:>16} {:>8}  event", "count", "counted")?;
    let whole = longest(summary);
    for count in &summary.counts {
        let name = plain(&count.event);
        match &count.tally {
            Tally::Counted {
                value, running_ns, ..
            } => {
                let share = if whole > 0 {
                    *running_ns as f64 / whole as f64
                } else {
                    0.0
                };
                writeln!(out, "{value:>16} {:>6} %  {name}", percent(share))?;
            }
            Tally::Missing { missing } => {
                writeln!(out, "{:>16} {:>8}  {name}: {}", "-", "-", why(missing))?;
            }
        }
    }
    Ok(())
}

/// For how long the target could have been counted: the enabled time of all groups of a source,
/// one after the other.
fn longest(summary: &Summary) -> u64 {
    let mut by_group: BTreeMap<(&str, u32), u64> = BTreeMap::new();
    for count in &summary.counts {
        if let Tally::Counted { enabled_ns, .. } = count.tally {
            let known = by_group.entry((&count.pmu, count.group)).or_default();
            *known = enabled_ns.max(*known);
        }
    }
    let mut by_source: BTreeMap<&str, u64> = BTreeMap::new();
    for ((pmu, _), enabled_ns) in by_group {
        let sum = by_source.entry(pmu).or_default();
        *sum = sum.saturating_add(enabled_ns);
    }
    by_source.into_values().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::super::sample::{header, interval};
    use super::*;

    #[test]
    fn groups_share_the_time() {
        let mut summary = Summary::default();
        summary.add(&interval(0));
        let mut text = String::new();
        render_counts(&header(), &summary, &mut text).unwrap();
        assert!(
            text.contains("         1200000   50.0 %  DTLB_LOAD_WALKS"),
            "{text}"
        );
    }
}

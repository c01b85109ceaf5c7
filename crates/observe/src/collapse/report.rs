use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{End, Exclusion, Plan, RangeOutcome, Refusal, meaning};
use crate::forecast::Forecast;
use hugewise_base::missing::{Fact, Missing, fact};

/// Name and version of [`Report`] as JSON. The number grows when a field changes its meaning or
/// goes.
pub const FORMAT: &str = "hugewise-collapse 2";

/// The result of `collapse` for one process.
#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// [`FORMAT`].
    pub format: String,
    /// The PID.
    pub pid: u32,
    /// Its name.
    pub command: String,
    /// Size of a huge page, in bytes.
    pub huge_bytes: u64,
    /// Ranges planned to be made huge.
    pub planned_ranges: u64,
    /// Resident memory that they were expected to add, in bytes.
    pub planned_bytes_added: u64,
    /// The memory that was made huge.
    pub made: Success,
    /// The kernel's refusals, the most frequent reason first.
    pub refused: Vec<RefusalCount>,
    /// Planned ranges that were no longer mapped when they were tried.
    pub gone_ranges: u64,
    /// Planned ranges that were not tried.
    pub not_tried_ranges: u64,
    /// Ranges that were not planned, by reason.
    pub left_out: Vec<Exclusion>,
    /// Why it ended.
    pub ended: End,
    /// Time in the system calls, in seconds.
    pub call_seconds: f64,
    /// `Rss` of the whole process before, in bytes.
    #[serde(with = "fact")]
    pub resident_before_bytes: Fact<u64>,
    /// `Rss` of the whole process after, in bytes.
    #[serde(with = "fact")]
    pub resident_after_bytes: Fact<u64>,
    /// `AnonHugePages` of the whole process before, in bytes: the evidence for ranges with only reported success.
    #[serde(with = "fact")]
    pub huge_anon_before_bytes: Fact<u64>,
    /// `AnonHugePages` of the whole process after, in bytes.
    #[serde(with = "fact")]
    pub huge_anon_after_bytes: Fact<u64>,
    /// Why the kernel's reasons are unknown; `None` if they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasons_missing: Option<Missing>,
    /// The cost and possible benefit of huge pages, for a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
    /// The capability that the caller lacks, for a dry run; `None` if nothing is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacks: Option<Missing>,
}

/// The memory that was made huge.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Success {
    /// Ranges that a second reading shows to be mapped by a PMD.
    pub ranges: u64,
    /// Ranges that only the kernel's return value reports as huge, because no second reading was possible.
    pub claimed_ranges: u64,
    /// Resident memory added by both, in bytes: the unpopulated pages at planning.
    pub bytes_added: u64,
}

/// Ranges refused for one reason.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct RefusalCount {
    /// The kernel's reason.
    pub refusal: Refusal,
    /// Its meaning.
    pub meaning: String,
    /// The number of ranges.
    pub ranges: u64,
    /// The first address.
    pub first: u64,
    /// All of them; adjacent ranges form one stretch.
    #[serde(default)]
    pub stretches: Vec<Stretch>,
}

/// A range of addresses, end exclusive.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Stretch {
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
}

/// What happened to a plan.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Address and outcome of every range that was tried.
    pub fates: Vec<(u64, RangeOutcome)>,
    /// Why it ended.
    pub ended: End,
    /// Time in the system calls, in seconds.
    pub call_seconds: f64,
}

/// Sums up the fates of a plan. The caller fills in the memory of the process and the reasons.
#[must_use]
pub fn report(pid: u32, command: &str, plan: &Plan, done: &Attempt) -> Report {
    let Sums {
        made,
        refused,
        gone_ranges,
    } = Sums::of(plan, &done.fates);
    Report {
        format: FORMAT.to_owned(),
        pid,
        command: command.to_owned(),
        huge_bytes: plan.huge_bytes,
        planned_ranges: plan.ranges.len() as u64,
        planned_bytes_added: plan.bytes_added(),
        made,
        refused,
        gone_ranges,
        not_tried_ranges: plan.ranges.len().saturating_sub(done.fates.len()) as u64,
        left_out: plan.left_out.clone(),
        ended: done.ended.clone(),
        call_seconds: done.call_seconds,
        resident_before_bytes: Err(Missing::NotAsked),
        resident_after_bytes: Err(Missing::NotAsked),
        huge_anon_before_bytes: Err(Missing::NotAsked),
        huge_anon_after_bytes: Err(Missing::NotAsked),
        reasons_missing: None,
        forecast: None,
        lacks: None,
    }
}

/// The outcomes of all ranges, summed.
struct Sums {
    made: Success,
    /// The most frequent first.
    refused: Vec<RefusalCount>,
    gone_ranges: u64,
}

impl Sums {
    fn of(plan: &Plan, fates: &[(u64, RangeOutcome)]) -> Self {
        let mut made = Success::default();
        let mut refused: BTreeMap<&Refusal, RefusalCount> = BTreeMap::new();
        let mut gone_ranges = 0;
        for (start, fate) in fates {
            match fate {
                RangeOutcome::Made => made.ranges += 1,
                RangeOutcome::Claimed => made.claimed_ranges += 1,
                RangeOutcome::Gone => gone_ranges += 1,
                RangeOutcome::Refused(refusal) => {
                    let end = start.saturating_add(plan.huge_bytes);
                    count(&mut refused, refusal, Stretch { start: *start, end });
                }
            }
            if matches!(fate, RangeOutcome::Made | RangeOutcome::Claimed) {
                made.bytes_added += added(plan, *start);
            }
        }
        let mut refused: Vec<RefusalCount> = refused.into_values().collect();
        refused.sort_by_key(|one| std::cmp::Reverse(one.ranges));
        Self {
            made,
            refused,
            gone_ranges,
        }
    }
}

fn count<'a>(
    refused: &mut BTreeMap<&'a Refusal, RefusalCount>,
    refusal: &'a Refusal,
    range: Stretch,
) {
    let one = refused.entry(refusal).or_insert_with(|| RefusalCount {
        refusal: refusal.clone(),
        meaning: meaning(refusal).to_owned(),
        ranges: 0,
        first: range.start,
        stretches: Vec::new(),
    });
    one.ranges += 1;
    match one.stretches.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => one.stretches.push(range),
    }
}

fn added(plan: &Plan, start: u64) -> u64 {
    let place = plan
        .ranges
        .binary_search_by_key(&start, |range| range.start);
    place.map_or(0, |place| plan.ranges[place].bytes_added)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::PlannedRange;

    #[test]
    fn every_range_is_in_exactly_one_place() {
        let plan = Plan {
            huge_bytes: 2 << 20,
            ranges: (0..7)
                .map(|index| PlannedRange {
                    start: index << 21,
                    bytes_added: 4096 * index,
                })
                .collect(),
            left_out: Vec::new(),
        };
        let refusal = |error: &str| {
            RangeOutcome::Refused(Refusal {
                error: error.to_owned(),
                status: None,
            })
        };
        let done = Attempt {
            fates: vec![
                (0, refusal("EAGAIN")),
                (1 << 21, RangeOutcome::Made),
                (2 << 21, refusal("EINVAL")),
                (3 << 21, refusal("EINVAL")),
                (4 << 21, RangeOutcome::Gone),
                (5 << 21, refusal("EINVAL")),
            ],
            ended: End::Interrupted,
            call_seconds: 0.5,
        };
        let report = report(1, "x", &plan, &done);
        let refused: u64 = report.refused.iter().map(|one| one.ranges).sum();
        let all = report.made.ranges + refused + report.gone_ranges + report.not_tried_ranges;
        assert_eq!(all, report.planned_ranges);
        assert_eq!((report.made.ranges, report.made.bytes_added), (1, 4096));
        let first = &report.refused[0];
        assert_eq!((first.refusal.error.as_str(), first.ranges), ("EINVAL", 3));
        assert_eq!(first.first, 2 << 21);
        let stretches = first.stretches.iter().map(|one| (one.start, one.end));
        let expected = [(2 << 21, 4 << 21), (5 << 21, 6 << 21)];
        assert!(stretches.eq(expected), "{:?}", first.stretches);
    }
}

//! The switched memory, from the plan and the periods.

use std::collections::BTreeSet;

use crate::run::answer::Switchback;
use crate::run::metric::live::LiveMetric;
use crate::run::plan::{HUGE, SMALL};
use crate::run::record::Record;
use crate::run::stats::median;
use crate::run::trial::Trial;

/// Returns the switched memory; `None` if the record is not of a running process.
pub(super) fn switchback(record: &Record) -> Option<Switchback> {
    let live = record.header.plan.live.as_ref()?;
    let bytes = |blocks: u64| (blocks * live.huge_page_bytes) as f64;
    let all = |metric: LiveMetric| values(record.trials.iter(), metric);
    let switched = median(&all(LiveMetric::SwitchedBytes)).unwrap_or_else(|| bytes(live.blocks));
    let resident = median(&all(LiveMetric::ResidentBytes)).filter(|it| *it > 0.0);
    let of = |policy: &'static str| record.trials.iter().filter(move |it| it.policy == policy);
    let switches = [SMALL, HUGE].map(|it| median(&values(of(it), LiveMetric::SwitchSeconds)));
    let lapses = record.trials.iter().filter(|it| it.lacked_its_policy());
    let starts: BTreeSet<u32> = record.trials.iter().filter_map(|it| it.start).collect();
    Some(Switchback {
        pids: live.pids.clone(),
        starts: starts.len() as u32,
        cut: all(LiveMetric::CutTotal).into_iter().sum::<f64>() as u32,
        source: live.work.source.clone(),
        switched_bytes: switched,
        share: resident.map(|resident| switched / resident),
        found_huge_bytes: bytes(live.found_huge),
        left_out_bytes: bytes(live.left_out),
        skipped: live.skipped.clone(),
        period_seconds: live.period_seconds,
        settle_seconds: live.settle_seconds,
        switch_seconds: switches.into_iter().flatten().collect(),
        longest_call_seconds: all(LiveMetric::LongestCallSeconds)
            .into_iter()
            .max_by(f64::total_cmp),
        shams: all(LiveMetric::ShamTotal).into_iter().sum::<f64>() as u32,
        lapses: lapses.count() as u32,
        least_huge: shares(of(HUGE)).min_by(f64::total_cmp),
        most_huge: shares(of(SMALL)).max_by(f64::total_cmp),
    })
}

fn values<'a>(trials: impl Iterator<Item = &'a Trial>, metric: LiveMetric) -> Vec<f64> {
    trials.filter_map(|it| it.value(metric)).collect()
}

/// Returns the huge share of the switched memory, at both ends of each period.
fn shares<'a>(trials: impl Iterator<Item = &'a Trial>) -> impl Iterator<Item = f64> {
    trials.flat_map(|trial| {
        let switched = trial.value(LiveMetric::SwitchedBytes);
        let ends = [LiveMetric::HugeBeginBytes, LiveMetric::HugeEndBytes];
        let huge = ends.into_iter().filter_map(|it| trial.value(it));
        let shares = huge.filter_map(|huge| Some(huge / switched.filter(|it| *it > 0.0)?));
        shares.collect::<Vec<_>>()
    })
}

//! Classifies policies by whether they gave a program more or fewer huge pages than the baseline.

use crate::run::cause::Context;
use crate::run::compare::PolicyAnswer;
use crate::run::compare::coverage::{FAULTS, MANY_PAGES, huge_files, huge_kinds};
use crate::run::metric::{Counter, MetricId};
use crate::run::trial::{A_GOOD_PART, huge_memory};

/// A difference of a tenth between many huge pages comes from the timing of samples and memory layout, not from the
/// policy.
const ALIKE: f64 = 0.1;

/// How many more bytes were huge under a policy than under the baseline: negative if there were fewer, zero if the
/// pages were equal. Without samples the result is one huge page, and only its sign is known: from the faults,
/// otherwise from the settings. `None` if there is no evidence.
pub(super) fn more_huge_bytes(context: &Context<'_>, policy: &str) -> Option<f64> {
    if context.answer(policy) == Some(PolicyAnswer::NoEffect) {
        return Some(0.0);
    }
    in_files(context, policy)
        .or_else(|| sampled(context, policy))
        .or_else(|| by_settings(context, policy))
}

/// Returns true if a policy changed no page: it had no effect, or its time is open and its pages were those of the
/// baseline.
pub fn changed_no_page(context: &Context<'_>, policy: &str) -> bool {
    match context.answer(policy) {
        Some(PolicyAnswer::NoEffect) => true,
        Some(PolicyAnswer::NotDecided) if !context.table.verdict.reasons.contains_key(policy) => {
            more_huge_bytes(context, policy) == Some(0.0)
        }
        _ => false,
    }
}

/// Returns true if a policy lets malloc ask for huge pages and none was made. Any effect of it then has another reason.
/// The allocator-only policy is meant to have none.
pub(super) fn is_malloc_without_pages(context: &Context<'_>, policy: &str) -> bool {
    let baseline = context.settings(context.baseline());
    let settings = context.settings(policy);
    settings.changes_malloc_too(&baseline)
        && !settings.is_malloc_alone()
        && more_huge_bytes(context, policy) == Some(0.0)
}

/// From files, whether or not a process maps them: the huge pages made for a tmpfs, and those of files in the page cache.
/// `None` if the policies do not choose the pages of files, or gave them the same.
fn in_files(context: &Context<'_>, policy: &str) -> Option<f64> {
    let (page, baseline) = (huge_page(context), context.baseline());
    let [here, there] = [policy, baseline].map(|name| context.settings(name));
    let made = |name: &str| {
        let counter = MetricId::Counter(Counter::ThpFileAlloc);
        context.medians.get(name, counter.name()).unwrap_or(0.0) * page
    };
    let cached = |name: &str| huge_files(context.record, name);
    let mut more = 0.0;
    if here.tmpfs != there.tmpfs {
        more += made(policy) - made(baseline);
    }
    if here.file != there.file {
        more += cached(policy) - cached(baseline);
    }
    (more.abs() > page).then_some(more)
}

/// From the readings of running trials; `None` if they contain neither huge pages nor faults.
fn sampled(context: &Context<'_>, policy: &str) -> Option<f64> {
    let both = |metric: &str| {
        let there = context.medians.get(context.baseline(), metric).ok()?;
        let here = context.medians.get(policy, metric).ok()?;
        Some((there, here))
    };
    let kinds = huge_kinds(context.record).into_iter();
    let read: Vec<(&str, f64)> = kinds
        .filter_map(|kind| both(kind).map(|(there, here)| (kind, here - there)))
        .collect();
    let page = huge_page(context);
    let sizes = [context.baseline(), policy].map(|name| huge_bytes(context, name));
    if let [Some(there), Some(here)] = sizes
        && are_alike([there, here], page)
    {
        return Some(0.0);
    }
    if read.iter().any(|(kind, _)| kind.starts_with("huge_anon_")) {
        let bytes = read.iter().map(|(_, bytes)| *bytes);
        let farthest = bytes.max_by(|a, b| a.abs().total_cmp(&b.abs()))?;
        let peak = both(MetricId::PeakRssBytes.name());
        let peak = peak.map_or(0.0, |(there, here)| there.max(here));
        if farthest.abs() > page.max(0.01 * peak) {
            return Some(farthest);
        }
        // A server faults as requests arrive, and lives longer than one sampling interval. Policies with other settings
        // are not dismissed by their pages.
        let baseline = context.settings(context.baseline());
        let is_about_pages = context.settings(policy).is_sibling_of(&baseline);
        if is_about_pages && context.record.header.plan.service.is_some() {
            return Some(0.0);
        }
    }
    let (there, here) = both(MetricId::MinorFaultsTotal.name())?;
    let is_alike = (there - here).abs() <= FAULTS * there;
    Some(if is_alike {
        0.0
    } else {
        (there - here).signum() * page
    })
}

/// Returns true if both have huge pages, in almost equal number.
fn are_alike([there, here]: [f64; 2], page: f64) -> bool {
    let (less, more) = (there.min(here), there.max(here));
    less >= MANY_PAGES * page && more - less <= ALIKE * more
}

/// Number of huge bytes under a policy.
pub(super) fn huge_bytes(context: &Context<'_>, policy: &str) -> Option<f64> {
    let read = |metric| context.medians.get(policy, metric).ok();
    huge_memory(read, huge_page(context))
}

/// How permissive the mode of a policy is: the more it allows, the higher.
fn rank(context: &Context<'_>, policy: &str) -> u8 {
    match context.mode(policy) {
        "always" => 2,
        "madvise" => 1,
        _ => 0,
    }
}

/// From the settings of the policies.
fn by_settings(context: &Context<'_>, policy: &str) -> Option<f64> {
    let baseline = context.baseline();
    let page = huge_page(context);
    let (here, there) = (rank(context, policy), rank(context, baseline));
    let settings = [policy, baseline].map(|name| context.settings(name));
    match here.cmp(&there) {
        std::cmp::Ordering::Greater => Some(page),
        std::cmp::Ordering::Less => Some(-page),
        // A sibling's program setting, such as malloc=thp, asks for huge pages.
        std::cmp::Ordering::Equal => {
            (!settings[0].differs_only_in_pages(&settings[1])).then_some(page)
        }
    }
}

/// Number of huge bytes under the baseline, if every policy has as many; `None` if any has more or fewer, or there are
/// none.
pub(super) fn same_huge_bytes(context: &Context<'_>) -> Option<f64> {
    let there = huge_bytes(context, context.baseline())?;
    let mut policies = context.table.verdict.policies.keys();
    let page = huge_page(context);
    policies
        .all(|policy| {
            huge_bytes(context, policy).is_some_and(|here| are_alike([there, here], page))
        })
        .then_some(there)
}

/// Returns true if a difference of so many huge bytes deserves an answer: more than one page, or one page that is a
/// large part of the program's memory.
pub(super) fn is_telling(context: &Context<'_>, more: f64) -> bool {
    let page = huge_page(context);
    let peak = context
        .medians
        .get(context.baseline(), MetricId::PeakRssBytes);
    let is_good_part = || peak.is_ok_and(|peak| more.abs() >= A_GOOD_PART * peak);
    more.abs() > page || more.abs() == page && is_good_part()
}

/// The size that represents one huge page, in bytes, if only the faults or the settings are known.
pub(super) fn huge_page(context: &Context<'_>) -> f64 {
    context.host().pmd_bytes().unwrap_or(1) as f64
}

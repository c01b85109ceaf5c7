//! Why khugepaged has not collapsed an eligible range.

use super::Code;
use super::range::{Fit, Range};
use super::row::{Facts, Fix, Row, Rule, State};
use super::totals::Totals;

pub(super) const PINNED: Row = Row {
    state: State::Eligible,
    rule: Rule::Still(pinned),
    evidence: rate,
    circumstance: |_| None,
    what: "Direct I/O, io_uring, RDMA or vmsplice hold references to the pages, so the kernel \
           cannot move them into a huge page.",
    kernels: "all",
    sign: "Only by trying: MADV_COLLAPSE fails with EAGAIN, and the trace event says \
           not_suitable_page_count.",
    fix: Fix::new(
        "When the I/O is done: hugewise collapse {pid}. For good: register buffers after \
             they are huge.",
    ),
    source: "hpage_collapse_scan_pmd in mm/khugepaged.c",
};

pub(super) const KHP_NOT_REGISTERED: Row = Row {
    state: State::Eligible,
    rule: Rule::Still(not_registered),
    evidence: |_| vec!["no advice and no huge page in the whole process".to_owned()],
    circumstance: |_| None,
    what: "khugepaged scans only processes that had a huge-page fault or called MADV_HUGEPAGE \
           while huge pages were on. This one may have done neither.",
    kernels: "all",
    sign: "No `hg` and no huge page in the process.",
    fix: Fix::new(
        "Call madvise(MADV_HUGEPAGE) on any eligible memory; or now: hugewise collapse \
             {pid}",
    ),
    source: "__khugepaged_enter in mm/khugepaged.c",
};

pub(super) const KHP_PENDING: Row = Row {
    state: State::Eligible,
    rule: Rule::Still(pending),
    evidence: rate,
    circumstance: |_| None,
    what: "khugepaged would collapse the range, but has not reached it: by default it scans \
           16 MiB every 10 seconds on the whole machine.",
    kernels: "all",
    sign: "Counts within khugepaged's limits; its rate from pages_to_scan and \
           scan_sleep_millisecs.",
    fix: Fix::new("hugewise collapse {pid}. For the machine: a faster khugepaged (root)."),
    source: "mm/khugepaged.c",
};

pub(super) const KHP_LIMITS: Row = Row {
    state: State::Eligible,
    rule: Rule::Still(limits),
    evidence: limits_evidence,
    circumstance: |_| None,
    what: "khugepaged skips a range with more empty, swapped or shared pages than \
           max_ptes_none, max_ptes_swap and max_ptes_shared allow, or without a recently used \
           page.",
    kernels: "all; counters since 5.17",
    sign: "The page counts of the range against the three files.",
    fix: Fix::new(
        "hugewise collapse {pid} (it ignores the limits). For the machine (root): \
             higher limits, which cost memory.",
    ),
    source: "hpage_collapse_scan_pmd in mm/khugepaged.c",
};

pub(super) const KHP_OFF: Row = Row {
    state: State::Eligible,
    rule: Rule::Still(off),
    evidence: |_| vec!["no thread of that name runs".to_owned()],
    circumstance: |_| None,
    what: "khugepaged does not run: it stops if every size is `never`.",
    kernels: "all",
    sign: "No such thread among the children of kthreadd.",
    fix: Fix::new("hugewise collapse {pid} (it needs no khugepaged)."),
    source: "start_stop_khugepaged in mm/khugepaged.c",
};

pub(super) const READONLY_ANON: Row = Row {
    state: State::Eligible,
    rule: Rule::Still(read_only),
    evidence: |_| vec!["the mapping is not writable".to_owned()],
    circumstance: |_| None,
    what: "khugepaged does not collapse anonymous memory without write permission.",
    kernels: "up to 6.17",
    sign: "No `w` in the permissions, and khugepaged's trace event knows `no_writable_page` \
           (root).",
    fix: Fix::new("Make it writable (mprotect), collapse it, and protect it again."),
    source: "SCAN_PAGE_RO in mm/khugepaged.c",
};

/// Returns true if khugepaged would scan the range: small anonymous memory that is eligible by all settings, whatever
/// the reason for being small.
pub(super) fn concerns(range: &Range<'_>, code: Code) -> bool {
    range.is_whole()
        && range.is_anonymous()
        && code.state() == State::Eligible
        && code != Code::GuardPages
        && range.count(|pages| Some(pages.populated())) > 0
}

fn off(range: &Range<'_>) -> Fit {
    Fit::Proved.when(range.settings.khugepaged_runs == Some(false))
}

fn limits(range: &Range<'_>) -> Fit {
    Fit::Proved.when(exceeded(range).is_some())
}

/// Returns the exceeded limit, the number of pages that it counts, and the number that it allows.
fn exceeded(range: &Range<'_>) -> Option<(&'static str, u32, u64)> {
    let swapped = range.swapped();
    let held = range.small().saturating_add(swapped);
    let none = range.pages_per_range().saturating_sub(held);
    let shared = range.frames().map_or(0, |frames| frames.shared);
    let settings = &range.thp()?.khugepaged;
    [
        ("max_ptes_none", none),
        ("max_ptes_swap", swapped),
        ("max_ptes_shared", shared),
    ]
    .into_iter()
    .find_map(|(name, count)| {
        let most = *settings.get(name)?;
        (u64::from(count) > most).then_some((name, count, most))
    })
}

fn read_only(range: &Range<'_>) -> Fit {
    let read_only = !range.mapping.permissions.write();
    match range.settings.khugepaged_wants_writable {
        Some(true) => Fit::Proved.when(read_only),
        Some(false) => Fit::No,
        None => Fit::Possible.when(read_only),
    }
}

fn not_registered(range: &Range<'_>) -> Fit {
    Fit::Likely.when(!range.whole.registered)
}

fn pending(range: &Range<'_>) -> Fit {
    if range.whole.registered {
        Fit::Likely
    } else {
        Fit::Possible
    }
}

/// The data shows no trace of pins.
fn pinned(_: &Range<'_>) -> Fit {
    Fit::Possible
}

fn limits_evidence(facts: &Facts<'_>) -> Vec<String> {
    let limit = exceeded(facts.range);
    let fact = limit.map(|(name, count, most)| format!("{count} pages, and {name} is {most}"));
    fact.into_iter().collect()
}

fn rate(facts: &Facts<'_>) -> Vec<String> {
    scan_time(facts.range, facts.totals).into_iter().collect()
}

fn scan_time(range: &Range<'_>, totals: &Totals) -> Option<String> {
    let settings = &range.thp()?.khugepaged;
    let pages = *settings.get("pages_to_scan")?;
    let sleep_ms = *settings.get("scan_sleep_millisecs")?;
    let ranges_each = (pages / range.space.pages_per_range()).max(1);
    let seconds = totals.ranges.div_ceil(ranges_each).saturating_mul(sleep_ms) / 1000;
    Some(format!(
        "khugepaged needs at least {seconds} s for {} ranges, without other work",
        totals.ranges
    ))
}

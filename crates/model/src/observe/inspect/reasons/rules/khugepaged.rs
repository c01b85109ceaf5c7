//! Why khugepaged has not made a range huge that could be.

use crate::observe::inspect::reasons::Code;
use crate::observe::inspect::reasons::range::{Fit, Range};

/// Whether the range is one that khugepaged would look at: small anonymous memory that may be
/// huge by all settings, for whatever reason it is not.
pub(super) fn concerns(range: &Range<'_>, code: Code) -> bool {
    let by_history = code >= Code::Swapped && code < Code::Host4K;
    range.is_whole()
        && range.is_anonymous()
        && by_history
        && code != Code::GuardPages
        && range.count(|pages| Some(pages.populated())) > 0
}

pub(super) fn off(range: &Range<'_>) -> Fit {
    Fit::Proved.when(range.settings.khugepaged_runs == Some(false))
}

pub(super) fn limits(range: &Range<'_>) -> Fit {
    Fit::Proved.when(exceeded(range).is_some())
}

/// Which limit, how many pages of that sort there are, and how many may be.
pub(in crate::observe::inspect::reasons) fn exceeded(
    range: &Range<'_>,
) -> Option<(&'static str, u32, u64)> {
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

pub(super) fn read_only(range: &Range<'_>) -> Fit {
    let read_only = !range.mapping.permissions.write();
    match range.settings.khugepaged_wants_writable {
        Some(true) => Fit::Proved.when(read_only),
        Some(false) => Fit::No,
        None => Fit::Possible.when(read_only),
    }
}

pub(super) fn not_registered(range: &Range<'_>) -> Fit {
    Fit::Likely.when(!range.whole.registered)
}

pub(super) fn pending(range: &Range<'_>) -> Fit {
    if range.whole.registered {
        Fit::Likely
    } else {
        Fit::Possible
    }
}

/// Pins leave no trace in what is read.
pub(super) fn pinned(_: &Range<'_>) -> Fit {
    Fit::Possible
}

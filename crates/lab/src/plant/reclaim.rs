//! Effects of memory pressure: swap, limits, splits. The pressure is limited to a memory cgroup that contains only the
//! plant, so the machine is not affected.

use super::Planted;
use super::look::{counter, pages};
use super::place::Place;
use super::preconditions::{Fact, demand};
use super::span::Span;
use crate::Trouble;
use crate::group::{Group, own_groups};
use crate::region::{huge_bytes, page_bytes};

/// How often to ask the kernel before giving up.
const ATTEMPTS: usize = 20;

/// Huge pages that are swapped out.
pub(super) fn swapped(_: &Place) -> Result<Planted, Trouble> {
    let span = Span::fresh(2)?;
    span.advise(libc::MADV_HUGEPAGE)?;
    span.write();
    for _ in 0..ATTEMPTS {
        span.advise(libc::MADV_PAGEOUT)?;
        if pages(span)?.iter().all(|page| page.swapped()) {
            break;
        }
    }
    let facts = vec![
        Fact::Present(0),
        Fact::Swapped(span.pages()),
        Fact::Flag("hg"),
    ];
    Ok(Planted::new(span, facts))
}

/// Touched when the cgroup had space for small pages but not for a huge page.
pub(super) fn beyond_limit(_: &Place) -> Result<Planted, Trouble> {
    let group = confining()?;
    let _kept = fill_all_but(&group, huge_bytes() / 2)?;
    let span = Span::fresh(1)?;
    span.advise(libc::MADV_HUGEPAGE)?;
    let refused = || counter("thp_fault_fallback_charge");
    let before = refused();
    let few = span.part(0, 16 * page_bytes());
    few.write();
    demand(refused() > before, || {
        "the kernel refused no huge page".to_owned()
    })?;
    let gone = span.pages() - few.pages();
    Ok(Planted::small_but(span, gone, [Fact::Flag("hg")]))
}

/// The group of this process, if it has a limit.
fn confining() -> Result<Group, Trouble> {
    let own = own_groups()
        .into_iter()
        .find(|group| group.limit().is_some());
    own.ok_or_else(|| {
        let what = "the plant is in no memory cgroup with a limit";
        Trouble::NotHere(what.to_owned())
    })
}

/// Bytes that the group can still use.
fn room(group: &Group) -> Result<usize, Trouble> {
    let (limit, used) = group.limit().zip(group.used()).ok_or_else(|| {
        let what = "the cgroup does not report its limit and its use";
        Trouble::NotHere(what.to_owned())
    })?;
    Ok(usize::try_from(limit.saturating_sub(used)).unwrap_or(usize::MAX))
}

/// Fills the group with small pages that cannot be reclaimed, until only this many bytes are left.
fn fill_all_but(group: &Group, left: usize) -> Result<Span, Trouble> {
    let filler = Span::fresh(room(group)? / huge_bytes() + 1)?;
    filler.advise(libc::MADV_NOHUGEPAGE)?;
    for page in filler.pieces(page_bytes()) {
        if room(group)? <= left {
            return Ok(filler);
        }
        // SAFETY: the page is ours; locked, it is written too.
        if unsafe { libc::mlock(page.pointer(), page.bytes()) } != 0 {
            let error = std::io::Error::last_os_error();
            return Err(Trouble::NotHere(format!(
                "memory cannot be locked: {error}"
            )));
        }
    }
    Err(Trouble::Premise("the group would not fill".to_owned()))
}

/// Huge pages with every other small page freed, split when the cgroup reclaimed.
pub(super) fn split(_: &Place) -> Result<Planted, Trouble> {
    let group = confining()?;
    let span = Span::fresh(2)?;
    span.advise(libc::MADV_HUGEPAGE)?;
    span.write();
    Fact::Field("AnonHugePages", span.bytes()).check(span)?;
    for page in span.pieces(page_bytes()).step_by(2) {
        page.advise(libc::MADV_DONTNEED)?;
    }
    reclaimed(&group, "thp_split_page", span.huge_pages())?;
    let kept = span.pages() / 2;
    Ok(Planted::small_but(
        span,
        span.pages() - kept,
        [Fact::Flag("hg")],
    ))
}

/// Huge pages with one page of content each, split when the cgroup reclaimed. The small zero page replaces the empty
/// pages.
pub(super) fn split_underused(_: &Place) -> Result<Planted, Trouble> {
    let group = confining()?;
    let span = Span::fresh(2)?;
    span.advise(libc::MADV_HUGEPAGE)?;
    span.middles().for_each(Span::write);
    Fact::Field("AnonHugePages", span.bytes()).check(span)?;
    reclaimed(&group, "thp_underused_split_page", span.huge_pages())?;
    let content = Fact::Field("Rss", span.huge_pages() * page_bytes());
    Ok(Planted::small(span, [content, Fact::Flag("hg")]))
}

/// Makes the group reclaim until a counter has risen by this amount.
fn reclaimed(group: &Group, name: &str, by: usize) -> Result<(), Trouble> {
    let count = || {
        counter(name).ok_or_else(|| Trouble::NotHere(format!("this kernel does not count {name}")))
    };
    let before = count()?;
    for _ in 0..ATTEMPTS {
        group
            .reclaim()
            .map_err(|file| Trouble::NotHere(format!("the cgroup has no {file}")))?;
        if count()? >= before + by as u64 {
            return Ok(());
        }
    }
    Err(Trouble::Premise(format!("{name} did not rise by {by}")))
}

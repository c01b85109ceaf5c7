//! The preconditions that make a plant what its name says.

use super::look::{self, Mapping, Page};
use super::span::Span;
use crate::Trouble;
use crate::region::huge_bytes;

/// One observable property of a planted span.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fact {
    /// This many pages are present: in memory, and in the page table.
    Present(usize),
    /// This many pages are in swap.
    Swapped(usize),
    /// This many present pages are anonymous: not of a file, nor of shared memory.
    Anonymous(usize),
    /// This many mappings are in the span.
    Mappings(usize),
    /// No other mapping is in the aligned huge pages that the span touches.
    Alone,
    /// Every mapping has these two letters among `VmFlags`.
    Flag(&'static str),
    /// Every mapping has at least one of these.
    SomeFlag(&'static [&'static str]),
    /// No mapping has them.
    NoFlag(&'static str),
    /// A field of smaps, in bytes, summed over the mappings.
    Field(&'static str, usize),
    /// The same, at least.
    FieldAtLeast(&'static str, usize),
    /// No mapping of the whole process is advised or has an anonymous huge page, including other mappings than the
    /// plant's: malloc may have advised its heap before the plant (glibc 2.43 on Arm does).
    NothingKnownToKhugepaged,
}

impl Fact {
    /// No part of the span is mapped by huge pages of any kind.
    pub(crate) const NOTHING_HUGE: [Self; 3] = [
        Self::Field("AnonHugePages", 0),
        Self::Field("ShmemPmdMapped", 0),
        Self::Field("FilePmdMapped", 0),
    ];

    /// Checks this in the kernel; `Err` describes the actual state.
    pub(crate) fn check(self, span: Span) -> Result<(), Trouble> {
        match self {
            Self::Present(count) => count_is(span, "present", count, Page::present),
            Self::Swapped(count) => count_is(span, "in swap", count, Page::swapped),
            Self::Anonymous(count) => count_is(span, "anonymous", count, |page| {
                page.present() && !page.of_file()
            }),
            Self::Mappings(count) => {
                let found = look::mappings(span)?.len();
                demand(found == count, || {
                    format!("{found} mappings instead of {count}")
                })
            }
            Self::Alone => alone(span),
            Self::Flag(letters) => {
                let found = look::mappings(span)?;
                let all = !found.is_empty() && found.iter().all(|each| each.flag(letters));
                demand(all, || format!("`{letters}` is not among VmFlags"))
            }
            Self::SomeFlag(several) => {
                let found = look::mappings(span)?;
                let has = |each: &Mapping| several.iter().any(|letters| each.flag(letters));
                let all = !found.is_empty() && found.iter().all(has);
                demand(all, || format!("none of {several:?} is among VmFlags"))
            }
            Self::NoFlag(letters) => {
                let found = look::mappings(span)?;
                let none = !found.iter().any(|each| each.flag(letters));
                demand(none, || format!("`{letters}` is among VmFlags"))
            }
            Self::Field(name, bytes) => {
                let found = field(span, name)?;
                demand(found == bytes, || {
                    format!("{name} is {found} instead of {bytes}")
                })
            }
            Self::FieldAtLeast(name, bytes) => {
                let found = field(span, name)?;
                demand(found >= bytes, || {
                    format!("{name} is only {found}, not {bytes}")
                })
            }
            Self::NothingKnownToKhugepaged => {
                let known =
                    |each: &Mapping| each.flag("hg") || each.field("AnonHugePages") > Some(0);
                let found = look::all_mappings()?.into_iter().filter(known).count();
                demand(found == 0, || {
                    format!("{found} mappings are advised or have huge pages")
                })
            }
        }
    }
}

/// Fails the premise unless `so`.
pub(crate) fn demand(so: bool, otherwise: impl FnOnce() -> String) -> Result<(), Trouble> {
    if so {
        return Ok(());
    }
    Err(Trouble::Premise(otherwise()))
}

fn count_is(
    span: Span,
    what: &str,
    count: usize,
    which: impl Fn(Page) -> bool,
) -> Result<(), Trouble> {
    let found = look::pages(span)?
        .into_iter()
        .filter(|&page| which(page))
        .count();
    demand(found == count, || {
        format!(
            "{found} of {} pages are {what} instead of {count}",
            span.pages()
        )
    })
}

/// The sum over the mappings. A field can be missing before Linux 4.8 and in kernels without huge pages, and then
/// counts as zero.
fn field(span: Span, name: &str) -> Result<usize, Trouble> {
    let found = look::mappings(span)?;
    Ok(found.iter().filter_map(|each| each.field(name)).sum())
}

fn alone(span: Span) -> Result<(), Trouble> {
    let huge = huge_bytes();
    let around = Span {
        start: span.start / huge * huge,
        end: span.end.next_multiple_of(huge),
    };
    let own = |each: &Mapping| each.start >= span.start && each.end <= span.end;
    let found = look::mappings(around)?;
    let strangers = found.iter().filter(|each| !own(each)).count();
    demand(strangers == 0, || {
        format!("{strangers} other mappings are close by")
    })
}

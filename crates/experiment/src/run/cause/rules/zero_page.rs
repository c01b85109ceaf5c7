//! The program read memory before it wrote it, so that huge zero pages were mapped.

use serde::Serialize;

use super::super::context::{Told, View};
use super::super::{Kind, Outcome};
use crate::run::metric::MetricId;

/// Fewer splits are the noise of a machine with other programs.
const FEW_SPLITS: f64 = 8.0;

/// Memory that a program read before it wrote it.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct ReadFirstZeroPage {
    /// Address space that still maps the huge zero page at exit, in bytes. Reading it is not memory speed.
    pub zero_bytes: f64,
    /// Huge mappings that were split, machine-wide, when they are enough for half of the faults.
    pub splits: Option<f64>,
}

pub(in super::super) fn ask(view: &View<'_, '_>) -> Told {
    let zero = view.here(MetricId::HugeZeroExitBytes);
    let kind =
        |zero_bytes, splits| Kind::ReadFirstZeroPage(ReadFirstZeroPage { zero_bytes, splits });
    if let Some(&bytes) = zero.as_ref().ok().filter(|bytes| **bytes > 0.0) {
        return Ok(Some((Outcome::Shown, kind(bytes, None))));
    }
    let splits = many_splits(view).filter(|_| a_write_splits(&view.context.host().kernel));
    let Some(splits) = splits else {
        return Ok(None);
    };
    Ok(Some((Outcome::CannotTell, kind(zero?, Some(splits)))))
}

/// Returns true when a write to the huge zero page leaves small pages, by the release: it did from Linux 5.8 to 6.12
/// (`do_huge_pmd_wp_page`, mm/huge_memory.c). In other releases a split has other causes.
fn a_write_splits(kernel: &str) -> bool {
    let numbers = kernel.split(|c: char| !c.is_ascii_digit());
    let mut numbers = numbers.map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => ((5, 8)..=(6, 12)).contains(&(major, minor)),
        _ => true,
    }
}

/// Returns the splits when they can account for half of the faults: each leaves as many faults as a huge page has small ones.
fn many_splits(view: &View<'_, '_>) -> Option<f64> {
    let host = view.context.host();
    let pages = host.pmd_bytes().unwrap_or(0) as f64 / host.page_bytes.max(1) as f64;
    let splits = view.here(MetricId::ThpSplitPmdTotal).ok()?;
    let faults = view.here(MetricId::MinorFaultsTotal).ok()?;
    (splits >= FEW_SPLITS && splits * pages * 2.0 >= faults).then_some(splits)
}

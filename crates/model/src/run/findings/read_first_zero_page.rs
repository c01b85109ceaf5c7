//! Claims that the program read memory before it wrote it, so that huge zero pages were mapped.
//!
//! Evidence: address space that still maps the huge zero page at exit. Such memory was only ever
//! read, and a speed measured on it is the speed of one page in the cache. Memory that was written
//! later leaves only split mappings behind, which have other causes too (munmap, mprotect or
//! MADV_DONTNEED of a part, fork): then the rule cannot tell. Between Linux 5.8 and 6.12 a write
//! to the huge zero page splits it into small pages for good; before and after, a huge page is made.
//! Refuted by a program known to write first. Next: MADV_POPULATE_WRITE, or write before reading.

use super::ground::{Absent, Ground, Look, Said, told};
use super::{Finding, Rule};
use crate::run::metric::MetricId;

/// See the module.
#[derive(Debug)]
pub(super) struct ReadFirstZeroPage;

/// Fewer splits than this are the noise of a machine with other programs.
const FEW_SPLITS: f64 = 8.0;

impl Rule for ReadFirstZeroPage {
    fn id(&self) -> &'static str {
        "read-first-zero-page"
    }

    fn explain(&self) -> &'static str {
        "Claims that the program read memory that it had not written, so that the kernel mapped the \
         shared huge zero page. Evidence: address space that still maps it at exit. Benchmarks of \
         such memory measure one cached page. Memory written later leaves only split mappings, \
         which munmap, mprotect and fork cause too; then it cannot be told. From Linux 5.8 to 6.12 \
         the write leaves small pages for good. Refuted by a program known to write first. Next: \
         prefault with MADV_POPULATE_WRITE, or set use_zero_page to 0 and compare."
    }

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        ground.of_all(self, ask)
    }
}

fn ask(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    let policy = look.policy;
    let zero = look.here(MetricId::HugeZeroExitBytes);
    if let Ok(zero) = zero
        && zero > 0.0
    {
        return Ok(Said::Shown(format!(
            "{policy}: {} still mapped the shared huge zero page at exit: memory that was read and \
             never written; no speed of reading it is that of memory",
            told(MetricId::HugeZeroExitBytes, zero)
        )));
    }
    if !a_write_splits(&look.ground.host().kernel) || !many_splits(look) {
        return Ok(Said::Nothing);
    }
    zero?;
    let splits = look.here(MetricId::ThpSplitPmdTotal)?;
    Ok(Said::CannotTell(format!(
        "{policy}: {} huge mappings were split on the machine, which may account for half of the \
         faults: reading before writing does that on this kernel, and so do munmap, mprotect or \
         MADV_DONTNEED of a part, and fork",
        told(MetricId::ThpSplitPmdTotal, splits)
    )))
}

/// Whether a write to the huge zero page leaves small pages, by the release: it did from
/// Linux 5.8 to 6.12 (do_huge_pmd_wp_page, mm/huge_memory.c). Elsewhere a split has other causes.
fn a_write_splits(kernel: &str) -> bool {
    let mut numbers = kernel
        .split(|c: char| !c.is_ascii_digit())
        .map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => ((5, 8)..=(6, 12)).contains(&(major, minor)),
        _ => true,
    }
}

/// Whether splits could account for half of the faults: each leaves as many faults to be taken
/// as there are base pages in a huge one.
fn many_splits(look: &mut Look<'_, '_>) -> bool {
    let host = look.ground.host();
    let pages = host.pmd_bytes().unwrap_or(0) as f64 / host.page_bytes.max(1) as f64;
    match (
        look.here(MetricId::ThpSplitPmdTotal),
        look.here(MetricId::MinorFaultsTotal),
    ) {
        (Ok(splits), Ok(faults)) => splits >= FEW_SPLITS && splits * pages * 2.0 >= faults,
        _ => false,
    }
}

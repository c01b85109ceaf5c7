//! Claims that the program read memory before it wrote it, so that huge zero pages were mapped.

use super::context::{Claim, Context, MissingInput, PolicyView, told};
use super::{Finding, Rule};
use crate::run::metric::MetricId;

/// The rule of this module.
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

    fn is_about_huge_pages(&self) -> bool {
        true
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context.of_all(self, ask)
    }
}

fn ask(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    let policy = view.policy;
    let zero = view.here(MetricId::HugeZeroExitBytes);
    if let Ok(zero) = zero
        && zero > 0.0
    {
        return Ok(Claim::Shown(format!(
            "{policy}: the program read memory that it never wrote. {} still mapped the shared huge zero \
             page at exit; reading it is not memory speed",
            told(MetricId::HugeZeroExitBytes, zero)
        )));
    }
    if !a_write_splits(&view.context.host().kernel) || !many_splits(view) {
        return Ok(Claim::Nothing);
    }
    zero?;
    let splits = view.here(MetricId::ThpSplitPmdTotal)?;
    Ok(Claim::CannotTell(format!(
        "{policy}: the program may read memory before writing it. {} huge mappings were split \
         machine-wide, enough for half of the faults; munmap, mprotect or MADV_DONTNEED of a part \
         and fork split too",
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
fn many_splits(view: &mut PolicyView<'_, '_>) -> bool {
    let host = view.context.host();
    let pages = host.pmd_bytes().unwrap_or(0) as f64 / host.page_bytes.max(1) as f64;
    match (
        view.here(MetricId::ThpSplitPmdTotal),
        view.here(MetricId::MinorFaultsTotal),
    ) {
        (Ok(splits), Ok(faults)) => splits >= FEW_SPLITS && splits * pages * 2.0 >= faults,
        _ => false,
    }
}

//! Memory touched twice: first without changing it, then by writes.
//!
//! The first touch maps the shared huge zero page, once per huge page. The effect of the write depends on the kernel
//! (mm/huge_memory.c, do_huge_pmd_wp_page): from 5.8 to 6.12 it splits the mapping and every small page faults again;
//! since 6.13 it allocates a huge page.

use std::fs;
use std::process::ExitCode;

use crate::Trouble;
use crate::arguments::Arguments;
use crate::region::{self, Advice, Align, Region, faults, huge_bytes, page_bytes};

/// How every page is touched before the write.
#[derive(Clone, Copy)]
enum First {
    /// A load.
    Read,
    /// An atomic addition of 0. x86 faults for a write at once; Arm's LSE instructions fault for a read first, so that
    /// prefaulting loops of allocators and runtimes shatter their huge pages.
    Atomic,
}

/// `double-fault`: touches every page of N advised huge pages, then writes to each, and prints
/// `huge-pages N faults F splits S`. S is the machine's `thp_split_pmd` and counts other programs too.
///
/// For 32 huge pages of 2 MiB after reads, F is 32 + 32 · 512 = 16,416 if writes split, and 32 + 32 = 64 otherwise.
pub(crate) fn run(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let huge_pages = arguments.needed("--huge-pages")?;
    let first = first(arguments)?;
    arguments.finish()?;
    if let First::Atomic = first {
        let lacking = |error| Trouble::Kernel("adding atomically", error);
        region::can_add_0().map_err(lacking)?;
    }
    let pages = huge_pages.saturating_mul(huge_bytes() / page_bytes());
    touch_twice(&Region::fresh(1, Align::Huge, Advice::None)?, first);
    let region = Region::fresh(pages, Align::Huge, Advice::Huge)?;
    let splits = splits()?;
    let faults = touch_twice(&region, first);
    let splits = self::splits()? - splits;
    println!("huge-pages {huge_pages} faults {faults} splits {splits}");
    Ok(ExitCode::SUCCESS)
}

fn first(arguments: &mut Arguments) -> Result<First, Trouble> {
    match arguments.word("--first")?.as_deref() {
        Some("read") => Ok(First::Read),
        Some("atomic") => Ok(First::Atomic),
        Some(other) => Err(Trouble::Usage(format!(
            "--first is `read` or `atomic`, not `{other}`"
        ))),
        None => Err(Trouble::Usage("--first is missing".to_owned())),
    }
}

fn touch_twice(region: &Region, first: First) -> i64 {
    let before = faults();
    match first {
        First::Read => region.read(page_bytes()),
        First::Atomic => region.add_0(page_bytes()),
    }
    region.write(page_bytes());
    faults() - before
}

/// The number of huge mappings split on this machine so far.
fn splits() -> Result<u64, Trouble> {
    let path = "/proc/vmstat";
    let text =
        fs::read_to_string(path).map_err(|error| Trouble::Kernel("reading vmstat", error))?;
    let count = text
        .lines()
        .find_map(|line| line.strip_prefix("thp_split_pmd "));
    Ok(count.and_then(|text| text.parse().ok()).unwrap_or(0))
}

//! Reads which pages are present with `PAGEMAP_SCAN`, or from the entries of `/proc/PID/pagemap` if the kernel has no
//! scan.

use std::fs::File;
use std::os::unix::fs::FileExt;

use hugewise_base::missing::Missing;
use hugewise_observe::address_space::{Mapping, Source, Sources};

use super::blocks::{Blocks, PageDetail, Sizes};
use crate::spawn::page_scan::{
    FILE, GUARD, HUGE, PRESENT, PageFilter, Region, SWAPPED, ZERO, scan_span,
};

/// Number of entries per read.
const ENTRIES: u64 = 8192;

/// Fills in the runs of all mappings from the best available source, and records which one it was.
pub(super) fn read_pages(
    pagemap: &File,
    mappings: &mut [Mapping],
    sizes: Sizes,
    sources: &mut Sources,
) {
    sources.page_scan = match scan(pagemap, mappings, sizes) {
        Ok(()) => {
            sources.page_map = Source::Missing(Missing::NotAsked);
            Source::Read
        }
        Err(missing) => {
            sources.page_map = match read_entries(pagemap, mappings, sizes) {
                Ok(()) => Source::Read,
                Err(error) => Source::Missing(Missing::unreadable(format!("page map: {error}"))),
            };
            Source::Missing(missing)
        }
    };
}

/// Uses `PAGEMAP_SCAN`. A kernel that does not know guard pages refuses the whole request, so it is repeated without
/// them.
fn scan(pagemap: &File, mappings: &mut [Mapping], sizes: Sizes) -> Result<(), Missing> {
    match scan_for(pagemap, mappings, sizes, PageDetail::KindsAndGuards) {
        Err(Missing::NotSupported { .. }) => scan_for(pagemap, mappings, sizes, PageDetail::Kinds),
        answer => answer,
    }
}

fn scan_for(
    pagemap: &File,
    mappings: &mut [Mapping],
    sizes: Sizes,
    tells: PageDetail,
) -> Result<(), Missing> {
    let guard = if tells == PageDetail::KindsAndGuards {
        GUARD
    } else {
        0
    };
    let wanted = PageFilter {
        any_of: PRESENT | SWAPPED | guard,
        returned: FILE | PRESENT | SWAPPED | ZERO | HUGE | guard,
        ..PageFilter::default()
    };
    // The vsyscall page is outside the user address space, and the scan refuses such addresses.
    let user = |mapping: &&Mapping| mapping.start < 1 << 63;
    let first = mappings.first().filter(user).map(|first| first.start);
    let last = mappings.iter().rfind(user).map(|last| last.end);
    let (Some(first), Some(last)) = (first, last) else {
        return Ok(());
    };
    let mut blocks = Blocks::new(mappings, sizes, tells);
    scan_span(pagemap, first..last, wanted, |region| blocks.add(region))?;
    blocks.finish();
    Ok(())
}

/// Uses the entries of the page map. They have no bit for huge pages and zero pages. Mappings that are empty according
/// to smaps are skipped, because a reservation of terabytes has an entry for every page. So the huge zero page is
/// missed there: smaps does not count it.
pub(super) fn read_entries(
    pagemap: &File,
    mappings: &mut [Mapping],
    sizes: Sizes,
) -> std::io::Result<()> {
    let spans: Vec<(u64, u64)> = mappings
        .iter()
        .filter(|mapping| mapping.start < 1 << 63)
        .filter(|mapping| {
            let memory = mapping.memory.as_ref();
            memory.is_none_or(|memory| memory.resident + memory.swap + memory.hugetlb > 0)
        })
        .map(|mapping| (mapping.start, mapping.end))
        .collect();
    let mut blocks = Blocks::new(mappings, sizes, PageDetail::Presence);
    let mut buffer = vec![0; usize::try_from(ENTRIES * 8).unwrap_or(0)];
    for (start, end) in spans {
        let mut address = start;
        while address < end {
            let asked = ((end - address) / sizes.page).min(ENTRIES);
            let bytes = &mut buffer[..usize::try_from(asked * 8).unwrap_or(0)];
            let read = pagemap.read_at(bytes, address / sizes.page * 8)?;
            if read < 8 {
                break;
            }
            for entry in bytes[..read].as_chunks::<8>().0 {
                let next = address + sizes.page;
                blocks.add(Region {
                    start: address,
                    end: next,
                    categories: categories(u64::from_ne_bytes(*entry)),
                });
                address = next;
            }
        }
    }
    blocks.finish();
    Ok(())
}

/// Converts an entry to the categories of the scan (Documentation/admin-guide/mm/pagemap.rst).
fn categories(entry: u64) -> u64 {
    let bit = |place: u32, category: u64| {
        if entry & (1 << place) == 0 {
            0
        } else {
            category
        }
    };
    bit(63, PRESENT) | bit(62, SWAPPED) | bit(61, FILE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::address_space::smaps::parse_mappings;

    /// Both sources report the same pages, in memory that only this test touches.
    #[test]
    fn entries_and_scan_agree() {
        let page = rustix::param::page_size();
        let sizes = Sizes {
            page: page as u64,
            huge: 2 << 20,
        };
        let mut own = vec![0_u8; 64 << 20];
        for (place, byte) in own.chunks_mut(page).map(|chunk| &mut chunk[0]).enumerate() {
            if place % 3 == 0 {
                *byte = 1;
            }
        }
        let span = own.as_ptr() as u64..own.as_ptr() as u64 + (64 << 20);
        let pagemap = File::open("/proc/self/pagemap").unwrap();
        let maps = std::fs::read("/proc/self/maps").unwrap();
        let mut by_scan = parse_mappings(&maps).unwrap();
        by_scan.retain(|mapping| mapping.start < span.end && span.start < mapping.end);
        let mut by_entries = by_scan.clone();
        read_entries(&pagemap, &mut by_entries, sizes).unwrap();
        if scan(&pagemap, &mut by_scan, sizes).is_err() {
            return;
        }
        let counts = |mappings: &[Mapping]| -> Vec<(u64, u32, u32)> {
            let runs = mappings.iter().flat_map(|mapping| &mapping.runs);
            let whole = runs.flat_map(|run| {
                (run.start..run.end)
                    .step_by(2 << 20)
                    .map(|start| (start, run.pages.populated(), run.pages.islands))
            });
            whole
                .filter(|one| span.start <= one.0 && one.0 + (2 << 20) <= span.end)
                .collect()
        };
        assert!(counts(&by_scan).len() >= 6, "{by_scan:?}");
        assert_eq!(counts(&by_scan), counts(&by_entries));
        drop(own);
    }
}

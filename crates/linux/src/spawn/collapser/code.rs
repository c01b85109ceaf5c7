//! Which memory of a process is code of files.

use std::ops::Range;

use hugewise_observe::faults::{Map, Sharing};

use crate::machine::root::Root;
use crate::proc::maps;
use crate::spawn::page_scan::{self, FILE, PRESENT, PageFilter, SWAPPED};

/// Pages that the process has for itself, though their mapping is of a file.
pub(super) const WRITTEN: PageFilter = PageFilter {
    with: 0,
    without: FILE,
    any_of: PRESENT | SWAPPED,
    returned: PRESENT,
};

/// Code of files, which nobody writes through its mapping. A memfd may be written by another, and
/// `//anon` is what a compiler in the process made.
pub(super) fn ranges(mappings: &[Map]) -> impl Iterator<Item = Range<u64>> {
    const READ_RUN: u32 = 5;
    let is_code = |map: &&Map| {
        map.sharing == Sharing::Private
            && map.protection == READ_RUN
            && map.name.starts_with('/')
            && !map.name.starts_with("//")
            && !map.name.starts_with("/memfd:")
    };
    let code = mappings.iter().filter(is_code);
    code.map(|map| map.start..map.end)
}

/// Whether a range of a process is code of files of which no page was written.
pub(super) fn is_unwritten(pid: u32, range: &Range<u64>) -> bool {
    let mappings = maps::read(&Root::real(), pid);
    let reached = ranges(&mappings).fold(range.start, |reached, mapping| {
        match mapping.contains(&reached) {
            true => mapping.end,
            false => reached,
        }
    });
    let Ok(pagemap) = page_scan::open(pid) else {
        return false;
    };
    let mut written = false;
    let scanned = page_scan::scan_span(&pagemap, range.clone(), WRITTEN, |_| written = true);
    reached >= range.end && scanned.is_ok() && !written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_of_a_file_is_code() {
        let lines = [
            "00400000-00401000 r--p 00000000 08:01 77 /bin/x",
            "00401000-00c00000 r-xp 00001000 08:01 77 /bin/x",
            "00c00000-00e00000 rw-p 00800000 08:01 77 /bin/x",
            "10000000-10800000 r-xp 00000000 00:00 0",
            "20000000-20800000 r-xs 00000000 00:01 9 /memfd:jit (deleted)",
            "30000000-30800000 r-xp 00000000 00:01 9 /memfd:jit (deleted)",
            "40000000-40800000 rwxp 00000000 08:01 78 /lib/y.so",
            "7fff0000-7fff2000 r-xp 00000000 00:00 0 [vdso]",
        ];
        let mappings: Vec<Map> = lines
            .iter()
            .filter_map(|line| maps::parse_line(line, 1))
            .collect();
        let found: Vec<u64> = ranges(&mappings)
            .flat_map(|it| [it.start, it.end])
            .collect();
        assert_eq!(found, [0x40_1000, 0xc0_0000]);
    }

    #[test]
    fn own_code_is_code_and_data_is_none() {
        let mappings = maps::read(&Root::real(), std::process::id());
        let code = ranges(&mappings).next().unwrap();
        let data = Box::new([1_u8; 8192]);
        let page = (&raw const *data).addr() as u64 & !4095;
        assert!(!is_unwritten(std::process::id(), &(page..page + 4096)));
        assert!(!is_unwritten(
            std::process::id(),
            &(code.start..code.end + 4096)
        ));
    }
}

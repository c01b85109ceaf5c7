//! Heap, data segment and executable of a traced process.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use hugewise_observe::faults::{Map, Sharing};

use super::range::Range;
use crate::machine::root::Root;
use crate::proc::maps;
use crate::proc::pid_stat::read_pid_stat;
use crate::proc::status::read_status;

/// The heap of brk(2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Heap {
    start: u64,
    end: u64,
}

impl Heap {
    /// Returns the heap of a process before its first growth.
    pub(super) fn of(process: i32) -> Option<Self> {
        let stat = read_pid_stat(&Root::real(), process.unsigned_abs()).ok()?;
        let start = stat.heap_address;
        (start != 0).then_some(Self { start, end: start })
    }

    /// Returns true if growth to `end` completes a block: before that the kernel maps no huge page.
    pub(super) fn completes(&self, end: u64, block: u64) -> bool {
        end / block > self.end / block && end - end % block > self.start.next_multiple_of(block)
    }

    /// Moves the end; returns the range to advise, which starts at the block that contained the previous end.
    /// madvise(2) requires a page-aligned start, and accepts any end.
    pub(super) fn move_end(&mut self, end: u64, block: u64) -> Option<Range> {
        let first = self.start.next_multiple_of(PAGE);
        let completed = self.completes(end, block).then(|| Range {
            start: (self.end - self.end % block).max(first),
            end,
        });
        self.end = end;
        completed
    }
}

/// A multiple of every page size; memory below it in the first block of a heap cannot be huge anyway.
const PAGE: u64 = 64 << 10;

/// Returns the process of a thread.
pub(super) fn process_of(thread: i32) -> i32 {
    let status = read_status(&Root::real(), thread.unsigned_abs()).ok();
    let process = status.and_then(|status| status.process);
    process.map_or(thread, u32::cast_signed)
}

/// Returns the file that a process executes.
pub(in crate::spawn) fn program_of(process: i32) -> String {
    let link = Root::real().path(format!("proc/{process}/exe"));
    fs::read_link(link).map_or_else(
        |_| "a program of the tree".to_owned(),
        |path| path.display().to_string(),
    )
}

/// Returns a message if a process runs a set-user-ID program without the privilege of its owner, because it is traced
/// or filtered (`LSM_UNSAFE_PTRACE`, `LSM_UNSAFE_NO_NEW_PRIVS`).
pub(super) fn lost_privilege(process: i32) -> Option<String> {
    const SET_USER: u32 = 0o4000;
    let root = Root::real();
    let file = fs::metadata(root.path(format!("proc/{process}/exe"))).ok()?;
    let user = read_status(&root, process.unsigned_abs()).ok()?.uid;
    let lost = file.permissions().mode() & SET_USER != 0 && file.uid() != user;
    lost.then(|| {
        format!(
            "{} is set-user-ID and ran without its privilege, because it is traced",
            program_of(process)
        )
    })
}

/// Returns private anonymous memory of at least one block that belongs to the program's file, such as its uninitialised
/// data. The stack is excluded.
pub(super) fn large_data(process: i32, block: u64) -> Vec<Range> {
    let mappings = maps::read(&Root::real(), process.unsigned_abs()).into_iter();
    let large = |range: &Range| range.bytes() >= block;
    mappings
        .filter(is_data)
        .map(|it| Range {
            start: it.start,
            end: it.end,
        })
        .filter(large)
        .collect()
}

/// Returns true if a mapping is private, writable and anonymous.
fn is_data(mapping: &Map) -> bool {
    const READ_WRITE: u32 = 3;
    let is_private = mapping.sharing == Sharing::Private;
    is_private
        && mapping.protection & READ_WRITE == READ_WRITE
        && ["//anon", "[heap]"].contains(&mapping.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: u64 = 2 << 20;

    fn heap(start: u64) -> Heap {
        Heap { start, end: start }
    }

    #[test]
    fn a_heap_is_advised_when_a_block_is_complete() {
        let mut heap = heap(0x10_0000);
        assert_eq!(heap.move_end(0x1f_0000, BLOCK), None);
        assert_eq!(
            heap.move_end(0x2f_0000, BLOCK),
            None,
            "the block before is not whole"
        );
        assert_eq!(heap.move_end(0x3f_0000, BLOCK), None);
        let advised = heap.move_end(0x40_0123, BLOCK);
        let range = Range {
            start: 0x20_0000,
            end: 0x40_0123,
        };
        assert_eq!(advised, Some(range));
        assert_eq!(heap.move_end(0x30_0000, BLOCK), None, "it shrinks");
        let range = Range {
            start: 0x20_0000,
            end: 0x100_0000,
        };
        assert_eq!(heap.move_end(0x100_0000, BLOCK), Some(range));
    }

    #[test]
    fn a_heap_that_grows_at_once_is_advised_at_once() {
        let range = Range {
            start: 0x10_0000,
            end: 0x90_0000,
        };
        assert_eq!(heap(0x10_0000).move_end(0x90_0000, BLOCK), Some(range));
    }

    #[test]
    fn data_without_a_file_is_found() {
        let anonymous = |line: &str| {
            let mapping = maps::parse_line(line, 1).filter(is_data)?;
            let (start, end) = (mapping.start, mapping.end);
            Some(Range { start, end })
        };
        let line = "00500000-00900000 rw-p 00000000 00:00 0 ";
        let range = Range {
            start: 0x50_0000,
            end: 0x90_0000,
        };
        assert_eq!(anonymous(line), Some(range));
        assert_eq!(anonymous(&format!("{line}     [heap]")), Some(range));
        assert_eq!(anonymous(&format!("{line}     [stack]")), None);
        assert_eq!(
            anonymous("00500000-00900000 rw-p 00001000 08:01 77 /bin/x"),
            None
        );
        assert_eq!(anonymous("00500000-00900000 r--p 00000000 00:00 0"), None);
        assert_eq!(anonymous("00500000-00900000 rw-s 00000000 00:00 0"), None);
    }
}

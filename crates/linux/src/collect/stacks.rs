//! Finds the mappings that are stacks of a process's threads, and their resident memory.
//!
//! The kernel does not mark thread stacks (since Linux 4.5), so the stack pointers of the threads are read, and the
//! mappings that contain them are the stacks.

use std::collections::BTreeMap;

use hugewise_base::missing::Missing;
use hugewise_observe::address_space::Mapping;

use crate::machine::error::Kind;
use crate::machine::root::Root;
use crate::observe::address_space::smaps::parse_mappings;

/// The stack memory of a process, without its first thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stacks {
    /// The number of threads whose stacks were found.
    pub(super) threads: u64,
    /// Resident memory of their stacks, in bytes.
    pub(super) resident: u64,
    /// The part of it mapped by PMDs.
    pub(super) huge: u64,
}

/// No runtime uses larger stacks. A larger mapping was merged with the memory after the stack, such as a heap.
const LARGEST: u64 = 64 << 20;

/// Reads the stacks of a process's threads.
///
/// # Errors
/// The process has ended, may not be read, or a file could not be parsed.
pub(super) fn read_stacks(root: &Root, pid: u32) -> Result<Stacks, Missing> {
    let pointers = read_pointers(root, pid)?;
    let path = format!("proc/{pid}/smaps");
    let smaps = root.read(&path);
    let smaps = smaps.map_err(|error| error.into_missing("CAP_SYS_PTRACE"))?;
    let mappings = parse_mappings(&smaps).map_err(|fault| Missing::Unreadable {
        error: format!("/{path}: {fault}"),
    })?;
    Ok(sum(&mappings, &pointers))
}

/// Adds up the mappings that contain stack pointers, each once.
fn sum(mappings: &[Mapping], pointers: &[u64]) -> Stacks {
    let mut threads: BTreeMap<usize, u64> = BTreeMap::new();
    for &pointer in pointers {
        let behind = mappings.partition_point(|mapping| mapping.end <= pointer);
        if mappings.get(behind).is_some_and(|it| it.start <= pointer) {
            *threads.entry(behind).or_default() += 1;
        }
    }
    let mut stacks = Stacks::default();
    for (index, threads) in threads {
        let mapping = &mappings[index];
        if let Some(memory) = &mapping.memory
            && mapping.bytes() <= LARGEST.saturating_mul(threads)
        {
            stacks.threads += threads;
            stacks.resident += memory.resident;
            stacks.huge += memory.anon_huge;
        }
    }
    stacks
}

/// Returns the stack pointers of all threads except the first. A running thread shows none: it is read again, and left
/// out if it never waits.
fn read_pointers(root: &Root, pid: u32) -> Result<Vec<u64>, Missing> {
    const TRIES: usize = 5;
    let tasks = root.list(format!("proc/{pid}/task"));
    let tasks = tasks.map_err(|error| error.into_missing("CAP_SYS_PTRACE"))?;
    let first = pid.to_string();
    let mut pointers = Vec::new();
    for task in tasks.into_iter().filter(|task| *task != first) {
        for _ in 0..TRIES {
            match root.read(format!("proc/{pid}/task/{task}/syscall")) {
                Ok(line) => match parse_stack_pointer(&line) {
                    Some(pointer) => {
                        pointers.push(pointer);
                        break;
                    }
                    None => std::thread::yield_now(),
                },
                // Threads end at any time; only a refusal is worth reporting.
                Err(error) if error.kind == Kind::NotPermitted => {
                    return Err(error.into_missing("CAP_SYS_PTRACE"));
                }
                Err(_) => break,
            }
        }
    }
    Ok(pointers)
}

/// Parses the stack pointer in `/proc/PID/task/TID/syscall` (fs/proc/base.c): the last but one of its numbers. `None`
/// for `running` and malformed lines.
fn parse_stack_pointer(line: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(line).ok()?;
    let word = text.split_ascii_whitespace().rev().nth(1)?;
    u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SMAPS: &[u8] = b"7f0000000000-7f0000200000 rw-p 00000000 00:00 0
Rss:                2048 kB
AnonHugePages:      2048 kB
7f0000200000-7f0000201000 ---p 00000000 00:00 0
Rss:                   0 kB
AnonHugePages:         0 kB
7f0000201000-7f0000401000 rw-p 00000000 00:00 0
Rss:                  16 kB
AnonHugePages:         0 kB
7f0000600000-7f0010600000 rw-p 00000000 00:00 0
Rss:              262144 kB
AnonHugePages:    262144 kB
";

    #[test]
    fn mappings_with_stack_pointers_are_counted_once() {
        let mappings = parse_mappings(SMAPS).unwrap();
        let stacks = sum(
            &mappings,
            &[
                0x7f00_001f_f000,
                0x7f00_001f_0000,
                0x7f00_0040_0ff0,
                // Merged with a heap, and outside of all mappings.
                0x7f00_0800_0000,
                0x7f00_0050_0000,
            ],
        );
        let expected = Stacks {
            threads: 3,
            resident: (2048 + 16) << 10,
            huge: 2048 << 10,
        };
        assert_eq!(stacks, expected);
    }

    #[test]
    fn a_stack_pointer_is_the_last_but_one() {
        let futex = b"202 0x7f1 0x189 0x0 0x0 0x0 0xffffffff 0x7f0000400ff0 0x7f0000900000\n";
        assert_eq!(parse_stack_pointer(futex), Some(0x7f00_0040_0ff0));
        assert_eq!(
            parse_stack_pointer(b"-1 0x7ffc10 0x55aa\n"),
            Some(0x7f_fc10)
        );
        assert_eq!(parse_stack_pointer(b"running\n"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, pointers: Vec<u64>) {
            let _ = parse_stack_pointer(&bytes);
            sum(&parse_mappings(SMAPS).unwrap(), &pointers);
        }
    }
}

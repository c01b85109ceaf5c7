//! The stacks of a process's threads: which mappings they are, and how much of them is resident.
//!
//! The kernel marks no mapping as a thread's stack (since Linux 4.5), so the stack pointers of the
//! threads are asked for, and the mappings in which they lie are the stacks.

use std::collections::BTreeMap;

use hugewise_base::missing::Missing;
use hugewise_observe::address_space::Mapping;

use crate::machine::error::Kind;
use crate::machine::root::Root;
use crate::observe::address_space::smaps::parse_mappings;

/// What the stacks of a process hold, the first thread's left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stacks {
    /// Threads whose stacks were found.
    pub(super) threads: u64,
    /// Resident memory of their stacks, in bytes.
    pub(super) resident: u64,
    /// The part of it that a PMD maps.
    pub(super) huge: u64,
}

/// No runtime gives a thread as much. A larger mapping has grown together with what lies behind
/// the stack, such as a heap, which is no stack's memory.
const LARGEST: u64 = 64 << 20;

/// Reads the stacks of a process's threads.
///
/// # Errors
/// The process is gone, may not be read, or said something that could not be understood.
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

/// Adds up the mappings in which stack pointers lie, each once.
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

/// The stack pointers of all threads but the first. A thread that runs right now tells none: it is
/// asked again, and left out when it never rests.
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
                // Threads end at any time; only a refusal is worth telling.
                Err(error) if error.kind == Kind::NotPermitted => {
                    return Err(error.into_missing("CAP_SYS_PTRACE"));
                }
                Err(_) => break,
            }
        }
    }
    Ok(pointers)
}

/// The stack pointer in `/proc/PID/task/TID/syscall` (fs/proc/base.c): the last but one of its
/// numbers. `None` for `running`, and for what is none.
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
                // Grown together with a heap, and nowhere.
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

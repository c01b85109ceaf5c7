//! Files below `/proc`: `parse_x` turns bytes into values and never fails by panicking,
//! `read_x` reads the file first.

use std::borrow::Cow;

/// Free blocks by order.
pub mod buddyinfo;
pub mod cpuinfo;
/// Names of the kernel's functions.
pub mod kallsyms;
pub mod loadavg;
/// Mappings of a process, with the names that perf gives.
pub(crate) mod maps;
pub mod meminfo;
pub mod mounts;
/// Identity and counters of one process.
pub mod pid_stat;
/// Time that tasks waited for memory.
pub mod pressure;
pub mod process;
/// Resident and huge memory of each mapping of a process.
pub(crate) mod smaps_memory;
/// Resident and huge memory of one process, summed over its mappings.
pub mod smaps_rollup;
/// Whether a process waits for connections.
pub mod sockets;
/// Processor time of the machine.
pub mod stat;
/// Resident memory of processes, by counters alone.
pub mod statm;
/// Facts about one process.
pub mod status;
/// Descendants and threads of a process.
pub mod tree;
/// Resource usage of processes and trees.
pub mod tree_usage;
/// Event counters of the machine.
pub mod vmstat;

/// The result of a parser; the error names line and field.
pub type Parsed<T> = Result<T, String>;

/// The lines of a text with their numbers from 1; bytes that are not UTF-8 are replaced.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, Cow<'_, str>)> {
    bytes
        .split(|&byte| byte == b'\n')
        .map(String::from_utf8_lossy)
        .enumerate()
        .map(|(index, line)| (index + 1, line))
        .filter(|(_, line)| !line.trim().is_empty())
}

/// A number in a field; the error names line and field.
pub(crate) fn number(line: usize, field: &str, text: &str) -> Parsed<u64> {
    text.parse()
        .map_err(|_| format!("line {line}: {field} is not a number: `{text}`"))
}

/// A field in kB as bytes.
pub(crate) fn kib(line: usize, field: &str, text: &str) -> Parsed<u64> {
    let digits = text.trim().strip_suffix("kB").unwrap_or(text).trim();
    number(line, field, digits)?
        .checked_mul(1024)
        .ok_or_else(|| format!("line {line}: {field} is out of range: `{text}`"))
}

//! Files below `/proc`: `parse_x` converts bytes to values and never panics, `read_x` also reads the file.

use std::borrow::Cow;

/// Free blocks by order.
pub mod buddyinfo;
pub mod cpuinfo;
/// Names of the kernel's functions.
pub mod kallsyms;
pub mod loadavg;
/// Mappings of a process, with perf's names.
pub(crate) mod maps;
pub mod meminfo;
pub mod mounts;
/// Identity and counters of one process.
pub mod pid_stat;
/// Time during which tasks waited for memory.
pub mod pressure;
pub mod process;
/// Resident and huge memory of each mapping of a process.
pub(crate) mod smaps_memory;
/// Resident and huge memory of one process, summed over its mappings.
pub mod smaps_rollup;
/// Detects whether a process waits for connections.
pub mod sockets;
/// Processor time of the machine.
pub mod stat;
/// Resident memory of processes, from counters only.
pub mod statm;
/// Facts about one process.
pub mod status;
/// Descendants and threads of a process.
pub mod tree;
/// Resource usage of processes and trees.
pub mod tree_usage;
/// Event counters of the machine.
pub mod vmstat;

/// The result of a parser; the error has the line and the field.
pub type Parsed<T> = Result<T, String>;

/// Returns the lines of a text with their numbers, starting with 1; bytes other than UTF-8 are replaced.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, Cow<'_, str>)> {
    bytes
        .split(|&byte| byte == b'\n')
        .map(String::from_utf8_lossy)
        .enumerate()
        .map(|(index, line)| (index + 1, line))
        .filter(|(_, line)| !line.trim().is_empty())
}

/// Parses a number in a field; the error has the line and the field.
pub(crate) fn number(line: usize, field: &str, text: &str) -> Parsed<u64> {
    text.parse()
        .map_err(|_| format!("line {line}: {field} is not a number: `{text}`"))
}

/// Parses a field in kB, in bytes.
pub(crate) fn kib(line: usize, field: &str, text: &str) -> Parsed<u64> {
    let digits = text.trim().strip_suffix("kB").unwrap_or(text).trim();
    number(line, field, digits)?
        .checked_mul(1024)
        .ok_or_else(|| format!("line {line}: {field} is out of range: `{text}`"))
}

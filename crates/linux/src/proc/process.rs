//! One process: its executable, libraries and environment, and its own huge page settings.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;

use hugewise_experiment::run::trial::{Advice, OFF_VARIABLES, Process};
use hugewise_observe::faults::{Map, Sharing};

use super::status::read_status;
use super::{Parsed, kib, lines, maps};
use crate::machine::root::Root;

/// The prefix of the name of the library with which programs advise their own memory.
pub(crate) const ADVICE_LIBRARY: &str = "libhugewise-";

/// Prefixes of the file names of relevant libraries: C libraries, allocators, the JVM.
const NOTED: [&str; 8] = [
    "libc.so",
    "libc-2.",
    "ld-musl-",
    "libjemalloc.so",
    "libmimalloc.so",
    "libtcmalloc",
    "libjvm.so",
    ADVICE_LIBRARY,
];

/// Variables that affect an allocator, in addition to those that disable huge pages.
const VARIABLES: [&str; 3] = ["LD_PRELOAD", "GLIBC_TUNABLES", "PYTHONMALLOC"];

/// Reads a process without a walk of its page tables; [`read_advice`] reads its advice. `None` if it has ended.
#[must_use]
pub fn read_process(root: &Root, pid: u32, anon_bytes: u64) -> Option<Process> {
    let status = read_status(root, pid).ok()?;
    let environ = root.read(format!("proc/{pid}/environ"));
    let environment = parse_environment(&environ.unwrap_or_default());
    Some(Process {
        name: root.read_trimmed(format!("proc/{pid}/comm")).ok()?,
        program: read_program(root, pid).unwrap_or_default(),
        anon_bytes,
        thp_enabled: status.thp_enabled,
        advice: None,
        libraries: read_libraries(root, pid, environment.get("LD_PRELOAD")),
        environment,
    })
}

/// Returns the command line of a process, joined with blanks; empty for a kernel thread or an ended process.
#[must_use]
pub fn read_command_line(root: &Root, pid: u32) -> String {
    let bytes = root.read(format!("proc/{pid}/cmdline")).unwrap_or_default();
    let words = bytes.split(|&byte| byte == 0);
    let words = words.filter(|word| !word.is_empty());
    let words: Vec<_> = words.map(String::from_utf8_lossy).collect();
    words.join(" ")
}

/// Returns the path of the file that a process executes, if it leads to that file here: in another mount namespace it
/// may lead to a different one.
fn read_program(root: &Root, pid: u32) -> Option<String> {
    let link = root.path(format!("proc/{pid}/exe"));
    let path = fs::read_link(&link).ok()?;
    let (executed, here) = (fs::metadata(&link).ok()?, fs::metadata(&path).ok()?);
    let is_same = (executed.dev(), executed.ino()) == (here.dev(), here.ino());
    is_same.then(|| path.display().to_string())
}

/// Returns the relevant libraries mapped by a process, and those of `preload`.
#[must_use]
pub fn read_libraries(root: &Root, pid: u32, preload: Option<&String>) -> BTreeSet<String> {
    let maps = root.read(format!("proc/{pid}/maps")).unwrap_or_default();
    parse_libraries(&maps, preload.map_or("", String::as_str))
}

/// Returns the advice of a process for its anonymous memory, with a walk of its page tables. `huge_page` is the size of
/// a huge page, in bytes.
#[must_use]
pub fn read_advice(root: &Root, pid: u32, huge_page: Option<u64>) -> Option<Advice> {
    parse_advice(&root.read(format!("proc/{pid}/smaps")).ok()?, huge_page).ok()
}

/// Returns the relevant variables of `/proc/PID/environ`.
#[must_use]
pub fn parse_environment(bytes: &[u8]) -> BTreeMap<String, String> {
    let entries = bytes.split(|&byte| byte == 0).map(String::from_utf8_lossy);
    entries
        .filter_map(|entry| {
            let (name, value) = entry.split_once('=')?;
            let is_known = VARIABLES.contains(&name) || OFF_VARIABLES.contains(&name);
            is_known.then(|| (name.to_owned(), value.to_owned()))
        })
        .collect()
}

/// Returns the paths of relevant libraries in `/proc/PID/maps`; `preload` is a list in the format of `LD_PRELOAD`.
#[must_use]
pub fn parse_libraries(maps: &[u8], preload: &str) -> BTreeSet<String> {
    let preloaded = |path: &str| {
        let mut listed = preload.split([':', ' ']);
        listed.any(|one| !one.is_empty() && path.ends_with(one))
    };
    let noted = |path: &&str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        NOTED.iter().any(|start| name.starts_with(start)) || preloaded(path)
    };
    let text = String::from_utf8_lossy(maps);
    text.lines()
        .filter_map(|line| line.find('/').map(|start| line[start..].trim_end()))
        .filter(noted)
        .map(str::to_owned)
        .collect()
}

/// Sums up anonymous memory by the flags of its mappings in `/proc/PID/smaps`, in which `VmFlags` is the last line of
/// each.
///
/// A stack is excluded memory (`nh`) above an excluded guard: the C library maps both together.
///
/// `huge_page` is the size of a huge page, in bytes; `None` on a kernel without them.
///
/// # Errors
/// A field is not a number.
pub fn parse_advice(bytes: &[u8], huge_page: Option<u64>) -> Parsed<Advice> {
    let mut advice = Advice::default();
    let mut anon = 0;
    let mut place: Option<Map> = None;
    let mut guard_end = None;
    for (at, line) in lines(bytes) {
        if let Some(mapping) = maps::parse_line(&line, 0) {
            let room = huge_page.map_or(0, |size| room(&mapping, size));
            place = Some(mapping);
            advice.room_bytes = Some(advice.room_bytes.unwrap_or(0).saturating_add(room));
        } else if let Some(value) = line.strip_prefix("Anonymous:") {
            anon = kib(at, "Anonymous", value)?;
        } else if let Some(flags) = line.strip_prefix("VmFlags:") {
            let has = |flag: &str| flags.split_ascii_whitespace().any(|word| word == flag);
            let bytes = std::mem::take(&mut anon);
            advice.anon_bytes = advice.anon_bytes.saturating_add(bytes);
            if has("hg") {
                advice.huge_bytes = advice.huge_bytes.saturating_add(bytes);
            }
            let excluded =
                match guard_end.is_some() && guard_end == place.as_ref().map(|it| it.start) {
                    true => &mut advice.stack_bytes,
                    false => &mut advice.no_huge_bytes,
                };
            if has("nh") {
                *excluded = excluded.saturating_add(bytes);
            }
            let guard = place.as_ref().filter(|it| has("nh") && is_guard(it));
            guard_end = guard.map(|it| it.end);
        }
    }
    Ok(advice)
}

/// Returns true for inaccessible memory.
fn is_guard(mapping: &Map) -> bool {
    mapping.protection == 0
}

/// Returns the bytes of whole aligned huge pages in a private writable mapping; 0 for a file mapping.
fn room(mapping: &Map, huge_page: u64) -> u64 {
    const READ_AND_WRITE: u32 = 0b11;
    let has_no_file = mapping.name == "//anon" || mapping.name.starts_with('[');
    let is_private = mapping.sharing == Sharing::Private;
    let is_own = is_private && has_no_file && mapping.protection & READ_AND_WRITE == READ_AND_WRITE;
    let size = huge_page.max(1);
    let first = mapping.start.div_ceil(size);
    let room = (mapping.end / size)
        .saturating_sub(first)
        .saturating_mul(size);
    if is_own { room } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SMAPS: &[u8] = b"55e0-55f0 rw-p 00000000 00:00 0                          [heap]
Anonymous:           100 kB
VmFlags: rd wr mr mw me ac hg
7f00-7f10 rw-p 00000000 00:00 0
Anonymous:            20 kB
VmFlags: rd wr mr mw me ac nh
7f14-7f15 ---p 00000000 00:00 0
Anonymous:             0 kB
VmFlags: mr mw me nr nh
7f15-7f16 rw-p 00000000 00:00 0
Anonymous:             8 kB
VmFlags: rd wr mr mw me nr nh
7f20-7f30 r--p 00000000 fe:00 12                         /usr/lib/libc.so.6
Anonymous:             4 kB
VmFlags: rd mr mw me
";

    #[test]
    fn advice_is_by_mapping() {
        let wanted = Advice {
            anon_bytes: 132 << 10,
            huge_bytes: 100 << 10,
            no_huge_bytes: 20 << 10,
            stack_bytes: 8 << 10,
            // Two mappings of 16 bytes; one byte is not a whole page.
            room_bytes: Some(32),
        };
        assert_eq!(parse_advice(SMAPS, Some(16)), Ok(wanted));
        assert!(parse_advice(b"Anonymous: many kB\n", None).is_err());
    }

    #[test]
    fn libraries_of_note_are_found_once_each() {
        let maps = b"1-2 r--p 0 fe:00 1 /usr/bin/redis-server
2-3 r-xp 0 fe:00 2 /usr/lib/libjemalloc.so.2
3-4 r--p 0 fe:00 2 /usr/lib/libjemalloc.so.2
4-5 r--p 0 fe:00 3 /usr/lib/libcrypto.so.3
5-6 r--p 0 fe:00 4 /opt/own.so
6-7 rw-p 0 00:00 0 [heap]
";
        let found = parse_libraries(maps, "/x/a.so:/opt/own.so");
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(found, ["/opt/own.so", "/usr/lib/libjemalloc.so.2"]);
    }

    #[test]
    fn variables_of_note_are_kept() {
        let found = parse_environment(b"HOME=/root\0MALLOC_CONF=thp:never\0LD_PRELOAD\0");
        let wanted = [("MALLOC_CONF".to_owned(), "thp:never".to_owned())];
        assert_eq!(found, BTreeMap::from(wanted));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, preload in "[ -~]{0,20}") {
            let _ = parse_advice(&bytes, Some(2 << 20));
            let _ = parse_environment(&bytes);
            let _ = parse_libraries(&bytes, &preload);
        }
    }
}

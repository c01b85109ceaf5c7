//! Resident and huge memory of each mapping, from `/proc/PID/smaps`.

use super::maps;
use crate::machine::root::Root;

/// A mapping and its memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MappedMemory {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) resident_bytes: u64,
    /// Anonymous memory mapped by PMDs.
    pub(crate) huge_bytes: u64,
}

/// Returns the mappings of a process in ascending order of address; empty if they may not be read.
pub(crate) fn read(root: &Root, pid: u32) -> Vec<MappedMemory> {
    let bytes = root.read(format!("proc/{pid}/smaps")).unwrap_or_default();
    parse(&bytes)
}

/// Lines of other fields are ignored.
fn parse(bytes: &[u8]) -> Vec<MappedMemory> {
    let mut all: Vec<MappedMemory> = Vec::new();
    for (_, line) in super::lines(bytes) {
        let (Some(memory), Some((field, value))) = (all.last_mut(), kib_field(&line)) else {
            all.extend(maps::parse_line(&line, 0).map(|map| MappedMemory {
                start: map.start,
                end: map.end,
                ..MappedMemory::default()
            }));
            continue;
        };
        match field {
            "Rss" => memory.resident_bytes = value,
            "AnonHugePages" => memory.huge_bytes = value,
            _ => {}
        }
    }
    all
}

/// Parses a field of the form `Rss:  12 kB`, in bytes.
fn kib_field(line: &str) -> Option<(&str, u64)> {
    let (field, value) = line.split_once(':')?;
    let kib = value.trim().strip_suffix(" kB")?;
    let kib: u64 = kib.parse().ok()?;
    Some((field, kib.saturating_mul(1024)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn memory_is_that_of_its_mapping() {
        let text = b"7f0000000000-7f0000400000 rw-p 00000000 00:00 0 \n\
            Size:               4096 kB\nRss:                2052 kB\n\
            AnonHugePages:      2048 kB\nVmFlags: rd wr mr mw me ac hg \n\
            7f0000400000-7f0000401000 r--p 00000000 fe:00 1 /a: b\nRss:  4 kB\n";
        let found = parse(text);
        let first = MappedMemory {
            start: 0x7f00_0000_0000,
            end: 0x7f00_0040_0000,
            resident_bytes: 2052 << 10,
            huge_bytes: 2 << 20,
        };
        assert_eq!(found.first(), Some(&first));
        let second = found.get(1).map(|it| (it.resident_bytes, it.huge_bytes));
        assert_eq!((found.len(), second), (2, Some((4096, 0))));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = parse(&bytes);
        }
    }
}

use hugewise_observe::faults::{Map, Sharing};

use crate::machine::root::Root;
use crate::proc::{self, Parsed};

/// Parses `/proc/PID/maps` into mappings that precede all events (time 0), with perf's names: `//anon` for memory
/// without a name.
///
/// # Errors
/// A line without a range; line and field.
fn parse(bytes: &[u8], pid: u32) -> Parsed<Vec<Map>> {
    proc::lines(bytes)
        .map(|(at, line)| parse_line(&line, pid).ok_or_else(|| format!("line {at}: no range")))
        .collect()
}

/// Parses one line of it; `None` if it has no range.
pub(crate) fn parse_line(line: &str, pid: u32) -> Option<Map> {
    let mut rest = line;
    let range = field(&mut rest)?;
    let access = field(&mut rest)?;
    let offset = field(&mut rest)?;
    let _device = field(&mut rest)?;
    let _inode = field(&mut rest)?;
    let (start, end) = range.split_once('-')?;
    let hexadecimal = |text| u64::from_str_radix(text, 16).ok();
    let name = rest.trim();
    let granted = |letter, bit| if access.contains(letter) { bit } else { 0 };
    Some(Map {
        time_ns: 0,
        pid,
        start: hexadecimal(start)?,
        end: hexadecimal(end)?,
        offset: hexadecimal(offset)?,
        protection: granted('r', 1) | granted('w', 2) | granted('x', 4),
        sharing: if name.starts_with("/anon_hugepage") {
            Sharing::Hugetlb
        } else if access.ends_with('s') {
            Sharing::Shared
        } else {
            Sharing::Private
        },
        name: if name.is_empty() { "//anon" } else { name }.to_owned(),
    })
}

/// Removes a word from the front.
fn field<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let (word, left) = rest
        .trim_start()
        .split_once(' ')
        .unwrap_or((rest.trim(), ""));
    *rest = left;
    (!word.is_empty()).then_some(word)
}

/// Returns the current mappings of a process; empty if they may not be read.
pub(crate) fn read(root: &Root, pid: u32) -> Vec<Map> {
    let bytes = root.read(format!("proc/{pid}/maps")).unwrap_or_default();
    parse(&bytes, pid).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_may_be_absent_and_may_hold_spaces() {
        let text = b"7f00-8f00 rw-p 00000000 00:00 0 \n\
            1000-2000 r-xs 00003000 fe:00 12    /usr/lib/a b.so (deleted)\n";
        let maps = parse(text, 7).unwrap();
        assert_eq!((maps[0].name.as_str(), maps[0].end), ("//anon", 0x8f00));
        assert_eq!(maps[0].sharing, Sharing::Private);
        assert_eq!(
            (maps[1].name.as_str(), maps[1].offset),
            ("/usr/lib/a b.so (deleted)", 0x3000)
        );
        assert_eq!(maps[1].sharing, Sharing::Shared);
        assert_eq!(parse(b"x\n", 7), Err("line 1: no range".to_owned()));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = parse(&bytes, 1);
        }
    }
}

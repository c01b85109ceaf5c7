//! Parser for `/proc/PID/smaps` and `/proc/PID/maps` (fs/proc/task_mmu.c). The text has tens of megabytes if a process
//! has many mappings, so it is parsed line by line during the reading.

use std::io::{BufRead, ErrorKind, Read};

use hugewise_observe::address_space::{Mapping, MappingKind, Permissions};

use crate::proc::Parsed;

mod fields;

use fields::Fields;

/// Bytes requested per read. The kernel returns about a page of text at a time.
const CHUNK: usize = 64 << 10;

/// The mappings parsed so far.
#[derive(Debug, Default)]
pub(super) struct Reader {
    mappings: Vec<Mapping>,
    line: usize,
    fields: Fields,
}

/// Parses the text of `maps` or `smaps`.
///
/// # Errors
/// A line is neither a mapping nor a field of one, or a number is malformed.
pub fn parse_mappings(bytes: &[u8]) -> Parsed<Vec<Mapping>> {
    let mut reader = Reader::default();
    for line in bytes.split(|&byte| byte == b'\n') {
        reader.line(line)?;
    }
    Ok(reader.finish())
}

/// Reads and parses such a file. The file is empty if the memory of the process is gone.
pub(super) fn read_mappings(file: &mut impl Read) -> std::io::Result<Parsed<Vec<Mapping>>> {
    let mut reader = Reader::default();
    let mut buffer = vec![0; CHUNK];
    let mut held = 0;
    loop {
        if held == buffer.len() {
            buffer.resize(buffer.len() * 2, 0);
        }
        let read = match file.read(&mut buffer[held..]) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            // The kernel returns this error while an address space is being torn down.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => break,
            Err(error) => return Err(error),
        };
        let filled = held + read;
        match reader.lines(&buffer[..filled]) {
            Ok(used) => {
                buffer.copy_within(used..filled, 0);
                held = filled - used;
            }
            Err(fault) => return Ok(Err(fault)),
        }
    }
    Ok(reader.line(&buffer[..held]).map(|()| reader.finish()))
}

impl Reader {
    /// Consumes all complete lines of a piece of text, and returns their length in bytes.
    fn lines(&mut self, bytes: &[u8]) -> Parsed<usize> {
        let mut rest = bytes;
        while let Some((line, behind)) = whole_line(rest) {
            self.line(line)?;
            rest = behind;
            if begins_mapping(line)
                && let Some((length, lines)) = self.fields.at_once(rest)
            {
                self.line += lines;
                rest = &rest[length..];
            }
        }
        Ok(bytes.len() - rest.len())
    }

    fn line(&mut self, line: &[u8]) -> Parsed<()> {
        self.line += 1;
        if line.is_empty() {
            return Ok(());
        }
        let done = if begins_mapping(line) {
            self.begin(line)
        } else if self.mappings.is_empty() {
            Err(fields::neither(line))
        } else {
            self.fields.line(line)
        };
        done.map_err(|what| format!("line {}: {what}", self.line))
    }

    /// `start-end rwxp offset major:minor inode   name`
    fn begin(&mut self, line: &[u8]) -> Parsed<()> {
        let fault = || {
            let text = String::from_utf8_lossy(line);
            format!("no mapping: `{}`", crate::machine::number::shorten(&text))
        };
        let mapping = mapping(line).ok_or_else(fault)?;
        self.settle();
        self.mappings.push(mapping);
        Ok(())
    }

    /// Assigns the fields read last to the mapping read last.
    fn settle(&mut self) {
        let fields = self.fields.take();
        if let (Some(memory), Some(mapping)) = (fields, self.mappings.last_mut()) {
            mapping.memory = Some(memory);
        }
    }

    fn finish(mut self) -> Vec<Mapping> {
        self.settle();
        self.mappings
    }
}

/// Addresses use lower-case letters, and fields begin with an upper-case one.
fn begins_mapping(line: &[u8]) -> bool {
    matches!(line.first(), Some(b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns the first line, without its end, and the remaining text; `None` if the text has no line end.
///
/// Reading a slice as a file finds line ends with memchr(3) of the C library, which matters because a process with many
/// mappings has millions of lines.
fn whole_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut behind = bytes;
    let taken = behind.skip_until(b'\n').ok()?;
    let line = bytes[..taken].strip_suffix(b"\n")?;
    Some((line, behind))
}

/// Parses the number in a value such as `      12 kB`.
///
/// Parses from the end, because the kernel pads the front with blanks.
fn number(value: &[u8]) -> Option<u64> {
    let value = value.trim_ascii_end();
    let value = value.strip_suffix(b"kB").unwrap_or(value).trim_ascii_end();
    let digits = value.iter().rev();
    let length = digits.take_while(|byte| byte.is_ascii_digit()).count();
    let (blanks, digits) = value.split_at(value.len() - length);
    let sound = !digits.is_empty() && are_blank(blanks);
    sound.then_some(())?;
    digits.iter().try_fold(0_u64, |number, &digit| {
        let digit = u64::from(digit - b'0');
        number.checked_mul(10)?.checked_add(digit)
    })
}

fn are_blank(bytes: &[u8]) -> bool {
    let (eights, rest) = bytes.as_chunks::<8>();
    let blanks = |eight: &[u8; 8]| eight == b"        " || eight.trim_ascii().is_empty();
    eights.iter().all(blanks) && rest.trim_ascii().is_empty()
}

fn mapping(line: &[u8]) -> Option<Mapping> {
    let (start, rest) = hexadecimal(line, b'-')?;
    let (end, rest) = hexadecimal(rest, b' ')?;
    let (permissions, rest) = rest.split_first_chunk::<4>()?;
    let (offset, rest) = hexadecimal(rest.strip_prefix(b" ")?, b' ')?;
    let (major, rest) = hexadecimal(rest, b':')?;
    let (minor, rest) = hexadecimal(rest, b' ')?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let inode = number(&rest[..digits])?;
    let name = rest[digits..].trim_ascii();
    let sound = start < end && permissions.is_ascii();
    sound.then_some(())?;
    Some(Mapping {
        start,
        end,
        permissions: Permissions(*permissions),
        offset,
        device: (u32::try_from(major).ok()?, u32::try_from(minor).ok()?),
        inode,
        name: String::from_utf8_lossy(name).into(),
        kind: MappingKind::Anonymous,
        file_system: None,
        mount_huge: None,
        memory: None,
        runs: Vec::new(),
    })
}

/// Parses a hexadecimal number that ends with the byte `behind`; returns it with the remaining text.
fn hexadecimal(bytes: &[u8], behind: u8) -> Option<(u64, &[u8])> {
    let mut number = 0_u64;
    for (place, &byte) in bytes.iter().enumerate() {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => {
                let sound = byte == behind && place > 0;
                return sound.then(|| (number, &bytes[place + 1..]));
            }
        };
        number = number.checked_mul(16)?.checked_add(u64::from(digit))?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const REAL: &str = "\
55965522d000-55965522f000 r-xp 00001000 fe:00 247278                     /usr/bin/a b (deleted)
Size:                  8 kB
KernelPageSize:        4 kB
Rss:                   8 kB
Shared_Hugetlb:     2048 kB
Private_Hugetlb:    2048 kB
THPeligible:           1
VmFlags: rd ex mr mw me hg 
7ffcc0000000-7ffcc0200000 ---p 00000000 00:00 0 
Rss:                   0 kB
KSM:                   4 kB
VmFlags: mr mw me 
";

    #[test]
    fn a_real_one() {
        let mappings = parse_mappings(REAL.as_bytes()).unwrap();
        let [program, empty] = &mappings[..] else {
            panic!("{mappings:?}");
        };
        assert_eq!(program.start, 0x5596_5522_d000);
        assert_eq!(program.offset, 0x1000);
        assert_eq!((program.device, program.inode), ((0xfe, 0), 247_278));
        assert_eq!(&*program.name, "/usr/bin/a b (deleted)");
        let memory = program.memory.as_ref().unwrap();
        assert_eq!((memory.resident, memory.hugetlb), (8 << 10, 4 << 20));
        assert_eq!((memory.ksm, memory.file_huge), (None, None));
        assert_eq!(memory.thp_eligible, Some(true));
        assert!(memory.flags.has("hg") && memory.flags.has("ex"));
        assert_eq!(empty.bytes(), 2 << 20);
        assert!(!empty.permissions.any() && empty.name.is_empty());
        assert_eq!(empty.memory.as_ref().unwrap().ksm, Some(4 << 10));
    }

    #[test]
    fn pieces_of_any_size_give_the_same() {
        struct Dribble<'a>(&'a [u8], usize);
        impl Read for Dribble<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                let length = self.1.min(self.0.len()).min(buffer.len());
                buffer[..length].copy_from_slice(&self.0[..length]);
                self.0 = &self.0[length..];
                Ok(length)
            }
        }
        let whole = parse_mappings(REAL.as_bytes());
        for size in [1, 7, 100, 4096] {
            let mut file = Dribble(REAL.as_bytes(), size);
            assert_eq!(read_mappings(&mut file).unwrap(), whole, "{size}");
        }
    }

    /// Mappings as the kernel writes them; some lack a field or have an additional one, and some numbers exceed their
    /// field width.
    fn smaps() -> impl Strategy<Value = String> {
        let number = prop_oneof![Just(0), 0_u64..1 << 20, Just(123_456_789), Just(u64::MAX)];
        let mapping = (
            proptest::collection::vec(number, 8),
            0_usize..30,
            0_usize..4,
        );
        let block = |(place, (numbers, without, flags)): (usize, (Vec<u64>, usize, usize))| {
            let names = [
                "Size",
                "Rss",
                "Pss",
                "Anonymous",
                "Swap",
                "SwapPss",
                "Locked",
                "KSM",
            ];
            let lines = names.iter().zip(numbers).enumerate();
            let lines = lines.filter(|&(line, _)| line != without);
            let lines: String = lines
                .map(|(_, (name, number))| format!("{:<16}{number:>8} kB\n", format!("{name}:")))
                .collect();
            let flags = "rd wr hg ".get(..3 * flags).unwrap_or_default();
            let flags = if without == 9 {
                String::new()
            } else {
                format!("VmFlags: {flags}\n")
            };
            let address = (place + 1) * 0x10000;
            format!(
                "{address:x}-{:x} rw-p 0 00:00 0 \n{lines}{flags}",
                address + 0x1000
            )
        };
        proptest::collection::vec(mapping, 0..20)
            .prop_map(move |all| all.into_iter().enumerate().map(block).collect())
    }

    #[test]
    fn faults_name_line_and_field() {
        let torn = REAL.replace("Rss:                   0 kB", "Rss:   many kB");
        let fault = parse_mappings(torn.as_bytes()).unwrap_err();
        assert_eq!(fault, "line 10: Rss is not a number: `many kB`");
        assert!(parse_mappings(b"Rss: 4 kB\n").is_err());
        assert!(parse_mappings(b"1000-0800 r--p 0 00:00 0\n").is_err());
        assert!(parse_mappings(b"1000-2000 r--p 0 00:00\n").is_err());
        let huge = format!("{REAL}Rss: {} kB\n", u64::MAX);
        assert!(parse_mappings(huge.as_bytes()).is_err());
    }

    proptest! {
        /// Reading at the learned offsets and reading line by line give the same numbers, and the same errors at the
        /// same lines.
        #[test]
        fn both_ways_give_the_same(text in smaps()) {
            let mut file = text.as_bytes();
            prop_assert_eq!(read_mappings(&mut file).unwrap(), parse_mappings(text.as_bytes()));
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, line in "[0-9a-f]{0,17}-[0-9a-f]{0,17} [rwxps-]{0,5} [0-9a-f:]{0,9} .{0,9}") {
            let _ = parse_mappings(&bytes);
            let _ = parse_mappings(line.as_bytes());
            let _ = parse_mappings(format!("{REAL}{line}").as_bytes());
        }
    }
}

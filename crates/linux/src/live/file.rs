//! Places in an ELF file: the offset of a function, and those of a static probe.

use std::path::Path;

use crate::file::read::{open_named, read_within};
use crate::file::rights::Rights;
use hugewise_base::missing::Missing;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol};

/// The largest file that is read, in bytes.
const LARGEST: u64 = 1 << 30;

/// One place of a static probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StaticProbe {
    /// Its offset in the file.
    pub offset: u64,
    /// The offset of the counter that switches it on; 0 for none.
    pub semaphore: u64,
}

/// Returns the offset of a function in a file.
pub(super) fn function_offset(path: &Path, rights: &Rights, symbol: &str) -> Result<u64, Missing> {
    let bytes = read(path, rights)?;
    let file = parse(path, &bytes)?;
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let mut defined = symbols.filter(|it| it.is_definition() && it.address() != 0);
    let found = defined.find(|it| it.name() == Ok(symbol));
    let found = found.ok_or_else(|| missing(path, &format!("no function {symbol}")))?;
    offset_of(&file, found.address()).ok_or_else(|| missing(path, "the function is in no segment"))
}

/// Returns the places of a static probe in a file.
pub(super) fn static_probes(
    path: &Path,
    rights: &Rights,
    provider: &str,
    name: &str,
) -> Result<Vec<StaticProbe>, Missing> {
    let bytes = read(path, rights)?;
    let file = parse(path, &bytes)?;
    let notes = file.section_by_name(".note.stapsdt");
    let notes = notes.and_then(|it| it.data().ok()).unwrap_or_default();
    let base = file
        .section_by_name(".stapsdt.base")
        .map_or(0, |it| it.address());
    let found = notes_of(notes).filter(|it| it.provider == provider && it.name == name);
    let place = |note: Note<'_>| {
        // The file may have been prelinked since: addresses move with the section of the base.
        let moved = |address: u64| address.wrapping_add(base).wrapping_sub(note.base);
        let semaphore = match note.semaphore {
            0 => 0,
            address => offset_of(&file, moved(address))?,
        };
        Some(StaticProbe {
            offset: offset_of(&file, moved(note.address))?,
            semaphore,
        })
    };
    let places: Vec<StaticProbe> = found.filter_map(place).collect();
    match places.is_empty() {
        true => Err(missing(path, &format!("no probe {provider}:{name}"))),
        false => Ok(places),
    }
}

/// Reads a program or library that a user named, with the rights of that user.
fn read(path: &Path, rights: &Rights) -> Result<Vec<u8>, Missing> {
    let bytes = open_named(path, rights).and_then(|file| read_within(file, LARGEST));
    bytes.map_err(|error| missing(path, &error.to_string()))
}

fn parse<'a>(path: &Path, bytes: &'a [u8]) -> Result<object::File<'a>, Missing> {
    object::File::parse(bytes).map_err(|error| missing(path, &error.to_string()))
}

fn missing(path: &Path, what: &str) -> Missing {
    Missing::unreadable(format!("{}: {what}", path.display()))
}

fn offset_of(file: &object::File<'_>, address: u64) -> Option<u64> {
    file.segments().find_map(|segment| {
        let inside = address.checked_sub(segment.address())?;
        let (offset, size) = segment.file_range();
        (inside < size).then_some(offset + inside)
    })
}

/// A note of a static probe (the format of SystemTap, version 3).
struct Note<'a> {
    address: u64,
    base: u64,
    semaphore: u64,
    provider: &'a str,
    name: &'a str,
}

/// Returns the notes of a section; a broken one ends them.
fn notes_of(mut bytes: &[u8]) -> impl Iterator<Item = Note<'_>> {
    std::iter::from_fn(move || {
        let (note, rest) = note(bytes)?;
        bytes = rest;
        Some(note)
    })
}

fn note(bytes: &[u8]) -> Option<(Note<'_>, &[u8])> {
    let word = |at: usize| {
        let four = bytes.get(at..at + 4)?;
        Some(u32::from_ne_bytes(four.try_into().ok()?) as usize)
    };
    let (name_size, size) = (word(0)?, word(4)?);
    let begin = 12 + name_size.next_multiple_of(4);
    let content = bytes.get(begin..begin.checked_add(size)?)?;
    let rest = bytes
        .get(begin + size.next_multiple_of(4)..)
        .unwrap_or_default();
    let address = |at: usize| {
        let eight = content.get(at..at + 8)?;
        Some(u64::from_ne_bytes(eight.try_into().ok()?))
    };
    let mut texts = content.get(24..)?.split(|byte| *byte == 0);
    let mut text = || std::str::from_utf8(texts.next()?).ok();
    let note = Note {
        address: address(0)?,
        base: address(8)?,
        semaphore: address(16)?,
        provider: text()?,
        name: text()?,
    };
    Some((note, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_has_its_probe_and_a_broken_one_ends_the_list() {
        let mut bytes = Vec::new();
        for word in [8_u32, 24 + 9, 3] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(b"stapsdt\0");
        for address in [0x1000_u64, 0x2000, 0] {
            bytes.extend(address.to_ne_bytes());
        }
        bytes.extend(b"app\0done\0");
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend([1, 2, 3]);
        let notes: Vec<_> = notes_of(&bytes)
            .map(|it| (it.provider, it.name, it.address))
            .collect();
        assert_eq!(notes, [("app", "done", 0x1000)]);
    }

    #[test]
    fn a_function_of_our_own_is_found_and_another_is_not() {
        let own = Path::new("/proc/self/exe");
        assert!(function_offset(own, &Rights::own(), "main").is_ok_and(|offset| offset > 0));
        assert!(function_offset(own, &Rights::own(), "no such function").is_err());
        assert!(static_probes(own, &Rights::own(), "no", "probe").is_err());
    }
}

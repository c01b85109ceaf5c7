//! The fields of a mapping. The kernel pads their numbers, so they have the same offsets in nearly all mappings of a
//! file. One mapping is read line by line, and the others at the offsets learned from it.

use hugewise_observe::address_space::Memory;

use super::{begins_mapping, number, whole_line};
use crate::proc::Parsed;

/// Reads the fields of successive mappings.
#[derive(Debug, Default)]
pub(super) struct Fields {
    /// The fields of the current mapping so far.
    current: Option<Memory>,
    /// The offset of its next line from its first field.
    at: usize,
    /// The lines of the last mapping read line by line, up to its flags.
    places: Vec<Place>,
    /// True if they include the line of the flags, which completes the learned offsets.
    whole: bool,
}

/// The position of a line.
#[derive(Debug)]
struct Place {
    /// The field that it contains, if the field is wanted.
    field: Option<Field>,
    /// Its bytes before the value, including the colon.
    name: Box<[u8]>,
    start: usize,
    /// The offset of its end, before the newline; the flags have a different length in each mapping.
    end: usize,
}

/// The fields to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Resident,
    Anonymous,
    Referenced,
    AnonHuge,
    ShmemHuge,
    FileHuge,
    Hugetlb,
    Swap,
    Ksm,
    Locked,
    KernelPage,
    Eligible,
    Flags,
}

impl Fields {
    /// Ends a mapping; returns its fields, if there were any.
    pub(super) fn take(&mut self) -> Option<Memory> {
        self.at = 0;
        self.current.take()
    }

    /// Parses one line of the current mapping, without its end.
    pub(super) fn line(&mut self, line: &[u8]) -> Parsed<()> {
        let colon = line.iter().position(|&byte| byte == b':');
        let colon = colon.ok_or_else(|| neither(line))?;
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        let field = Field::named(name);
        let memory = self.current.get_or_insert_default();
        if let Some(field) = field {
            set(memory, field, value).ok_or_else(|| fault(name, value))?;
        }
        self.learn(line, colon + 1, field);
        Ok(())
    }

    fn learn(&mut self, line: &[u8], behind_name: usize, field: Option<Field>) {
        if self.at == 0 {
            self.places.clear();
            self.whole = false;
        }
        if !self.whole {
            self.places.push(Place {
                field,
                name: line[..behind_name].into(),
                start: self.at,
                end: self.at + line.len(),
            });
            self.whole = field == Some(Field::Flags);
        }
        self.at += line.len() + 1;
    }

    /// Reads the fields of a mapping at the start of a text, at the learned offsets; returns their length in bytes and
    /// lines. Returns `None`, and consumes nothing, if the text does not match the learned layout or is incomplete.
    pub(super) fn at_once(&mut self, text: &[u8]) -> Option<(usize, usize)> {
        let flags = self.places.last().filter(|_| self.whole)?;
        let (last, _) = whole_line(text.get(flags.start..)?)?;
        let behind = flags.start + last.len() + 1;
        let mut memory = Memory::default();
        for place in &self.places {
            let end = match place.field {
                Some(Field::Flags) => behind - 1,
                _ => place.end,
            };
            let line = text.get(place.start..=end)?.strip_suffix(b"\n")?;
            match place.field {
                Some(field) => set(&mut memory, field, line.strip_prefix(&*place.name)?)?,
                // A skipped line is only checked not to begin another mapping.
                None if begins_mapping(line) => return None,
                None => {}
            }
        }
        self.current = Some(memory);
        self.at = behind;
        Some((behind, self.places.len()))
    }
}

impl Field {
    fn named(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"Rss" => Self::Resident,
            b"Anonymous" => Self::Anonymous,
            b"Referenced" => Self::Referenced,
            b"AnonHugePages" => Self::AnonHuge,
            b"ShmemPmdMapped" => Self::ShmemHuge,
            b"FilePmdMapped" => Self::FileHuge,
            b"Shared_Hugetlb" | b"Private_Hugetlb" => Self::Hugetlb,
            b"Swap" => Self::Swap,
            b"KSM" => Self::Ksm,
            b"Locked" => Self::Locked,
            b"KernelPageSize" => Self::KernelPage,
            b"THPeligible" => Self::Eligible,
            b"VmFlags" => Self::Flags,
            _ => return None,
        })
    }
}

/// Sets a field; `None` if the value is not a number or is out of range.
fn set(memory: &mut Memory, field: Field, value: &[u8]) -> Option<()> {
    let place = match field {
        Field::Resident => &mut memory.resident,
        Field::Anonymous => &mut memory.anonymous,
        Field::Referenced => &mut memory.referenced,
        Field::AnonHuge => &mut memory.anon_huge,
        Field::ShmemHuge => &mut memory.shmem_huge,
        Field::FileHuge => memory.file_huge.insert(0),
        Field::Hugetlb => &mut memory.hugetlb,
        Field::Swap => &mut memory.swap,
        Field::Ksm => memory.ksm.insert(0),
        Field::Locked => &mut memory.locked,
        Field::KernelPage => &mut memory.kernel_page,
        Field::Eligible => {
            memory.thp_eligible = Some(number(value)? != 0);
            return Some(());
        }
        Field::Flags => {
            let words = value.split(|&byte| byte == b' ');
            words.for_each(|word| memory.flags.insert(word));
            return Some(());
        }
    };
    let bytes = number(value)?.checked_mul(1024)?;
    *place = place.checked_add(bytes)?;
    Some(())
}

fn fault(name: &[u8], value: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    match number(value) {
        Some(_) => format!("{name} is out of range"),
        None => format!(
            "{name} is not a number: `{}`",
            String::from_utf8_lossy(value.trim_ascii())
        ),
    }
}

/// Returns the error for a line that is not a field.
pub(super) fn neither(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    format!(
        "neither a mapping nor a field: `{}`",
        crate::machine::number::shorten(&text)
    )
}

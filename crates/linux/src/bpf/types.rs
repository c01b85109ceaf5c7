//! Reads the kernel's types (BTF): the positions of function parameters, and the names of enumeration values. Format:
//! Documentation/bpf/btf.rst.
//!
//! The loader's reader does not give access to parameters and enumerations.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::machine::error::{Error, Result};
use crate::machine::root::Root;

const MAGIC: u16 = 0xeb9f;
const KIND_INT: u32 = 1;
const KIND_ARRAY: u32 = 3;
const KIND_STRUCT: u32 = 4;
const KIND_UNION: u32 = 5;
const KIND_ENUM: u32 = 6;
const KIND_TYPEDEF: u32 = 8;
const KIND_FUNC: u32 = 12;
const KIND_FUNC_PROTO: u32 = 13;
const KIND_VAR: u32 = 14;
const KIND_DATASEC: u32 = 15;
const KIND_DECL_TAG: u32 = 17;
const KIND_ENUM64: u32 = 19;
const LAST_KIND: u32 = 19;
/// Bytes of `struct btf_type`.
const TYPE_BYTES: usize = 12;

/// The types of a kernel.
#[derive(Clone, Debug, Default)]
pub struct Types {
    bytes: Vec<u8>,
    strings: Range<usize>,
    /// The offset of each type; the first type has the number 1.
    places: Vec<usize>,
}

/// The fields of a type used here.
struct Type {
    kind: u32,
    members: usize,
    /// Size, or the number of another type.
    other: u32,
    /// The offset of the data after the type.
    tail: usize,
}

impl Types {
    /// Returns the names of a function's parameters, in order; `None` if the types do not include it.
    #[must_use]
    pub fn parameters(&self, function: &str) -> Option<Vec<String>> {
        let found = self.named(KIND_FUNC, function)?;
        let prototype = self.at(*self.places.get((found.other as usize).checked_sub(1)?)?)?;
        if prototype.kind != KIND_FUNC_PROTO {
            return None;
        }
        let names = (0..prototype.members)
            .map(|index| self.string(word(&self.bytes, prototype.tail + index * 8)?));
        let names: Option<Vec<&[u8]>> = names.collect();
        Some(names?.into_iter().map(text).collect())
    }

    /// Returns the number by which BPF programs refer to a function.
    #[must_use]
    pub fn function_number(&self, name: &str) -> Option<u32> {
        let is_it = |&place: &usize| self.is_named(place, KIND_FUNC, name);
        let index = self.places.iter().position(is_it)?;
        u32::try_from(index + 1).ok()
    }

    /// Returns true if the types include a function.
    #[must_use]
    pub fn has_function(&self, name: &str) -> bool {
        self.named(KIND_FUNC, name).is_some()
    }

    /// Returns true if the kernel has a tracepoint of this name.
    #[must_use]
    pub fn has_tracepoint(&self, name: &str) -> bool {
        self.named(KIND_TYPEDEF, &format!("btf_trace_{name}"))
            .is_some()
    }

    /// Returns the names of a tracepoint's arguments, in order. They are taken from the function that calls its
    /// listeners, without the first pointer.
    #[must_use]
    pub fn arguments(&self, tracepoint: &str) -> Option<Vec<String>> {
        let mut parameters = self.parameters(&format!("__traceiter_{tracepoint}"))?;
        (!parameters.is_empty()).then(|| parameters.split_off(1))
    }

    /// Returns the values of an enumeration and their names.
    #[must_use]
    pub fn enumeration(&self, name: &str) -> Option<BTreeMap<u32, String>> {
        let found = self.named(KIND_ENUM, name)?;
        let members = (0..found.members).map(|index| {
            let place = found.tail + index * 8;
            let name = self.string(word(&self.bytes, place)?)?;
            Some((word(&self.bytes, place + 4)?, text(name)))
        });
        members.collect()
    }

    fn named(&self, kind: u32, name: &str) -> Option<Type> {
        let mut places = self.places.iter();
        self.at(*places.find(|&&place| self.is_named(place, kind, name))?)
    }

    /// A kernel has 100,000 types and more, so the name is compared only if the kind matches.
    fn is_named(&self, place: usize, kind: u32, name: &str) -> bool {
        let is_kind = word(&self.bytes, place + 4).is_some_and(|info| info >> 24 & 0x1f == kind);
        let begins = || {
            let strings = self.bytes.get(self.strings.clone())?;
            let found = strings.get(word(&self.bytes, place)? as usize..)?;
            found.strip_prefix(name.as_bytes())
        };
        is_kind && begins().is_some_and(|rest| rest.first() == Some(&0))
    }

    fn at(&self, place: usize) -> Option<Type> {
        let info = word(&self.bytes, place + 4)?;
        Some(Type {
            kind: info >> 24 & 0x1f,
            members: (info & 0xffff) as usize,
            other: word(&self.bytes, place + 8)?,
            tail: place + TYPE_BYTES,
        })
    }

    fn string(&self, offset: u32) -> Option<&[u8]> {
        let strings = self.bytes.get(self.strings.clone())?;
        strings
            .get(offset as usize..)?
            .split(|&byte| byte == 0)
            .next()
    }
}

/// Parses the types of a kernel, in little-endian order as on all supported processors.
///
/// # Errors
/// A sentence with the position, in bytes.
pub fn parse_types(bytes: Vec<u8>) -> std::result::Result<Types, String> {
    let short = || format!("{} bytes are too few for a header", bytes.len());
    let first = word(&bytes, 0).ok_or_else(short)?;
    if first as u16 != MAGIC {
        return Err(format!("byte 0: the magic number is {:#x}", first as u16));
    }
    let field = |place| word(&bytes, place).map(|value| value as usize);
    let numbers = [4, 8, 12, 16, 20].map(field);
    let [
        Some(header),
        Some(types),
        Some(types_bytes),
        Some(strings),
        Some(strings_bytes),
    ] = numbers
    else {
        return Err(short());
    };
    let range = |offset: usize, length: usize| {
        let begin = header.checked_add(offset)?;
        let end = begin.checked_add(length)?;
        (end <= bytes.len()).then_some(begin..end)
    };
    let beyond = "a section ends behind the end of the file".to_owned();
    let section = range(types, types_bytes).ok_or_else(|| beyond.clone())?;
    let strings = range(strings, strings_bytes).ok_or(beyond)?;
    let places = places(&bytes, section)?;
    Ok(Types {
        bytes,
        strings,
        places,
    })
}

fn places(bytes: &[u8], section: Range<usize>) -> std::result::Result<Vec<usize>, String> {
    let mut places = Vec::new();
    let mut place = section.start;
    while place < section.end {
        let info = word(bytes, place + 4).ok_or_else(|| format!("byte {place}: a torn type"))?;
        let (kind, members) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
        let tail = match kind {
            KIND_INT | KIND_VAR | KIND_DECL_TAG => 4,
            KIND_ARRAY => 12,
            KIND_STRUCT | KIND_UNION | KIND_DATASEC | KIND_ENUM64 => members * 12,
            KIND_ENUM | KIND_FUNC_PROTO => members * 8,
            1..=LAST_KIND => 0,
            _ => return Err(format!("byte {place}: kind {kind} is unknown")),
        };
        places.push(place);
        place += TYPE_BYTES + tail;
    }
    Ok(places)
}

fn word(bytes: &[u8], place: usize) -> Option<u32> {
    let four = bytes.get(place..place.checked_add(4)?)?;
    Some(u32::from_le_bytes(four.try_into().ok()?))
}

fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// Reads the types of the running kernel.
///
/// # Errors
/// The kernel was built without types, or they could not be parsed.
pub fn read_types(root: &Root) -> Result<Types> {
    const PATH: &str = "sys/kernel/btf/vmlinux";
    parse_types(root.read(PATH)?).map_err(|what| Error::malformed(&root.path(PATH), what))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Builds a file: a header, then the types, then the strings.
    fn file(types: &[u32], strings: &[u8]) -> Vec<u8> {
        let words = [
            u32::from(MAGIC) | 1 << 16,
            24,
            0,
            types.len() as u32 * 4,
            types.len() as u32 * 4,
            strings.len() as u32,
        ];
        let words = words
            .iter()
            .chain(types)
            .flat_map(|word| word.to_le_bytes());
        words.chain(strings.iter().copied()).collect()
    }

    fn info(kind: u32, members: u32) -> u32 {
        kind << 24 | members
    }

    #[test]
    fn parameters_and_enumerations_are_found() {
        let strings = b"\0__traceiter_tick\0data\0order\0colour\0RED\0BLUE\0btf_trace_tick\0";
        let types = [
            [0, info(KIND_FUNC_PROTO, 2), 0].as_slice(),
            &[18, 0, 23, 0],
            &[1, info(KIND_FUNC, 1), 1],
            &[29, info(KIND_ENUM, 2), 4],
            &[36, 3, 40, 7],
            &[45, info(KIND_TYPEDEF, 0), 0],
        ]
        .concat();
        let types = parse_types(file(&types, strings)).expect("a sound file");
        assert_eq!(types.arguments("tick"), Some(vec!["order".to_owned()]));
        assert!(types.has_tracepoint("tick") && !types.has_tracepoint("tock"));
        assert_eq!(types.function_number("__traceiter_tick"), Some(2));
        assert_eq!(types.function_number("colour"), None);
        assert!(types.has_function("__traceiter_tick") && !types.has_function("colour"));
        let colours = BTreeMap::from([(3, "RED".to_owned()), (7, "BLUE".to_owned())]);
        assert_eq!(types.enumeration("colour"), Some(colours));
    }

    #[test]
    fn what_is_not_understood_is_said() {
        let torn = parse_types(vec![0x9f, 0xeb]).expect_err("too short");
        assert_eq!(torn, "2 bytes are too few for a header");
        let unknown = file(&[0, info(31, 0), 0], b"\0");
        let error = parse_types(unknown).expect_err("a kind of the future");
        assert_eq!(error, "byte 24: kind 31 is unknown");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, types: Vec<u32>) {
            let _ = parse_types(bytes);
            if let Ok(types) = parse_types(file(&types, b"\0x\0")) {
                let _ = types.parameters("x");
                let _ = types.enumeration("x");
            }
        }
    }
}

use std::collections::BTreeMap;

use crate::proc::{Parsed, lines, number};

/// The `format` file of an event (kernel/trace/trace_events.c): the offsets of its fields, and the words for its
/// numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Format {
    /// The number of the event for perf.
    pub id: u64,
    /// The location of each field.
    pub fields: BTreeMap<String, Field>,
    /// For fields printed as words: the word of each number (`__print_symbolic`).
    pub symbols: BTreeMap<String, BTreeMap<i64, String>>,
}

/// The location of a field in the raw event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Offset of its first byte.
    pub offset: usize,
    /// Size in bytes: 1, 2, 4 or 8 for a number.
    pub size: usize,
    /// True if it can be negative.
    pub signed: bool,
}

impl Format {
    /// Returns the value of a field in a raw event: its word if it has one, else the number; `None` if there is no such
    /// field.
    #[must_use]
    pub fn words(&self, field: &str, raw: &[u8]) -> Option<String> {
        let value = self.fields.get(field)?.read(raw)?;
        let word = self.symbols.get(field).and_then(|words| words.get(&value));
        Some(word.cloned().unwrap_or_else(|| value.to_string()))
    }
}

impl Field {
    fn read(self, raw: &[u8]) -> Option<i64> {
        let bytes = raw.get(self.offset..self.offset.checked_add(self.size)?)?;
        Some(match (self.size, self.signed) {
            (1, true) => i64::from(i8::from_ne_bytes(bytes.try_into().ok()?)),
            (1, false) => i64::from(u8::from_ne_bytes(bytes.try_into().ok()?)),
            (2, true) => i64::from(i16::from_ne_bytes(bytes.try_into().ok()?)),
            (2, false) => i64::from(u16::from_ne_bytes(bytes.try_into().ok()?)),
            (4, true) => i64::from(i32::from_ne_bytes(bytes.try_into().ok()?)),
            (4, false) => i64::from(u32::from_ne_bytes(bytes.try_into().ok()?)),
            (8, _) => i64::from_ne_bytes(bytes.try_into().ok()?),
            _ => return None,
        })
    }
}

/// Parses a `format` file.
///
/// # Errors
/// There is no `ID`, or the offset of a field is not a number.
pub fn parse_format(bytes: &[u8]) -> Parsed<Format> {
    let mut format = Format::default();
    let mut seen_id = false;
    for (at, line) in lines(bytes) {
        let line = line.trim();
        if let Some(id) = line.strip_prefix("ID:") {
            format.id = number(at, "ID", id.trim())?;
            seen_id = true;
        } else if line.starts_with("field:") {
            let (name, field) = parse_field(at, line)?;
            format.fields.insert(name, field);
        } else if let Some(print) = line.strip_prefix("print fmt:") {
            format.symbols = parse_symbols(print);
        }
    }
    if seen_id {
        Ok(format)
    } else {
        Err("no line `ID`".to_owned())
    }
}

/// Parses a line such as `field:int status; offset:32; size:4; signed:1;`, separated by tabs.
fn parse_field(at: usize, line: &str) -> Parsed<(String, Field)> {
    let part = |key: &str| {
        line.split(';')
            .find_map(|part| part.trim().strip_prefix(key))
            .ok_or_else(|| format!("line {at}: a field without `{key}`"))
    };
    let declaration = part("field:")?;
    let name = declaration
        .split('[')
        .next()
        .and_then(|text| text.split_whitespace().last())
        .ok_or_else(|| format!("line {at}: a field without a name"))?;
    let place = |key: &str| -> Parsed<usize> {
        let value = number(at, name, part(key)?)?;
        usize::try_from(value).map_err(|_| format!("line {at}: {name} is out of range"))
    };
    let field = Field {
        offset: place("offset:")?,
        size: place("size:")?,
        signed: part("signed:")? == "1",
    };
    Ok((name.to_owned(), field))
}

/// Parses every `__print_symbolic(REC->field, {0, "word"}, …)`. Symbolic numbers (an enum whose value the kernel did
/// not insert) are left out.
fn parse_symbols(print: &str) -> BTreeMap<String, BTreeMap<i64, String>> {
    let mut all = BTreeMap::new();
    for call in print.split("__print_symbolic(REC->").skip(1) {
        let Some((field, rest)) = call.split_once(',') else {
            continue;
        };
        let end = rest.find("})").map_or(rest.len(), |end| end + 1);
        let words = rest[..end].split('{').skip(1).filter_map(parse_symbol);
        all.insert(field.trim().to_owned(), words.collect());
    }
    all
}

/// Parses `0, "failed"}` at the start of a text.
fn parse_symbol(text: &str) -> Option<(i64, String)> {
    let (value, rest) = text.split_once(',')?;
    let value = value.trim();
    let value = match value.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok()?,
        None => value.parse().ok()?,
    };
    let (_, rest) = rest.split_once('"')?;
    let (word, _) = rest.split_once('"')?;
    Some((value, word.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const REAL: &[u8] = br#"name: mm_khugepaged_scan_pmd
ID: 759
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:struct mm_struct * mm;	offset:8;	size:8;	signed:0;
	field:unsigned long pfn;	offset:16;	size:8;	signed:0;
	field:int status;	offset:32;	size:4;	signed:1;
	field:char comm[16];	offset:36;	size:16;	signed:0;

print fmt: "mm=%p, status=%s", REC->mm, __print_symbolic(REC->status, {0, "failed"}, { 1, "succeeded"}, {0x1e, "page_filled"}, {SCAN_NEW, "new"}), REC->unmapped
"#;

    #[test]
    fn a_real_one() {
        let format = parse_format(REAL).expect("a format");
        assert_eq!(format.id, 759);
        assert_eq!(format.fields.len(), 6);
        let mut raw = [0_u8; 52];
        raw[32] = 30;
        assert_eq!(format.words("status", &raw).as_deref(), Some("page_filled"));
        raw[32] = 99;
        assert_eq!(format.words("status", &raw).as_deref(), Some("99"));
        raw[4..8].copy_from_slice(&(-2_i32).to_ne_bytes());
        assert_eq!(format.words("common_pid", &raw).as_deref(), Some("-2"));
        assert_eq!(format.words("status", &raw[..33]), None);
        assert_eq!(format.words("comm", &raw), None);
        assert_eq!(format.symbols["status"].len(), 3);
    }

    #[test]
    fn faults_name_line_and_field() {
        assert_eq!(parse_format(b"name: x\n"), Err("no line `ID`".to_owned()));
        let torn = parse_format(b"ID: 1\n field:int x;\toffset:a;\tsize:4;\tsigned:1;\n");
        assert_eq!(torn, Err("line 2: x is not a number: `a`".to_owned()));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, offset: usize, size: usize, raw: Vec<u8>, text: String) {
            let _ = parse_format(&bytes);
            let field = format!(
                "ID: 1\nfield:int x;\toffset:{offset};\tsize:{size};\tsigned:1;\n\
                 print fmt: {text} __print_symbolic(REC->x, {{1, \"a\"}}{text}\n"
            );
            if let Ok(format) = parse_format(field.as_bytes()) {
                let _ = format.words("x", &raw);
            }
        }
    }
}

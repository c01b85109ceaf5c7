//! Reading: any bytes in, a [`Record`] or an error with line and column out.
//!
//! A torn last line is what a crash or a full disk leaves; it costs that line and no more.
//! Anything else that does not fit is an error: a record is evidence, and a reader that skips
//! what it does not understand would report half of it as the whole.

use std::fmt;

use serde::de::{Error, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::error::Category;

use super::{End, Header, Line, Record, VERSION};
use crate::run::trial::Trial;

/// Why bytes are not a record that this program can read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// There is nothing in it.
    #[error("the record is empty; give the file that `hugewise run --out` wrote")]
    Empty,
    /// The first line is something else.
    #[error("this is not a record: {reason}; give the file that `hugewise run --out` wrote")]
    NotARecord {
        /// What was found instead of a header.
        reason: String,
    },
    /// Another version wrote it.
    #[error(
        "the record has format version {found}, this program reads version {VERSION}; \
         read it with the program that wrote it ({program})"
    )]
    OtherVersion {
        /// The version in the header.
        found: String,
        /// The program that wrote it, as the header says.
        program: String,
    },
    /// The first line was cut off, so that nothing was recorded.
    #[error("the record ends in the middle of its header: nothing was recorded; run it again")]
    TornHeader,
    /// A line cannot be understood.
    #[error(
        "line {line}{}: {error}; the record was changed or damaged: \
         restore it, or delete this line and what follows it to read the part before",
        column.map(|column| format!(", column {column}")).unwrap_or_default()
    )]
    Corrupt {
        /// Number of the line, from 1.
        line: usize,
        /// Column in bytes, from 1; `None` when the whole line is meant.
        column: Option<usize>,
        /// What is wrong there.
        error: String,
    },
}

/// Reads a record, whole or as far as it came.
///
/// # Errors
/// Everything but a torn last line, which becomes a warning of the record.
pub fn parse(bytes: &[u8]) -> Result<Record, RecordError> {
    let mut lines = lines(bytes);
    let first = lines.next().ok_or(RecordError::Empty)?;
    let mut record = Record::begin(parse_header(&first)?);
    for raw in lines {
        match parse_line(&raw) {
            Ok(line) => append(&mut record, line).map_err(|error| corrupt(&raw, None, error))?,
            Err(error) if raw.is_torn(&error) => {
                record.warnings.push(torn(raw.number, record.trials.len()));
            }
            Err(error) => {
                return Err(corrupt(&raw, Some(error.column()), reason(&error)));
            }
        }
    }
    if record.end.is_none() && record.warnings.is_empty() {
        record.warnings.push(unfinished(record.trials.len()));
    }
    Ok(record)
}

/// One line of the file, still as bytes.
struct RawLine<'a> {
    number: usize,
    bytes: &'a [u8],
    /// Whether a newline ended it. Only the last line can lack one.
    ended: bool,
}

impl RawLine<'_> {
    /// Whether an error is that of a line whose writing was interrupted: it stops too early,
    /// or holds the zeros that file systems leave for blocks that never reached the disk.
    fn is_torn(&self, error: &serde_json::Error) -> bool {
        !self.ended && (error.classify() == Category::Eof || self.bytes.contains(&0))
    }
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = RawLine<'_>> {
    bytes
        .split_inclusive(|&byte| byte == b'\n')
        .enumerate()
        .map(|(index, line)| RawLine {
            number: index + 1,
            bytes: line.strip_suffix(b"\n").unwrap_or(line),
            ended: line.ends_with(b"\n"),
        })
        .filter(|line| !line.bytes.trim_ascii().is_empty())
}

fn parse_line(raw: &RawLine<'_>) -> Result<Line, serde_json::Error> {
    serde_json::from_slice(raw.bytes)
}

/// The header is looked at loosely first: the record of another version must be recognised
/// as such, whatever its fields are.
fn parse_header(raw: &RawLine<'_>) -> Result<Header, RecordError> {
    let loose: Value = serde_json::from_slice(raw.bytes).map_err(|error| {
        if raw.is_torn(&error) && raw.bytes.starts_with(b"{\"line\":\"header\"") {
            RecordError::TornHeader
        } else {
            not_a_record("its first line is not a line of JSON")
        }
    })?;
    match loose.get("line").and_then(Value::as_str) {
        Some("header") => {}
        Some("trial" | "end") => return Err(not_a_record("its header, the first line, is absent")),
        _ => return Err(not_a_record("its first line is not a header")),
    }
    check_version(&loose)?;
    match parse_line(raw) {
        Ok(Line::Header(header)) => Ok(header),
        Ok(_) => Err(not_a_record("its first line is not a header")),
        Err(error) => Err(corrupt(raw, Some(error.column()), reason(&error))),
    }
}

fn check_version(header: &Value) -> Result<(), RecordError> {
    let version = header.get("version");
    if version.and_then(Value::as_u64) == Some(u64::from(VERSION)) {
        return Ok(());
    }
    let program = header.get("program").and_then(Value::as_str);
    Err(RecordError::OtherVersion {
        found: version.map_or_else(|| "(none)".to_owned(), Value::to_string),
        program: program.unwrap_or("it does not say which").to_owned(),
    })
}

fn append(record: &mut Record, line: Line) -> Result<(), String> {
    if record.end.is_some() {
        return Err("a line follows the end".to_owned());
    }
    match line {
        Line::Header(_) => return Err("a second header".to_owned()),
        Line::Trial(trial) => {
            check_policy(record, &trial)?;
            record.trials.push(trial);
        }
        Line::End(end) => record.end = Some(end),
    }
    Ok(())
}

fn check_policy(record: &Record, trial: &Trial) -> Result<(), String> {
    let policies = &record.header.plan.policies;
    if policies.iter().any(|policy| policy.name == trial.policy) {
        return Ok(());
    }
    Err(format!(
        "a trial of policy `{}`, which the plan does not have",
        trial.policy
    ))
}

fn not_a_record(reason: &str) -> RecordError {
    RecordError::NotARecord {
        reason: reason.to_owned(),
    }
}

fn corrupt(raw: &RawLine<'_>, column: Option<usize>, error: String) -> RecordError {
    RecordError::Corrupt {
        line: raw.number,
        column,
        error,
    }
}

/// serde_json ends its messages with a position within the line, which is given apart here.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    text[..end].to_owned()
}

fn torn(line: usize, trials: usize) -> String {
    match trials {
        0 => format!("the record ends in the middle of line {line}, its first trial"),
        1 => {
            format!("the record ends in the middle of line {line}; the one trial before it is used")
        }
        _ => format!(
            "the record ends in the middle of line {line}; the {trials} trials before it are used"
        ),
    }
}

fn unfinished(trials: usize) -> String {
    format!("the record has no end: the experiment did not finish; it holds {trials} trials")
}

/// Reads the kind of the line, then streams the rest into its type. serde's own tagged enums
/// gather the whole line first, which loses the columns of errors and refuses numbers as keys.
impl<'de> Deserialize<'de> for Line {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(LineVisitor)
    }
}

struct LineVisitor;

impl<'de> Visitor<'de> for LineVisitor {
    type Value = Line;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object whose first field is `line`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Line, A::Error> {
        if map.next_key::<String>()?.as_deref() != Some("line") {
            return Err(A::Error::custom("the first field is not `line`"));
        }
        let kind: String = map.next_value()?;
        let rest = MapAccessDeserializer::new(map);
        match kind.as_str() {
            "header" => Header::deserialize(rest).map(Line::Header),
            "trial" => Trial::deserialize(rest).map(Line::Trial),
            "end" => End::deserialize(rest).map(Line::End),
            other => Err(A::Error::unknown_variant(
                other,
                &["header", "trial", "end"],
            )),
        }
    }
}

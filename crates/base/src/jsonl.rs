//! Files of JSON lines: a header, then events as they come, and an end. One reader and one writer
//! for records, recordings and `stat --json`.
//!
//! The header begins with `"format": "hugewise-KIND VERSION"`, as every other document does; the
//! lines after it begin with what they are. Files from before that word, whose first line has a
//! number as `version` or `schema`, are read as well.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use serde_json::{Map, Value};

use super::plain::plain;

/// A line of such a file.
pub trait Line: Serialize + Sized {
    /// What the first line holds, besides the format.
    type Header: DeserializeOwned;
    /// The key that says what a line is.
    const TAG: &'static str;
    /// What that key said of a header before headers began with the format.
    const HEADER: &'static str;
    /// What such a file is, as in `hugewise-KIND 1`.
    const KIND: &'static str;
    /// Version of its form: raised when a field changes its meaning or goes.
    const VERSION: u32;
    /// What people call such a file.
    const TITLE: &'static str;
    /// The command that writes it.
    const WRITER: &'static str;

    /// The first line.
    fn from_header(header: Self::Header) -> Self;

    /// Refuses a header with numbers that no machine has.
    ///
    /// # Errors
    /// The field that is wrong, and why.
    fn check(header: &Self::Header) -> Result<(), String>;

    /// Another line, from its bytes.
    ///
    /// # Errors
    /// It is none.
    fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error>;
}

/// The first key of a document: its kind and the version of its form.
#[must_use]
pub fn format(kind: &str, version: u32) -> String {
    format!("hugewise-{kind} {version}")
}

/// Why a line cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// The file holds nothing.
    #[error("the file is empty; give the file that `{writer}` wrote")]
    Empty {
        /// The command that writes it.
        writer: &'static str,
    },
    /// The file is something else.
    #[error("not {title}: {reason}; give the file that `{writer}` wrote")]
    OtherFile {
        /// What was looked for.
        title: &'static str,
        /// The command that writes it.
        writer: &'static str,
        /// What is there instead of a header.
        reason: String,
    },
    /// Another version wrote it.
    #[error(
        "{title} of version {found}, and this program reads version {known}; \
         read it with the program that wrote it ({program})"
    )]
    OtherVersion {
        /// What it is.
        title: &'static str,
        /// Its version.
        found: String,
        /// Ours.
        known: u32,
        /// Who wrote it.
        program: String,
    },
    /// The first line was cut off, so that nothing is there.
    #[error("the file ends in the middle of its first line: nothing was recorded; run it again")]
    TornHeader,
    /// A line cannot be understood.
    #[error(
        "line {line}{}: {error}; the file was written by another version of hugewise, or it was changed or damaged: \
         read it with the program that wrote it, restore it, or delete this line and what follows it to read the part before",
        column.map(|column| format!(", column {column}")).unwrap_or_default()
    )]
    Damaged {
        /// Its number, from 1.
        line: usize,
        /// Column in bytes, from 1; `None` where the whole line is meant.
        column: Option<usize>,
        /// What is wrong there.
        error: String,
    },
    /// The last line is missing.
    #[error("the recording was cut short: it ends without its counts; record again")]
    CutShort,
}

impl LineError {
    /// That a whole line does not belong where it is.
    #[must_use]
    pub fn misplaced(line: usize, error: impl Into<String>) -> Self {
        Self::Damaged {
            line,
            column: None,
            error: plain(&error.into()),
        }
    }

    /// That a file is none of these.
    #[must_use]
    pub fn other_file<L: Line>(reason: impl Into<String>) -> Self {
        Self::OtherFile {
            title: L::TITLE,
            writer: L::WRITER,
            reason: plain(&reason.into()),
        }
    }
}

/// One line as it is written, with its newline.
///
/// # Panics
/// Never for lines whose map keys are text or numbers, which all are.
#[must_use]
pub fn to_line<L: Line>(line: &L) -> String {
    let text = serde_json::to_string(line).expect("keys are text or numbers");
    let tag = format!("{{\"{}\":\"{}\",", L::TAG, L::HEADER);
    match text.strip_prefix(&tag) {
        Some(rest) => format!("{{\"format\":\"{}\",{rest}\n", format(L::KIND, L::VERSION)),
        None => text + "\n",
    }
}

/// A line of a file, still as bytes.
#[derive(Clone, Copy, Debug)]
pub struct RawLine<'a> {
    /// Its number, from 1.
    pub number: usize,
    /// The line without its newline.
    pub bytes: &'a [u8],
    /// Whether a newline ended it. Only the last line can lack one.
    pub ended: bool,
}

/// The lines that are not blank.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = RawLine<'_>> {
    let lines = bytes.split_inclusive(|&byte| byte == b'\n').enumerate();
    let lines = lines.map(|(index, line)| RawLine {
        number: index + 1,
        bytes: line.strip_suffix(b"\n").unwrap_or(line),
        ended: line.ends_with(b"\n"),
    });
    lines.filter(|line| !line.bytes.trim_ascii().is_empty())
}

/// Reads a whole file: its header, and its other lines one by one with their numbers; `None` stands for
/// a last line whose writing was interrupted.
///
/// # Errors
/// There is no header of this kind and version; of each line, that it does not belong there.
pub fn read<L: Line>(
    bytes: &[u8],
) -> Result<(L::Header, impl Iterator<Item = NumberedLine<L>>), LineError> {
    let mut lines = lines(bytes);
    let first = lines.next().ok_or(LineError::Empty { writer: L::WRITER })?;
    let header = read_header::<L>(first)?;
    let rest = lines.map(|raw| match begins_anew::<L>(raw) {
        true => Err(LineError::misplaced(raw.number, "a second header")),
        false => Ok((raw.number, raw.read::<L>()?)),
    });
    Ok((header, rest))
}

/// A line after the header, with its number from 1.
pub type NumberedLine<L> = Result<(usize, Option<L>), LineError>;

/// Tells whether a line begins as a header does, of whatever age.
fn begins_anew<L: Line>(raw: RawLine<'_>) -> bool {
    let old = format!("{{\"{}\":\"{}\",", L::TAG, L::HEADER);
    [b"{\"format\":".as_slice(), old.as_bytes()]
        .iter()
        .any(|begin| raw.bytes.starts_with(begin))
        && begins::<L>(raw.bytes)
}

/// Whether a file that begins with this line is of this kind, of whatever version.
#[must_use]
pub fn begins<L: Line>(first: &[u8]) -> bool {
    serde_json::from_slice::<Map<String, Value>>(first)
        .is_ok_and(|header| version::<L>(&header).is_ok())
}

/// Reads the header.
///
/// # Errors
/// The line is no header of this kind and version.
pub fn read_header<L: Line>(raw: RawLine<'_>) -> Result<L::Header, LineError> {
    let mut header: Map<String, Value> = serde_json::from_slice(raw.bytes).map_err(|error| {
        let begins = [b"{\"format\":".as_slice(), b"{\"line\":\"header\""];
        match raw.is_torn(&error) && begins.iter().any(|begin| raw.bytes.starts_with(begin)) {
            true => LineError::TornHeader,
            false => LineError::other_file::<L>("its first line is not an object of JSON"),
        }
    })?;
    let found = version::<L>(&header)?;
    if found != L::VERSION.to_string() {
        let program = ["program", "hugewise"]
            .iter()
            .find_map(|key| header.get(*key)?.as_str());
        return Err(LineError::OtherVersion {
            title: L::TITLE,
            found: plain(&found),
            known: L::VERSION,
            program: plain(program.unwrap_or("it does not say which")),
        });
    }
    for key in ["format", "version", "schema", L::TAG] {
        header.remove(key);
    }
    let wrong = |error: String| LineError::misplaced(raw.number, error);
    let header = serde_json::from_value(Value::Object(header));
    let header: L::Header = header.map_err(|error| wrong(error.to_string()))?;
    L::check(&header).map_err(wrong)?;
    Ok(header)
}

/// The version of a header, as it says itself.
fn version<L: Line>(header: &Map<String, Value>) -> Result<String, LineError> {
    let word = |key| header.get(key).and_then(Value::as_str);
    if let Some(format) = word("format") {
        let version = format
            .strip_prefix("hugewise-")
            .and_then(|rest| rest.strip_prefix(L::KIND));
        let version = version.and_then(|rest| rest.strip_prefix(' '));
        let other = || LineError::other_file::<L>(format!("its format is `{format}`"));
        return version.map(str::to_owned).ok_or_else(other);
    }
    match word(L::TAG) {
        Some(tag) if tag == L::HEADER => {
            let version = header.get("version").or_else(|| header.get("schema"));
            Ok(version.map_or_else(|| "(none)".to_owned(), Value::to_string))
        }
        Some(_) => Err(LineError::other_file::<L>(
            "its header, the first line, is absent",
        )),
        None => Err(LineError::other_file::<L>("its first line is not a header")),
    }
}

impl RawLine<'_> {
    /// Reads this line: the first is the header. `None` for a last line whose writing was
    /// interrupted.
    ///
    /// # Errors
    /// It does not belong there.
    pub fn read<L: Line>(self) -> Result<Option<L>, LineError> {
        if self.number == 1 {
            return read_header::<L>(self).map(|header| Some(L::from_header(header)));
        }
        match L::parse(self.bytes) {
            Ok(line) => Ok(Some(line)),
            Err(error) if self.is_torn(&error) => Ok(None),
            Err(_) if begins::<L>(self.bytes) => {
                Err(LineError::misplaced(self.number, "a second header"))
            }
            Err(error) => Err(LineError::Damaged {
                line: self.number,
                column: Some(error.column()),
                error: plain(&without_position(&error)),
            }),
        }
    }

    /// Whether an error is that of a line whose writing was interrupted: it stops too early,
    /// or holds the zeros that file systems leave for blocks that never reached the disk.
    fn is_torn(&self, error: &serde_json::Error) -> bool {
        !self.ended && (error.classify() == Category::Eof || self.bytes.contains(&0))
    }
}

/// serde_json ends its messages with a position within the line, which is given apart here.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    text[..end].to_owned()
}

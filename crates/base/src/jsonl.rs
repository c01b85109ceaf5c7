//! Files of JSON lines: a header, then events as they come, and an end. One reader and one writer serve records,
//! recordings and `stat --json`.
//!
//! The header begins with `"format": "hugewise-KIND VERSION"`, like every other document. Each further line begins with
//! its type. Older files, whose first line has a numeric `version` or `schema` instead, can also be read.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use serde_json::{Map, Value};

use super::plain::plain;

/// A line of such a file.
pub trait Line: Serialize + Sized {
    /// The content of the first line, besides the format.
    type Header: DeserializeOwned;
    /// The key of a line's type.
    const TAG: &'static str;
    /// The value of that key in old headers, which did not begin with the format.
    const HEADER: &'static str;
    /// The kind of the file, as in `hugewise-KIND 1`.
    const KIND: &'static str;
    /// The version of the format: raised when a field is removed or changes its meaning.
    const VERSION: u32;
    /// The name of such a file in messages.
    const TITLE: &'static str;
    /// The command that writes it.
    const WRITER: &'static str;

    /// The first line.
    fn from_header(header: Self::Header) -> Self;

    /// Refuses a header with numbers that no machine has.
    ///
    /// # Errors
    /// The wrong field, with the reason.
    fn check(header: &Self::Header) -> Result<(), String>;

    /// Parses a further line.
    ///
    /// # Errors
    /// The bytes are not such a line.
    fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error>;
}

/// Returns the first key of a document: its kind and format version.
#[must_use]
pub fn format(kind: &str, version: u32) -> String {
    format!("hugewise-{kind} {version}")
}

/// The reasons why a line cannot be read.
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
        /// The expected kind of file.
        title: &'static str,
        /// The command that writes it.
        writer: &'static str,
        /// What the file contains instead of a header.
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
    /// The first line was cut off, so the file is empty.
    #[error("the file ends in the middle of its first line: nothing was recorded; run it again")]
    TornHeader,
    /// A line cannot be parsed.
    #[error(
        "line {line}{}: {error}; the file was written by another version of hugewise, or it was changed or damaged: \
         read it with the program that wrote it, restore it, or delete this line and what follows it to read the part before",
        column.map(|column| format!(", column {column}")).unwrap_or_default()
    )]
    Damaged {
        /// Its number, from 1.
        line: usize,
        /// Column in bytes, from 1; `None` for the whole line.
        column: Option<usize>,
        /// The error at that place.
        error: String,
    },
    /// The last line is missing.
    #[error("the recording was cut short: it ends without its counts; record again")]
    CutShort,
}

impl LineError {
    /// Creates an error: a complete line does not belong here.
    #[must_use]
    pub fn misplaced(line: usize, error: impl Into<String>) -> Self {
        Self::Damaged {
            line,
            column: None,
            error: plain(&error.into()),
        }
    }

    /// Creates an error: the file is of another kind.
    #[must_use]
    pub fn other_file<L: Line>(reason: impl Into<String>) -> Self {
        Self::OtherFile {
            title: L::TITLE,
            writer: L::WRITER,
            reason: plain(&reason.into()),
        }
    }
}

/// Serialises one line, with its newline.
///
/// # Panics
/// Never for lines whose map keys are text or numbers, as all are.
#[must_use]
pub fn to_line<L: Line>(line: &L) -> String {
    let text = serde_json::to_string(line).expect("keys are text or numbers");
    let tag = format!("{{\"{}\":\"{}\",", L::TAG, L::HEADER);
    match text.strip_prefix(&tag) {
        Some(rest) => format!("{{\"format\":\"{}\",{rest}\n", format(L::KIND, L::VERSION)),
        None => text + "\n",
    }
}

/// An unparsed line of a file.
#[derive(Clone, Copy, Debug)]
pub struct RawLine<'a> {
    /// Its number, from 1.
    pub number: usize,
    /// The line without its newline.
    pub bytes: &'a [u8],
    /// True if a newline ended it. Only the last line can lack one.
    pub ended: bool,
}

/// Iterates over the lines, without blank ones.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = RawLine<'_>> {
    let lines = bytes.split_inclusive(|&byte| byte == b'\n').enumerate();
    let lines = lines.map(|(index, line)| RawLine {
        number: index + 1,
        bytes: line.strip_suffix(b"\n").unwrap_or(line),
        ended: line.ends_with(b"\n"),
    });
    lines.filter(|line| !line.bytes.trim_ascii().is_empty())
}

/// Reads a whole file: its header, then its other lines with their numbers. `None` stands for a last line whose writing
/// was interrupted.
///
/// # Errors
/// The file has no header of this kind and version. Each other line can be an error if it does not belong there.
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

/// Returns true if a line begins like a header of any version.
fn begins_anew<L: Line>(raw: RawLine<'_>) -> bool {
    let old = format!("{{\"{}\":\"{}\",", L::TAG, L::HEADER);
    [b"{\"format\":".as_slice(), old.as_bytes()]
        .iter()
        .any(|begin| raw.bytes.starts_with(begin))
        && begins::<L>(raw.bytes)
}

/// Returns true if a file with this first line is of this kind, of any version.
#[must_use]
pub fn begins<L: Line>(first: &[u8]) -> bool {
    serde_json::from_slice::<Map<String, Value>>(first)
        .is_ok_and(|header| version::<L>(&header).is_ok())
}

/// Reads the header.
///
/// # Errors
/// The line is not a header of this kind and version.
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

/// Returns the version stated in a header.
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
    /// Reads this line: the first is the header. `None` for a last line whose writing was interrupted.
    ///
    /// # Errors
    /// The line does not belong there.
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

    /// Returns true for the error of a line whose writing was interrupted. Such a line stops too early, or holds the
    /// zeros that file systems leave for blocks that never reached the disk.
    fn is_torn(&self, error: &serde_json::Error) -> bool {
        !self.ended && (error.classify() == Category::Eof || self.bytes.contains(&0))
    }
}

/// serde_json ends its messages with a position within the line; this program reports the position separately.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    text[..end].to_owned()
}

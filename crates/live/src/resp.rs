//! Answers of Redis: the protocol RESP, version 2.

use std::io::{BufRead, Read};

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A text, or a line of status.
    Text(String),
    /// A whole number.
    Number(i64),
    /// A list of answers.
    List(Vec<Self>),
    /// No value.
    Nil,
}

/// The longest text, in bytes, and the most parts of an answer.
const LONGEST: usize = 16 << 20;
const MOST_PARTS: usize = 1 << 16;
/// Lists within lists.
const DEEPEST: usize = 8;

impl Reply {
    /// Reads one answer.
    ///
    /// # Errors
    /// The server reports an error, closes the connection, or does not answer in RESP.
    pub fn read(from: &mut impl BufRead) -> Result<Self, String> {
        let mut parts = MOST_PARTS;
        read(from, DEEPEST, &mut parts)
    }

    /// The text; `None` for other answers.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The parts of a list; none for other answers.
    #[must_use]
    pub fn parts(&self) -> &[Self] {
        match self {
            Self::List(parts) => parts,
            _ => &[],
        }
    }
}

fn read(from: &mut impl BufRead, depth: usize, parts: &mut usize) -> Result<Reply, String> {
    let strange = || "it does not answer like redis".to_owned();
    let head = line(from)?;
    let rest = head.get(1..).unwrap_or_default();
    let length = || match rest.parse::<i64>() {
        Ok(length) => Ok(usize::try_from(length).ok()),
        Err(_) => Err(strange()),
    };
    match head.as_bytes().first() {
        Some(b'+') => Ok(Reply::Text(rest.to_owned())),
        Some(b'-') => Err(format!("it answers: {rest}")),
        Some(b':') => rest.parse().map(Reply::Number).map_err(|_| strange()),
        Some(b'$') => match length()? {
            None => Ok(Reply::Nil),
            Some(length) => text(from, length).map(Reply::Text),
        },
        Some(b'*') => {
            let Some(count) = length()? else {
                return Ok(Reply::Nil);
            };
            *parts = parts.checked_sub(count).ok_or_else(strange)?;
            let depth = depth.checked_sub(1).ok_or_else(strange)?;
            let all = (0..count).map(|_| read(from, depth, parts));
            all.collect::<Result<_, _>>().map(Reply::List)
        }
        _ => Err(strange()),
    }
}

/// Reads a line without its end.
fn line(from: &mut impl BufRead) -> Result<String, String> {
    let mut line = String::new();
    let read = from.take(LONGEST as u64).read_line(&mut line);
    match read.map_err(|error| error.to_string())? {
        0 => Err("it closed the connection".to_owned()),
        _ => Ok(line.trim_end_matches(['\r', '\n']).to_owned()),
    }
}

/// Reads a text of so many bytes and the end of its line.
fn text(from: &mut impl BufRead, length: usize) -> Result<String, String> {
    if length > LONGEST {
        return Err("its answer is too long".to_owned());
    }
    let mut bytes = vec![0; length + 2];
    from.read_exact(&mut bytes)
        .map_err(|error| error.to_string())?;
    bytes.truncate(length);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

//! Reads files that a user names.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Error, ErrorKind, Read, Result};
use std::path::Path;

use hugewise_base::gzip;
use hugewise_base::units::bytes_text;
use hugewise_linux::file::read::{open_named, read_first_line, read_regular};
use hugewise_text::page;

use crate::invoker;

/// The size limit, in bytes, of a file that the program discovers, such as a record in a folder.
pub const LARGEST_FOUND: u64 = 256 << 20;

/// The size limit of a first line, in bytes.
const LONGEST: u64 = 16 << 20;

/// Opens a file or a pipe. Devices are refused: `/dev/zero` and similar devices have no end and would fill all memory
/// before a reader could report that they are no recording.
pub fn open(path: &Path) -> Result<File> {
    open_named(path, &invoker::rights().map_err(Error::other)?)
}

/// Reads a file that the program discovered: a regular file of at most 256 MiB. Unpacks gzip.
pub fn read_found(path: &Path) -> Result<Vec<u8>> {
    let rights = invoker::rights().map_err(Error::other)?;
    unpacked(rights.lend(|| read_regular(path, LARGEST_FOUND))?)
}

/// Reads a whole file; unpacks gzip.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    unpacked(bytes)
}

fn unpacked(bytes: Vec<u8>) -> Result<Vec<u8>> {
    let content = gzip::unpacked(&bytes);
    match content.map_err(|error| Error::new(ErrorKind::InvalidData, error))? {
        Cow::Owned(content) => Ok(content),
        Cow::Borrowed(_) => Ok(bytes),
    }
}

/// Reads a whole recording, from its own file or from a page.
pub fn read_recording(path: &Path) -> Result<Vec<u8>> {
    page::source(read(path)?).map_err(|error| Error::new(ErrorKind::InvalidData, error))
}

/// Opens a recording for reading by lines, from its own file or from a page.
pub fn open_recording(path: &Path) -> Result<Box<dyn BufRead>> {
    let mut file = BufReader::with_capacity(1 << 20, open(path)?);
    let begin = file.fill_buf()?;
    if !page::is_page(begin) && !gzip::is_gzip(begin) {
        return Ok(Box::new(file));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let source = page::source(unpacked(bytes)?)
        .map_err(|error| Error::new(ErrorKind::InvalidData, error))?;
    Ok(Box::new(Cursor::new(source)))
}

/// Returns true for a regular gzip file, which no line can be appended to.
pub fn is_packed(path: &Path) -> bool {
    let read = || read_first_line(path, 2);
    let begin = invoker::rights().map(|rights| rights.lend(read));
    matches!(begin, Ok(Ok(begin)) if gzip::is_gzip(&begin))
}

/// The first line of a file, as far as it can be read. Empty for a pipe, because reading would consume it.
pub fn first_line(path: &Path) -> Vec<u8> {
    let read = || read_first_line(path, LONGEST);
    let line = invoker::rights().map(|rights| rights.lend(read));
    let line = line.ok().and_then(Result::ok).unwrap_or_default();
    match gzip::is_gzip(&line) {
        true => first_unpacked_line(path).unwrap_or_default(),
        false => line,
    }
}

fn first_unpacked_line(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = read_found(path)?;
    let end = bytes.iter().position(|&byte| byte == b'\n');
    bytes.truncate(end.map_or(bytes.len(), |end| end + 1));
    Ok(bytes)
}

/// The length limit of a line, in bytes: more than a hundred times the longest line that hugewise writes.
pub const LONGEST_LINE: usize = 64 << 20;

/// Reads the next line with its newline into `line`, which is cleared first. Returns 0 bytes at the end.
///
/// # Errors
/// The file cannot be read, its line is longer than [`LONGEST_LINE`], or memory does not suffice.
pub fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> Result<usize> {
    line.clear();
    loop {
        let some = match reader.fill_buf() {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            some => some?,
        };
        let (part, is_whole) = match some.iter().position(|byte| *byte == b'\n') {
            Some(at) => (&some[..=at], true),
            None => (some, some.is_empty()),
        };
        if line.len() + part.len() > LONGEST_LINE {
            return Err(too_long());
        }
        line.try_reserve(part.len())
            .map_err(|_| Error::from(ErrorKind::OutOfMemory))?;
        line.extend_from_slice(part);
        let used = part.len();
        reader.consume(used);
        if is_whole {
            return Ok(line.len());
        }
    }
}

fn too_long() -> Error {
    let most = bytes_text(LONGEST_LINE as u64);
    let text = format!(
        "a line is longer than {most}, so it is no line of hugewise; give the file that it wrote"
    );
    Error::new(ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_one_by_one_and_an_endless_one_is_refused() {
        let mut reader = BufReader::with_capacity(3, &b"ab\n\nlong line\nend"[..]);
        let mut line = Vec::new();
        let mut lines = Vec::new();
        while read_line(&mut reader, &mut line).expect("memory") > 0 {
            lines.push(String::from_utf8_lossy(&line).into_owned());
        }
        assert_eq!(lines, ["ab\n", "\n", "long line\n", "end"]);
        let endless = std::io::repeat(b'x').take(2 * LONGEST_LINE as u64);
        let mut reader = BufReader::with_capacity(1 << 16, endless);
        let error = read_line(&mut reader, &mut line).expect_err("too long");
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert!(line.capacity() <= 2 * LONGEST_LINE);
    }
}

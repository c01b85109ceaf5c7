//! Files that a user names to be read.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Error, ErrorKind, Read, Result};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use hugewise_model::text::page;

/// Opens a file or a pipe. A device is refused: `/dev/zero` and its like have no end, and all of
/// the machine's memory would be filled before a reader could say that this is no recording.
pub fn open(path: &Path) -> Result<File> {
    let file = File::open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_char_device() || kind.is_block_device() {
        return Err(Error::new(
            ErrorKind::InvalidInput,
            "it is a device, not a file",
        ));
    }
    Ok(file)
}

/// All that it holds.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// All that a recording holds, from its own file or from a page.
pub fn read_recording(path: &Path) -> Result<Vec<u8>> {
    page::source(read(path)?).map_err(|error| Error::new(ErrorKind::InvalidData, error))
}

/// A recording to be read line by line, from its own file or from a page.
pub fn open_recording(path: &Path) -> Result<Box<dyn BufRead>> {
    let mut file = BufReader::with_capacity(1 << 20, open(path)?);
    if !page::is_page(file.fill_buf()?) {
        return Ok(Box::new(file));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let source = page::source(bytes).map_err(|error| Error::new(ErrorKind::InvalidData, error))?;
    Ok(Box::new(Cursor::new(source)))
}

/// The first line of a file, as far as it can be read. Of a pipe it is not looked at: nobody
/// could read it again.
pub fn first_line(path: &Path) -> Vec<u8> {
    let mut first = Vec::new();
    if !path.is_file() {
        return first;
    }
    match open(path).and_then(|file| BufReader::new(file).read_until(b'\n', &mut first)) {
        Ok(_) => first,
        Err(_) => Vec::new(),
    }
}

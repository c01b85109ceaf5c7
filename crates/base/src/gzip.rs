//! Files of gzip (RFC 1952).

use std::borrow::Cow;

use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

use super::units::{MIB, bytes_text};

/// No name, time or system: the same bytes give the same file.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
/// The level, of 0 to 10: the default of the gzip program.
const LEVEL: u8 = 6;

/// Packs.
#[must_use]
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut file = HEADER.to_vec();
    file.extend(compress_to_vec(bytes, LEVEL));
    file.extend(crc32fast::hash(bytes).to_le_bytes());
    // The format stores the lowest 32 bits of the size.
    file.extend((bytes.len() as u32).to_le_bytes());
    file
}

/// The largest unpacked size: a small file can hold zeros without end.
pub const MOST_UNPACKED: usize = 256 * MIB as usize;
/// The first bytes of a gzip file.
const MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Checksum and size.
const TRAILER: usize = 8;

/// The reasons why a file cannot be unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GzipError {
    /// It ends too early.
    #[error("it is gzip that ends too early; copy it again")]
    CutShort,
    /// The content does not match its checksum or format.
    #[error("it is damaged gzip or several files in one; test it with gzip -t")]
    Damaged,
    /// The content exceeds the limit.
    #[error("it is gzip of more than {}; unpack it with gzip -d", bytes_text(MOST_UNPACKED as u64))]
    TooLarge,
}

/// Returns true if a file begins like gzip.
#[must_use]
pub fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// Unpacks a gzip file; all other bytes are returned unchanged.
///
/// # Errors
/// The bytes are gzip that cannot be unpacked, or gzip of more than [`MOST_UNPACKED`] bytes.
pub fn unpacked(bytes: &[u8]) -> Result<Cow<'_, [u8]>, GzipError> {
    match is_gzip(bytes) {
        true => unpack(bytes, MOST_UNPACKED).map(Cow::Owned),
        false => Ok(Cow::Borrowed(bytes)),
    }
}

fn unpack(bytes: &[u8], most: usize) -> Result<Vec<u8>, GzipError> {
    let stream = after_header(bytes).ok_or(GzipError::CutShort)?;
    let (content, length) = inflate(stream, most)?;
    let checksum = crc32fast::hash(&content).to_le_bytes();
    match stream.get(length..).unwrap_or_default() {
        trailer if trailer.len() < TRAILER => Err(GzipError::CutShort),
        trailer if trailer.len() == TRAILER && trailer.starts_with(&checksum) => Ok(content),
        _ => Err(GzipError::Damaged),
    }
}

/// Returns the content of a stream that can be followed by other bytes, and the length of the stream.
fn inflate(stream: &[u8], most: usize) -> Result<(Vec<u8>, usize), GzipError> {
    let mut state = Box::<DecompressorOxide>::default();
    let mut content = vec![0; stream.len().saturating_mul(2).min(most)];
    let (mut read, mut written) = (0, 0);
    loop {
        let rest = stream.get(read..).unwrap_or_default();
        let flags = TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        let (status, more_read, more_written) =
            decompress(&mut state, rest, &mut content, written, flags);
        read += more_read;
        written += more_written;
        match status {
            TINFLStatus::Done => {
                content.truncate(written);
                return Ok((content, read));
            }
            TINFLStatus::HasMoreOutput if content.len() >= most => return Err(GzipError::TooLarge),
            TINFLStatus::HasMoreOutput => {
                let length = content.len().saturating_mul(2).clamp(1, most);
                content.resize(length, 0);
            }
            TINFLStatus::NeedsMoreInput | TINFLStatus::FailedCannotMakeProgress => {
                return Err(GzipError::CutShort);
            }
            _ => return Err(GzipError::Damaged),
        }
    }
}

/// Returns the bytes after the header and its optional fields.
fn after_header(bytes: &[u8]) -> Option<&[u8]> {
    const CHECKSUM: u8 = 1 << 1;
    const EXTRA: u8 = 1 << 2;
    const NAME: u8 = 1 << 3;
    const COMMENT: u8 = 1 << 4;
    let flags = *bytes.get(3)?;
    let mut rest = bytes.get(HEADER.len()..)?;
    if flags & EXTRA != 0 {
        let (length, more) = rest.split_first_chunk::<2>()?;
        rest = more.get(usize::from(u16::from_le_bytes(*length))..)?;
    }
    for text in [NAME, COMMENT] {
        if flags & text != 0 {
            let end = rest.iter().position(|&byte| byte == 0)?;
            rest = &rest[end + 1..];
        }
    }
    match flags & CHECKSUM {
        0 => Some(rest),
        _ => rest.get(2..),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use miniz_oxide::inflate::decompress_to_vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_packed_is_unpacked(bytes: Vec<u8>) {
            prop_assert_eq!(unpack(&gzip(&bytes), bytes.len()), Ok(bytes));
        }

        #[test]
        fn no_bytes_make_it_panic(mut bytes: Vec<u8>, flags: u8) {
            bytes.splice(..0, [0x1f, 0x8b, 8, flags]);
            let _ = unpack(&bytes, 1 << 16);
        }
    }

    #[test]
    fn a_file_is_unpacked_whole_or_not_at_all() {
        let file = gzip(&[7; 1000]);
        assert_eq!(unpack(&file, 999), Err(GzipError::TooLarge));
        let cut = &file[..file.len() - 9];
        assert!(unpack(cut, 1000).is_err());
        let twice = [file.clone(), file.clone()].concat();
        assert_eq!(unpack(&twice, 10_000), Err(GzipError::Damaged));
        let mut changed = file.clone();
        changed[file.len() - 8] ^= 1;
        assert_eq!(unpack(&changed, 1000), Err(GzipError::Damaged));
        assert_eq!(unpacked(b"{}"), Ok(Cow::Borrowed(&b"{}"[..])));
    }

    #[test]
    fn the_name_that_gzip_leaves_in_its_header_is_passed_over() {
        let mut file = gzip(b"fault");
        file[3] = 1 << 3;
        file.splice(HEADER.len()..HEADER.len(), *b"record.jsonl\0");
        assert_eq!(unpack(&file, 100), Ok(b"fault".to_vec()));
    }

    #[test]
    fn a_file_has_header_stream_checksum_and_size() {
        let bytes = b"fault fault fault fault fault";
        let file = gzip(bytes);
        let (header, rest) = file.split_at(HEADER.len());
        let (stream, end) = rest.split_at(rest.len() - 8);
        assert_eq!(header, HEADER);
        assert_eq!(decompress_to_vec(stream).unwrap(), bytes);
        // As computed by zlib's crc32().
        assert_eq!(end[..4], [0xdc, 0x27, 0x35, 0x28]);
        assert_eq!(end[4..], (bytes.len() as u32).to_le_bytes());
    }
}

//! Files of gzip (RFC 1952).

use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;

/// No name, no time and no system: the same bytes give the same file.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
/// Of 0 to 10: as the program of that name chooses.
const LEVEL: u8 = 6;

/// Packs.
#[must_use]
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut file = HEADER.to_vec();
    file.extend(compress_to_vec(bytes, LEVEL));
    file.extend(crc32fast::hash(bytes).to_le_bytes());
    // Of the size, the format has the lowest 32 bits.
    file.extend((bytes.len() as u32).to_le_bytes());
    file
}

/// Unpacks a file of one stream to at most `limit` bytes. Its checksum is not compared.
///
/// # Errors
/// It is no file of gzip, it is cut off, or it holds more than `limit` bytes.
pub fn gunzip(file: &[u8], limit: usize) -> Result<Vec<u8>, String> {
    let stream = stream(file).ok_or("it is no file of gzip")?;
    decompress_to_vec_with_limit(stream, limit).map_err(|error| format!("gzip: {error}"))
}

/// What follows the header and its optional fields.
fn stream(file: &[u8]) -> Option<&[u8]> {
    const CHECKSUM: u8 = 2;
    const EXTRA: u8 = 4;
    const NAME: u8 = 8;
    const COMMENT: u8 = 16;
    let mut rest = file.get(HEADER.len()..)?;
    let (magic, flags) = (file.get(..3)?, *file.get(3)?);
    if magic != &HEADER[..3] {
        return None;
    }
    if flags & EXTRA != 0 {
        let (length, behind) = rest.split_first_chunk()?;
        rest = behind.get(usize::from(u16::from_le_bytes(*length))..)?;
    }
    for field in [NAME, COMMENT] {
        if flags & field != 0 {
            let end = rest.iter().position(|&byte| byte == 0)?;
            rest = &rest[end + 1..];
        }
    }
    if flags & CHECKSUM != 0 {
        rest = rest.get(2..)?;
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use miniz_oxide::inflate::decompress_to_vec;

    #[test]
    fn a_file_has_header_stream_checksum_and_size() {
        let bytes = b"fault fault fault fault fault";
        let file = gzip(bytes);
        let (header, rest) = file.split_at(HEADER.len());
        let (stream, end) = rest.split_at(rest.len() - 8);
        assert_eq!(header, HEADER);
        assert_eq!(decompress_to_vec(stream).unwrap(), bytes);
        // As zlib's crc32() has it.
        assert_eq!(end[..4], [0xdc, 0x27, 0x35, 0x28]);
        assert_eq!(end[4..], (bytes.len() as u32).to_le_bytes());
    }

    #[test]
    fn what_was_packed_is_unpacked_whatever_the_header_has() {
        let bytes = b"fault fault";
        let plain = gzip(bytes);
        assert_eq!(gunzip(&plain, 100).unwrap(), bytes);
        let mut named = plain[..HEADER.len()].to_vec();
        named[3] = 4 | 8 | 2;
        named.extend(b"\x02\0xyname\0ck");
        named.extend(&plain[HEADER.len()..]);
        assert_eq!(gunzip(&named, 100).unwrap(), bytes);
        assert!(gunzip(&plain, 10).is_err());
        for length in 0..plain.len() - 8 {
            assert!(gunzip(&plain[..length], 100).is_err(), "{length}");
        }
    }
}

//! Files of gzip (RFC 1952).

use miniz_oxide::deflate::compress_to_vec;

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
}

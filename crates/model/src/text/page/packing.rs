//! Bytes as a short text that may stand in a page.

use std::io::{Read, Write};

use data_encoding::BASE64;
use lzma_rust2::{LzmaOptions, LzmaReader, LzmaWriter};
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

mod histograms;

use histograms::{Parts, join, split};

/// What unpacks to more was made to fill memory.
const MOST: usize = 1 << 30;
/// The window in KiB that unpacking may need: that of [`PRESET`], and some for its tables.
const MOST_WINDOW: u32 = 16 << 10;
/// Of 0 to 9; higher ones only have a larger window.
const PRESET: u32 = 6;
/// How zlib begins, which pages were packed with before.
const ZLIB: u8 = 0x78;
/// How a text with its histograms apart begins. LZMA cannot begin so: it ends at 224.
const APART: u8 = 0xff;

/// Packs.
pub(super) fn packed(bytes: &[u8]) -> String {
    // Writing into memory does not fail.
    let packed = match split(bytes) {
        Some(parts) if !parts.edges.is_empty() => apart(&parts).unwrap_or_default(),
        _ => lzma(bytes).unwrap_or_default(),
    };
    BASE64.encode(&packed)
}

/// Each stream by itself, with its size before it: they have nothing in common.
fn apart(parts: &Parts) -> lzma_rust2::Result<Vec<u8>> {
    let mut packed = vec![APART];
    for stream in [&parts.text, &parts.edges, &parts.counts] {
        let stream = lzma(stream)?;
        packed.extend((stream.len() as u64).to_le_bytes());
        packed.extend(stream);
    }
    Ok(packed)
}

fn lzma(bytes: &[u8]) -> lzma_rust2::Result<Vec<u8>> {
    let options = LzmaOptions {
        // For text: what stands before a byte tells more of it than its place does.
        lc: 4,
        pb: 0,
        nice_len: LzmaOptions::NICE_LEN_MAX,
        ..LzmaOptions::with_preset(PRESET)
    };
    let size = Some(bytes.len() as u64);
    let mut writer = LzmaWriter::new_use_header(Vec::new(), &options, size)?;
    writer.write_all(bytes)?;
    writer.finish()
}

/// Unpacks; `None` for what is damaged.
pub(super) fn unpacked(text: &str) -> Option<Vec<u8>> {
    let packed = BASE64.decode(text.as_bytes()).ok()?;
    if packed.first() == Some(&ZLIB) {
        return decompress_to_vec_zlib_with_limit(&packed, MOST).ok();
    }
    match packed.split_first() {
        Some((&APART, streams)) => together(streams),
        _ => unlzma(&packed),
    }
}

fn together(mut streams: &[u8]) -> Option<Vec<u8>> {
    let mut next = || {
        let (size, rest) = streams.split_first_chunk()?;
        let size = usize::try_from(u64::from_le_bytes(*size)).ok()?;
        let (stream, rest) = rest.split_at_checked(size)?;
        streams = rest;
        unlzma(stream)
    };
    let parts = Parts {
        text: next()?,
        edges: next()?,
        counts: next()?,
    };
    join(&parts, MOST)
}

fn unlzma(packed: &[u8]) -> Option<Vec<u8>> {
    let reader = LzmaReader::new_mem_limit(packed, MOST_WINDOW, None).ok()?;
    let mut bytes = Vec::new();
    reader.take(MOST as u64).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use miniz_oxide::deflate::compress_to_vec_zlib;
    use proptest::prelude::*;

    #[test]
    fn pages_that_were_packed_with_zlib_are_read() {
        let text = BASE64.encode(&compress_to_vec_zlib(b"a record", 9));
        assert_eq!(unpacked(&text).as_deref(), Some(&b"a record"[..]));
    }

    #[test]
    fn pages_that_were_packed_as_one_text_are_read() {
        let record = b"{\"buckets\":[[1,2],[3,4]]}";
        let text = BASE64.encode(&lzma(record).unwrap());
        assert_eq!(unpacked(&text).as_deref(), Some(&record[..]));
    }

    #[test]
    fn a_text_with_histograms_comes_back_and_is_refused_when_cut() {
        let record = b"{\"buckets\":[[1,2],[3,4]]}\n[[5,6]]";
        let text = packed(record);
        assert_eq!(unpacked(&text).as_deref(), Some(&record[..]));
        let bytes = BASE64.decode(text.as_bytes()).unwrap();
        assert_eq!(bytes[0], APART);
        for end in 1..bytes.len() {
            assert_ne!(
                unpacked(&BASE64.encode(&bytes[..end])).as_deref(),
                Some(&record[..])
            );
        }
    }

    #[test]
    fn what_asks_for_a_huge_window_is_refused() {
        let mut header = vec![0x5d];
        header.extend(u32::MAX.to_le_bytes());
        header.extend([0; 32]);
        assert_eq!(unpacked(&BASE64.encode(&header)), None);
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_back(bytes: Vec<u8>) {
            prop_assert_eq!(unpacked(&packed(&bytes)), Some(bytes));
        }

        #[test]
        fn no_text_makes_it_panic(bytes: Vec<u8>) {
            let _ = unpacked(&BASE64.encode(&bytes));
        }
    }
}

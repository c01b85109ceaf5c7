//! Packs bytes as a short text to embed in a page.

use std::io::{Read, Write};

use data_encoding::BASE64;
use lzma_rust2::{LzmaOptions, LzmaReader, LzmaWriter};
use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_zlib_with_limit};

mod histograms;

use histograms::{Parts, join, split};

/// The window that unpacking can need, in KiB: that of [`PRESET`], plus some for its tables.
const MOST_WINDOW: u32 = 16 << 10;
/// The preset, of 0 to 9; higher ones only have a larger window.
const PRESET: u32 = 6;
/// The first byte of zlib, which packed earlier pages.
const ZLIB: u8 = 0x78;
/// The first byte of a text packed separately from its histograms. LZMA cannot begin with it: its first byte is at most
/// 224.
const APART: u8 = 0xff;

/// Packs.
pub(super) fn packed(bytes: &[u8]) -> String {
    // Writing to memory does not fail.
    let packed = match split(bytes) {
        Some(parts) if !parts.edges.is_empty() => apart(&parts).unwrap_or_default(),
        _ => lzma(bytes).unwrap_or_default(),
    };
    BASE64.encode(&packed)
}

/// Packs each stream separately, with its size in front: the streams have nothing in common.
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
        // For text: the preceding byte predicts a byte better than its position does.
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

/// The reasons why unpacking fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The data was changed or truncated.
    Damaged,
    /// It unpacks to more than the limit.
    TooLarge,
    /// The machine does not have enough memory.
    NoMemory,
}

/// Unpacks to at most `most` bytes. The limit covers all streams and their joined result.
pub(super) fn unpacked(text: &str, most: usize) -> Result<Vec<u8>, Trouble> {
    let packed = BASE64.decode(text.as_bytes());
    let packed = packed.map_err(|_| Trouble::Damaged)?;
    if packed.first() == Some(&ZLIB) {
        return decompress_to_vec_zlib_with_limit(&packed, most).map_err(|error| {
            match error.status {
                TINFLStatus::HasMoreOutput => Trouble::TooLarge,
                _ => Trouble::Damaged,
            }
        });
    }
    match packed.split_first() {
        Some((&APART, streams)) => together(streams, most),
        _ => unlzma(&packed, &mut { most }),
    }
}

fn together(mut streams: &[u8], most: usize) -> Result<Vec<u8>, Trouble> {
    let mut left = most;
    let mut next = || {
        let (size, rest) = streams.split_first_chunk()?;
        let size = usize::try_from(u64::from_le_bytes(*size)).ok()?;
        let (stream, rest) = rest.split_at_checked(size)?;
        streams = rest;
        Some(stream)
    };
    let mut stream = || unlzma(next().ok_or(Trouble::Damaged)?, &mut left);
    let parts = Parts {
        text: stream()?,
        edges: stream()?,
        counts: stream()?,
    };
    join(&parts, most)
}

/// Unpacks a stream, and subtracts its size from the bytes left.
fn unlzma(packed: &[u8], left: &mut usize) -> Result<Vec<u8>, Trouble> {
    /// Memory grows by at most this number of bytes at a time.
    const STEP: usize = 1 << 16;
    let reader = LzmaReader::new_mem_limit(packed, MOST_WINDOW, None);
    let mut reader = reader.map_err(|_| Trouble::Damaged)?;
    let mut bytes: Vec<u8> = Vec::new();
    let mut step = vec![0; STEP];
    loop {
        let read = reader.read(&mut step).map_err(|_| Trouble::Damaged)?;
        if read == 0 {
            return Ok(bytes);
        }
        *left = left.checked_sub(read).ok_or(Trouble::TooLarge)?;
        bytes.try_reserve(read).map_err(|_| Trouble::NoMemory)?;
        bytes.extend_from_slice(&step[..read]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use miniz_oxide::deflate::compress_to_vec_zlib;
    use proptest::prelude::*;

    #[test]
    fn pages_that_were_packed_with_zlib_are_read() {
        let text = BASE64.encode(&compress_to_vec_zlib(b"a record", 9));
        assert_eq!(unpacked(&text, 100).as_deref(), Ok(&b"a record"[..]));
    }

    #[test]
    fn pages_that_were_packed_as_one_text_are_read() {
        let record = b"{\"buckets\":[[1,2],[3,4]]}";
        let text = BASE64.encode(&lzma(record).unwrap());
        assert_eq!(unpacked(&text, 1000).as_deref(), Ok(&record[..]));
    }

    #[test]
    fn a_text_with_histograms_comes_back_and_is_refused_when_cut() {
        let record = b"{\"buckets\":[[1,2],[3,4]]}\n[[5,6]]";
        let text = packed(record);
        assert_eq!(unpacked(&text, 1000).as_deref(), Ok(&record[..]));
        let bytes = BASE64.decode(text.as_bytes()).unwrap();
        assert_eq!(bytes[0], APART);
        for end in 1..bytes.len() {
            assert_ne!(
                unpacked(&BASE64.encode(&bytes[..end]), 1000).as_deref(),
                Ok(&record[..])
            );
        }
    }

    #[test]
    fn what_asks_for_a_huge_window_is_refused() {
        let mut header = vec![0x5d];
        header.extend(u32::MAX.to_le_bytes());
        header.extend([0; 32]);
        let text = BASE64.encode(&header);
        assert_eq!(unpacked(&text, usize::MAX), Err(Trouble::Damaged));
    }

    #[test]
    fn what_unpacks_to_more_than_it_may_is_refused_in_every_form() {
        let many = vec![b' '; 1 << 20];
        let most = (1 << 20) - 1;
        let zlib = BASE64.encode(&compress_to_vec_zlib(&many, 9));
        let histogram = [b"[[1,2]]".as_slice(), &many].concat();
        let apart = Parts {
            text: vec![b' '; 1 << 19],
            edges: vec![0; 1 << 19],
            counts: Vec::new(),
        };
        let apart = BASE64.encode(&super::apart(&apart).unwrap());
        for text in [zlib, packed(&many), packed(&histogram), apart] {
            assert!(text.len() < 5_000, "{}", text.len());
            assert_eq!(unpacked(&text, most), Err(Trouble::TooLarge));
        }
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_back(bytes: Vec<u8>) {
            prop_assert_eq!(unpacked(&packed(&bytes), bytes.len()), Ok(bytes));
        }

        #[test]
        fn no_text_makes_it_panic(bytes: Vec<u8>) {
            let _ = unpacked(&BASE64.encode(&bytes), 1 << 20);
        }
    }
}

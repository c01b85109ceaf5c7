//! HdrHistogram's compressed form V2 (base64 of zlib of zigzag LEB128 counts), and its interval
//! logs.
//!
//! Source: `AbstractHistogram.encodeIntoCompressedByteBuffer` of HdrHistogram; the fixture was
//! written by its version 2.1.11.

use data_encoding::BASE64;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

use crate::base::histogram::distribution::{Distribution, Grain};
use crate::run::plan::TimeUnit;

mod log;

pub(super) use log::parse_log;

/// Of V2, with or without the word size in its second-lowest digit.
const COOKIE: u32 = 0x1c84_9303;
const COMPRESSED_COOKIE: u32 = 0x1c84_9304;

/// Longer than any histogram that makes sense: one of five digits and all of 64 bits.
const LARGEST_BYTES: usize = 64 << 20;

/// One histogram as text.
pub(super) fn decode(text: &str, unit: TimeUnit) -> Result<Distribution, String> {
    let packed = BASE64
        .decode(text.as_bytes())
        .map_err(|_| "it is not base64")?;
    let plain = unpacked(&packed)?;
    counts(&plain, unit)
}

/// The plain form within the compressed one.
fn unpacked(packed: &[u8]) -> Result<Vec<u8>, String> {
    let mut reader = Bytes(packed);
    let cookie = reader.u32()?;
    if cookie & !0xf0 != COMPRESSED_COOKIE {
        return Err(format!(
            "its cookie {cookie:#x} is not that of a compressed histogram, version 2"
        ));
    }
    let length = reader.u32()? as usize;
    let zlib = reader.take(length)?;
    decompress_to_vec_zlib_with_limit(zlib, LARGEST_BYTES)
        .map_err(|problem| format!("it is no zlib data: {problem}"))
}

/// The counts of the plain form.
fn counts(plain: &[u8], unit: TimeUnit) -> Result<Distribution, String> {
    let mut reader = Bytes(plain);
    let cookie = reader.u32()?;
    if cookie & !0xf0 != COOKIE {
        return Err(format!(
            "its inner cookie {cookie:#x} is not that of version 2"
        ));
    }
    let length = reader.u32()? as usize;
    let _normalizing_offset = reader.u32()?;
    let digits = reader.u32()?;
    let lowest = reader.u64()?;
    let _highest = reader.u64()?;
    let ratio = f64::from_bits(reader.u64()?);
    if digits > 5 || lowest == 0 || ratio != 1.0 {
        return Err(format!(
            "{digits} digits, lowest value {lowest}, ratio {ratio}: not a histogram of whole values"
        ));
    }
    let layout = Layout::new(digits, lowest);
    let mut payload = Bytes(reader.take(length)?);
    let mut all = Distribution::new(Grain::Bucket, lowest.saturating_mul(unit.nanos()));
    let mut index = 0_u64;
    while !payload.0.is_empty() {
        let count = payload.zigzag()?;
        if count < 0 {
            index = index.saturating_add(count.unsigned_abs());
            continue;
        }
        if count > 0 {
            let value = layout.highest(index).ok_or("a count beyond 64 bits")?;
            let ns = value
                .checked_mul(unit.nanos())
                .ok_or("a value of centuries")?;
            all.add(ns, count.unsigned_abs());
        }
        index = index.saturating_add(1);
    }
    Ok(all)
}

/// Which values are counted at an index: `getValueFromIndex` of HdrHistogram.
struct Layout {
    /// log2 of half the number of sub-buckets.
    half_bits: u32,
    /// log2 of the lowest value that is told apart.
    unit_bits: u32,
}

impl Layout {
    fn new(digits: u32, lowest: u64) -> Self {
        let single_resolution = 2 * 10_u64.pow(digits);
        let bits = single_resolution.next_power_of_two().ilog2();
        Self {
            half_bits: bits - 1,
            unit_bits: lowest.ilog2(),
        }
    }

    /// The largest value that is counted at an index.
    fn highest(&self, index: u64) -> Option<u64> {
        let half = 1_u64 << self.half_bits;
        let (shift, sub) = match (index >> self.half_bits).checked_sub(1) {
            None => (0, index),
            Some(bucket) => (bucket, (index & (half - 1)) + half),
        };
        let shift = u32::try_from(shift).ok()? + self.unit_bits;
        let next = u128::from(sub + 1)
            .checked_shl(shift)
            .filter(|_| shift < 64)?;
        u64::try_from(next - 1).ok()
    }
}

/// What is still to be read.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or("it is cut off")?;
        self.0 = rest;
        Ok(taken)
    }

    fn u32(&mut self) -> Result<u32, String> {
        Ok(self
            .take(4)?
            .iter()
            .fold(0, |all, &byte| all << 8 | u32::from(byte)))
    }

    fn u64(&mut self) -> Result<u64, String> {
        Ok(self
            .take(8)?
            .iter()
            .fold(0, |all, &byte| all << 8 | u64::from(byte)))
    }

    /// Zigzag LEB128 of at most nine bytes, the ninth whole: `ZigZagEncoding.getLong`.
    fn zigzag(&mut self) -> Result<i64, String> {
        let mut value = 0_u64;
        for place in 0..9 {
            let byte = u64::from(self.take(1)?[0]);
            if place == 8 {
                value |= byte << 56;
                break;
            }
            value |= (byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                break;
            }
        }
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Latency;
    use super::*;

    const LOG: &[u8] = include_bytes!("../../../../../fixtures/readers/hdr.hlog");
    const TRUTH: &str = include_str!("../../../../../fixtures/readers/hdr.truth");

    #[test]
    fn the_library_and_the_reader_agree_on_every_percentile() {
        let report = parse_log(LOG, TimeUnit::Nanos).expect("written by the library");
        let Some(Latency::Counted(all)) = &report.loads[0].latency else {
            panic!("a histogram");
        };
        let mut compared = 0;
        for line in TRUTH.lines() {
            let (name, value) = line.split_once(' ').expect("two words");
            let value: u64 = value.parse().expect("a number");
            if name == "count" {
                assert_eq!(all.count(), value);
                continue;
            }
            let percent: f64 = name.parse().expect("a number");
            let found = all.quantile_ns(percent / 100.0).expect("not empty");
            assert!(
                found >= value && (found - value) * 256 <= value,
                "{line}: {found}"
            );
            compared += 1;
        }
        assert_eq!(compared, 5);
        assert_eq!(all.max_ns(), 655_359);
    }

    #[test]
    fn zigzag_numbers_are_those_of_the_format() {
        let cases: [(&[u8], i64); 6] = [
            (&[0], 0),
            (&[1], -1),
            (&[2], 1),
            (&[0x7f], -64),
            (&[0x80, 1], 64),
            (
                &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
                i64::MIN,
            ),
        ];
        for (bytes, value) in cases {
            assert_eq!(Bytes(bytes).zigzag(), Ok(value), "{bytes:?}");
        }
        assert!(Bytes(&[0x80]).zigzag().is_err());
    }

    #[test]
    fn an_index_is_a_range_of_values() {
        // Three digits: 2048 sub-buckets, so 0..=2047 are exact and then come steps of 2, 4, …
        let layout = Layout::new(3, 1);
        let cases = [
            (0, 0),
            (2047, 2047),
            (2048, 2049),
            (3071, 4095),
            (3072, 4099),
        ];
        for (index, highest) in cases {
            assert_eq!(layout.highest(index), Some(highest), "{index}");
        }
        assert_eq!(layout.highest(u64::MAX), None);
        assert_eq!(Layout::new(3, 1000).highest(0), Some(511), "2^9 below 1000");
    }

    #[test]
    fn faults_name_the_line() {
        let said = |text: &str| {
            parse_log(text.as_bytes(), TimeUnit::Nanos)
                .unwrap_err()
                .to_string()
        };
        assert!(
            said("#x\n1,2,3\n").starts_with("line 2, interval: expected"),
            "{}",
            said("1,2,3")
        );
        assert!(said("0,1,2,HIST!\n").contains("line 1, histogram: it is not base64"));
        assert!(said("0,1,2,AAAA\n").contains("cut off"));
        assert!(said("#\n").contains("no interval"));
        let cut = [&LOG[..LOG.len() - 60], b"\n"].concat();
        let error = parse_log(&cut, TimeUnit::Nanos).unwrap_err();
        assert_eq!((error.line, error.field.as_str()), (Some(8), "histogram"));
    }

    #[test]
    fn a_torn_last_line_leaves_the_whole_intervals() {
        let intervals = |log: &[u8]| {
            parse_log(log, TimeUnit::Nanos)
                .unwrap()
                .loads
                .remove(0)
                .intervals
        };
        let all = intervals(LOG);
        for cut in [60, 100, 2] {
            assert_eq!(
                intervals(&LOG[..LOG.len() - cut]),
                all[..all.len() - 1],
                "{cut}"
            );
        }
        // A log of nothing but a torn line is none.
        assert!(parse_log(b"0.000,1.0", TimeUnit::Nanos).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_wild(bytes: Vec<u8>, at in 0_usize..4000, byte: u8) {
            let _ = counts(&bytes, TimeUnit::Nanos);
            let _ = unpacked(&bytes);
            let _ = parse_log(&bytes, TimeUnit::Nanos);
            let mut damaged = LOG.to_vec();
            let at = at % damaged.len();
            damaged[at] = byte;
            let _ = parse_log(&damaged, TimeUnit::Seconds);
        }
    }
}

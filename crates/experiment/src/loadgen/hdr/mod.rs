//! HdrHistogram's compressed forms (base64 of zlib of counts: V2 as zigzag LEB128, V0 and V1 of a
//! fixed size), and its interval logs.
//!
//! Source: `AbstractHistogram.encodeIntoCompressedByteBuffer` of HdrHistogram; the fixture was written by its version
//! 2.1.11.

use data_encoding::BASE64;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

use crate::base::histogram::distribution::{Distribution, Grain};
use crate::run::plan::TimeUnit;

mod log;

pub(super) use log::parse_log;

/// The versions of the format, by the cookies of the compressed form and of the plain one within it; the size of a
/// count is in their second-lowest digit.
const COOKIES: [(u32, u32, Version); 3] = [
    (0x1c84_9309, 0x1c84_9308, Version::V0),
    (0x1c84_9302, 0x1c84_9301, Version::V1),
    (0x1c84_9304, 0x1c84_9303, Version::V2),
];

/// The encoding of counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    /// Fixed size, after a header without their length (HdrHistogram before 2.1).
    V0,
    /// Fixed size (HdrHistogram 2.1 to 2.1.6).
    V1,
    /// Variable size.
    V2,
}

/// Longer than any useful histogram: one of five digits and all of 64 bits.
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
    if !COOKIES.iter().any(|it| it.0 == cookie & !0xf0) {
        return Err(format!(
            "its cookie {cookie:#x} is not that of a compressed histogram, version 0 to 2; let \
             HistogramLogWriter of HdrHistogram write it, of whole values (no DoubleHistogram)"
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
    let header = Header::read(&mut reader)?;
    let Header { digits, lowest, .. } = header;
    if digits > 5 || lowest == 0 || header.ratio != 1.0 {
        return Err(format!(
            "{digits} digits, lowest value {lowest}, ratio {}: not a histogram of whole values",
            header.ratio
        ));
    }
    let layout = Layout::new(digits, lowest);
    let length = header.length.unwrap_or(reader.0.len());
    let mut payload = Bytes(reader.take(length)?);
    let mut all = Distribution::new(Grain::Bucket, lowest.saturating_mul(unit.nanos()));
    let mut index = 0_u64;
    while !payload.0.is_empty() {
        let count = header.count(&mut payload)?;
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

/// The header before the counts.
struct Header {
    version: Version,
    /// Bytes of one count, if that is fixed.
    word: u32,
    /// Bytes of all counts; `None` if they extend to the end.
    length: Option<usize>,
    digits: u32,
    lowest: u64,
    ratio: f64,
}

impl Header {
    fn read(reader: &mut Bytes<'_>) -> Result<Self, String> {
        let cookie = reader.u32()?;
        let known = COOKIES.iter().find(|it| it.1 == cookie & !0xf0);
        let (.., version) = *known
            .ok_or_else(|| format!("its inner cookie {cookie:#x} is not that of version 0 to 2"))?;
        let length = match version {
            Version::V0 => None,
            Version::V1 | Version::V2 => {
                let length = reader.u32()? as usize;
                let _normalizing_offset = reader.u32()?;
                Some(length)
            }
        };
        let (digits, lowest, _highest) = (reader.u32()?, reader.u64()?, reader.u64()?);
        let last = reader.u64()?;
        Ok(Self {
            version,
            word: cookie >> 4 & 0xf,
            length,
            digits,
            lowest,
            ratio: match version {
                Version::V0 => 1.0,
                Version::V1 | Version::V2 => f64::from_bits(last),
            },
        })
    }

    /// The next count; negative for a run of zeros.
    fn count(&self, payload: &mut Bytes<'_>) -> Result<i64, String> {
        if self.version == Version::V2 {
            return payload.zigzag();
        }
        let count = match self.word {
            2 => payload
                .take(2)?
                .iter()
                .fold(0, |all, &byte| all << 8 | u64::from(byte)),
            4 => u64::from(payload.u32()?),
            8 => payload.u64()?,
            other => return Err(format!("counts of {other} bytes")),
        };
        i64::try_from(count).map_err(|_| "a count beyond 63 bits".to_owned())
    }
}

/// The values counted at an index: `getValueFromIndex` of HdrHistogram.
struct Layout {
    /// log2 of half the number of sub-buckets.
    half_bits: u32,
    /// log2 of the lowest distinguishable value.
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

    /// The largest value counted at an index.
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

/// The remaining bytes.
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

    /// Zigzag LEB128 of at most nine bytes, the ninth with all eight bits: `ZigZagEncoding.getLong`.
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

    /// The third histogram of the log in an older form, with counts of so many bytes.
    fn older(version: Version, word: u32) -> String {
        let line = std::str::from_utf8(LOG)
            .expect("text")
            .lines()
            .last()
            .expect("a line");
        let packed = BASE64.decode(line.rsplit(',').next().expect("four fields").as_bytes());
        let new = unpacked(&packed.expect("base64")).expect("zlib");
        let mut reader = Bytes(&new);
        let header = Header::read(&mut reader).expect("a header");
        let mut payload = Vec::new();
        while !reader.0.is_empty() {
            let count = reader.zigzag().expect("a count");
            let zeros = if count < 0 { count.unsigned_abs() } else { 0 };
            payload.extend(std::iter::repeat_n(0, zeros as usize * word as usize));
            if count >= 0 {
                payload.extend(&count.to_be_bytes()[8 - word as usize..]);
            }
        }
        let cookies = COOKIES.iter().find(|it| it.2 == version).expect("known");
        let mut plain = (cookies.1 | word << 4).to_be_bytes().to_vec();
        if version == Version::V1 {
            plain.extend((payload.len() as u32).to_be_bytes());
            plain.extend([0; 4]);
        }
        plain.extend(header.digits.to_be_bytes());
        plain.extend(header.lowest.to_be_bytes());
        plain.extend(1_000_000_u64.to_be_bytes());
        plain.extend(match version {
            Version::V0 => 2_000_u64.to_be_bytes(),
            _ => 1.0_f64.to_bits().to_be_bytes(),
        });
        plain.extend(payload);
        let zlib = miniz_oxide::deflate::compress_to_vec_zlib(&plain, 6);
        let mut packed = (cookies.0 | word << 4).to_be_bytes().to_vec();
        packed.extend((zlib.len() as u32).to_be_bytes());
        packed.extend(zlib);
        BASE64.encode(&packed)
    }

    #[test]
    fn older_forms_say_the_same() {
        let line = std::str::from_utf8(LOG)
            .expect("text")
            .lines()
            .last()
            .expect("a line");
        let new = decode(
            line.rsplit(',').next().expect("four fields"),
            TimeUnit::Nanos,
        );
        let new = new.expect("a histogram");
        for (version, word) in [
            (Version::V0, 8),
            (Version::V1, 8),
            (Version::V1, 4),
            (Version::V1, 2),
        ] {
            let old = decode(&older(version, word), TimeUnit::Nanos);
            assert_eq!(old.as_ref(), Ok(&new), "{word}");
        }
        let odd = decode(&older(Version::V1, 3), TimeUnit::Nanos);
        assert_eq!(odd, Err("counts of 3 bytes".to_owned()));
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
        // A log that consists of a torn line is invalid.
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

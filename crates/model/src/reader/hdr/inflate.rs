//! zlib and deflate, as far as a histogram needs them: everything but a preset dictionary.
//!
//! Sources: RFC 1950 and RFC 1951. A histogram is a few kilobytes, so codes are read bit by
//! bit, and no table is built for speed.

/// The bytes within a zlib stream, at most `most` of them, with their checksum compared.
pub(super) fn zlib(packed: &[u8], most: usize) -> Result<Vec<u8>, String> {
    let [method, flags, body @ ..] = packed else {
        return Err("its zlib stream is cut off".to_owned());
    };
    let header = u16::from(*method) << 8 | u16::from(*flags);
    if method & 0xf != 8 || !header.is_multiple_of(31) || flags & 0x20 != 0 {
        return Err("it is not a zlib stream".to_owned());
    }
    let mut input = Bits {
        bytes: body,
        bit: 0,
    };
    let plain = blocks(&mut input, most).ok_or("its zlib stream is damaged or too long")?;
    let checksum = input.after().get(..4).ok_or("its zlib stream is cut off")?;
    let told = checksum
        .iter()
        .fold(0, |all, &byte| all << 8 | u32::from(byte));
    if told != adler(&plain) {
        return Err("the checksum of its zlib stream is wrong".to_owned());
    }
    Ok(plain)
}

/// Adler-32.
fn adler(bytes: &[u8]) -> u32 {
    let (a, b) = bytes.iter().fold((1_u32, 0_u32), |(a, b), &byte| {
        let a = (a + u32::from(byte)) % 65_521;
        (a, (b + a) % 65_521)
    });
    b << 16 | a
}

/// Bits, the lowest of each byte first.
struct Bits<'a> {
    bytes: &'a [u8],
    bit: usize,
}

impl Bits<'_> {
    fn one(&mut self) -> Option<usize> {
        let byte = self.bytes.get(self.bit / 8)?;
        let bit = byte >> (self.bit % 8) & 1;
        self.bit += 1;
        Some(usize::from(bit))
    }

    fn take(&mut self, count: usize) -> Option<usize> {
        (0..count).try_fold(0, |all, place| Some(all | self.one()? << place))
    }

    /// The whole bytes that were not begun.
    fn after(&self) -> &[u8] {
        self.bytes.get(self.bit.div_ceil(8)..).unwrap_or_default()
    }
}

fn blocks(input: &mut Bits<'_>, most: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    loop {
        let last = input.one()? == 1;
        match input.take(2)? {
            0 => stored(input, &mut out, most)?,
            1 => {
                let (literals, distances) = fixed();
                coded(input, &mut out, most, &literals, &distances)?;
            }
            2 => {
                let (literals, distances) = dynamic(input)?;
                coded(input, &mut out, most, &literals, &distances)?;
            }
            _ => return None,
        }
        if last {
            return Some(out);
        }
    }
}

fn stored(input: &mut Bits<'_>, out: &mut Vec<u8>, most: usize) -> Option<()> {
    input.bit = input.bit.div_ceil(8) * 8;
    let length = input.take(16)?;
    if input.take(16)? != length ^ 0xffff || out.len() + length > most {
        return None;
    }
    out.extend(input.after().get(..length)?);
    input.bit += 8 * length;
    Some(())
}

/// A canonical Huffman code: how many codes each length has, and the symbols in their order.
struct Code {
    counts: [usize; 16],
    symbols: Vec<usize>,
}

impl Code {
    fn new(lengths: &[usize]) -> Self {
        let mut counts = [0; 16];
        lengths.iter().for_each(|&length| counts[length] += 1);
        counts[0] = 0;
        let mut symbols: Vec<usize> = (0..lengths.len()).filter(|&s| lengths[s] > 0).collect();
        symbols.sort_by_key(|&symbol| lengths[symbol]);
        Self { counts, symbols }
    }

    fn read(&self, input: &mut Bits<'_>) -> Option<usize> {
        let (mut code, mut first, mut index) = (0, 0, 0);
        for count in &self.counts[1..] {
            code |= input.one()?;
            // A set of lengths with too many codes: `first` would run past `code`.
            let above = code.checked_sub(first)?;
            if above < *count {
                return self.symbols.get(index + above).copied();
            }
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        None
    }
}

fn fixed() -> (Code, Code) {
    let mut lengths = [8; 288];
    lengths[144..256].fill(9);
    lengths[256..280].fill(7);
    (Code::new(&lengths), Code::new(&[5; 30]))
}

fn dynamic(input: &mut Bits<'_>) -> Option<(Code, Code)> {
    const ORDER: [usize; 19] = [
        16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
    ];
    let (literals, distances, used) =
        (input.take(5)? + 257, input.take(5)? + 1, input.take(4)? + 4);
    let mut lengths = [0; 19];
    for &place in &ORDER[..used] {
        lengths[place] = input.take(3)?;
    }
    let code = Code::new(&lengths);
    let mut lengths = Vec::with_capacity(literals + distances);
    while lengths.len() < literals + distances {
        let (length, times) = match code.read(input)? {
            16 => (*lengths.last()?, input.take(2)? + 3),
            17 => (0, input.take(3)? + 3),
            18 => (0, input.take(7)? + 11),
            length => (length, 1),
        };
        lengths.extend(std::iter::repeat_n(length, times));
    }
    let (first, rest) = lengths.split_at_checked(literals)?;
    (rest.len() == distances).then(|| (Code::new(first), Code::new(rest)))
}

/// Lengths of copies from symbol 257 on: the least, and how many bits are added.
const LENGTHS: [(usize, usize); 29] = [
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 1),
    (13, 1),
    (15, 1),
    (17, 1),
    (19, 2),
    (23, 2),
    (27, 2),
    (31, 2),
    (35, 3),
    (43, 3),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 4),
    (115, 4),
    (131, 5),
    (163, 5),
    (195, 5),
    (227, 5),
    (258, 0),
];

/// The least distance of a symbol and how many bits are added.
fn distance(symbol: usize) -> Option<(usize, usize)> {
    match symbol {
        0..4 => Some((symbol + 1, 0)),
        4..30 => {
            let bits = symbol / 2 - 1;
            Some((((2 + symbol % 2) << bits) + 1, bits))
        }
        _ => None,
    }
}

fn coded(
    input: &mut Bits<'_>,
    out: &mut Vec<u8>,
    most: usize,
    literals: &Code,
    distances: &Code,
) -> Option<()> {
    loop {
        let symbol = literals.read(input)?;
        if symbol == 256 {
            return Some(());
        }
        if let Ok(literal) = u8::try_from(symbol) {
            out.push(literal);
        } else {
            let (least, bits) = *LENGTHS.get(symbol - 257)?;
            let length = least + input.take(bits)?;
            let (least, bits) = distance(distances.read(input)?)?;
            let from = out.len().checked_sub(least + input.take(bits)?)?;
            for at in from..from + length {
                out.push(out[at]);
            }
        }
        if out.len() > most {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Made by Python's zlib: stored (level 0), fixed codes (a short text), dynamic codes.
    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        let text = |pair: &[u8]| String::from_utf8_lossy(pair).into_owned();
        let byte = |pair: &[u8]| u8::from_str_radix(&text(pair), 16).expect("hex");
        digits.chunks(2).map(byte).collect()
    }

    #[test]
    fn every_kind_of_block_is_read() {
        assert_eq!(zlib(&bytes(STORED), 100).as_deref(), Ok(&b"huge pages"[..]));
        assert_eq!(
            zlib(&bytes(FIXED), 100).as_deref(),
            Ok(&b"aaaaaaaaaabaaaaaaaaaab"[..])
        );
        let plain: Vec<u8> = (0..3000_u32).map(|i| (i * i % 251 % 7) as u8).collect();
        assert_eq!(zlib(&bytes(DYNAMIC), 3000), Ok(plain));
        assert!(
            zlib(&bytes(DYNAMIC), 2999)
                .unwrap_err()
                .contains("too long")
        );
    }

    #[test]
    fn damage_is_noticed() {
        let mut damaged = bytes(FIXED);
        let last = damaged.len() - 1;
        damaged[last] ^= 1;
        assert!(zlib(&damaged, 100).unwrap_err().contains("checksum"));
        damaged.truncate(last);
        assert!(zlib(&damaged, 100).unwrap_err().contains("cut off"));
        assert!(zlib(b"PK", 100).unwrap_err().contains("not a zlib"));
    }

    proptest! {
        #[test]
        fn any_bytes_end(bytes: Vec<u8>) {
            let mut input = Bits { bytes: &bytes, bit: 0 };
            if let Some(out) = blocks(&mut input, 10_000) {
                prop_assert!(out.len() <= 10_000);
            }
        }
    }

    const STORED: &str = "\
        7801010a00f5ff68756765207061676573151803da";
    const FIXED: &str = "\
        78da4b4c8481a44404130060000859";
    const DYNAMIC: &str = "\
        78daed8f4b0e4351084211d0fd2fb9dcd7cfeba01b68e2c844013928932ebc474bcde2d823193dd5 \
        1ea2844872137596d3a3a2599aeeea86c8dc8c01a36cc79a84b3545fe94918a8c05823f9355e92bb \
        07356ed84948ecc0bc96b85ede054e9d144839c5fa7c124f96697c4802f4e9f10dbbe88bbee88bbe \
        e88bbee88bbee88bfe27e80fc5b42116";
}

//! Takes the histograms out of a record's text. A server's record consists mostly of pairs of an edge and a count. As
//! binary differences they pack to half the size.

use super::Trouble;

/// The placeholder for a histogram in the text. JSON never contains this byte.
const PLACE: u8 = 0;
const BEGIN: &[u8] = b"[[";
const BETWEEN: &[u8] = b"],[";
const END: &[u8] = b"]]";

/// An edge and its count.
type Pair = (u64, u64);

/// A record in three streams, each of one kind of bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    /// The text, with [`PLACE`] for each histogram.
    pub(super) text: Vec<u8>,
    /// The number of pairs of each histogram, and the differences between successive first numbers.
    pub(super) edges: Vec<u8>,
    /// The second number of each pair.
    pub(super) counts: Vec<u8>,
}

/// Takes the histograms out; `None` if the bytes are not text.
pub(super) fn split(bytes: &[u8]) -> Option<Parts> {
    if bytes.contains(&PLACE) {
        return None;
    }
    let mut parts = Parts::default();
    let mut rest = bytes;
    while let Some((&first, tail)) = rest.split_first() {
        if let Some((pairs, after)) = pairs(rest) {
            parts.add(&pairs);
            rest = after;
        } else {
            parts.text.push(first);
            rest = tail;
        }
    }
    Some(parts)
}

/// Puts the histograms back.
///
/// # Errors
/// The streams are damaged, or the result exceeds `most` bytes.
pub(super) fn join(parts: &Parts, most: usize) -> Result<Vec<u8>, Trouble> {
    let (mut edges, mut counts) = (parts.edges.as_slice(), parts.counts.as_slice());
    let mut bytes = Vec::new();
    for &byte in &parts.text {
        if byte == PLACE {
            put_back(&mut bytes, &mut edges, &mut counts, most)?;
        } else {
            put(&mut bytes, &[byte], most)?;
        }
    }
    match edges.is_empty() && counts.is_empty() {
        true => Ok(bytes),
        false => Err(Trouble::Damaged),
    }
}

fn put(bytes: &mut Vec<u8>, more: &[u8], most: usize) -> Result<(), Trouble> {
    if bytes.len() + more.len() > most {
        return Err(Trouble::TooLarge);
    }
    bytes
        .try_reserve(more.len())
        .map_err(|_| Trouble::NoMemory)?;
    bytes.extend_from_slice(more);
    Ok(())
}

fn put_back(
    bytes: &mut Vec<u8>,
    edges: &mut &[u8],
    counts: &mut &[u8],
    most: usize,
) -> Result<(), Trouble> {
    let mut edge = 0_u64;
    for pair in 0..take(edges)? {
        edge = edge.wrapping_add(take(edges)?);
        let count = take(counts)?;
        put(bytes, if pair == 0 { BEGIN } else { BETWEEN }, most)?;
        put(bytes, format!("{edge},{count}").as_bytes(), most)?;
    }
    put(bytes, END, most)
}

fn take(bytes: &mut &[u8]) -> Result<u64, Trouble> {
    take_number(bytes).ok_or(Trouble::Damaged)
}

impl Parts {
    fn add(&mut self, pairs: &[Pair]) {
        self.text.push(PLACE);
        put_number(&mut self.edges, pairs.len() as u64);
        let mut before = 0;
        for &(edge, count) in pairs {
            // Wrapping subtraction, so that pairs in any order are restored.
            put_number(&mut self.edges, edge.wrapping_sub(before));
            put_number(&mut self.counts, count);
            before = edge;
        }
    }
}

/// Returns the pairs of numbers at the beginning, and the remaining bytes.
fn pairs(bytes: &[u8]) -> Option<(Vec<Pair>, &[u8])> {
    let mut rest = bytes.strip_prefix(BEGIN)?;
    let mut pairs = Vec::new();
    loop {
        let (edge, after) = number(rest)?;
        let (count, after) = number(after.strip_prefix(b",")?)?;
        pairs.push((edge, count));
        if let Some(after) = after.strip_prefix(END) {
            return Some((pairs, after));
        }
        rest = after.strip_prefix(BETWEEN)?;
    }
}

/// Reads a number in the form in which this program writes it.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit());
    let (digits, rest) = bytes.split_at(digits.count());
    let canonical = digits == b"0" || digits.first() != Some(&b'0');
    let text = std::str::from_utf8(digits).ok().filter(|_| canonical)?;
    Some((text.parse().ok()?, rest))
}

/// Writes seven bits per byte, the lowest first; all but the last byte have the highest bit set.
fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..u64::BITS).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip(bytes: &[u8]) -> Vec<u8> {
        join(&split(bytes).unwrap(), usize::MAX).unwrap()
    }

    #[test]
    fn a_histogram_leaves_the_text_as_differences() {
        let parts = split(b"{\"b\":[[1761,1],[1800,300]]}").unwrap();
        assert_eq!(parts.text, b"{\"b\":\0}");
        assert_eq!(parts.edges, [2, 0xe1, 0x0d, 39]);
        assert_eq!(parts.counts, [1, 0xac, 0x02]);
    }

    #[test]
    fn what_only_looks_like_a_histogram_comes_back() {
        for text in [
            "[[]]",
            "[[1,2]",
            "[[01,2]]",
            "[[1,2],[3]]",
            "[[[1,2]]]",
            "[[5,1],[2,0]]",
            "[[18446744073709551615,0],[0,18446744073709551615]]",
            "[[18446744073709551616,1]]",
            "[[1.5,2]]",
            "[[-1,2]]",
        ] {
            assert_eq!(round_trip(text.as_bytes()), text.as_bytes(), "{text}");
        }
    }

    #[test]
    fn damaged_streams_and_too_much_are_refused() {
        let good = split(b"[[1,2],[3,4]]").unwrap();
        assert_eq!(join(&good, 12), Err(Trouble::TooLarge));
        let without = |edges: &[u8], counts: &[u8]| {
            let parts = Parts {
                edges: edges.to_vec(),
                counts: counts.to_vec(),
                ..good.clone()
            };
            join(&parts, 100)
        };
        assert_eq!(without(&[2, 1], &[2, 4]), Err(Trouble::Damaged));
        assert_eq!(without(&[2, 1, 2], &[2]), Err(Trouble::Damaged));
        assert_eq!(without(&[2, 1, 2], &[2, 4, 6]), Err(Trouble::Damaged));
        assert_eq!(without(&[0xff; 11], &[2, 4]), Err(Trouble::Damaged));
    }

    proptest! {
        #[test]
        fn every_text_comes_back(text in "[\\[\\],0-9x]{0,60}") {
            prop_assert_eq!(round_trip(text.as_bytes()), text.as_bytes());
        }

        #[test]
        fn no_streams_make_it_panic(text: Vec<u8>, edges: Vec<u8>, counts: Vec<u8>) {
            let _ = join(&Parts { text, edges, counts }, 1000);
        }
    }
}

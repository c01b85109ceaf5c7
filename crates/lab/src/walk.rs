//! Reads of memory that stays: a chase that gains from huge pages, and a stream that does not.

use crate::Trouble;
use crate::arguments::Arguments;

/// The read order of words.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Each word names a random next one: every read misses the TLB of small pages.
    Chase,
    /// In order.
    Stream,
    /// Never.
    Idle,
}

/// Words read in one unit of work.
const UNIT: usize = 1 << 10;
/// A linear congruence of full period modulo a power of two: the factor is 1 more than a multiple of 4, the step odd.
const FACTOR: u64 = 0xD134_2543_DE82_EF95;
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Filled memory, and the place of the next read.
pub(crate) struct Walk {
    order: Order,
    words: &'static [u64],
    at: usize,
    sum: u64,
}

impl Order {
    /// Reads a flag such as `--order`; `None` without it.
    pub(crate) fn read(arguments: &mut Arguments, flag: &str) -> Result<Option<Self>, Trouble> {
        match arguments.word(flag)?.as_deref() {
            None => Ok(None),
            Some("chase") => Ok(Some(Self::Chase)),
            Some("stream") => Ok(Some(Self::Stream)),
            Some("idle") => Ok(Some(Self::Idle)),
            Some(_) => Err(Trouble::Usage(format!("{flag} is chase, stream or idle"))),
        }
    }
}

/// Returns the bytes of so many MiB, whose number of words must be a power of two.
pub(crate) fn bytes_of(mib: usize) -> Result<usize, Trouble> {
    let bytes = mib.checked_mul(1 << 20).filter(|it| it.is_power_of_two());
    bytes.ok_or_else(|| Trouble::Usage("--mib is a power of two".to_owned()))
}

impl Walk {
    /// Fills the memory, whose number of words is a power of two.
    pub(crate) fn fill(order: Order, words: &'static mut [u64]) -> Self {
        let count = words.len();
        for (at, word) in words.iter_mut().enumerate() {
            *word = next(at, count);
        }
        Self {
            order,
            words,
            at: 0,
            sum: 0,
        }
    }

    /// Does one unit of work.
    pub(crate) fn unit(&mut self) {
        let words = self.words;
        match self.order {
            Order::Chase => {
                for _ in 0..UNIT {
                    self.at = words[self.at] as usize;
                }
            }
            Order::Stream => {
                let part = &words[self.at..(self.at + UNIT).min(words.len())];
                let sum = part.iter();
                self.sum = sum.fold(self.sum, |sum, word| sum.wrapping_add(*word));
                self.at = (self.at + UNIT) % words.len();
            }
            Order::Idle => {}
        }
        std::hint::black_box((self.at, self.sum));
    }

    /// Returns true if no word has changed.
    pub(crate) fn is_same(&self) -> bool {
        let mut words = self.words.iter().enumerate();
        words.all(|(at, word)| *word == next(at, self.words.len()))
    }
}

/// The word that follows this one. The count of words is a power of two.
fn next(at: usize, count: usize) -> u64 {
    let mask = count as u64 - 1;
    (at as u64).wrapping_mul(FACTOR).wrapping_add(STEP) & mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chase_visits_every_word_before_it_comes_back() {
        let count = 1 << 12;
        let mut seen = vec![false; count];
        let mut at = 0;
        for _ in 0..count {
            assert!(!std::mem::replace(&mut seen[at], true));
            at = next(at, count) as usize;
        }
        assert_eq!(at, 0);
    }
}

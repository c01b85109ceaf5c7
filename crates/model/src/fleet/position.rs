//! Where a unit lies between 0 and 1, by a hash that every engine has.

use sha2::{Digest, Sha256};

/// Digits of the hash that are used: 52 bits, which a double holds exactly.
pub const DIGITS: usize = 13;
/// One more than the greatest position.
const WHOLE: u64 = 1 << (4 * DIGITS);

/// A place in [0, 1), in steps of 2^-52: the first 13 hexadecimal digits of the SHA-256 of
/// `SALT/PURPOSE/SUBJECT`.
///
/// SHA-256 and not a faster hash: DuckDB, ClickHouse, Spark, Jinja and Go templates have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(u64);

impl Position {
    /// The position of a subject for one purpose of one experiment.
    #[must_use]
    pub fn of(salt: &str, purpose: &str, subject: &str) -> Self {
        let digest = Sha256::digest(format!("{salt}/{purpose}/{subject}"));
        let first = digest.iter().take(8);
        let bits = first.fold(0_u64, |all, &byte| all << 8 | u64::from(byte));
        Self(bits >> (64 - 4 * DIGITS))
    }

    /// Between 0 and 1.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "52 bits fit into a double")]
    pub fn fraction(self) -> f64 {
        self.0 as f64 / WHOLE as f64
    }
}

/// The least position that lies no longer below a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Threshold(u64);

impl Threshold {
    /// The threshold of a share between 0 and 1; shares beyond are cut.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 2^52, which a double holds exactly"
    )]
    pub fn at(share: f64) -> Self {
        Self((share.clamp(0.0, 1.0) * WHOLE as f64).round() as u64)
    }

    /// Whether a position lies below.
    #[must_use]
    pub fn is_above(self, position: Position) -> bool {
        position.0 < self.0
    }

    /// Whether every position lies below.
    #[must_use]
    pub fn is_all(self) -> bool {
        self.0 >= WHOLE
    }

    /// Whether no position lies below.
    #[must_use]
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// As digits that compare with those of a hash as text does.
    #[must_use]
    pub fn digits(self) -> String {
        format!("{:0DIGITS$x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `printf 'salt/arm/host-1' | sha256sum`.
    #[test]
    fn the_position_is_the_start_of_the_hash() {
        let position = Position::of("salt", "arm", "host-1");
        assert_eq!(format!("{:013x}", position.0), "cbda4db4241ff");
    }

    #[test]
    fn thresholds_compare_as_their_digits_do() {
        for (share, digits) in [
            (0.0, "0000000000000"),
            (0.5, "8000000000000"),
            (0.25, "4000000000000"),
        ] {
            assert_eq!(Threshold::at(share).digits(), digits);
        }
        assert!(Threshold::at(1.0).is_all() && Threshold::at(0.0).is_none());
        let position = Position::of("salt", "arm", "host-1");
        assert_eq!(
            Threshold::at(0.5).is_above(position),
            position.fraction() < 0.5
        );
    }
}

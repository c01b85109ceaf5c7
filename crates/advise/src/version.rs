//! Versions as projects write them, their order, and version ranges.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

/// How a project numbers its versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Dotted numbers; the suffix of a distribution is ignored.
    #[default]
    Dotted,
    /// Dotted numbers. `1.8.0_402` and `8u402` mean 8.0.402.
    Jdk,
}

/// A version that can be compared.
#[derive(Clone, Debug)]
pub struct Version {
    numbers: Vec<u64>,
    early: Option<Early>,
}

/// A pre-release version, as in `17beta1`: its stage and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Early {
    stage: u8,
    number: u64,
}

/// Words for pre-release stages, and their order. A single letter counts only directly after a number, as in
/// `3.15.0a2`.
const STAGES: [(&str, u8); 11] = [
    ("snapshot", 0),
    ("dev", 0),
    ("ea", 0),
    ("alpha", 1),
    ("beta", 2),
    ("pre", 3),
    ("rc", 4),
    ("devel", 0),
    ("a", 1),
    ("b", 2),
    ("m", 1),
];

impl Version {
    /// Parses a version; `None` if it has no number.
    #[must_use]
    pub fn parse(text: &str, order: Order) -> Option<Self> {
        let text = text.trim();
        let text = match text.split_once(':') {
            // The epoch of a Debian package.
            Some((epoch, rest)) if epoch.bytes().all(|b| b.is_ascii_digit()) => rest,
            _ => text,
        };
        let start = text.find(|c: char| c.is_ascii_digit())?;
        let (mut numbers, rest) = numbers(&text[start..], order);
        if order == Order::Jdk && numbers.len() > 1 && numbers[0] == 1 {
            numbers.remove(0);
        }
        let early = early(rest);
        Some(Self { numbers, early })
    }
}

/// Splits off the leading numbers; returns them and the rest.
fn numbers(text: &str, order: Order) -> (Vec<u64>, &str) {
    let mut numbers = Vec::new();
    let mut rest = text;
    loop {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        numbers.push(rest[..digits].parse().unwrap_or(u64::MAX));
        rest = &rest[digits..];
        let mut following = rest.chars();
        let separator = following.next();
        let joined = match separator {
            Some('.' | '_') => true,
            Some('u') if order == Order::Jdk && numbers.len() == 1 => {
                // In the `8u402` form the middle number is 0.
                numbers.push(0);
                true
            }
            _ => false,
        };
        if !(joined && following.next().is_some_and(|c| c.is_ascii_digit())) {
            return (numbers, rest);
        }
        rest = &rest[1..];
    }
}

fn early(rest: &str) -> Option<Early> {
    let words = rest.trim_start_matches(['-', '~', '.']);
    let attached = words.len() == rest.len();
    let word: String = words
        .chars()
        .take_while(char::is_ascii_alphabetic)
        .collect::<String>()
        .to_ascii_lowercase();
    let (_, stage) = STAGES.into_iter().find(|(name, _)| *name == word)?;
    let behind = words[word.len()..].trim_start_matches(['-', '.']);
    let digits: String = behind.chars().take_while(char::is_ascii_digit).collect();
    if word.len() == 1 && (!attached || digits.is_empty()) {
        return None;
    }
    let number = digits.parse().unwrap_or(0);
    Some(Early { stage, number })
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let length = self.numbers.len().max(other.numbers.len());
        let number = |of: &Self, place: usize| of.numbers.get(place).copied().unwrap_or(0);
        (0..length)
            .map(|place| number(self, place).cmp(&number(other, place)))
            .find(|order| order.is_ne())
            .unwrap_or_else(|| match (self.early, other.early) {
                (None, None) => Ordering::Equal,
                (None, Some(_)) => Ordering::Greater,
                (Some(_), None) => Ordering::Less,
                (Some(own), Some(others)) => own.cmp(&others),
            })
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Version {}

/// Comparison of two ordered values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `=`
    Equal,
    /// `!=`
    Unequal,
    /// `>=`
    AtLeast,
    /// `>`
    Above,
}

impl Relation {
    /// Returns true if the relation is satisfied by this ordering of left and right.
    #[must_use]
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Below => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::Equal => order.is_eq(),
            Self::Unequal => order.is_ne(),
            Self::AtLeast => order.is_ge(),
            Self::Above => order.is_gt(),
        }
    }

    /// Returns the negated relation.
    #[must_use]
    pub fn contrary(self) -> Self {
        match self {
            Self::Below => Self::AtLeast,
            Self::AtMost => Self::Above,
            Self::Equal => Self::Unequal,
            Self::Unequal => Self::Equal,
            Self::AtLeast => Self::Below,
            Self::Above => Self::AtMost,
        }
    }

    /// The relation in words, as an infix.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Below => "is below",
            Self::AtMost => "is at most",
            Self::Equal => "is",
            Self::Unequal => "is not",
            Self::AtLeast => "is at least",
            Self::Above => "is above",
        }
    }

    /// Splits off a leading relation; returns it and the rest.
    pub(super) fn split(text: &str) -> Option<(Self, &str)> {
        const SIGNS: [(&str, Relation); 7] = [
            ("<=", Relation::AtMost),
            (">=", Relation::AtLeast),
            ("==", Relation::Equal),
            ("!=", Relation::Unequal),
            ("<", Relation::Below),
            (">", Relation::Above),
            ("=", Relation::Equal),
        ];
        SIGNS
            .iter()
            .find_map(|(sign, relation)| Some((*relation, text.strip_prefix(sign)?)))
    }
}

/// Versions between bounds: `>= 4.0, < 6.2 or >= 7.0`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Range {
    text: String,
    alternatives: Vec<Vec<(Relation, String)>>,
}

impl Range {
    /// Returns true if the range contains a version.
    #[must_use]
    pub fn contains(&self, version: &Version, order: Order) -> bool {
        let inside = |(relation, bound): &(Relation, String)| {
            Version::parse(bound, order).is_some_and(|bound| relation.holds(version.cmp(&bound)))
        };
        self.alternatives
            .iter()
            .any(|bounds| bounds.iter().all(inside))
    }

    /// Returns true if the range has no upper bound, so it applies to the newest version.
    #[must_use]
    pub fn is_open_above(&self) -> bool {
        let rises = |(relation, _): &(Relation, String)| {
            matches!(relation, Relation::AtLeast | Relation::Above)
        };
        let mut alternatives = self.alternatives.iter();
        alternatives.any(|bounds| bounds.iter().all(rises))
    }

    /// The range in words: `at least 4.0 and below 6.2, or at least 7.0`.
    #[must_use]
    pub fn words(&self) -> String {
        let alternatives = self.alternatives.iter().map(|bounds| {
            let bounds = bounds.iter();
            let words = bounds.map(|(relation, bound)| format!("{} {bound}", relation.words()));
            words.collect::<Vec<_>>().join(" and ")
        });
        let words: Vec<_> = alternatives.collect();
        words
            .join(", or ")
            .replacen("is ", "", 1)
            .replace(" is ", " ")
    }

    /// Returns true if the bounds of each alternative are in ascending order.
    #[must_use]
    pub fn is_ordered(&self, order: Order) -> bool {
        let rise = |bounds: &Vec<(Relation, String)>| {
            let bounds = bounds.iter();
            bounds
                .map(|(_, bound)| Version::parse(bound, order))
                .is_sorted()
        };
        self.alternatives.iter().all(rise)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TryFrom<String> for Range {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let bound = |part: &str| {
            let (relation, version) =
                Relation::split(part.trim()).ok_or_else(|| format!("`{part}`: no < or >="))?;
            let version = version.trim();
            Version::parse(version, Order::Dotted)
                .map(|_| (relation, version.to_owned()))
                .ok_or_else(|| format!("`{part}`: no version"))
        };
        let alternative = |part: &str| part.split(',').map(bound).collect();
        let alternatives = text
            .split(" or ")
            .map(alternative)
            .collect::<Result<_, _>>()?;
        Ok(Self { text, alternatives })
    }
}

impl From<Range> for String {
    fn from(range: Range) -> Self {
        range.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each line is sorted in ascending order.
    const LINES: [(Order, &[&str]); 9] = [
        (
            Order::Jdk,
            &[
                "1.7.0_80",
                "1.8.0_392",
                "8u402",
                "11.0.2+9",
                "17-ea+3",
                "17",
                "17.0.8.1",
                "17.0.10+7-Debian-1",
                "25.0.1",
                "25.0.2",
            ],
        ),
        (
            Order::Dotted,
            &[
                "go1.9",
                "go1.21rc2",
                "go1.21.0",
                "go1.21.6",
                "go1.22rc1",
                "go1.22",
                "go1.26.1",
            ],
        ),
        (
            Order::Dotted,
            &[
                "9.6.24",
                "10.1",
                "17beta1",
                "17rc1",
                "17.0",
                "17.2 (Debian 17.2-1.pgdg120+1)",
                "18",
            ],
        ),
        (
            Order::Dotted,
            &["2.2.5", "2.31-0ubuntu9.9", "2.36-9+deb12u4", "2.43"],
        ),
        (
            Order::Dotted,
            &[
                "4.18.0-553.el8_10.x86_64",
                "5.14.0-427.el9",
                "6.1.0-25-amd64",
                "6.12-rc3",
                "6.12",
                "6.12.8-1-amd64",
                "6.18.44",
                "7.0.0-rc1",
                "7.0",
                "7.2-arch1-1",
            ],
        ),
        (
            Order::Dotted,
            &[
                "3.9.2",
                "3.13.0",
                "3.15.0a2",
                "3.15.0b1",
                "3.15.0rc1",
                "3.15.0",
            ],
        ),
        (
            Order::Dotted,
            &["5:7.0.15~rc1-1", "5:7.0.15-1~deb12u4", "7.2", "1:8.0"],
        ),
        (Order::Dotted, &["v18.20.4+dfsg-1", "20.0.0"]),
        (
            Order::Dotted,
            &["252.39-1~deb12u1", "259~rc1", "259", "260.1"],
        ),
    ];

    #[test]
    fn versions_are_ordered() {
        for (order, line) in LINES {
            let versions: Vec<_> = line
                .iter()
                .map(|text| Version::parse(text, order).unwrap())
                .collect();
            for (place, pair) in versions.windows(2).enumerate() {
                assert!(pair[0] < pair[1], "{} < {}", line[place], line[place + 1]);
            }
        }
        let same = |one: &str, other: &str| {
            assert_eq!(
                Version::parse(one, Order::Jdk),
                Version::parse(other, Order::Jdk)
            );
        };
        same("1.8.0_402-b06", "8u402");
        same("25", "25.0.0+36-LTS");
        assert!(Version::parse("unknown", Order::Dotted).is_none());
    }

    #[test]
    fn ranges_hold_versions_between_their_bounds() {
        let range = Range::try_from(">= 4.0, < 6.2 or >= 7.0".to_owned()).unwrap();
        for (version, inside) in [("3.9", false), ("4", true), ("6.2", false), ("7.0.1", true)] {
            let version = Version::parse(version, Order::Dotted).unwrap();
            assert_eq!(
                range.contains(&version, Order::Dotted),
                inside,
                "{version:?}"
            );
        }
        assert!(range.is_ordered(Order::Dotted));
        let range = Range::try_from("< 2, >= 1".to_owned()).unwrap();
        assert!(!range.is_ordered(Order::Dotted));
        assert!(Range::try_from("4.0".to_owned()).is_err());
    }
}

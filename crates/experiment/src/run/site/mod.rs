//! Mapping sites: where a program maps its large memory, and which sites are made huge.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

mod choice;
mod identity;

pub use choice::{Chosen, SiteChoice};
pub use identity::Identity;

/// Memory cut into parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arena {
    /// The heap of brk(2).
    Heap,
    /// The static data of the program.
    Data,
    /// A mapping, as in [`Site::Mapping`].
    Mapping {
        /// Its number.
        number: u32,
        /// The binary logarithm of its bytes, rounded down.
        class: u8,
    },
}

/// A source of memory in a program that can hold a huge page.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[serde(try_from = "String", into = "String")]
pub enum Site {
    /// The heap of brk(2): one range that grows.
    Heap,
    /// Static data of the program, such as uninitialised data.
    Data,
    /// The mapping of this number, from 1, among those of its class in its process.
    Mapping {
        /// Its number.
        number: u32,
        /// The binary logarithm of its bytes, rounded down.
        class: u8,
    },
    /// The mappings of one class that one chain of calls makes.
    Chain {
        /// The hash of the frames in the chain.
        hash: u32,
        /// The binary logarithm of their bytes, rounded down.
        class: u8,
    },
    /// The mappings that the code of one file makes.
    Library {
        /// The hash of the file's name.
        hash: u32,
    },
    /// A part of an arena.
    Part {
        /// The arena.
        of: Arena,
        /// Its number, from 1, by rising address.
        number: u32,
    },
    /// All mappings of a running process without a site of their own. Only the switchback of a process by mapping has
    /// it: a tracer meets mappings one by one, so it never knows the others.
    Others,
}

impl From<Arena> for Site {
    fn from(arena: Arena) -> Self {
        match arena {
            Arena::Heap => Self::Heap,
            Arena::Data => Self::Data,
            Arena::Mapping { number, class } => Self::Mapping { number, class },
        }
    }
}

impl Site {
    /// The memory that can be cut into parts; for a part, the arena it was cut from.
    #[must_use]
    pub fn arena(self) -> Option<Arena> {
        match self {
            Self::Heap => Some(Arena::Heap),
            Self::Data => Some(Arena::Data),
            Self::Mapping { number, class } => Some(Arena::Mapping { number, class }),
            Self::Part { of, .. } => Some(of),
            Self::Chain { .. } | Self::Library { .. } | Self::Others => None,
        }
    }
}

/// The size class of so many bytes: the binary logarithm, rounded down.
#[must_use]
pub fn size_class(bytes: u64) -> u8 {
    u8::try_from(bytes.max(1).ilog2()).unwrap_or(u8::MAX)
}

const UNITS: [(u8, char); 4] = [(40, 't'), (30, 'g'), (20, 'm'), (10, 'k')];

fn class_text(class: u8) -> String {
    let unit = UNITS.iter().find(|(log, _)| class >= *log);
    match unit {
        Some((log, letter)) => format!("{}{letter}", 1_u64 << (class - log).min(63)),
        None => format!("{}b", 1_u64 << class.min(63)),
    }
}

fn parse_class(text: &str) -> Option<u8> {
    let (number, letter) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: u64 = number
        .parse()
        .ok()
        .filter(|it: &u64| it.is_power_of_two())?;
    let unit = UNITS.iter().find(|(_, it)| letter == it.to_string());
    let log = match letter {
        "b" => 0,
        _ => unit?.0,
    };
    let class = u8::try_from(number.ilog2()).ok()?.checked_add(log)?;
    (class < 64).then_some(class)
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Heap => f.write_str("heap"),
            Self::Data => f.write_str("data"),
            Self::Mapping { number, class } => write!(f, "{number}-{}", class_text(class)),
            Self::Chain { hash, class } => write!(f, "x{hash:08x}-{}", class_text(class)),
            Self::Library { hash } => write!(f, "l{hash:08x}"),
            Self::Part { of, number } => write!(f, "{}.{number}", Self::from(of)),
            Self::Others => f.write_str("others"),
        }
    }
}

impl FromStr for Site {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse(text).ok_or_else(|| {
            format!(
                "`{text}`: a site is heap, data, NUMBER-SIZE as 1-64m, xHASH-SIZE, lHASH, or a \
                 part as 1-64m.2"
            )
        })
    }
}

fn parse(text: &str) -> Option<Site> {
    if let Some((of, number)) = text.split_once('.') {
        let of = parse(of)?.arena()?;
        let number = positive(number)?;
        return Some(Site::Part { of, number });
    }
    match text {
        "heap" => return Some(Site::Heap),
        "data" => return Some(Site::Data),
        "others" => return Some(Site::Others),
        _ => {}
    }
    let hash = |text: &str| u32::from_str_radix(text, 16).ok();
    let Some((key, class)) = text.split_once('-') else {
        let hash = hash(text.strip_prefix('l')?)?;
        return Some(Site::Library { hash });
    };
    let class = parse_class(class)?;
    match key.strip_prefix('x') {
        Some(key) => hash(key).map(|hash| Site::Chain { hash, class }),
        None => positive(key).map(|number| Site::Mapping { number, class }),
    }
}

fn positive(text: &str) -> Option<u32> {
    text.parse().ok().filter(|&number| number > 0)
}

impl From<Site> for String {
    fn from(site: Site) -> Self {
        site.to_string()
    }
}

impl TryFrom<String> for Site {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn classes_are_powers_of_two() {
        assert_eq!(size_class(2 << 20), 21);
        assert_eq!(size_class((4 << 20) - 1), 21);
        assert_eq!(class_text(21), "2m");
        assert_eq!(class_text(36), "64g");
        assert_eq!(parse_class("3m"), None);
        assert_eq!(parse_class("64g"), Some(36));
    }

    proptest! {
        #[test]
        fn sites_come_back(number in 1_u32.., hash: u32, class in 0_u8..64) {
            let of = Arena::Mapping { number: hash.max(1), class };
            for site in [
                Site::Mapping { number, class },
                Site::Chain { hash, class },
                Site::Library { hash },
                Site::Part { of, number },
                Site::Part { of: Arena::Heap, number },
                Site::Others,
            ] {
                prop_assert_eq!(site.to_string().parse::<Site>(), Ok(site));
            }
        }

        #[test]
        fn no_text_panics(text: String) {
            let _ = text.parse::<Site>();
        }
    }
}

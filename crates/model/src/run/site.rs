//! Where a program maps its large memory: mapping sites, and which of them are made huge.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// By what a mapping is known again in the next run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Identity {
    /// Its size class and its number among the mappings of that class in its process.
    #[default]
    Mapping,
    /// Its size class and the chain of calls that mapped it.
    Chain,
}

impl Identity {
    /// As it is typed.
    pub const WORDS: [&'static str; 2] = ["mapping", "site"];

    /// As it is typed.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Mapping => Self::WORDS[0],
            Self::Chain => Self::WORDS[1],
        }
    }
}

impl FromStr for Identity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Mapping, Self::Chain].into_iter();
        let found = all.into_iter().find(|it| it.word() == text);
        found.ok_or_else(|| format!("`{text}`: expected mapping or site"))
    }
}

/// A place where a program maps memory that can hold a huge page.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[serde(try_from = "String", into = "String")]
pub enum Site {
    /// The heap of brk(2): one range that grows.
    Heap,
    /// Memory that the program has from its file on, such as uninitialised data.
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
        /// Of the frames of the chain.
        hash: u32,
        /// The binary logarithm of their bytes, rounded down.
        class: u8,
    },
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
        }
    }
}

impl FromStr for Site {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault =
            || format!("`{text}`: a site is heap, data, NUMBER-SIZE as 1-64m, or xHASH-SIZE");
        match text {
            "heap" => return Ok(Self::Heap),
            "data" => return Ok(Self::Data),
            _ => {}
        }
        let (key, class) = text.split_once('-').ok_or_else(fault)?;
        let class = parse_class(class).ok_or_else(fault)?;
        match key.strip_prefix('x') {
            Some(hash) => u32::from_str_radix(hash, 16)
                .map(|hash| Self::Chain { hash, class })
                .map_err(|_| fault()),
            None => match key.parse() {
                Ok(number) if number > 0 => Ok(Self::Mapping { number, class }),
                _ => Err(fault()),
            },
        }
    }
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

/// Which sites are made huge; all others are kept small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// Every site.
    All,
    /// These, which may be none.
    These(BTreeSet<Site>),
}

/// A choice of sites, by one identity: `mapping:1-64m+2-16m`.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String", into = "String")]
pub struct Choice {
    /// By what sites are told apart.
    pub by: Identity,
    /// Those that are huge.
    pub huge: Chosen,
}

impl Choice {
    /// These sites.
    #[must_use]
    pub fn of(by: Identity, huge: impl IntoIterator<Item = Site>) -> Self {
        Self {
            by,
            huge: Chosen::These(huge.into_iter().collect()),
        }
    }

    /// Whether a site is huge.
    #[must_use]
    pub fn has(&self, site: Site) -> bool {
        match &self.huge {
            Chosen::All => true,
            Chosen::These(sites) => sites.contains(&site),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = match &self.huge {
            Chosen::All => "all".to_owned(),
            Chosen::These(sites) if sites.is_empty() => "none".to_owned(),
            Chosen::These(sites) => {
                let sites: Vec<String> = sites.iter().map(ToString::to_string).collect();
                sites.join("+")
            }
        };
        write!(f, "{}:{list}", self.by.word())
    }
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault = || {
            format!(
                "`sites={text}`: expected mapping or site, a colon, and all, none or sites with + \
                 between, as in mapping:1-64m+2-16m"
            )
        };
        let (by, list) = text.split_once(':').ok_or_else(fault)?;
        let by: Identity = by.parse().map_err(|_| fault())?;
        let huge = match list {
            "all" => Chosen::All,
            "none" => Chosen::These(BTreeSet::new()),
            list => Chosen::These(list.split('+').map(str::parse).collect::<Result<_, _>>()?),
        };
        let choice = Self { by, huge };
        match choice.foreign() {
            Some(site) => Err(format!("`{site}` is no site by {}", by.word())),
            None => Ok(choice),
        }
    }
}

impl Choice {
    /// A site that the other identity names.
    fn foreign(&self) -> Option<Site> {
        let Chosen::These(sites) = &self.huge else {
            return None;
        };
        let is_foreign = |site: &&Site| match site {
            Site::Heap | Site::Data => false,
            Site::Mapping { .. } => self.by != Identity::Mapping,
            Site::Chain { .. } => self.by != Identity::Chain,
        };
        sites.iter().find(is_foreign).copied()
    }
}

impl From<Choice> for String {
    fn from(choice: Choice) -> Self {
        choice.to_string()
    }
}

impl TryFrom<String> for Choice {
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

    #[test]
    fn choices_are_told_by_their_identity() {
        let choice: Choice = "mapping:1-64m+heap".parse().expect("a choice");
        assert!(choice.has(Site::Heap) && !choice.has(Site::Data));
        for wrong in [
            "1-64m",
            "mapping:",
            "mapping:x00ff-2m",
            "site:1-2m",
            "mapping:0-2m",
        ] {
            assert!(wrong.parse::<Choice>().is_err(), "{wrong}");
        }
        assert!(
            "site:none"
                .parse::<Choice>()
                .is_ok_and(|it| !it.has(Site::Heap))
        );
        assert!(
            "site:all"
                .parse::<Choice>()
                .is_ok_and(|it| it.has(Site::Heap))
        );
    }

    proptest! {
        #[test]
        fn sites_come_back(number in 1_u32.., hash: u32, class in 0_u8..64) {
            for site in [Site::Mapping { number, class }, Site::Chain { hash, class }] {
                prop_assert_eq!(site.to_string().parse::<Site>(), Ok(site));
            }
        }

        #[test]
        fn no_text_panics(text: String) {
            let _ = text.parse::<Choice>();
        }
    }
}

//! The identity of memory across runs.

use std::fmt;
use std::str::FromStr;

use super::{class_text, parse_class};

/// The properties that identify a mapping in the next run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Identity {
    /// Its size class and its number among the mappings of that class in its process.
    #[default]
    Mapping,
    /// Its size class and the chain of calls that mapped it.
    Chain,
    /// The file of the code that asked the C library or the kernel for it.
    Library,
    /// As a mapping, cut into parts of equal size.
    Chunk {
        /// The binary logarithm of the bytes of a part.
        class: u8,
    },
}

impl Identity {
    /// Smaller parts, as a binary logarithm, hold no huge page of 2 MiB.
    const LEAST_PART: u8 = 21;

    /// Parts of the size class of so many bytes.
    #[must_use]
    pub fn chunks(bytes: u64) -> Self {
        Self::Chunk {
            class: super::size_class(bytes).max(Self::LEAST_PART),
        }
    }

    /// The bytes of a part, if memory is cut into parts.
    #[must_use]
    pub fn part_bytes(self) -> Option<u64> {
        match self {
            Self::Chunk { class } => 1_u64.checked_shl(class.into()),
            Self::Mapping | Self::Chain | Self::Library => None,
        }
    }
}

/// As users type it.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Mapping => f.write_str("mapping"),
            Self::Chain => f.write_str("site"),
            Self::Library => f.write_str("library"),
            Self::Chunk { class } => write!(f, "chunk-{}", class_text(class)),
        }
    }
}

impl FromStr for Identity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let part = text.strip_prefix("chunk-").and_then(parse_class);
        match (text, part) {
            ("mapping", _) => Ok(Self::Mapping),
            ("site", _) => Ok(Self::Chain),
            ("library", _) => Ok(Self::Library),
            (_, Some(class)) if class >= Self::LEAST_PART => Ok(Self::Chunk { class }),
            _ => Err(format!(
                "`{text}`: expected mapping, site, library, or chunk-SIZE with a power of two from \
                 2m on, as chunk-64m"
            )),
        }
    }
}

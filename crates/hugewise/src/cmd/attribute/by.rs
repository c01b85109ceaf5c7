//! The kind of sites that the user requests.

use std::str::FromStr;

use hugewise_experiment::run::site::Identity;

/// The kind of sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// A known kind.
    Known(Identity),
    /// Parts of mappings; the size of a part depends on the program's memory.
    Chunk,
}

impl FromStr for By {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "chunk" => Ok(Self::Chunk),
            text => text.parse().map(Self::Known),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_a_size_or_none_yet() {
        assert_eq!("chunk".parse(), Ok(By::Chunk));
        let size = Identity::chunks(64 << 20);
        assert_eq!("chunk-64m".parse(), Ok(By::Known(size)));
        assert!("chunk-63m".parse::<By>().is_err());
    }
}

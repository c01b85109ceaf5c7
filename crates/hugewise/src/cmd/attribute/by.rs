//! What a site is, as it is asked for.

use std::str::FromStr;

use hugewise_experiment::run::site::Identity;

/// What a site is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// This.
    Known(Identity),
    /// A part of a mapping; how large parts are, the memory of the program decides.
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

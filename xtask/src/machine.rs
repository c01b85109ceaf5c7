//! The target machines, with their names in other tools.

use serde::Deserialize;

/// A target machine.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lowercase")]
#[expect(non_camel_case_types, reason = "the names are those of uname(2)")]
pub enum Machine {
    /// 64-bit x86.
    #[value(name = "x86_64")]
    x86_64,
    /// 64-bit Arm.
    aarch64,
}

impl Machine {
    /// Returns Debian's name of the architecture.
    pub fn debian(self) -> &'static str {
        match self {
            Self::x86_64 => "amd64",
            Self::aarch64 => "arm64",
        }
    }

    /// The name of `uname(2)`.
    pub fn name(self) -> &'static str {
        match self {
            Self::x86_64 => "x86_64",
            Self::aarch64 => "aarch64",
        }
    }

    /// Returns the rustc target, with Debian's C library.
    pub fn target(self) -> &'static str {
        match self {
            Self::x86_64 => "x86_64-unknown-linux-gnu",
            Self::aarch64 => "aarch64-unknown-linux-gnu",
        }
    }
}

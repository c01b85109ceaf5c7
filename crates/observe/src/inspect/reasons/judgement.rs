use serde::{Deserialize, Serialize};

use super::Code;

/// Why a stretch of neighbouring huge-page ranges is as it is.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// First address.
    pub start: u64,
    /// First address behind it.
    pub end: u64,
    /// Place of its mapping in [`Space::mappings`](crate::address_space::Space::mappings).
    pub mapping: usize,
    /// Huge-page ranges in it; one that its mapping cuts off counts as one.
    pub ranges: u64,
    /// Bytes in it that are in memory, without zero pages. `None` where no source shows it.
    pub resident_bytes: Option<u64>,
    /// The reason.
    pub code: Code,
    /// How sure that is.
    pub certainty: Certainty,
    /// Why it has not become huge since: what prevents it now, where that is another reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub still: Option<Box<Obstacle>>,
    /// What was read, one fact each; none where no words were asked for.
    pub evidence: Vec<String>,
    /// How to fix it in this process; `None` where nothing can or need be fixed, and where no
    /// words were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair: Option<String>,
}

/// How sure a reason is.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// What was read allows no other reason.
    Proved,
    /// What was read allows these, the likeliest first; the reason given is the first.
    OneOf(Vec<Code>),
    /// Nothing that was read decides it.
    Unknown,
}

/// Why memory that could be huge now has not been made so by khugepaged.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Obstacle {
    /// The reason.
    pub code: Code,
    /// How sure that is.
    pub certainty: Certainty,
    /// What was read, one fact each.
    pub evidence: Vec<String>,
}

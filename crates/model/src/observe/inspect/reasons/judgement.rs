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
    /// Place of its mapping in [`Space::mappings`](crate::observe::address_space::Space::mappings).
    pub mapping: usize,
    /// Huge-page ranges in it; one that its mapping cuts off counts as one.
    pub ranges: u64,
    /// Bytes in it that are in memory, zero pages left out. `None` where no source told.
    pub resident_bytes: Option<u64>,
    /// The reason.
    pub code: Code,
    /// How sure that is.
    pub certainty: Certainty,
    /// Why it has not become huge since: what holds now, where that is another reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub still: Option<Box<Still>>,
    /// What was read, one fact each; none where it was not to be told.
    pub evidence: Vec<String>,
    /// What repairs it, for this range on this machine; `None` where nothing does, where
    /// nothing is to be repaired, and where it was not to be told.
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
pub struct Still {
    /// The reason.
    pub code: Code,
    /// How sure that is.
    pub certainty: Certainty,
    /// What was read, one fact each.
    pub evidence: Vec<String>,
}

use serde::{Deserialize, Serialize};

use super::Code;

/// The reason of a block of neighbouring huge-page ranges.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// First address.
    pub start: u64,
    /// The first address after the last byte.
    pub end: u64,
    /// Index of its mapping in [`Space::mappings`](crate::address_space::Space::mappings).
    pub mapping: usize,
    /// The number of huge-page ranges; a partial range counts as one.
    pub ranges: u64,
    /// Resident memory in bytes, without zero pages. `None` if no source shows it.
    pub resident_bytes: Option<u64>,
    /// The reason.
    pub code: Code,
    /// How certain the reason is.
    pub certainty: Certainty,
    /// The current obstacle to khugepaged, if it differs from the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub still: Option<Box<Obstacle>>,
    /// The evidence, one fact each; empty if no words were requested.
    pub evidence: Vec<String>,
    /// How to fix it in this process; `None` if nothing can or needs to be fixed, or if no words were requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair: Option<String>,
}

/// How certain a reason is.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// The data allows no other reason.
    Proved,
    /// The data allows these reasons, most likely first. The reported reason is the first.
    OneOf(Vec<Code>),
    /// The data does not decide the reason.
    Unknown,
}

/// The reason why khugepaged has not collapsed eligible memory.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Obstacle {
    /// The reason.
    pub code: Code,
    /// How certain the reason is.
    pub certainty: Certainty,
    /// The evidence, one fact each.
    pub evidence: Vec<String>,
}

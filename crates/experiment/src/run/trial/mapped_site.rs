//! The memory that a program mapped at one site.

use serde::{Deserialize, Serialize};

use crate::run::site::Site;

/// What a tree of processes mapped at one site.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct MappedSite {
    /// The site.
    pub site: Site,
    /// How often memory was mapped or grew there.
    pub mappings: u64,
    /// Bytes of address space, of all of them together.
    pub bytes: u64,
    /// The calls of the first mapping, the innermost first; none where they were not looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<Frame>,
    /// What the program calls its memory (`PR_SET_VMA_ANON_NAME`), where it says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its memory at the end of the processes that had it; none where it was unmapped by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_end: Option<SiteMemory>,
}

/// A place in a file of code.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// The path of the file.
    pub file: String,
    /// Where in the file, in bytes.
    pub offset: u64,
}

impl Frame {
    /// The name of the file without its folders.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.file.rsplit('/').next().unwrap_or_default()
    }
}

/// The memory of a site at one time.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct SiteMemory {
    /// Bytes of address space that are still mapped.
    pub mapped_bytes: u64,
    /// Bytes in memory.
    pub resident_bytes: u64,
    /// Bytes that a PMD maps.
    pub huge_bytes: u64,
    /// Bytes of the blocks of one huge page that hold a page in memory: what could be huge. None
    /// where the kernel does not tell pages apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reach_bytes: Option<u64>,
}

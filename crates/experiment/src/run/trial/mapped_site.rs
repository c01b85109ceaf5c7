//! The memory that a program mapped at one site.

use serde::{Deserialize, Serialize};

use crate::run::site::Site;

/// The mappings of a tree of processes at one site.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct MappedSite {
    /// The site.
    pub site: Site,
    /// How often memory was mapped there or grew.
    pub mappings: u64,
    /// Total bytes of address space.
    pub bytes: u64,
    /// The call chain of the first mapping, the innermost call first; empty if it was not recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<Frame>,
    /// The program's name for its memory (`PR_SET_VMA_ANON_NAME`), if it gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its address, if it is one mapping of a process that ran before the experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<u64>,
    /// Its memory at the end of its processes, or of the period in a running one; `None` if it was unmapped by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_end: Option<SiteMemory>,
}

/// A position in a file of code.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// The path of the file.
    pub file: String,
    /// Offset in the file, in bytes.
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
    /// Bytes of address space still mapped.
    pub mapped_bytes: u64,
    /// Bytes in memory.
    pub resident_bytes: u64,
    /// Bytes mapped by a PMD.
    pub huge_bytes: u64,
    /// Bytes in huge-page-sized blocks with a resident page: an upper bound of huge memory. `None` if the kernel does
    /// not report individual pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reach_bytes: Option<u64>,
}

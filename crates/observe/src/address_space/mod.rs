//! One address space: its process, its mappings, and how the pages of each huge-page range are mapped.
//!
//! `hugewise-linux` fills in these types, and [`reason`](crate::inspect::reasons) judges them. They are plain data, so
//! the state of a process can be saved as JSON and judged again on another machine.
//!
//! Pages are not stored one by one. A [`Run`](crate::address_space::Run) covers consecutive equal huge-page ranges,
//! with the number of pages of each kind in one range. A few thousand runs describe 20 GiB of memory and terabytes of
//! empty reservations.

use serde::{Deserialize, Serialize};

use hugewise_base::geometry;
use hugewise_base::missing::{Fact, Missing, fact};

mod contents;
mod flags;
mod mapping;
mod process;
mod run;
#[cfg(test)]
pub(crate) mod test_space;

pub use contents::{Contents, Estimate};
pub use flags::VmFlags;
pub use mapping::{Mapping, MappingKind, Memory, Permissions};
pub use process::{Process, Sort, WordSize};
pub use run::{FolioCount, Frames, Pages, Run};

/// One address space, read once.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Space {
    /// The process.
    pub process: Process,
    /// Size of a base page of this host, in bytes.
    pub page_bytes: u64,
    /// The span of one PMD entry, in bytes: the size of a PMD-mapped huge page, even if this kernel has none.
    pub huge_bytes: u64,
    /// The sources that were read, and why the others were not.
    pub read_with: Sources,
    /// The content of a sample of memory in huge pages; `None` if there are no huge pages.
    #[serde(default = "not_asked", with = "fact")]
    pub contents: Fact<Option<Contents>>,
    /// The mappings, by ascending address, without overlap.
    pub mappings: Vec<Mapping>,
}

fn not_asked() -> Fact<Option<Contents>> {
    Err(Missing::NotAsked)
}

impl Space {
    /// Validates the page sizes of a space that was read from a file.
    ///
    /// # Errors
    /// Returns the invalid field, and why it is invalid.
    pub fn check(&self) -> Result<(), String> {
        let huge = Some(("huge_bytes", self.huge_bytes));
        geometry::check(("page_bytes", self.page_bytes), huge, None)
    }

    /// A command line that runs with root rights on this process, in the form that the reader has to type. Only root
    /// can read the frames.
    #[must_use]
    pub fn as_root(&self, command: &str) -> String {
        match self.read_with.frames {
            Source::Missing(Missing::NotPermitted { .. }) => format!("sudo {command}"),
            _ => command.to_owned(),
        }
    }

    /// Returns true if a source shows the present pages.
    #[must_use]
    pub fn pages_were_read(&self) -> bool {
        self.read_with.page_scan.is_read() || self.read_with.page_map.is_read()
    }

    /// The number of pages in one huge-page range.
    #[must_use]
    pub fn pages_per_range(&self) -> u64 {
        (self.huge_bytes / self.page_bytes.max(1)).max(1)
    }

    /// Returns true if a mapping has the shape of a thread stack: private writable memory without a name above a guard.
    /// The guard is a separate mapping or the first pages of this one (glibc since 2.42). A guard that was mapped
    /// together with the stack also has the kernel's flag; a guard next to other memory does not.
    #[must_use]
    pub fn is_stack_shaped(&self, index: usize) -> bool {
        let Some(mapping) = self.mappings.get(index) else {
            return false;
        };
        let plain = mapping.kind == MappingKind::Anonymous
            && mapping.permissions.write()
            && !mapping.permissions.shared();
        let below = index
            .checked_sub(1)
            .and_then(|below| self.mappings.get(below));
        let guard_below = below.is_some_and(|below| {
            let touches = below.end == mapping.start;
            touches && !below.permissions.any() && below.flags().has("nh")
        });
        let guard_inside = mapping
            .runs
            .first()
            .is_some_and(|run| run.start == mapping.start && run.pages.guard.unwrap_or(0) > 0);
        plain && (guard_below || guard_inside)
    }
}

/// The sources of an address space. Each one has data that the others lack.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Sources {
    /// `/proc/PID/smaps`: totals and flags of each mapping. Without it only addresses, permissions and names are known
    /// (`/proc/PID/maps`).
    pub smaps: Source,
    /// `ioctl(PAGEMAP_SCAN)` on `/proc/PID/pagemap` (Linux 6.7): which pages are present, which a PMD maps, and which
    /// are zero pages. Needs the same rights as smaps.
    pub page_scan: Source,
    /// The entries of `/proc/PID/pagemap`: which pages are present or swapped. Read if the scan is not available.
    pub page_map: Source,
    /// `/proc/kpageflags` and `/proc/kpagecount` by frame number: the folio of a page, and whether other processes map
    /// it. Needs CAP_SYS_ADMIN.
    pub frames: Source,
}

/// The state of a source.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Read.
    Read,
    /// Partly read: a sample of uniform ranges that represents the rest.
    Sampled(Sampled),
    /// Not read, with the reason.
    Missing(Missing),
}

/// A sample of huge-page ranges.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Sampled {
    /// The number of ranges that the sample represents.
    pub ranges: u64,
    /// The number of ranges that were read.
    pub looked_at: u64,
}

impl Source {
    /// Returns why it was not read.
    #[must_use]
    pub fn missing(&self) -> Option<&Missing> {
        match self {
            Self::Missing(why) => Some(why),
            Self::Read | Self::Sampled(_) => None,
        }
    }

    /// Returns true if all or a sample of it was read.
    #[must_use]
    pub fn is_read(&self) -> bool {
        matches!(self, Self::Read | Self::Sampled(_))
    }
}

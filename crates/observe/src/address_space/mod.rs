//! One address space: who it belongs to, its mappings, and how the pages of
//! each huge-page range are mapped.
//!
//! `hugewise-linux` fills these in; [`reason`](crate::inspect::reasons) judges them. All of it is plain
//! data, so that a process can be frozen as JSON and judged again elsewhere.
//!
//! Pages are not kept one by one: a [`Run`](crate::address_space::Run) tells for a stretch of equal huge-page ranges how
//! many pages each of them holds, by kind. So 20 GiB of memory and terabytes of empty
//! reservations are a few thousand runs.

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
    /// The process that owns it.
    pub process: Process,
    /// Size of a base page of this host, in bytes.
    pub page_bytes: u64,
    /// What one entry of the second-lowest page table maps, in bytes: the size of a PMD-mapped
    /// huge page, whether or not this kernel has them.
    pub huge_bytes: u64,
    /// What it was read with, and why not with more.
    pub read_with: Sources,
    /// What a sample of the memory in huge pages holds; `None` where there is none.
    #[serde(default = "not_asked", with = "fact")]
    pub contents: Fact<Option<Contents>>,
    /// The mappings, by rising address, without overlap.
    pub mappings: Vec<Mapping>,
}

fn not_asked() -> Fact<Option<Contents>> {
    Err(Missing::NotAsked)
}

impl Space {
    /// Refuses sizes of pages that no machine has, in a space that was read from a file.
    ///
    /// # Errors
    /// The field that is wrong, and why.
    pub fn check(&self) -> Result<(), String> {
        let huge = Some(("huge_bytes", self.huge_bytes));
        geometry::check(("page_bytes", self.page_bytes), huge, None)
    }

    /// A command line that root may run on this process, as who read it has to type it: the
    /// frames are what only root can read.
    #[must_use]
    pub fn as_root(&self, command: &str) -> String {
        match self.read_with.frames {
            Source::Missing(Missing::NotPermitted { .. }) => format!("sudo {command}"),
            _ => command.to_owned(),
        }
    }

    /// Whether any source shows which pages are present.
    #[must_use]
    pub fn pages_were_read(&self) -> bool {
        self.read_with.page_scan.is_read() || self.read_with.page_map.is_read()
    }

    /// Pages in one huge-page range.
    #[must_use]
    pub fn pages_per_range(&self) -> u64 {
        (self.huge_bytes / self.page_bytes.max(1)).max(1)
    }

    /// Whether a mapping has the shape of a thread's stack: private writable memory without a
    /// name above a guard, which is a mapping of its own or the first pages of this one (glibc
    /// since 2.42). A guard that was mapped together with the stack has the kernel's flag too;
    /// beside other memory it has not.
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

/// What an address space was read with. Each source answers what the others cannot.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Sources {
    /// `/proc/PID/smaps`: totals and flags of each mapping. Without it only addresses,
    /// permissions and names are known (`/proc/PID/maps`).
    pub smaps: Source,
    /// `ioctl(PAGEMAP_SCAN)` on `/proc/PID/pagemap` (Linux 6.7): which pages are present, and
    /// which of them a PMD maps or are zero pages. Needs no more than smaps does.
    pub page_scan: Source,
    /// The entries of `/proc/PID/pagemap`: which pages are present or swapped. Read where the
    /// scan is not to be had.
    pub page_map: Source,
    /// `/proc/kpageflags` and `/proc/kpagecount` by frame number: in which folio a page lies,
    /// and whether others map it. Needs CAP_SYS_ADMIN.
    pub frames: Source,
}

/// Whether a source was read.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// It was.
    Read,
    /// A part of it, which was alike throughout and stands for the rest.
    Sampled(Sampled),
    /// It was not, and why.
    Missing(Missing),
}

/// A sample of huge-page ranges.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Sampled {
    /// The ranges that it stands for.
    pub ranges: u64,
    /// Of these, the ranges that were looked at.
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

    /// Whether it was read, all of it or a sample.
    #[must_use]
    pub fn is_read(&self) -> bool {
        matches!(self, Self::Read | Self::Sampled(_))
    }
}

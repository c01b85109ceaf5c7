use serde::{Deserialize, Serialize};

use super::{Run, VmFlags};

/// One mapping: a line of `/proc/PID/maps` with what `smaps` says of it.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// First address behind it.
    pub end: u64,
    /// Four letters: `r`, `w`, `x` or `-`, then `p` (private) or `s` (shared).
    pub permissions: Permissions,
    /// Where in the file it begins, in bytes. Zero for anonymous memory.
    pub offset: u64,
    /// Device of the file, as `major:minor`; both are zero for anonymous memory.
    pub device: (u32, u32),
    /// Inode of the file; zero for anonymous memory.
    pub inode: u64,
    /// Path of the file, or a name in brackets such as `[heap]`; empty where there is none.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub name: Box<str>,
    /// What it maps.
    pub kind: MappingKind,
    /// Type of the file system that holds the file, where the mount was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<Box<str>>,
    /// The option `huge=` of that mount, where it has one (tmpfs).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount_huge: Option<Box<str>>,
    /// Totals and flags, where smaps could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// Its pages by huge-page range, by rising address. Ranges without any page are left out,
    /// and so are all ranges where neither the page scan nor the page map could be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<Run>,
}

impl Mapping {
    /// Its size, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// The whole aligned huge-page ranges inside it, as addresses; `None` if there is none.
    #[must_use]
    pub fn whole_ranges(&self, huge_bytes: u64) -> Option<(u64, u64)> {
        let first = self.start.checked_next_multiple_of(huge_bytes)?;
        let last = self.end - self.end % huge_bytes.max(1);
        (first < last).then_some((first, last))
    }

    /// The flags, empty where smaps could not be read.
    #[must_use]
    pub fn flags(&self) -> VmFlags {
        self.memory
            .as_ref()
            .map_or_else(VmFlags::default, |m| m.flags)
    }
}

/// `rwxp`, as the kernel writes it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String", into = "String")]
pub struct Permissions(pub [u8; 4]);

impl Permissions {
    /// Whether it can be written.
    #[must_use]
    pub fn write(self) -> bool {
        self.0[1] == b'w'
    }

    /// Whether it can be used at all.
    #[must_use]
    pub fn any(self) -> bool {
        self.0[..3] != *b"---"
    }

    /// Whether it is shared with others who map the same.
    #[must_use]
    pub fn shared(self) -> bool {
        self.0[3] == b's'
    }
}

impl From<Permissions> for String {
    fn from(permissions: Permissions) -> Self {
        permissions.0.map(char::from).iter().collect()
    }
}

impl TryFrom<String> for Permissions {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let four = <[u8; 4]>::try_from(text.as_bytes());
        match four {
            Ok(four) if four.is_ascii() => Ok(Self(four)),
            _ => Err(format!("`{text}` are no permissions; expected `rwxp`")),
        }
    }
}

/// What a mapping maps: it decides which setting governs its huge pages.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum MappingKind {
    /// Anonymous memory without a special role.
    Anonymous,
    /// The heap that `brk` grows.
    Heap,
    /// The stack of the first thread.
    Stack,
    /// A regular file of a file system on disk or on the network.
    File,
    /// Shared memory of the kernel's own mount: `MAP_SHARED|MAP_ANONYMOUS`, memfd, System V.
    SharedMemory,
    /// A file of a tmpfs that is mounted somewhere, such as `/dev/shm`.
    Tmpfs,
    /// Explicit huge pages.
    Hugetlb,
    /// A device.
    Device,
    /// Pages of the kernel: `[vdso]`, `[vvar]`, `[vsyscall]`.
    Kernel,
}

impl MappingKind {
    /// Whether `enabled` of transparent_hugepage governs it.
    #[must_use]
    pub fn is_anonymous(self) -> bool {
        matches!(self, Self::Anonymous | Self::Heap | Self::Stack)
    }

    /// Whether `shmem_enabled` or the mount's `huge=` governs it.
    #[must_use]
    pub fn is_shmem(self) -> bool {
        matches!(self, Self::SharedMemory | Self::Tmpfs)
    }
}

/// What `/proc/PID/smaps` says of one mapping, in bytes (fs/proc/task_mmu.c). A field that this
/// kernel does not have is `None`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// `Rss`: hugetlb and the huge zero page are not in it.
    pub resident: u64,
    /// `Anonymous`: pages that belong to no file.
    pub anonymous: u64,
    /// `Referenced`: pages used since the bit was last cleared.
    pub referenced: u64,
    /// `AnonHugePages`: anonymous memory that a PMD maps; nothing smaller is in it.
    pub anon_huge: u64,
    /// `ShmemPmdMapped`.
    pub shmem_huge: u64,
    /// `FilePmdMapped` (Linux 5.4).
    pub file_huge: Option<u64>,
    /// `Shared_Hugetlb` and `Private_Hugetlb`.
    pub hugetlb: u64,
    /// `Swap`.
    pub swap: u64,
    /// `KSM` (Linux 6.6).
    pub ksm: Option<u64>,
    /// `Locked`.
    pub locked: u64,
    /// `KernelPageSize`: larger than a base page for hugetlb only.
    pub kernel_page: u64,
    /// `THPeligible` (Linux 5.0): that *some* enabled size fits *somewhere* in the mapping.
    pub thp_eligible: Option<bool>,
    /// `VmFlags`.
    pub flags: VmFlags,
}

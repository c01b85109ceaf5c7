use serde::{Deserialize, Serialize};

use super::{Run, VmFlags};

/// One mapping: a line of `/proc/PID/maps` with its data from `smaps`.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// Four letters: `r`, `w`, `x` or `-`, then `p` (private) or `s` (shared).
    pub permissions: Permissions,
    /// Offset of the start in the file, in bytes. Zero for anonymous memory.
    pub offset: u64,
    /// Device of the file, as `major:minor`; both are zero for anonymous memory.
    pub device: (u32, u32),
    /// Inode of the file; zero for anonymous memory.
    pub inode: u64,
    /// Path of the file, or a name in brackets such as `[heap]`; empty if there is none.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub name: Box<str>,
    /// The kind of memory.
    pub kind: MappingKind,
    /// Type of the file system that contains the file, if the mount was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<Box<str>>,
    /// The `huge=` option of that mount, if it has one (tmpfs).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount_huge: Option<Box<str>>,
    /// Totals and flags, if smaps could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// Its pages by huge-page range, by ascending address. Ranges without any page are omitted. If neither the page
    /// scan nor the page map could be read, all ranges are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<Run>,
}

impl Mapping {
    /// The size, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// The whole aligned huge-page ranges inside it, as addresses; `None` if there are none.
    #[must_use]
    pub fn whole_ranges(&self, huge_bytes: u64) -> Option<(u64, u64)> {
        let first = self.start.checked_next_multiple_of(huge_bytes)?;
        let last = self.end - self.end % huge_bytes.max(1);
        (first < last).then_some((first, last))
    }

    /// The flags; empty if smaps could not be read.
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
    /// Returns true if the mapping is writable.
    #[must_use]
    pub fn write(self) -> bool {
        self.0[1] == b'w'
    }

    /// Returns true if the mapping allows any access.
    #[must_use]
    pub fn any(self) -> bool {
        self.0[..3] != *b"---"
    }

    /// Returns true if the mapping is shared.
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

/// The kind of memory behind a mapping, which decides the setting that controls its huge pages.
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
    /// A file on a mounted tmpfs, such as `/dev/shm`.
    Tmpfs,
    /// Explicit huge pages.
    Hugetlb,
    /// A device.
    Device,
    /// Pages of the kernel: `[vdso]`, `[vvar]`, `[vsyscall]`.
    Kernel,
}

impl MappingKind {
    /// Returns true if `enabled` of transparent_hugepage controls it.
    #[must_use]
    pub fn is_anonymous(self) -> bool {
        matches!(self, Self::Anonymous | Self::Heap | Self::Stack)
    }

    /// Returns true if `shmem_enabled` or the `huge=` option of the mount controls it.
    #[must_use]
    pub fn is_shmem(self) -> bool {
        matches!(self, Self::SharedMemory | Self::Tmpfs)
    }
}

/// The fields of `/proc/PID/smaps` for one mapping, in bytes (fs/proc/task_mmu.c). `None` means that this kernel does
/// not have the field.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// `Rss`, which excludes hugetlb and the huge zero page.
    pub resident: u64,
    /// `Anonymous`: pages without a file.
    pub anonymous: u64,
    /// `Referenced`: pages used since the bit was last cleared.
    pub referenced: u64,
    /// `AnonHugePages`: anonymous memory mapped by PMDs, nothing smaller.
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
    /// `THPeligible` (Linux 5.0): *some* enabled size fits *somewhere* in the mapping.
    pub thp_eligible: Option<bool>,
    /// `VmFlags`.
    pub flags: VmFlags,
}

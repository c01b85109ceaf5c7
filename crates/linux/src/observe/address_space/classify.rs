//! The kind of a mapping, from its name, its device and the mounts.

use std::collections::BTreeMap;

use hugewise_observe::address_space::{Mapping, MappingKind};

use crate::machine::root::Root;
use crate::proc::mounts::{Mount, parse_mounts};

/// The mounts that a process sees, by device.
pub(super) struct Mounts(BTreeMap<(u32, u32), Mount>);

impl Mounts {
    /// Reads the mounts; if they cannot be read, file systems stay unknown.
    pub(super) fn read(root: &Root, pid: u32) -> Self {
        let own = root.read(format!("proc/{pid}/mountinfo"));
        let text = own
            .or_else(|_| root.read("proc/self/mountinfo"))
            .unwrap_or_default();
        let mounts = parse_mounts(&text);
        Self(
            mounts
                .into_iter()
                .map(|mount| (mount.device, mount))
                .collect(),
        )
    }
}

/// Names of the kernel's special mappings.
const KERNEL_NAMES: [&str; 6] = [
    "[vdso]",
    "[vvar]",
    "[vvar_vclock]",
    "[vsyscall]",
    "[vectors]",
    "[sigpage]",
];

/// Fills in the kind and the file system of a mapping. `page_bytes` is the size of a base page.
pub(super) fn classify(mapping: &mut Mapping, mounts: &Mounts, page_bytes: u64) {
    if mapping.inode != 0 {
        let mount = mounts.0.get(&mapping.device);
        mapping.file_system = mount.map(|mount| mount.kind.as_str().into());
        mapping.mount_huge = mount
            .filter(|mount| mount.kind == "tmpfs")
            .and_then(|mount| mount.option("huge"))
            .map(Into::into);
    }
    mapping.kind = kind(mapping, page_bytes);
}

fn kind(mapping: &Mapping, page_bytes: u64) -> MappingKind {
    let memory = mapping.memory.as_ref();
    let hugetlb = memory.is_some_and(|m| m.flags.has("ht") || m.kernel_page > page_bytes);
    let file_system = mapping.file_system.as_deref();
    match &*mapping.name {
        _ if hugetlb || file_system == Some("hugetlbfs") => MappingKind::Hugetlb,
        "[heap]" => MappingKind::Heap,
        "[stack]" => MappingKind::Stack,
        name if KERNEL_NAMES.contains(&name) => MappingKind::Kernel,
        name if is_kernel_shmem(name) && mapping.permissions.shared() => MappingKind::SharedMemory,
        name if name.starts_with("/memfd:") || name.starts_with("/SYSV") => {
            MappingKind::SharedMemory
        }
        // A private mapping of /dev/zero is anonymous memory (mmap_zero, drivers/char/mem.c).
        "/dev/zero" => MappingKind::Anonymous,
        _ if mapping.inode == 0 && mapping.device == (0, 0) => MappingKind::Anonymous,
        _ if file_system == Some("tmpfs") => MappingKind::Tmpfs,
        _ if file_system == Some("devtmpfs") => MappingKind::Device,
        name if name.starts_with("anon_inode:") || name.starts_with('[') => MappingKind::Device,
        _ => MappingKind::File,
    }
}

/// Returns true for shared memory without a named file, which is on the kernel's hidden tmpfs.
fn is_kernel_shmem(name: &str) -> bool {
    name.starts_with("/dev/zero") || name.starts_with("[anon_shmem:")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::address_space::smaps::parse_mappings;

    #[test]
    fn kinds_by_name_device_and_mount() {
        let mounts = "\
            25 1 0:22 / /dev/shm rw - tmpfs tmpfs rw,huge=advise\n\
            26 1 254:0 / / rw - ext4 /dev/root rw\n\
            27 1 0:6 / /dev rw - devtmpfs devtmpfs rw\n";
        let mounts = Mounts(
            parse_mounts(mounts.as_bytes())
                .into_iter()
                .map(|mount| (mount.device, mount))
                .collect(),
        );
        for (tail, expected) in [
            ("rw-p 0 00:00 0", MappingKind::Anonymous),
            ("rw-p 0 00:00 0 [anon:jit]", MappingKind::Anonymous),
            ("rw-p 0 00:00 0 [heap]", MappingKind::Heap),
            ("rw-p 0 00:00 0 [stack]", MappingKind::Stack),
            ("r-xp 0 00:00 0 [vdso]", MappingKind::Kernel),
            ("r-xp 0 fe:00 12 /bin/cat", MappingKind::File),
            ("rw-s 0 00:16 2 /dev/shm/a", MappingKind::Tmpfs),
            (
                "rw-s 0 00:01 9 /dev/zero (deleted)",
                MappingKind::SharedMemory,
            ),
            ("rw-p 0 00:06 9 /dev/zero", MappingKind::Anonymous),
            (
                "rw-s 0 00:01 9 /memfd:x (deleted)",
                MappingKind::SharedMemory,
            ),
            ("rw-s 0 00:06 9 /dev/dri/card0", MappingKind::Device),
            ("rw-s 0 00:0f 9 anon_inode:[io_uring]", MappingKind::Device),
            ("rw-p 0 00:00 0\nVmFlags: rd ht", MappingKind::Hugetlb),
        ] {
            let text = format!("200000-400000 {tail}\n");
            let mut mapping = parse_mappings(text.as_bytes()).unwrap().remove(0);
            classify(&mut mapping, &mounts, 4096);
            assert_eq!(mapping.kind, expected, "{tail}");
            if expected == MappingKind::Tmpfs {
                assert_eq!(mapping.mount_huge.as_deref(), Some("advise"));
            }
        }
    }
}

//! The kernel's rules for memory of files, which `MADV_COLLAPSE` follows too.

use hugewise_base::host::ThpSettings;

use crate::address_space::{Mapping, MappingKind};

/// The settings by which the kernel makes memory of files huge (`thp_vma_allowable_orders`,
/// mm/huge_memory.c). `None` is an unread one.
#[derive(Clone, Debug, Default)]
pub struct FileRules {
    /// `enabled`.
    pub enabled: Option<String>,
    /// `shmem_enabled`.
    pub shmem_enabled: Option<String>,
    /// `CONFIG_READ_ONLY_THP_FOR_FS`, in kernels that have this option.
    pub read_only_files: Option<bool>,
}

impl FileRules {
    /// Returns the rules under these settings.
    #[must_use]
    pub fn of(thp: Option<&ThpSettings>, read_only_files: Option<bool>) -> Self {
        Self {
            enabled: thp.map(|thp| thp.enabled.clone()),
            shmem_enabled: thp.and_then(|thp| thp.shmem_enabled.clone()),
            read_only_files,
        }
    }

    /// Returns true if the kernel is known to refuse a mapping.
    pub(super) fn refuse(&self, mapping: &Mapping) -> bool {
        match mapping.kind {
            MappingKind::File => self.read_only_files == Some(false) || self.is_ineligible(mapping),
            MappingKind::SharedMemory | MappingKind::Tmpfs => {
                self.shmem_enabled.as_deref() == Some("deny")
            }
            _ => false,
        }
    }

    /// Returns true if smaps denies eligibility and no setting is the reason. The file is open for
    /// writing then, or it is no regular file.
    fn is_ineligible(&self, mapping: &Mapping) -> bool {
        let allowed = match self.enabled.as_deref() {
            Some("always") => true,
            Some("madvise") => mapping.flags().has("hg"),
            _ => false,
        };
        let eligible = mapping.memory.as_ref().and_then(|it| it.thp_eligible);
        allowed && eligible == Some(false)
    }
}

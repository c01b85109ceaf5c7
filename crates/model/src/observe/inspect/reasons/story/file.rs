//! Files and the page cache.

use super::Row;
use crate::observe::inspect::reasons::Code;

pub(super) const FILE: &[Row] = &[
    (
        Code::FileMisaligned,
        "A huge page of a file begins at a multiple of its size in the file, and must begin at \
         one in memory too. Address and offset of this mapping do not agree.",
        "all",
        "(start - offset) is no multiple of the huge-page size.",
        "Map at an address that agrees with the offset; for programs, link with \
         -z max-page-size.",
        "thp_vma_suitable_order in include/linux/huge_mm.h",
    ),
    (
        Code::FileNoLargeFolio,
        "The file system keeps its page cache in single pages only, so there is nothing a PMD \
         could map.",
        "until the file system learns it: xfs 5.18, ext4 6.16, btrfs 7.3, and others",
        "No folio of more than one page in any mapping of that file system (kpageflags, \
         CAP_SYS_ADMIN). Without that right it is one of two.",
        "Another file system, CONFIG_READ_ONLY_THP_FOR_FS (5.4 to 7.1), or a copy in anonymous \
         memory.",
        "mapping_set_large_folios in include/linux/pagemap.h",
    ),
    (
        Code::FileSmallFolios,
        "The page cache holds this part of the file in folios smaller than a huge page: they \
         were read in so. For shared memory: it was written before it could be huge.",
        "all",
        "PAGEMAP_SCAN says FILE and not HUGE; kpageflags shows the folios (CAP_SYS_ADMIN).",
        "Evict the file (fsync, posix_fadvise(DONTNEED)), then read it through a mapping with \
         madvise(MADV_HUGEPAGE) (5.18); no right but reading is needed. For shared memory: \
         MADV_COLLAPSE.",
        "do_sync_mmap_readahead in mm/filemap.c",
    ),
    (
        Code::FilePrivateCow,
        "A page of a private mapping of a file was written: it is a copy now, and copies in file \
         mappings are small.",
        "all",
        "PAGEMAP_SCAN: present pages without FILE in a mapping of a file; Anonymous in smaps.",
        "None, except to keep written data away from what is only read.",
        "do_cow_fault in mm/memory.c",
    ),
];

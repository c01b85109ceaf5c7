//! What repairs a reason, for this range on this machine.

use crate::base::units::bytes_text;

use super::Code;
use super::range::Range;

/// One sentence; `None` where nothing repairs it or nothing is to be repaired.
pub(super) fn repair(range: &Range<'_>, code: Code) -> Option<String> {
    let sentence = match code {
        Code::VmaSmall => format!(
            "grow or map in aligned steps of {}",
            bytes_text(range.space.huge_bytes)
        ),
        Code::VmaSplit => "make the neighbouring mappings equal".to_owned(),
        Code::MadvNohugepage => "the program itself must call madvise(MADV_HUGEPAGE)".to_owned(),
        Code::PrctlDisabled => format!(
            "start it without PR_SET_THP_DISABLE; look at process {}",
            range.space.process.parent
        ),
        Code::PolicyNever | Code::PolicyMadvise => policy(range, code),
        Code::ShmemPolicy => "set it to `advise` or `always` (root), or MADV_COLLAPSE".to_owned(),
        Code::HugeZero => "write before reading (MADV_POPULATE_WRITE)".to_owned(),
        Code::Zero4K => "write before reading (MADV_POPULATE_WRITE)".to_owned(),
        Code::FileMisaligned => "map where address and offset agree".to_owned(),
        Code::FileSmallFolios if range.mapping.kind.is_shmem() => collapse(range),
        Code::FileSmallFolios => "evict it and read it through MADV_HUGEPAGE".to_owned(),
        Code::GuardPages => "put the guard outside the range".to_owned(),
        Code::Ksm => "the program must call madvise(MADV_UNMERGEABLE)".to_owned(),
        Code::Uffd => "unregister the range from userfaultfd, then collapse it".to_owned(),
        Code::MemcgLimit => "raise the limit of the memory cgroup".to_owned(),
        Code::PrctlExceptAdvised => "madvise(MADV_HUGEPAGE), or MADV_COLLAPSE".to_owned(),
        Code::SmallRamDefault => "set enabled (root), if the memory allows".to_owned(),
        Code::FileNoLargeFolio => "another file system, or a copy in anonymous memory".to_owned(),
        _ if code >= Code::Swapped && code < Code::KhpNotRegistered => collapse(range),
        _ => return None,
    };
    Some(sentence)
}

fn collapse(range: &Range<'_>) -> String {
    format!("MADV_COLLAPSE of process {}", range.space.process.pid)
}

/// The mode that a program can do something about itself is named first.
fn policy(range: &Range<'_>, code: Code) -> String {
    let collapse = collapse(range);
    if code == Code::PolicyMadvise {
        format!("let it advise, or its allocator; or {collapse}")
    } else {
        format!("set enabled to `madvise` or `always` (root); or {collapse}")
    }
}

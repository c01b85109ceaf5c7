//! Files and shared memory.

use crate::observe::address_space::Kind;
use crate::observe::inspect::reasons::range::Range;

pub(super) fn misaligned(range: &Range<'_>) -> bool {
    let mapping = range.mapping;
    let huge = range.space.huge_bytes.max(1);
    range.is_file() && mapping.start % huge != mapping.offset % huge
}

/// Single pages only, here and wherever else this process maps that file system.
pub(super) fn no_large_folio(range: &Range<'_>) -> bool {
    range.mapping.kind == Kind::File
        && shows_the_cache(range)
        && !range.whole.large_folios.contains(&range.mapping.device)
}

pub(super) fn small_folios(range: &Range<'_>) -> bool {
    let split = range.frames().is_some_and(|frames| frames.one_huge_folio);
    range.is_file() && shows_the_cache(range) && !split
}

pub(super) fn private_cow(range: &Range<'_>) -> bool {
    range.is_file() && range.anonymous() > 0 && !range.mapping.permissions.shared()
}

/// Whether what is there is the file's own pages, and none a written copy.
fn shows_the_cache(range: &Range<'_>) -> bool {
    range.count(|pages| Some(pages.file)) > 0
        && (range.anonymous() == 0 || range.mapping.permissions.shared())
}

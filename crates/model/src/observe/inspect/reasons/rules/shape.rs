//! Whether the mapping covers the range, and whether it is of a kind that can be huge.

use crate::observe::address_space::{Kind, Mapping};
use crate::observe::inspect::reasons::range::Range;

pub(super) fn vma_small(range: &Range<'_>) -> bool {
    !range.is_whole() && !neighbours_cover(range)
}

pub(super) fn vma_split(range: &Range<'_>) -> bool {
    !range.is_whole() && neighbours_cover(range)
}

/// Whether mappings without a gap cover the aligned range around a cut-off one.
fn neighbours_cover(range: &Range<'_>) -> bool {
    let huge = range.space.huge_bytes.max(1);
    let first = range.start - range.start % huge;
    let behind = first.saturating_add(huge);
    range.whole.covers(first, behind)
}

/// `VM_SPECIAL` of the kernel, and what it maps for itself.
pub(super) fn vma_type(range: &Range<'_>) -> bool {
    let special = range.mapping.flags().first_of(&["io", "pf", "mm", "de"]);
    special.is_some() || matches!(range.mapping.kind, Kind::Kernel | Kind::Device)
}

/// What keeps two mappings that touch from being one.
pub(in crate::observe::inspect::reasons) fn difference(one: &Mapping, other: &Mapping) -> String {
    if one.permissions != other.permissions {
        let text = |mapping: &Mapping| String::from(mapping.permissions);
        return format!("permissions: {} against {}", text(one), text(other));
    }
    if one.name != other.name {
        return format!("names: `{}` against `{}`", one.name, other.name);
    }
    let flags = one.flags().difference(other.flags());
    if flags.is_empty() {
        "no difference is to be seen in /proc (a NUMA policy, or separate anonymous histories)"
            .to_owned()
    } else {
        let words: Vec<&str> = flags.words().collect();
        format!("flags: {}", words.join(" "))
    }
}

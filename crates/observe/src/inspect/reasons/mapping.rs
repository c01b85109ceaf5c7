//! The mapping: its size, its neighbours, its kind, its advice.

use crate::address_space::{Mapping, MappingKind, Space};
use hugewise_base::units::bytes_text;
use hugewise_experiment::run::trial::off_remedy;

use super::Code;
use super::allocator::whole_blocks;
use super::range::{Range, could_be_one};
use super::row::{Facts, Fix, Row, Rule, State};

pub(super) const VMA_SMALL: Row = Row {
    state: State::Shape,
    rule: Rule::Decides(vma_small),
    evidence: small_evidence,
    circumstance: |_| None,
    what: "A huge page needs a whole aligned range inside one mapping, and here the mapping \
           covers only a part of it. No setting changes that: a program that grows its memory \
           in steps below the huge-page size and uses each step at once never gets a huge \
           page, even if it advises every step. No kernel counter shows it.",
    kernels: "all",
    sign: "Arithmetic on the addresses in /proc/PID/maps.",
    fix: Fix::only(
        grows_in_steps,
        "Map or grow in aligned steps of {huge}, or reserve once and use piecewise. The main heap of \
             glibc has the setting top_pad for that. Smaller folios (mTHP, 6.8) fit as it is.",
    )
    .by_owner(whole_blocks),
    source: "thp_vma_suitable_order in include/linux/huge_mm.h",
};

pub(super) const VMA_SPLIT: Row = Row {
    state: State::Shape,
    rule: Rule::Decides(vma_split),
    evidence: split_evidence,
    circumstance: |_| None,
    what: "Together with its neighbours the mapping would span the range, but they cannot be \
           merged: permissions, name, file offset, NUMA policy or advice differ, or each has \
           anonymous memory of its own (anon_vma). mprotect, madvise or \
           prctl(PR_SET_VMA) on a part of a mapping splits it. A guard (PROT_NONE) or another \
           segment of a program file is no such neighbour.",
    kernels: "all",
    sign: "Neighbouring lines of /proc/PID/maps touch; the difference is in permissions, name \
           or VmFlags.",
    fix: Fix::new(
        "Give the neighbouring mappings the same permissions, name and advice, or map them in \
             one call; or move the border between them to a multiple of {huge}.",
    ),
    source: "vma_merge in mm/vma.c",
};

pub(super) const VMA_TYPE: Row = Row {
    state: State::Shape,
    rule: Rule::Decides(vma_type),
    evidence: |facts| flag(facts.range, &SPECIAL),
    circumstance: |_| None,
    what: "Device memory and the kernel's own mappings have no transparent huge pages.",
    kernels: "all (since 6.12 drivers can map device memory huge)",
    sign: "VmFlags has io, pf, mm or de; or it is vdso, vvar, vsyscall.",
    fix: Fix::nothing("Nothing can be done."),
    source: "VM_SPECIAL in include/linux/mm.h",
};

pub(super) const MADV_NOHUGEPAGE: Row = Row {
    state: State::Setting,
    rule: Rule::DecidesOneOf(nohugepage, or_stack),
    evidence: |facts| flag(facts.range, &["nh"]),
    circumstance: |_| None,
    what: "madvise(MADV_NOHUGEPAGE) was called on the mapping, by the program, its runtime or \
           its allocator.",
    kernels: "all",
    sign: "VmFlags has `nh`.",
    fix: Fix::by_program(
        other_advice,
        "The program itself must call madvise(MADV_HUGEPAGE): no other process can revoke \
             its advice. A variable may have it advise so: MALLOC_CONF=thp:never of jemalloc, \
             GODEBUG=disablethp=1 of Go.",
    ),
    source: "madvise(2)",
};

pub(super) const MAP_STACK: Row = Row {
    state: State::Setting,
    rule: Rule::DecidesOneOf(map_stack, |_| vec![Code::MadvNohugepage]),
    evidence: stack_evidence,
    circumstance: |_| None,
    what: "The kernel excludes memory mapped with MAP_STACK from huge pages since 6.8, \
           because each thread stack had grown to a huge page. The C library can do the same \
           (glibc.pthread.stack_hugetlb=0).",
    kernels: "6.8 and later (6.7.y possibly)",
    sign: "VmFlags has `nh`, and the mapping is directly above a guard, like a stack. /proc does \
           not show MAP_STACK itself, so MADV_NOHUGEPAGE stays possible.",
    fix: Fix::nothing("Nothing to do: this is intended."),
    source: "commit c4608d1bf7c6",
};

/// Returns how to stop the program from advising its memory.
fn other_advice(space: &Space, _: &Mapping) -> String {
    let process = &space.process;
    match off_remedy(&process.environment) {
        Some(setting) => format!("Restart {} with {setting}.", process.command),
        None => "The program itself must call madvise(MADV_HUGEPAGE): no other process can \
                 revoke its advice."
            .to_owned(),
    }
}

fn vma_small(range: &Range<'_>) -> bool {
    !range.is_whole() && !neighbours_cover(range) && !map_stack(range)
}

fn vma_split(range: &Range<'_>) -> bool {
    !range.is_whole() && neighbours_cover(range) && !map_stack(range)
}

/// Returns true if contiguous mappings cover the aligned range around a partial one.
fn neighbours_cover(range: &Range<'_>) -> bool {
    let huge = range.space.huge_bytes.max(1);
    let first = range.start - range.start % huge;
    let behind = first.saturating_add(huge);
    range.whole.covers(first, behind)
}

/// `VM_SPECIAL` of the kernel.
const SPECIAL: [&str; 4] = ["io", "pf", "mm", "de"];

/// Special mappings, and mappings that the kernel creates for its own use.
fn vma_type(range: &Range<'_>) -> bool {
    let special = range.mapping.flags().first_of(&SPECIAL);
    special.is_some()
        || matches!(
            range.mapping.kind,
            MappingKind::Kernel | MappingKind::Device
        )
}

/// Returns the difference that keeps two adjacent mappings from being merged, the lower mapping first; `None` if no
/// difference is visible. The kernel merges mappings that differ only in `sd` (is_mergeable_vma, mm/vma.c).
fn difference(below: &Mapping, above: &Mapping) -> Option<String> {
    if below.permissions != above.permissions {
        let text = |mapping: &Mapping| String::from(mapping.permissions);
        return Some(format!(
            "permissions: {} below, {} above",
            text(below),
            text(above)
        ));
    }
    if below.name != above.name {
        return Some(format!(
            "name: `{}` below, `{}` above",
            below.name, above.name
        ));
    }
    let is_file = below.inode != 0;
    if is_file && below.offset.saturating_add(below.bytes()) != above.offset {
        return Some(format!(
            "file offset: {:x} above does not continue {:x} below",
            above.offset, below.offset
        ));
    }
    let flags = below.flags().difference(above.flags());
    let words: Vec<&str> = flags.words().filter(|word| *word != "sd").collect();
    (!words.is_empty()).then(|| format!("VmFlags: {}", words.join(" ")))
}

/// Returns true if the program chooses the boundaries of the mapping. The linker lays out files, and the kernel lays
/// out the stack of the first thread.
fn grows_in_steps(mapping: &Mapping) -> bool {
    let kind = mapping.kind;
    let chosen = matches!(kind, MappingKind::Anonymous | MappingKind::Heap) || kind.is_shmem();
    chosen && mapping.permissions.any()
}

fn nohugepage(range: &Range<'_>) -> bool {
    range.mapping.flags().has("nh") && !range.space.is_stack_shaped(range.index)
}

fn map_stack(range: &Range<'_>) -> bool {
    range.mapping.flags().has("nh") && range.space.is_stack_shaped(range.index)
}

/// The kernel sets the same flag for stacks, with or without a guard (since Linux 6.8).
fn or_stack(range: &Range<'_>) -> Vec<Code> {
    let anonymous = range.mapping.kind == MappingKind::Anonymous;
    Vec::from_iter(anonymous.then_some(Code::MapStack))
}

fn small_evidence(facts: &Facts<'_>) -> Vec<String> {
    let range = facts.range;
    let huge = range.space.huge_bytes;
    let mapping = range.mapping;
    let what = match mapping.whole_ranges(huge) {
        None => format!(
            "the mapping is {} and spans no aligned {}",
            bytes_text(mapping.bytes()),
            bytes_text(huge)
        ),
        Some(_) if range.start == mapping.start => {
            format!(
                "the mapping begins {} into the range",
                bytes_text(range.start % huge)
            )
        }
        Some(_) => format!(
            "the mapping ends {} into the range",
            bytes_text(range.end % huge)
        ),
    };
    vec![what]
}

fn split_evidence(facts: &Facts<'_>) -> Vec<String> {
    let range = facts.range;
    let mapping = range.mapping;
    range
        .neighbours()
        .filter(|other| {
            (other.end == mapping.start && range.start == mapping.start)
                || (other.start == mapping.end && range.end == mapping.end)
        })
        .filter(|other| could_be_one(mapping, other))
        .map(|other| {
            let (side, difference) = match other.start < mapping.start {
                true => ("below", difference(other, mapping)),
                false => ("above", difference(mapping, other)),
            };
            match difference {
                Some(difference) => format!("the mapping {side} differs in {difference}"),
                None => format!(
                    "smaps shows no difference from the mapping {side}: each has anonymous memory \
                     of its own (anon_vma), or a NUMA policy"
                ),
            }
        })
        .collect()
}

/// Returns the flag that shows the reason, or the name of the mapping if it has no such flag.
pub(super) fn flag(range: &Range<'_>, words: &[&'static str]) -> Vec<String> {
    let word = range.mapping.flags().first_of(words);
    let fact = word.map(|word| format!("VmFlags has {word}"));
    vec![fact.unwrap_or_else(|| format!("it is {}", range.mapping.name))]
}

fn stack_evidence(facts: &Facts<'_>) -> Vec<String> {
    let mut evidence = flag(facts.range, &["nh"]);
    evidence.push("it is directly above a guard, like a stack".to_owned());
    evidence
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address_space::test_space::{mapping, space};
    use crate::address_space::{Memory, Permissions, VmFlags};

    #[test]
    fn a_variable_that_advises_against_huge_pages_is_named() {
        let fix = |variable: Option<(&str, &str)>| {
            let mut space = space(Vec::new());
            space.process.command = "server".to_owned();
            let set = variable.map(|(name, value)| (name.to_owned(), value.to_owned()));
            space.process.environment.extend(set);
            other_advice(&space, &mapping(0, 4096, Vec::new()))
        };
        assert_eq!(
            fix(Some(("GODEBUG", "gctrace=1,disablethp=1"))),
            "Restart server with GODEBUG without disablethp=1."
        );
        assert!(fix(Some(("GODEBUG", "gctrace=1"))).starts_with("The program itself"));
        assert!(fix(None).starts_with("The program itself"));
    }

    /// Two adjacent mappings, the upper of them changed.
    fn between(flags: [&[&str]; 2], change: impl Fn(&mut Mapping)) -> Option<String> {
        let [below, mut above] = [0_u64, 1].map(|place| {
            let mut one = mapping(place << 20, (place + 1) << 20, Vec::new());
            let words = flags[place as usize].iter().copied();
            one.memory = Some(Memory {
                flags: VmFlags::of(words),
                ..Memory::default()
            });
            one
        });
        change(&mut above);
        difference(&below, &above)
    }

    #[test]
    fn what_parts_two_mappings_is_named_and_nothing_else() {
        let same = [&["rd", "wr"][..]; 2];
        let named = |change: fn(&mut Mapping)| between(same, change).unwrap_or_default();
        assert_eq!(
            named(|above| above.permissions = Permissions(*b"r--p")),
            "permissions: rw-p below, r--p above"
        );
        assert_eq!(
            named(|above| above.name = "[anon: pool]".into()),
            "name: `` below, `[anon: pool]` above"
        );
        let advised = [&["rd", "hg"][..], &["rd"]];
        let flags = between(advised, |_| {});
        assert_eq!(flags.as_deref(), Some("VmFlags: hg"));
        assert_eq!(between(same, |_| {}), None);
        let soft_dirty = [&["rd", "sd"][..], &["rd"]];
        assert_eq!(between(soft_dirty, |_| {}), None, "it does not matter");
    }
}

//! What was read that a reason rests on, as sentences.

use crate::base::units::bytes_text;

use super::range::{Range, could_be_one};
use super::rules::{difference, exceeded, shmem_mode};
use super::totals::Totals;
use super::{Certainty, Code};

fn untouched(range: &Range<'_>, certainty: &Certainty) -> Vec<String> {
    let mut evidence = vec!["no page is present".to_owned()];
    match (certainty, range.whole.tables) {
        (Certainty::OneOf(_), Some(tables)) => evidence.push(format!(
            "page tables: VmPTE {}, of which populated ranges need {}: what is left may be \
             tables of ranges that were emptied",
            bytes_text(tables.held),
            bytes_text(tables.needed)
        )),
        (Certainty::OneOf(_), None) => {
            evidence.push("page tables could not be added up".to_owned());
        }
        _ => {}
    }
    evidence
}

/// What was read for a reason.
pub(super) fn evidence(
    range: &Range<'_>,
    code: Code,
    certainty: &Certainty,
    totals: &Totals,
) -> Vec<String> {
    match code {
        Code::AlreadyPmd if totals.huge > 0 => vec!["the page scan says HUGE".to_owned()],
        Code::AlreadyPmd => vec!["smaps counts all of the mapping as huge".to_owned()],
        Code::Hugetlb => hugetlb(range),
        Code::Untouched if range.pages_were_read() => untouched(range, certainty),
        Code::Untouched => vec!["smaps counts no page of the mapping".to_owned()],
        Code::HugeZero => vec!["the page scan says HUGE and PFNZERO".to_owned()],
        Code::Zero4K => vec![format!(
            "{} zero pages, no page that was written",
            totals.zero
        )],
        Code::VmaSmall => vma_small(range),
        Code::VmaSplit => vma_split(range),
        Code::NoThpKernel | Code::PrctlDisabled | Code::PrctlExceptAdvised => outside(range, code),
        Code::PolicyNever | Code::PolicyMadvise | Code::SmallRamDefault => policy(range, totals),
        Code::VmaType | Code::MadvNohugepage | Code::MapStack | Code::Uffd => flags(range, code),
        Code::ShmemPolicy => shmem_mode(range)
            .map(|(place, mode)| format!("{place} is `{mode}`"))
            .into_iter()
            .collect(),
        Code::FileMisaligned => vec![format!(
            "it begins at {:#x}, offset {:#x} of the file: they differ within a huge page",
            range.mapping.start, range.mapping.offset
        )],
        Code::FileNoLargeFolio | Code::FileSmallFolios | Code::FilePrivateCow => {
            file(range, totals)
        }
        Code::Unknown => raw(range, totals),
        _ => history(range, certainty, totals),
    }
}

fn hugetlb(range: &Range<'_>) -> Vec<String> {
    let memory = range.mapping.memory.as_ref();
    let size = memory.map(|memory| bytes_text(memory.kernel_page));
    vec![size.map_or_else(
        || "it lies on hugetlbfs".to_owned(),
        |size| format!("VmFlags has ht, pages of {size}"),
    )]
}

fn vma_small(range: &Range<'_>) -> Vec<String> {
    let huge = range.space.huge_bytes;
    let mapping = range.mapping;
    let what = match mapping.whole_ranges(huge) {
        None => format!(
            "the mapping is {} and covers no aligned {}",
            bytes_text(mapping.bytes()),
            bytes_text(huge)
        ),
        Some(_) if range.start == mapping.start => {
            format!(
                "the mapping begins {} into it",
                bytes_text(range.start % huge)
            )
        }
        Some(_) => format!("the mapping ends {} into it", bytes_text(range.end % huge)),
    };
    vec![what]
}

fn vma_split(range: &Range<'_>) -> Vec<String> {
    let mapping = range.mapping;
    range
        .neighbours()
        .filter(|other| {
            (other.end == mapping.start && range.start == mapping.start)
                || (other.start == mapping.end && range.end == mapping.end)
        })
        .filter(|other| could_be_one(mapping, other))
        .map(|other| {
            let side = if other.start < mapping.start {
                "below"
            } else {
                "above"
            };
            format!("from the mapping {side} it {}", difference(mapping, other))
        })
        .collect()
}

fn outside(range: &Range<'_>, code: Code) -> Vec<String> {
    match code {
        Code::NoThpKernel => vec![match &range.settings.thp {
            Err(missing) => missing.to_string(),
            Ok(_) => String::new(),
        }],
        Code::PrctlDisabled => vec![format!(
            "THP_enabled of its status is 0; its parent is process {}",
            range.space.process.parent
        )],
        _ => vec![
            "the setting is `always` and the mapping is large enough, yet THPeligible is 0"
                .to_owned(),
        ],
    }
}

fn policy(range: &Range<'_>, totals: &Totals) -> Vec<String> {
    let Some(thp) = range.thp() else {
        return Vec::new();
    };
    let kib = thp.pmd_bytes / 1024;
    let mut facts = vec![match thp.sizes.get(&kib).map(String::as_str) {
        None => format!("enabled is `{}`", thp.enabled),
        Some("inherit") => format!("hugepages-{kib}kB inherits enabled, `{}`", thp.enabled),
        Some(own) => format!("hugepages-{kib}kB/enabled is `{own}`"),
    }];
    if !range.is_advised() && thp.effective_pmd_mode() == "madvise" {
        facts.push("VmFlags has no hg".to_owned());
    }
    let small_is_folios = totals.folios_text(range.space.page_bytes);
    facts.extend(small_is_folios.filter(|_| !totals.folios.is_empty()));
    facts
}

fn flags(range: &Range<'_>, code: Code) -> Vec<String> {
    let flags = range.mapping.flags();
    let word = match code {
        Code::VmaType => flags.first_of(&["io", "pf", "mm", "de"]),
        Code::Uffd => flags.first_of(&["um", "uw", "ui"]),
        _ => Some("nh"),
    };
    let mut facts: Vec<String> = word
        .map(|word| format!("VmFlags has {word}"))
        .into_iter()
        .collect();
    if code == Code::MapStack {
        facts.push("it lies above a guard, as a stack does".to_owned());
    }
    if facts.is_empty() {
        facts.push(format!("it is {}", range.mapping.name));
    }
    facts
}

fn file(range: &Range<'_>, totals: &Totals) -> Vec<String> {
    let system = range.mapping.file_system.as_deref();
    let mut facts: Vec<String> = system
        .map(|system| format!("file system {system}"))
        .into_iter()
        .collect();
    let written = totals.small.saturating_sub(totals.file);
    if written > 0 && !range.mapping.permissions.shared() {
        facts.push(format!("{written} pages are written copies"));
    }
    facts.push(format!("{} pages of the cache, none by a PMD", totals.file));
    facts.extend(totals.folios_text(range.space.page_bytes));
    facts
}

fn history(range: &Range<'_>, certainty: &Certainty, totals: &Totals) -> Vec<String> {
    let mut facts = vec![totals.populated_text(range.space.pages_per_range())];
    for (count, what) in [
        (totals.swapped, "pages are in swap"),
        (totals.guard, "guard pages"),
        (totals.marks, "entries that are neither present nor in swap"),
        (totals.zero, "zero pages: read before it was written"),
        (totals.ksm, "pages merged by KSM"),
        (totals.shared, "pages that another process maps too"),
    ] {
        if count > 0 {
            facts.push(format!("{count} {what}"));
        }
    }
    facts.extend(totals.folios_text(range.space.page_bytes));
    if !totals.frames_read && matches!(certainty, Certainty::OneOf(_)) {
        facts.push("folios not read; they need CAP_SYS_ADMIN".to_owned());
    }
    if let Certainty::OneOf(codes) = certainty {
        facts.extend(codes.iter().filter_map(|&code| circumstance(range, code)));
    }
    facts
}

/// What of the machine speaks for a reason that pages do not show.
fn circumstance(range: &Range<'_>, code: Code) -> Option<String> {
    let event = |name: &str| {
        let count = range.event(name)?;
        Some(format!("{name} is {count} since boot, machine-wide"))
    };
    match code {
        Code::AllocFail | Code::AllocNoEffort => event("thp_fault_fallback"),
        Code::MemcgLimit => {
            let cgroup = range.settings.cgroup.as_ref()?;
            let (limit, used) = (cgroup.limit_bytes?, cgroup.used_bytes?);
            Some(format!(
                "its cgroup uses {} of {}",
                bytes_text(used),
                bytes_text(limit)
            ))
        }
        Code::SplitByReclaim => event("thp_split_page"),
        Code::SplitUnderused => event("thp_underused_split_page"),
        // Without frames both are possible together; the count is named once.
        Code::PmdSplit if range.frames().is_none() => event("thp_split_pmd"),
        Code::LseReadFirst if range.frames().is_some() => event("thp_split_pmd"),
        Code::ForkCow if range.space.process.forked => {
            Some("the process was forked and has not executed a program".to_owned())
        }
        Code::ForkCow if range.space.process.children > 0 => Some(format!(
            "the process has {} children",
            range.space.process.children
        )),
        _ => None,
    }
}

/// What was read for the reason that holds now.
pub(super) fn still_evidence(range: &Range<'_>, code: Code, totals: &Totals) -> Vec<String> {
    match code {
        Code::KhpLimits => exceeded(range)
            .map(|(name, count, most)| format!("{count} pages against {name} {most}"))
            .into_iter()
            .collect(),
        Code::KhpOff => vec!["no thread of that name runs".to_owned()],
        Code::ReadonlyAnon => vec!["the mapping cannot be written".to_owned()],
        Code::KhpNotRegistered => {
            vec!["no advice and no huge page anywhere in the process".to_owned()]
        }
        _ => rate(range, totals).into_iter().collect(),
    }
}

/// How long khugepaged needs for the ranges at the rate that its settings allow.
fn rate(range: &Range<'_>, totals: &Totals) -> Option<String> {
    let settings = &range.thp()?.khugepaged;
    let pages = *settings.get("pages_to_scan")?;
    let sleep_ms = *settings.get("scan_sleep_millisecs")?;
    let ranges_each = (pages / range.space.pages_per_range()).max(1);
    let seconds = totals.ranges.div_ceil(ranges_each).saturating_mul(sleep_ms) / 1000;
    Some(format!(
        "khugepaged needs at least {seconds} s for {} ranges, all others waiting",
        totals.ranges
    ))
}

fn raw(range: &Range<'_>, totals: &Totals) -> Vec<String> {
    vec![
        format!(
            "kind {:?}, flags {:?}",
            range.mapping.kind,
            range.mapping.flags().words().collect::<Vec<_>>()
        ),
        format!(
            "{} present, {} of a file, {} zero, {} swapped",
            totals.present, totals.file, totals.zero, totals.swapped
        ),
    ]
}

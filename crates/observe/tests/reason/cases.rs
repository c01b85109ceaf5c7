//! For each possible reason, a range that has it.

use hugewise_base::missing::Missing;
use hugewise_observe::address_space::{
    FolioCount, Frames, MappingKind, Pages, Permissions, Source, VmFlags,
};
use hugewise_observe::inspect::reasons::{CgroupMemory, Code};

use super::planted::{
    HUGE, PAGE, Planted, START, changed, file, folios, framed, huge, mapping, pages, shared, single,
};

/// For each possible reason, a range that has it.
pub(super) fn cases() -> Vec<(Code, Planted)> {
    let mut cases = by_state_and_shape();
    cases.extend(by_policy());
    cases.extend(by_file());
    cases.extend(weighed());
    cases
}

fn by_state_and_shape() -> Vec<(Code, Planted)> {
    let no_thp = Missing::not_supported("transparent_hugepage");
    vec![
        (
            Code::NoThpKernel,
            changed(single(512), |it| it.settings.thp = Err(no_thp)),
        ),
        (Code::AlreadyPmd, Planted::with(huge())),
        (
            Code::Hugetlb,
            changed(huge(), |it| it.mapping().kind = MappingKind::Hugetlb),
        ),
        (
            Code::Untouched,
            changed(pages(0), |it| {
                it.space.process.page_table_bytes = Some(0);
            }),
        ),
        (
            Code::HugeZero,
            Planted::with(Pages {
                zero: Some(512),
                ..huge()
            }),
        ),
        (
            Code::Zero4K,
            Planted::with(Pages {
                zero: Some(512),
                ..pages(512)
            }),
        ),
        (
            Code::VmaSmall,
            changed(single(100), |it| it.cut(START + PAGE, START + 101 * PAGE)),
        ),
        (
            Code::VmaSplit,
            changed(single(100), |it| {
                it.cut(START, START + 100 * PAGE);
                let mut other = mapping();
                other.start = START + 100 * PAGE;
                other.permissions = Permissions(*b"r--p");
                it.space.mappings.push(other);
                it.space.mappings[1].runs.clear();
                it.space.mappings[1].end = START + HUGE;
            }),
        ),
        (
            Code::VmaType,
            changed(single(512), |it| it.flags(&["rd", "wr", "pf", "hg"])),
        ),
    ]
}

fn by_policy() -> Vec<(Code, Planted)> {
    vec![
        (
            Code::MadvNohugepage,
            changed(single(512), |it| it.flags(&["rd", "wr", "nh"])),
        ),
        (
            Code::MapStack,
            changed(single(512), |it| {
                it.flags(&["rd", "wr", "nh"]);
                let mut guard = mapping();
                guard.permissions = Permissions(*b"---p");
                guard.memory.as_mut().unwrap().flags = VmFlags::of(["nh"]);
                (guard.start, guard.end) = (START - PAGE, START);
                it.space.mappings.insert(0, guard);
            }),
        ),
        (
            Code::PrctlDisabled,
            changed(single(512), |it| it.space.process.thp_enabled = Some(false)),
        ),
        (
            Code::PrctlExceptAdvised,
            changed(single(512), |it| {
                it.thp().enabled = "always".to_owned();
                it.flags(&["rd", "wr"]);
                it.memory().thp_eligible = Some(false);
            }),
        ),
        (
            Code::PolicyNever,
            changed(single(512), |it| it.thp().enabled = "never".to_owned()),
        ),
        (
            Code::PolicyMadvise,
            changed(single(512), |it| it.flags(&["rd", "wr"])),
        ),
        (
            Code::SmallRamDefault,
            changed(single(512), |it| {
                it.settings.memory_bytes = 256 << 20;
                it.thp().enabled = "never".to_owned();
                it.thp().defrag = "never".to_owned();
                it.thp().zero_page = false;
            }),
        ),
    ]
}

fn by_file() -> Vec<(Code, Planted)> {
    vec![
        (Code::ShmemPolicy, shared(MappingKind::Tmpfs)),
        (Code::FileMisaligned, {
            let mut planted = shared(MappingKind::SharedMemory);
            planted.mapping().offset = PAGE;
            planted
        }),
        (Code::FileNoLargeFolio, {
            let mut planted = file(single(512));
            planted.settings.kernel = "6.15.9".to_owned();
            planted
        }),
        (Code::FileSmallFolios, file(folios(16, 512, 0))),
        (Code::FilePrivateCow, {
            let mut planted = file(single(512));
            planted.mapping().runs[0].pages.file = 500;
            planted
        }),
        (
            Code::Uffd,
            changed(single(512), |it| it.flags(&["rd", "wr", "hg", "um"])),
        ),
        (
            Code::Swapped,
            changed(
                Pages {
                    swapped: 3,
                    ..single(509)
                },
                |it| it.memory().swap = 12 << 10,
            ),
        ),
    ]
}

fn weighed() -> Vec<(Code, Planted)> {
    let shared_with_child = Frames {
        single: 1,
        shared: 511,
        folios: vec![FolioCount {
            folio_pages: 512,
            frames: 511,
        }],
        ..Frames::default()
    };
    let merged = Frames {
        single: 512,
        ksm: 512,
        ..Frames::default()
    };
    let split = Frames {
        one_huge_folio: true,
        folios: vec![FolioCount {
            folio_pages: 512,
            frames: 512,
        }],
        ..Frames::default()
    };
    let scarce = |it: &mut Planted| {
        it.settings.free_blocks = vec![9000, 400, 3, 0, 0, 0, 0, 0, 0, 1, 0];
        it.settings
            .vmstat
            .insert("thp_fault_fallback".to_owned(), 4);
    };
    vec![
        (Code::PteTableExists, Planted::with(single(512))),
        (Code::PmdSplit, Planted::with(framed(512, split))),
        (
            Code::ForkCow,
            changed(framed(512, shared_with_child), |it| {
                it.space.process.children = 1;
            }),
        ),
        (
            Code::GuardPages,
            Planted::with(Pages {
                guard: Some(1),
                ..single(511)
            }),
        ),
        (
            Code::Ksm,
            changed(framed(512, merged), |it| {
                it.flags(&["rd", "wr", "hg", "mg"]);
            }),
        ),
        (Code::MthpInstead, Planted::with(folios(16, 512, 0))),
        (
            Code::AllocFail,
            changed(single(512), |it| {
                scarce(it);
                it.thp().defrag = "defer".to_owned();
            }),
        ),
        (
            Code::AllocNoEffort,
            changed(single(512), |it| {
                scarce(it);
                it.thp().enabled = "always".to_owned();
                it.flags(&["rd", "wr"]);
            }),
        ),
        (
            Code::MemcgLimit,
            changed(single(512), |it| {
                it.event("thp_fault_fallback");
                it.event("thp_fault_fallback_charge");
                it.settings.cgroup = Some(CgroupMemory {
                    path: "/job".to_owned(),
                    limit_bytes: Some(64 << 20),
                    used_bytes: Some(63 << 20),
                });
            }),
        ),
        (
            Code::Unknown,
            changed(pages(0), |it| {
                it.mapping().runs.clear();
                let gone = || Source::Missing(Missing::NotAsked);
                it.space.read_with.page_scan = gone();
                it.space.read_with.page_map = gone();
                it.memory().resident = HUGE;
            }),
        ),
    ]
}

/// The range for a code.
pub(super) fn case(code: Code) -> Planted {
    let found = cases().into_iter().find(|case| case.0 == code);
    found.unwrap().1
}

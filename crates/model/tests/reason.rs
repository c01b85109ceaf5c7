//! Reasons on address spaces that are made for them: one case for each code, and what is told
//! with less privilege.

#![expect(clippy::unwrap_used, reason = "a panic is a test that fails")]

use std::collections::{BTreeMap, BTreeSet};

use hugewise_model::host::ThpSettings;
use hugewise_model::inspection::Inspection;
use hugewise_model::observation::Missing;
use hugewise_model::reason::{Certainty, CgroupMemory, Code, Judgement, Settings, Told, judge};
use hugewise_model::space::{
    FolioCount, Frames, Kind, Mapping, Memory, Pages, Permissions, Process, Run, Sort, Source,
    Sources, Space, VmFlags, WordSize,
};
use proptest::prelude::*;

const HUGE: u64 = 2 << 20;
const PAGE: u64 = 4096;
const START: u64 = 0x7f00_0000_0000;

fn process() -> Process {
    Process {
        pid: 77,
        parent: 1,
        started_ticks: 5,
        command: "planted".to_owned(),
        uid: 1000,
        threads: 1,
        children: 0,
        forked: false,
        sort: Sort::Program,
        word_size: Ok(WordSize::Bits64),
        thp_enabled: Some(true),
        page_table_bytes: None,
    }
}

/// An advised anonymous mapping of four huge-page ranges at an aligned address.
fn mapping() -> Mapping {
    Mapping {
        start: START,
        end: START + 4 * HUGE,
        permissions: Permissions(*b"rw-p"),
        offset: 0,
        device: (0, 0),
        inode: 0,
        name: "".into(),
        kind: Kind::Anonymous,
        file_system: None,
        mount_huge: None,
        memory: Some(Memory {
            thp_eligible: Some(true),
            flags: VmFlags::of(["rd", "wr", "hg"]),
            ..Memory::default()
        }),
        runs: Vec::new(),
    }
}

fn sources() -> Sources {
    Sources {
        smaps: Source::Read,
        page_scan: Source::Read,
        page_map: Source::Missing(Missing::NotAsked),
        frames: Source::Read,
    }
}

/// `madvise`, nothing ever failed, much memory is free.
fn settings() -> Settings {
    let events = [
        "thp_fault_fallback",
        "thp_fault_fallback_charge",
        "thp_split_pmd",
        "thp_split_page",
        "thp_underused_split_page",
    ];
    Settings {
        kernel: "6.18.0".to_owned(),
        arch: "x86_64".to_owned(),
        address_bits: Some(47),
        memory_bytes: 16 << 30,
        numa_nodes: 1,
        hypervisor: None,
        thp: Ok(ThpSettings {
            enabled: "madvise".to_owned(),
            defrag: "madvise".to_owned(),
            zero_page: true,
            pmd_bytes: HUGE,
            shmem_enabled: Some("always".to_owned()),
            khugepaged: BTreeMap::from([
                ("max_ptes_none".to_owned(), 511),
                ("max_ptes_swap".to_owned(), 64),
                ("max_ptes_shared".to_owned(), 256),
                ("pages_to_scan".to_owned(), 4096),
                ("scan_sleep_millisecs".to_owned(), 10_000),
            ]),
            sizes: BTreeMap::from([(2048, "inherit".to_owned()), (64, "never".to_owned())]),
        }),
        shmem_sizes: BTreeMap::new(),
        shrink_underused: Some(true),
        khugepaged_runs: Some(true),
        khugepaged_wants_writable: Some(false),
        vmstat: events
            .into_iter()
            .map(|name| (name.to_owned(), 0))
            .collect(),
        free_blocks: vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2000],
        cgroup: None,
    }
}

/// All that a case may change.
struct Planted {
    space: Space,
    settings: Settings,
}

impl Planted {
    /// The mapping with the same pages in each of its ranges.
    fn with(pages: Pages) -> Self {
        let mut mapping = mapping();
        mapping.runs = vec![Run {
            start: mapping.start,
            end: mapping.end,
            pages,
        }];
        Self {
            space: Space {
                process: process(),
                page_bytes: PAGE,
                huge_bytes: HUGE,
                read_with: sources(),
                mappings: vec![mapping],
            },
            settings: settings(),
        }
    }

    fn mapping(&mut self) -> &mut Mapping {
        &mut self.space.mappings[0]
    }

    fn memory(&mut self) -> &mut Memory {
        self.mapping().memory.as_mut().unwrap()
    }

    fn flags(&mut self, words: &[&str]) {
        self.memory().flags = VmFlags::of(words.iter().copied());
    }

    fn thp(&mut self) -> &mut ThpSettings {
        self.settings.thp.as_mut().unwrap()
    }

    fn event(&mut self, name: &str) {
        self.settings.vmstat.insert(name.to_owned(), 3);
    }

    /// The mapping cut to pages, with one run of them.
    fn cut(&mut self, start: u64, end: u64) {
        let mapping = self.mapping();
        (mapping.start, mapping.end) = (start, end);
        let pages = mapping.runs[0].pages.clone();
        mapping.runs = vec![Run { start, end, pages }];
    }

    /// As an ordinary user sees it.
    fn without_frames(&mut self) {
        self.space.read_with.frames = Source::Missing(Missing::NotPermitted {
            grant: "CAP_SYS_ADMIN".to_owned(),
        });
        for run in &mut self.mapping().runs {
            run.pages.frames = None;
        }
    }

    fn only(&self) -> Judgement {
        let judgements = judge(&self.space, &self.settings, &Told::All);
        assert_eq!(judgements.len(), 1, "{judgements:#?}");
        judgements.into_iter().next().unwrap()
    }
}

fn pages(present: u32) -> Pages {
    Pages {
        present,
        huge: Some(0),
        zero: Some(0),
        guard: Some(0),
        islands: 1,
        from_start: true,
        ..Pages::default()
    }
}

fn huge() -> Pages {
    Pages {
        huge: Some(512),
        ..pages(512)
    }
}

fn framed(present: u32, frames: Frames) -> Pages {
    Pages {
        frames: Some(Box::new(frames)),
        ..pages(present)
    }
}

fn single(count: u32) -> Pages {
    framed(
        count,
        Frames {
            single: count,
            ..Frames::default()
        },
    )
}

fn folios(folio_pages: u32, frames: u32, single: u32) -> Pages {
    framed(
        frames + single,
        Frames {
            single,
            folios: vec![FolioCount {
                folio_pages,
                frames,
            }],
            ..Frames::default()
        },
    )
}

fn file(mut pages: Pages) -> Planted {
    pages.file = pages.present;
    let mut planted = Planted::with(pages);
    let mapping = planted.mapping();
    mapping.kind = Kind::File;
    mapping.name = "/srv/data".into();
    mapping.permissions = Permissions(*b"r--p");
    mapping.device = (254, 0);
    mapping.inode = 9;
    mapping.file_system = Some("ext4".into());
    planted
}

fn shared(kind: Kind) -> Planted {
    let mut pages = pages(512);
    pages.file = 512;
    let mut planted = Planted::with(pages);
    let mapping = planted.mapping();
    mapping.kind = kind;
    mapping.permissions = Permissions(*b"rw-s");
    mapping.inode = 4;
    planted
}

fn changed(pages: Pages, change: impl FnOnce(&mut Planted)) -> Planted {
    let mut planted = Planted::with(pages);
    change(&mut planted);
    planted
}

/// For each code that can be the reason of a range: a range of which it is.
fn cases() -> Vec<(Code, Planted)> {
    let mut cases = by_state_and_shape();
    cases.extend(by_policy());
    cases.extend(by_file());
    cases.extend(weighed());
    cases
}

fn by_state_and_shape() -> Vec<(Code, Planted)> {
    let no_thp = Missing::NotSupported {
        what: "transparent_hugepage".to_owned(),
    };
    vec![
        (
            Code::NoThpKernel,
            changed(single(512), |it| it.settings.thp = Err(no_thp)),
        ),
        (Code::AlreadyPmd, Planted::with(huge())),
        (
            Code::Hugetlb,
            changed(huge(), |it| it.mapping().kind = Kind::Hugetlb),
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
        (Code::ShmemPolicy, shared(Kind::Tmpfs)),
        (Code::FileMisaligned, {
            let mut planted = shared(Kind::SharedMemory);
            planted.mapping().offset = PAGE;
            planted
        }),
        (Code::FileNoLargeFolio, file(single(512))),
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

#[test]
fn every_reason_is_found_where_it_is_planted() {
    for (code, planted) in cases() {
        let judgements = judge(&planted.space, &planted.settings, &Told::All);
        let of_it = judgements.iter().find(|one| one.code == code);
        let Some(found) = of_it else {
            panic!("{code} was planted, and found was {judgements:#?}");
        };
        assert!(!found.evidence.is_empty(), "{code} has no evidence");
        for sentence in &found.evidence {
            assert!(!sentence.trim().is_empty(), "{code}: {found:?}");
        }
        assert_eq!(
            found.certainty == Certainty::Unknown,
            code == Code::Unknown,
            "{code}"
        );
        if let Certainty::OneOf(codes) = &found.certainty {
            assert_eq!(codes.first(), Some(&code), "the reason given is the first");
        }
    }
}

/// Reasons that no range shows by itself: they are told beside another, or not at all.
#[test]
fn every_reason_is_planted_or_told_beside_another() {
    let mut told: BTreeSet<Code> = cases().into_iter().map(|(code, _)| code).collect();
    let sparse = changed(single(9), |it| {
        it.settings.numa_nodes = 2;
        it.settings.arch = "aarch64".to_owned();
        it.mapping().runs[0].pages.zero = Some(3);
        for event in [
            "thp_fault_fallback",
            "thp_split_page",
            "thp_underused_split_page",
        ] {
            it.event(event);
        }
    });
    let mut read_only = changed(single(512), |it| {
        it.settings.khugepaged_wants_writable = Some(true);
    });
    read_only.mapping().permissions = Permissions(*b"r--p");
    let unregistered = changed(single(512), |it| {
        it.thp().enabled = "always".to_owned();
        it.flags(&["rd", "wr"]);
    });
    let off = changed(single(512), |it| it.settings.khugepaged_runs = Some(false));
    let limits = changed(single(12), |it| {
        it.thp().khugepaged.insert("max_ptes_none".to_owned(), 409);
    });
    for planted in [&sparse, &read_only, &unregistered, &off, &limits] {
        let one = planted.only();
        let still = one.still.map(|still| still.certainty);
        for certainty in [Some(one.certainty), still].into_iter().flatten() {
            if let Certainty::OneOf(codes) = certainty {
                told.extend(codes);
            }
        }
    }
    for (planted, code) in [
        (off, Code::KhpOff),
        (limits, Code::KhpLimits),
        (read_only, Code::ReadonlyAnon),
    ] {
        let still = planted.only().still.unwrap();
        assert_eq!((still.code, still.certainty), (code, Certainty::Proved));
        told.insert(code);
    }
    let silent: Vec<Code> = Code::all().filter(|code| !told.contains(code)).collect();
    assert_eq!(silent, [Code::NotMapped, Code::Host4K]);
}

#[test]
fn what_frames_prove_is_one_of_several_without_them() {
    for code in [Code::PmdSplit, Code::MthpInstead, Code::PteTableExists] {
        let (_, mut planted) = cases().into_iter().find(|case| case.0 == code).unwrap();
        planted.event("thp_split_pmd");
        planted.thp().sizes.insert(64, "madvise".to_owned());
        planted.without_frames();
        let Certainty::OneOf(codes) = planted.only().certainty else {
            panic!("{code} cannot be proved without frames");
        };
        for possible in [Code::PteTableExists, Code::PmdSplit, Code::MthpInstead] {
            assert!(
                codes.contains(&possible),
                "{possible} is possible: {codes:?}"
            );
        }
    }
}

/// Written all over, memory that an atomic instruction read first looks like any other small
/// memory; only the split of the huge zero page was counted, and only Arm reads first.
#[test]
fn an_atomic_first_touch_is_possible_where_arm_has_split_a_page() {
    let codes = |arch: &str, splits: bool| {
        let mut planted = Planted::with(single(512));
        planted.settings.arch = arch.to_owned();
        if splits {
            planted.event("thp_split_pmd");
        }
        let one = planted.only();
        let Certainty::OneOf(codes) = one.certainty else {
            return vec![one.code];
        };
        codes
    };
    let both = [Code::PteTableExists, Code::LseReadFirst];
    assert_eq!(codes("aarch64", true), both);
    assert_eq!(codes("aarch64", false), both[..1]);
    assert_eq!(codes("x86_64", true), both[..1]);
}

#[test]
fn what_never_happened_is_excluded() {
    let mut planted = Planted::with(single(512));
    let of = |planted: &Planted| match planted.only().certainty {
        Certainty::OneOf(codes) => codes,
        other => panic!("{other:?}"),
    };
    assert_eq!(of(&planted), [Code::PteTableExists]);
    planted.event("thp_split_page");
    assert_eq!(of(&planted), [Code::PteTableExists, Code::SplitByReclaim]);
    planted.settings.vmstat.clear();
    assert!(of(&planted).contains(&Code::AllocFail), "nobody counts it");
}

/// Kernels before 6.15 call guards swapped; smaps knows better.
#[test]
fn guards_without_a_name_are_not_swap() {
    let planted = Planted::with(Pages {
        swapped: 1,
        guard: None,
        ..single(511)
    });
    let one = planted.only();
    assert_eq!(one.code, Code::GuardPages);
    assert!(matches!(one.certainty, Certainty::OneOf(_)), "{one:?}");
}

/// A fault that compacts and reclaims itself does not fail because few huge pages lie ready.
#[test]
fn scarcity_speaks_for_a_refusal_only_where_the_fault_takes_what_is_ready() {
    let (_, mut planted) = weighed()
        .into_iter()
        .find(|(code, _)| *code == Code::AllocFail)
        .unwrap();
    planted.thp().defrag = "madvise".to_owned();
    assert_eq!(planted.only().code, Code::PteTableExists);
}

/// Other inaccessible memory below it makes no stack: its guard has the flag of the stack.
#[test]
fn a_stack_is_known_by_the_flag_of_its_guard() {
    let (_, mut planted) = by_policy()
        .into_iter()
        .find(|(code, _)| *code == Code::MapStack)
        .unwrap();
    let guard = &mut planted.space.mappings[0];
    guard.memory.as_mut().unwrap().flags = VmFlags::default();
    let judgements = judge(&planted.space, &planted.settings, &Told::All);
    let last = judgements.last().unwrap();
    assert_eq!(last.code, Code::MadvNohugepage);
    let both = vec![Code::MadvNohugepage, Code::MapStack];
    assert_eq!(last.certainty, Certainty::OneOf(both));
}

/// Four ranges cannot all have fallen back when three faults did.
#[test]
fn fewer_failures_than_ranges_are_not_the_likeliest() {
    let (_, mut planted) = weighed()
        .into_iter()
        .find(|(code, _)| *code == Code::AllocFail)
        .unwrap();
    planted.event("thp_fault_fallback");
    let one = planted.only();
    assert_eq!(one.code, Code::PteTableExists);
    let Certainty::OneOf(codes) = one.certainty else {
        panic!("{one:?}");
    };
    assert!(codes.contains(&Code::AllocFail));
}

/// Steps of three ranges that do not end at borders: each third range is small.
#[test]
fn growth_across_borders_is_told_by_even_distances() {
    let mut planted = Planted::with(huge());
    let mapping = planted.mapping();
    mapping.end = START + 12 * HUGE;
    mapping.runs = (0..12)
        .map(|place| Run {
            start: START + place * HUGE,
            end: START + (place + 1) * HUGE,
            pages: if place % 3 == 1 { single(512) } else { huge() },
        })
        .collect();
    let even = Inspection::of(planted.space.clone(), planted.settings.clone());
    let [growth] = &even.growth[..] else {
        panic!("{:?}", even.growth);
    };
    assert_eq!((growth.ranges, growth.step_bytes), (4, Some(3 * HUGE)));
    planted.mapping().runs[11].pages = single(512);
    let uneven = Inspection::of(planted.space, planted.settings);
    assert!(uneven.growth.is_empty(), "{:?}", uneven.growth);
}

#[test]
fn the_ends_of_a_mapping_are_judged_apart_from_its_middle() {
    let mut planted = Planted::with(huge());
    let mapping = planted.mapping();
    mapping.start -= PAGE;
    mapping.end += 3 * PAGE;
    mapping.runs.insert(
        0,
        Run {
            start: START - PAGE,
            end: START,
            pages: pages(1),
        },
    );
    let judgements = judge(&planted.space, &planted.settings, &Told::All);
    let seen: Vec<_> = judgements
        .iter()
        .map(|one| (one.start, one.end, one.ranges, one.code))
        .collect();
    let end = START + 4 * HUGE;
    assert_eq!(
        seen,
        [
            (START - PAGE, START, 1, Code::VmaSmall),
            (START, end, 4, Code::AlreadyPmd),
            (end, end + 3 * PAGE, 1, Code::Untouched),
        ]
    );
}

#[test]
fn sizes_of_other_hosts_are_no_constants() {
    let huge = 32 << 20;
    let mut planted = Planted::with(single(2048));
    planted.space.page_bytes = 16 << 10;
    planted.space.huge_bytes = huge;
    planted.thp().pmd_bytes = huge;
    planted.thp().sizes.clear();
    planted.cut(START, START + huge);
    let one = planted.only();
    assert_eq!((one.code, one.ranges), (Code::PteTableExists, 1));
    assert_eq!(one.resident_bytes, Some(huge));
    assert!(one.evidence[0].starts_with("2048 of 2048 pages"), "{one:?}");
}

#[test]
fn without_the_scan_smaps_totals_tell_all_or_nothing() {
    let mut planted = Planted::with(Pages {
        huge: None,
        zero: None,
        guard: None,
        ..pages(512)
    });
    planted.space.read_with.page_scan = Source::Missing(Missing::NotAsked);
    planted.space.read_with.page_map = Source::Read;
    planted.memory().anon_huge = 4 * HUGE;
    assert_eq!(planted.only().code, Code::AlreadyPmd);
    planted.memory().anon_huge = 0;
    assert_eq!(planted.only().code, Code::PteTableExists);
    planted.memory().anon_huge = HUGE;
    let one = planted.only();
    let Certainty::OneOf(codes) = &one.certainty else {
        panic!("{one:?}");
    };
    assert!(codes.contains(&Code::AlreadyPmd), "{codes:?}");
}

#[test]
fn a_summary_adds_up() {
    for (code, planted) in cases() {
        let inspection = Inspection::of(planted.space, planted.settings);
        let of_ranges: u64 = inspection.summary.reasons.iter().map(|one| one.bytes).sum();
        assert_eq!(of_ranges, inspection.summary.mapped, "{code}");
    }
}

fn any_pages() -> impl Strategy<Value = Pages> {
    (
        0_u32..600,
        0_u32..600,
        0_u32..3,
        0_u32..3,
        0_u32..600,
        any::<bool>(),
    )
        .prop_map(|(present, file, huge, zero, swapped, known)| Pages {
            present,
            file,
            huge: known.then_some(huge * 256),
            zero: known.then_some(zero * 256),
            swapped,
            guard: known.then_some(swapped % 2),
            islands: 1,
            from_start: known,
            frames: None,
        })
}

proptest! {
    /// Whatever was read: every mapped byte has one reason, in order, without a gap.
    #[test]
    fn every_mapped_byte_has_one_reason(
        shape in proptest::collection::vec((0_u64..3000, 1_u64..3000, any_pages(), 0_usize..9), 0..9),
        words in proptest::collection::vec(0_usize..6, 0..3),
    ) {
        let flags = ["hg", "nh", "io", "um", "mg", "ht"];
        let kinds = [Kind::Anonymous, Kind::Heap, Kind::Stack, Kind::File, Kind::SharedMemory,
            Kind::Tmpfs, Kind::Hugetlb, Kind::Device, Kind::Kernel];
        let mut planted = Planted::with(pages(0));
        planted.space.mappings.clear();
        let mut at = START;
        for (gap, length, pages, kind) in shape {
            let mut one = mapping();
            one.start = at + gap * PAGE;
            one.end = one.start + length * PAGE;
            one.kind = kinds[kind];
            one.memory.as_mut().unwrap().flags = VmFlags::of(words.iter().map(|&w| flags[w]));
            let first = one.start.next_multiple_of(HUGE);
            if first + HUGE <= one.end {
                one.runs = vec![Run { start: first, end: first + HUGE, pages }];
            }
            at = one.end;
            planted.space.mappings.push(one);
        }
        let judgements = judge(&planted.space, &planted.settings, &Told::All);
        for (index, mapping) in planted.space.mappings.iter().enumerate() {
            let mut at = mapping.start;
            for one in judgements.iter().filter(|one| one.mapping == index) {
                prop_assert_eq!(one.start, at);
                prop_assert!(one.end > one.start && one.ranges > 0);
                at = one.end;
            }
            prop_assert_eq!(at, mapping.end);
        }
        let inspection = Inspection::of(planted.space, planted.settings);
        let json = serde_json::to_string(&inspection).unwrap();
        prop_assert_eq!(serde_json::from_str::<Inspection>(&json).unwrap(), inspection);
    }
}

//! Reasons that are proved, one of several, or excluded.

use hugewise_base::missing::Missing;
use hugewise_observe::address_space::{Pages, Source, VmFlags};
use hugewise_observe::inspect::reasons::{Certainty, Code, Wording, judge};
use hugewise_observe::inspect::view::Inspection;
use hugewise_text::document::Level;
use hugewise_text::{Style, Verbosity, to_text};

use super::cases::case;
use super::planted::{HUGE, Planted, file, pages, single};

#[test]
fn what_frames_prove_is_one_of_several_without_them() {
    for code in [Code::PmdSplit, Code::MthpInstead, Code::PteTableExists] {
        let mut planted = case(code);
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

/// After an atomic first read, fully written memory looks like any other small memory. Only the split of the huge zero
/// page was counted, and only on Arm does an atomic instruction read before it writes.
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

/// Kernels before 6.15 report guards as swapped, while smaps does not.
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

/// A fault that compacts and reclaims directly does not fail because few huge pages are free.
#[test]
fn scarcity_speaks_for_a_refusal_only_where_the_fault_takes_what_is_ready() {
    let mut planted = case(Code::AllocFail);
    planted.thp().defrag = "madvise".to_owned();
    assert_eq!(planted.only().code, Code::PteTableExists);
}

/// Other inaccessible memory below the mapping does not make it a stack: the guard of a stack has its flag.
#[test]
fn a_stack_is_known_by_the_flag_of_its_guard() {
    let mut planted = case(Code::MapStack);
    let guard = &mut planted.space.mappings[0];
    guard.memory.as_mut().unwrap().flags = VmFlags::default();
    let judgements = judge(&planted.space, &planted.settings, &Wording::All);
    let last = judgements.last().unwrap();
    assert_eq!(last.code, Code::MadvNohugepage);
    let both = vec![Code::MadvNohugepage, Code::MapStack];
    assert_eq!(last.certainty, Certainty::OneOf(both));
}

/// Three failed faults cannot explain four ranges.
#[test]
fn fewer_failures_than_ranges_are_not_the_likeliest() {
    let mut planted = case(Code::AllocFail);
    planted.event("thp_fault_fallback");
    let one = planted.only();
    assert_eq!(one.code, Code::PteTableExists);
    let Certainty::OneOf(codes) = one.certainty else {
        panic!("{one:?}");
    };
    assert!(codes.contains(&Code::AllocFail));
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

/// With equal single pages, the kernel release orders the two reasons; a visible folio proves one.
#[test]
fn a_file_system_that_has_large_folios_is_not_blamed() {
    let of = |system: Option<&str>, kernel: &str, file_huge: u64| {
        let mut planted = file(single(512));
        planted.settings.kernel = kernel.to_owned();
        planted.mapping().file_system = system.map(Into::into);
        planted.memory().file_huge = Some(file_huge);
        planted.only()
    };
    let (none, small) = (Code::FileNoLargeFolio, Code::FileSmallFolios);
    let cases = [
        (Some("ext4"), "6.18.44", vec![small, none]),
        (Some("ext4"), "6.12.1", vec![none, small]),
        (Some("xfs"), "6.1.0-30-amd64", vec![small, none]),
        (Some("ext4"), "", vec![small, none]),
        (Some("overlay"), "6.1.0", vec![small, none]),
        (Some("vfat"), "6.18.44", vec![none, small]),
        (None, "6.18.44", vec![small, none]),
    ];
    for (system, kernel, wanted) in cases {
        let one = of(system, kernel, 0);
        assert_eq!(
            one.certainty,
            Certainty::OneOf(wanted),
            "{system:?} {kernel}"
        );
    }
    let seen = of(Some("ext4"), "6.12.1", HUGE);
    assert_eq!((seen.code, seen.certainty), (small, Certainty::Proved));
}

/// Without any source of pages, the size of small memory is unknown, not zero.
#[test]
fn memory_that_nobody_read_has_no_size() {
    let mut planted = Planted::with(single(512));
    let missing = Source::Missing(Missing::not_permitted("CAP_SYS_PTRACE"));
    planted.space.read_with.page_scan = missing.clone();
    planted.space.read_with.page_map = missing.clone();
    planted.space.read_with.frames = missing;
    planted.mapping().runs.clear();
    planted.memory().resident = 8 << 20;
    let inspection = Inspection::of(planted.space, planted.settings);
    assert_eq!(inspection.summary.could_be_huge, None);
    let document = inspection.document(None, Level::Detail);
    let style = Style {
        verbose: Verbosity::Verbose,
        ..Style::default()
    };
    let text = to_text(&document, &style);
    assert!(!text.contains("0 B\n") && !text.contains("(?"), "{text}");
    assert!(text.contains("not known"), "{text}");
}

use super::*;
use crate::address_space::test_space::{mapping, pages, run, space};
use crate::address_space::{Memory, VmFlags};

const MIB: u64 = 1 << 20;
const AT: u64 = 0x7f00_0000_0000;

fn left_out(plan: &Plan) -> Vec<(Unfit, u64)> {
    plan.left_out.iter().map(|l| (l.why, l.ranges)).collect()
}

#[test]
fn populated_small_ranges_are_taken_and_the_rest_is_told() {
    // 16 MiB from 1 MiB below a boundary: whole ranges are the 7 between.
    let start = AT + MIB;
    let runs = vec![
        run(start, AT + 2 * MIB, pages(256)),
        run(AT + 2 * MIB, AT + 6 * MIB, pages(512)),
        run(AT + 6 * MIB, AT + 8 * MIB, pages(1)),
        run(
            AT + 8 * MIB,
            AT + 10 * MIB,
            Pages {
                huge: Some(512),
                ..pages(512)
            },
        ),
        run(
            AT + 10 * MIB,
            AT + 12 * MIB,
            Pages {
                zero: Some(9),
                ..pages(9)
            },
        ),
    ];
    let space = space(vec![mapping(start, start + 16 * MIB, runs)]);
    let plan = plan(&space, &Choice::default(), &FileRules::default());
    let starts: Vec<u64> = plan.ranges.iter().map(|range| range.start - AT).collect();
    assert_eq!(starts, [2 * MIB, 4 * MIB, 6 * MIB]);
    assert_eq!(plan.bytes_added(), 2 * MIB - 4096);
    let wanted = [
        (Unfit::AlreadyHuge, 1),
        (Unfit::Empty, 2),
        (Unfit::OnlyZeroPages, 1),
    ];
    assert_eq!(left_out(&plan), wanted);
}

#[test]
fn the_limit_counts_huge_memory_and_leaves_the_rest() {
    let runs = vec![run(AT, AT + 8 * MIB, pages(512))];
    let space = space(vec![mapping(AT, AT + 8 * MIB, runs)]);
    let choice = Choice {
        max_bytes: Some(5 * MIB),
        ..Choice::default()
    };
    let plan = plan(&space, &choice, &FileRules::default());
    assert_eq!(plan.ranges.len(), 2);
    assert_eq!(left_out(&plan), [(Unfit::Limit, 2)]);
}

fn one(change: impl FnOnce(&mut Mapping)) -> Space {
    let mut one = mapping(AT, AT + 2 * MIB, vec![run(AT, AT + 2 * MIB, pages(512))]);
    change(&mut one);
    space(vec![one])
}

#[test]
fn what_the_kernel_refuses_is_not_tried() {
    let flagged = |word: &'static str| {
        one(move |mapping| {
            mapping.memory = Some(Memory {
                flags: VmFlags::of(["rd", "wr", word]),
                ..Memory::default()
            });
        })
    };
    let file = |offset| {
        one(move |mapping| {
            mapping.kind = MappingKind::File;
            mapping.name = "/srv/data".into();
            mapping.offset = offset;
        })
    };
    let named = Choice {
        mapping: Some(Glob::new("/srv/*")),
        ..Choice::default()
    };
    let all = Choice::default();
    let cases = [
        (flagged("nh"), &all, Some(Unfit::NotWanted)),
        (flagged("pf"), &all, Some(Unfit::NeverHuge)),
        (flagged("hg"), &all, None),
        (flagged("hg"), &named, Some(Unfit::OtherMapping)),
        (file(0), &all, Some(Unfit::File)),
        (file(0), &named, None),
        (file(4096), &named, Some(Unfit::Misaligned)),
        (file(2 * MIB), &named, None),
    ];
    for (space, choice, wanted) in cases {
        let plan = plan(&space, choice, &FileRules::default());
        let why = plan.left_out.first().map(|left| left.why);
        assert_eq!(
            (why, plan.ranges.len()),
            (wanted, usize::from(wanted.is_none()))
        );
    }
}

/// A file that the program has advised, and its eligibility by smaps.
fn advised_file(eligible: Option<bool>) -> Space {
    one(|mapping| {
        mapping.kind = MappingKind::File;
        mapping.name = "/srv/data".into();
        mapping.memory = Some(Memory {
            flags: VmFlags::of(["rd", "hg"]),
            thp_eligible: eligible,
            ..Memory::default()
        });
    })
}

#[test]
fn files_that_the_kernel_refuses_are_not_promised() {
    let named = Choice {
        mapping: Some(Glob::new("/srv/*")),
        ..Choice::default()
    };
    let rules = |enabled: &str, read_only_files| FileRules {
        enabled: Some(enabled.to_owned()),
        shmem_enabled: Some("deny".to_owned()),
        read_only_files,
    };
    let no = Some(false);
    let cases = [
        // The kernel was built without; whatever smaps says, the call needs it.
        (Some(true), rules("never", no), Some(Unfit::Refused)),
        (no, rules("madvise", None), Some(Unfit::Refused)),
        (no, rules("always", Some(true)), Some(Unfit::Refused)),
        // The setting may be the reason why smaps says no, and it does not bind the call.
        (no, rules("never", Some(true)), None),
        (Some(true), rules("madvise", Some(true)), None),
        (no, FileRules::default(), None),
    ];
    for (eligible, rules, wanted) in cases {
        let plan = plan(&advised_file(eligible), &named, &rules);
        let why = plan.left_out.first().map(|left| left.why);
        assert_eq!(
            (why, plan.ranges.is_empty()),
            (wanted, wanted.is_some()),
            "{rules:?}"
        );
    }
}

#[test]
fn shared_memory_is_refused_under_deny_alone() {
    let space = one(|mapping| mapping.kind = MappingKind::SharedMemory);
    for (mode, wanted) in [("deny", 0), ("never", 1)] {
        let rules = FileRules {
            shmem_enabled: Some(mode.to_owned()),
            read_only_files: Some(false),
            ..FileRules::default()
        };
        assert_eq!(
            plan(&space, &Choice::default(), &rules).ranges.len(),
            wanted,
            "{mode}"
        );
    }
}

#[test]
fn without_a_scan_smaps_tells_that_all_is_huge() {
    let unknown = || Pages {
        huge: None,
        zero: None,
        ..pages(512)
    };
    let with = |anon_huge| {
        let mut one = mapping(AT, AT + 4 * MIB, vec![run(AT, AT + 4 * MIB, unknown())]);
        one.memory = Some(Memory {
            anon_huge,
            ..Memory::default()
        });
        plan(&space(vec![one]), &Choice::default(), &FileRules::default())
    };
    assert_eq!(left_out(&with(4 * MIB)), [(Unfit::AlreadyHuge, 2)]);
    assert_eq!(with(2 * MIB).ranges.len(), 2);
}

#[test]
fn reservations_are_not_told() {
    let mut reserved = mapping(AT, AT + (1 << 40), Vec::new());
    reserved.permissions = crate::address_space::Permissions(*b"---p");
    let plan = plan(
        &space(vec![reserved]),
        &Choice::default(),
        &FileRules::default(),
    );
    assert!(plan.left_out.is_empty());
}

#[test]
fn hot_is_what_was_used_and_the_unknown_is_not() {
    let used = |referenced| {
        one(move |mapping| {
            mapping.memory = Some(Memory {
                resident: 2 * MIB,
                referenced,
                ..Memory::default()
            });
        })
    };
    let choice = Choice {
        hot_share: Some(0.5),
        ..Choice::default()
    };
    assert_eq!(
        plan(&used(MIB), &choice, &FileRules::default())
            .ranges
            .len(),
        1
    );
    assert_eq!(
        plan(&used(MIB - 4096), &choice, &FileRules::default())
            .ranges
            .len(),
        0
    );
    assert_eq!(
        plan(&one(|_| ()), &choice, &FileRules::default())
            .ranges
            .len(),
        0
    );
}

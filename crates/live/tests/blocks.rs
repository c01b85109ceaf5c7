//! Which blocks are switched, and why others are not.

use hugewise_base::missing::Missing;
use hugewise_experiment::run::plan::Skip;
use hugewise_live::{Block, blocks, shared_block};
use hugewise_observe::address_space::{
    Mapping, MappingKind, Memory, Pages, Permissions, Process, Run, Sort, Source, Sources, Space,
    VmFlags,
};

pub(crate) const HUGE: u64 = 2 << 20;

pub(crate) fn mapping(
    start: u64,
    kind: MappingKind,
    permissions: [u8; 4],
    flags: &[&str],
    runs: Vec<Run>,
) -> Mapping {
    Mapping {
        start,
        end: start + 16 * HUGE,
        permissions: Permissions(permissions),
        offset: 0,
        device: (0, 0),
        inode: 0,
        name: "".into(),
        kind,
        file_system: None,
        mount_huge: None,
        memory: Some(Memory {
            flags: VmFlags::of(flags.iter().copied()),
            ..Memory::default()
        }),
        runs,
    }
}

/// So many blocks of a mapping that begins at `start`, from its first on.
fn run(start: u64, blocks: u64, pages: Pages) -> Run {
    Run {
        start,
        end: start + blocks * HUGE,
        pages,
    }
}

fn full(huge: u32) -> Pages {
    Pages {
        present: 512,
        huge: Some(huge),
        zero: Some(0),
        islands: 1,
        from_start: true,
        ..Pages::default()
    }
}

pub(crate) fn space(mappings: Vec<Mapping>) -> Space {
    Space {
        process: Process {
            pid: 1,
            parent: 0,
            started_ticks: 0,
            command: "x".to_owned(),
            uid: 0,
            threads: 1,
            children: 0,
            forked: false,
            sort: Sort::Program,
            word_size: Err(Missing::NotAsked),
            thp_enabled: Some(true),
            parent_thp_enabled: None,
            page_table_bytes: None,
            environment: Default::default(),
        },
        page_bytes: 4096,
        huge_bytes: HUGE,
        read_with: Sources {
            smaps: Source::Read,
            page_scan: Source::Read,
            page_map: Source::Missing(Missing::NotAsked),
            frames: Source::Missing(Missing::NotAsked),
        },
        contents: Err(Missing::NotAsked),
        mappings,
    }
}

/// The reason for the one block of a mapping; `None` if it is switched.
fn why(kind: MappingKind, permissions: &[u8; 4], flags: &[&str], pages: Pages) -> Option<Skip> {
    let start = 8 * HUGE;
    let one = mapping(start, kind, *permissions, flags, vec![run(start, 1, pages)]);
    let found = blocks(&space(vec![one]), |_| Vec::new());
    assert_eq!(found.able.len() + found.skipped.len(), 1, "{found:?}");
    found.skipped.keys().next().copied()
}

#[test]
fn private_memory_that_is_all_there_is_switched() {
    let start = 4 * HUGE;
    let runs = vec![run(start, 2, full(0)), run(start + 2 * HUGE, 1, full(512))];
    let heap = mapping(start, MappingKind::Heap, *b"rw-p", &["rd", "wr"], runs);
    let found = blocks(&space(vec![heap]), |_| vec![6 * HUGE]);
    let expected = [(4, false), (5, false), (6, true)].map(|(index, is_huge)| Block {
        start: index * HUGE,
        is_huge,
    });
    assert_eq!(found.able, expected);
    assert!(found.skipped().is_empty());
}

#[test]
fn each_reason_is_told() {
    let rw = b"rw-p";
    let partly = Pages {
        present: 511,
        ..full(0)
    };
    let swapped = Pages {
        present: 511,
        swapped: 1,
        ..full(0)
    };
    let zero = Pages {
        zero: Some(512),
        ..full(512)
    };
    let in_file = Pages { file: 3, ..full(0) };
    let all = [
        (why(MappingKind::Anonymous, rw, &[], full(0)), None),
        (
            why(MappingKind::Anonymous, rw, &["hg", "mg"], full(0)),
            None,
        ),
        (
            why(MappingKind::Anonymous, rw, &[], partly),
            Some(Skip::NotPresent),
        ),
        (
            why(MappingKind::Anonymous, rw, &[], swapped),
            Some(Skip::NotPresent),
        ),
        (
            why(MappingKind::Anonymous, rw, &[], zero),
            Some(Skip::ZeroFilled),
        ),
        (
            why(MappingKind::Anonymous, rw, &[], in_file),
            Some(Skip::Shared),
        ),
        (
            why(MappingKind::Anonymous, rw, &["lo"], full(0)),
            Some(Skip::Locked),
        ),
        (
            why(MappingKind::Anonymous, rw, &["uw"], full(0)),
            Some(Skip::Userfaultfd),
        ),
        (
            why(MappingKind::Anonymous, rw, &["um"], full(0)),
            Some(Skip::Userfaultfd),
        ),
        (
            why(MappingKind::Anonymous, rw, &["nh"], full(0)),
            Some(Skip::AdvisedAgainst),
        ),
        (
            why(MappingKind::Anonymous, rw, &["pf"], full(0)),
            Some(Skip::Special),
        ),
        (
            why(MappingKind::Anonymous, b"r--p", &[], full(0)),
            Some(Skip::ReadOnly),
        ),
        (
            why(MappingKind::SharedMemory, b"rw-s", &[], full(0)),
            Some(Skip::NotAnonymous),
        ),
        (
            why(MappingKind::File, rw, &[], full(0)),
            Some(Skip::NotAnonymous),
        ),
        (
            why(MappingKind::Hugetlb, rw, &["ht"], full(512)),
            Some(Skip::Hugetlb),
        ),
        (
            why(MappingKind::Device, rw, &[], full(0)),
            Some(Skip::Special),
        ),
    ];
    for (index, (found, expected)) in all.into_iter().enumerate() {
        assert_eq!(found, expected, "row {index}");
    }
}

#[test]
fn a_block_that_the_mapping_cuts_off_is_none() {
    let start = 4 * HUGE + 4096;
    let cut = Run {
        start,
        end: 5 * HUGE,
        pages: full(0),
    };
    let one = mapping(start, MappingKind::Anonymous, *b"rw-p", &[], vec![cut]);
    let found = blocks(&space(vec![one]), |_| Vec::new());
    assert!(found.able.is_empty() && found.skipped.is_empty());
}

#[test]
fn pages_of_two_processes_are_shared() {
    const PRESENT: u64 = 1 << 63;
    const FILE: u64 = 1 << 61;
    const OWN: u64 = 1 << 56;
    assert_eq!(shared_block(&[PRESENT | OWN; 4]), None);
    assert_eq!(shared_block(&[PRESENT | OWN, PRESENT]), Some(Skip::Shared));
    assert_eq!(shared_block(&[PRESENT | OWN | FILE]), Some(Skip::Shared));
    assert_eq!(shared_block(&[PRESENT | OWN, OWN]), Some(Skip::NotPresent));
    assert_eq!(shared_block(&[]), Some(Skip::NotPresent));
}

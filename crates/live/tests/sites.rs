//! The mappings of a process as sites, and the sites that are switched separately.

use hugewise_experiment::run::site::Site;
use hugewise_live::{Layout, MOST_SITES, Mapped, MappedProcess, mapped};
use hugewise_observe::address_space::{Mapping, MappingKind, Permissions};

use crate::blocks::{HUGE, mapping, space};

fn anonymous(start: u64, huge_pages: u64) -> Mapping {
    Mapping {
        end: start + huge_pages * HUGE,
        ..mapping(start, MappingKind::Anonymous, *b"rw-p", &[], Vec::new())
    }
}

fn numbered(number: u32, class: u8) -> Site {
    Site::Mapping { number, class }
}

#[test]
fn the_highest_mapping_of_a_class_has_the_number_1() {
    let heap = Mapping {
        kind: MappingKind::Heap,
        name: "[heap]".into(),
        ..anonymous(HUGE, 4)
    };
    let locked = mapping(40 * HUGE, MappingKind::Anonymous, *b"rw-p", &["lo"], vec![]);
    let read_only = Mapping {
        permissions: Permissions(*b"r--p"),
        ..anonymous(60 * HUGE, 4)
    };
    let small = Mapping {
        end: 80 * HUGE + HUGE / 2,
        ..anonymous(80 * HUGE, 1)
    };
    let all = vec![
        heap,
        anonymous(10 * HUGE, 4),
        anonymous(20 * HUGE, 5),
        anonymous(30 * HUGE, 2),
        locked,
        read_only,
        small,
    ];
    let found = mapped(&space(all));
    let found: Vec<(Site, u64)> = found.iter().map(|it| (it.site, it.start / HUGE)).collect();
    let expected = [
        (numbered(1, 22), 30),
        (numbered(1, 23), 20),
        (numbered(2, 23), 10),
        (Site::Heap, 1),
    ];
    assert_eq!(found, expected);
}

/// A process with mappings of so many blocks. The first one is at the lowest address.
fn process(pid: u32, sizes: &[u64]) -> MappedProcess {
    let mut start = HUGE;
    let mut process = MappedProcess {
        pid,
        mapped: Vec::new(),
        blocks: Vec::new(),
    };
    for (number, blocks) in (1..).zip(sizes) {
        let end = start + blocks * HUGE;
        process.mapped.push(Mapped {
            site: numbered(number, 21),
            start,
            end,
            name: None,
        });
        process
            .blocks
            .extend((0..*blocks).map(|it| start + it * HUGE));
        start = end + HUGE;
    }
    process
}

fn sizes(layout: &Layout) -> Vec<(Site, u64)> {
    let sites = layout.sites().iter();
    sites.map(|it| (it.site, it.blocks)).collect()
}

#[test]
fn small_mappings_are_one_site() {
    let layout = Layout::by_mapping(&[process(1, &[1, 100, 1, 50, 0])]);
    let expected = [
        (numbered(2, 21), 100),
        (numbered(4, 21), 50),
        (Site::Others, 2),
    ];
    assert_eq!(sizes(&layout), expected);
    let others = layout.sites().last().expect("a site");
    assert_eq!((others.mappings.len(), others.alone()), (2, None));
    // Alone it keeps its name.
    let layout = Layout::by_mapping(&[process(1, &[1, 100])]);
    assert_eq!(
        sizes(&layout),
        [(numbered(2, 21), 100), (numbered(1, 21), 1)]
    );
}

#[test]
fn there_are_never_more_sites_than_a_design_of_16_rows_separates() {
    for count in 1_u64..20 {
        let blocks: Vec<u64> = (0..count).map(|it| 50 + it).collect();
        let layout = Layout::by_mapping(&[process(1, &blocks)]);
        let expected = usize::try_from(count).expect("a number").min(MOST_SITES);
        assert_eq!(layout.sites().len(), expected);
        let all: u64 = layout.sites().iter().map(|it| it.blocks).sum();
        assert_eq!(all, blocks.iter().sum::<u64>());
        let has_others = layout.sites().iter().any(|it| it.site == Site::Others);
        assert_eq!(has_others, count > MOST_SITES as u64);
    }
}

#[test]
fn processes_have_a_site_in_common_and_addresses_of_their_own() {
    let (one, other) = (process(1, &[8, 4]), process(2, &[8]));
    let layout = Layout::by_mapping(&[one.clone(), other]);
    assert_eq!(
        sizes(&layout),
        [(numbered(1, 21), 16), (numbered(2, 21), 4)]
    );
    assert_eq!(layout.part_of(1, one.blocks[0]), Some(0));
    assert_eq!(layout.part_of(1, one.blocks[8]), Some(1));
    assert_eq!(layout.part_of(2, one.blocks[8]), None);
    assert_eq!(layout.part_of(3, one.blocks[0]), None);
    assert_eq!(Layout::Whole.part_of(3, one.blocks[0]), Some(0));
}

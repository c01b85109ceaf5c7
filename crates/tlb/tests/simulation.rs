//! Both levels together, on patterns with a known answer.

use hugewise_base::missing::Missing;
use hugewise_base::tlb::{Holds, Structure, Tlb};
use hugewise_text::{Style, to_text};
use hugewise_tlb::simulation::{
    Accesses, AsMapped, Column, Cut, FORMAT, Kind, Mapped, MappedPages, MemoryAccess, PageNow,
    Paging, Processor, Simulation, Tally, Tracer, WalkCache, shape_of,
};

const K4: u64 = 4096;
const M2: u64 = 2 << 20;

fn one(level: u8, holds: Holds, page_bytes: &[u64], entries: u32, ways: u32) -> Structure {
    Structure {
        level,
        holds,
        page_bytes: page_bytes.to_vec(),
        entries,
        ways: Some(ways),
    }
}

/// 64 entries in front of 1536, for both sizes; code has its own first level.
fn processor() -> Processor {
    Processor {
        tlb: Tlb {
            source: "test".to_owned(),
            structures: vec![
                one(1, Holds::Data, &[K4], 64, 4),
                one(1, Holds::Data, &[M2], 32, 4),
                one(1, Holds::Instructions, &[K4, M2], 128, 8),
                one(2, Holds::Both, &[K4, M2], 1536, 12),
            ],
        },
        walk_cache: None,
    }
}

fn column(processor: &Processor, page_bytes: u64) -> Column {
    let paging = Paging::of_base_page(K4).expect("a granule");
    Column::new(processor, paging, page_bytes)
}

fn load(address: u64) -> MemoryAccess {
    MemoryAccess {
        kind: Kind::Load,
        address,
        bytes: 8,
    }
}

fn data_of(page_bytes: u64, addresses: impl Iterator<Item = u64>) -> Tally {
    let mut column = column(&processor(), page_bytes);
    addresses.for_each(|address| {
        column.access(load(address));
    });
    column.counts().streams.data
}

fn as_mapped(
    addresses: impl Iterator<Item = u64>,
    mut ask: impl FnMut(u64) -> Result<PageNow, Missing>,
) -> Result<MappedPages, Missing> {
    let paging = Paging::of_base_page(K4).expect("a granule");
    let mut pages = AsMapped::new(&processor(), paging);
    addresses.for_each(|address| pages.access(load(address), || ask(address)));
    pages.counts()
}

#[test]
fn pages_of_one_size_are_the_column_of_that_size() {
    let scattered = || (0..200_000_u64).map(|n| n.wrapping_mul(0x9e37_79b9) % (64 * M2));
    for (now, size, huge) in [(PageNow::Huge, M2, 64), (PageNow::Base, K4, 0)] {
        let pages = as_mapped(scattered(), |_| Ok(now)).expect("counts");
        assert_eq!(pages.streams.data, data_of(size, scattered()));
        assert_eq!((pages.ranges, pages.huge_ranges), (64, huge));
    }
}

#[test]
fn each_range_has_the_page_that_it_was_given() {
    let pass = || (0..8 * M2).step_by(K4 as usize);
    let half = |address| Ok([PageNow::Base, PageNow::Huge][usize::from(address >= 4 * M2)]);
    let pages = as_mapped(pass(), half).expect("counts");
    assert_eq!(pages.streams.data.walks, 4 * 512 + 4);
    assert_eq!((pages.ranges, pages.huge_ranges), (8, 4));
    // At first it is unmapped, as two walks for small pages find; later it is huge.
    let mut asked = 0;
    let late = |_| {
        asked += 1;
        Ok([PageNow::Absent, PageNow::Huge][usize::from(asked % 2 == 0)])
    };
    let pages = as_mapped(pass(), late).expect("counts");
    assert_eq!(pages.streams.data.walks, 8 * (2 + 1));
    assert_eq!(asked, 2 * 8);
    assert_eq!(pages.huge_ranges, 8);
}

#[test]
fn a_page_that_cannot_be_asked_for_is_no_small_page() {
    let mut asked = 0;
    let refused = as_mapped(0..10_000, |_| {
        asked += 1;
        Err(Missing::NoHardware)
    });
    assert_eq!((refused, asked), (Err(Missing::NoHardware), 1));
}

#[test]
fn a_sequential_pass_walks_once_a_page() {
    let bytes = 16 << 20;
    let words = || (0..bytes).step_by(8);
    for size in [K4, 16 << 10, 64 << 10, M2] {
        let data = data_of(size, words());
        assert_eq!(data.accesses, bytes / 8);
        assert_eq!(data.walks, bytes / size, "pages of {size}");
        assert_eq!(data.first_level_misses, bytes / size);
    }
}

/// Three regimes of a cyclic chase: in the first level, in the second, in neither.
#[test]
fn a_chase_over_pages_has_two_cliffs() {
    let rounds = 10;
    let chase = |pages: u64| (0..rounds * pages).map(move |step| step % pages * K4);
    let seen = |pages| {
        let data = data_of(K4, chase(pages));
        (data.first_level_misses, data.walks)
    };
    assert_eq!(seen(64), (64, 64));
    assert_eq!(seen(128), (rounds * 128, 128));
    assert_eq!(seen(1536), (rounds * 1536, 1536));
    assert_eq!(seen(2 * 1536), (rounds * 2 * 1536, rounds * 2 * 1536));
    // The same memory needs six huge pages, which fit.
    assert_eq!(data_of(M2, chase(2 * 1536)).walks, 6);
}

#[test]
fn an_access_over_the_end_of_a_page_asks_for_both() {
    let data = data_of(K4, [K4 - 4].into_iter());
    assert_eq!((data.accesses, data.walks), (1, 2));
    assert_eq!(data_of(M2, [K4 - 4].into_iter()).walks, 1);
    // The last byte of the address space is not followed by another page.
    assert_eq!(data_of(K4, [u64::MAX - 3].into_iter()).walks, 1);
}

#[test]
fn code_and_data_share_the_second_level_and_no_counter() {
    let mut one = column(&processor(), K4);
    one.access(load(0));
    one.access(MemoryAccess {
        kind: Kind::Fetch,
        address: 0,
        bytes: 1,
    });
    let seen = one.counts().streams;
    assert_eq!((seen.data.first_level_misses, seen.data.walks), (1, 1));
    assert_eq!((seen.code.first_level_misses, seen.code.walks), (1, 0));
}

#[test]
fn stores_have_a_first_level_of_their_own_where_there_is_one() {
    let store = MemoryAccess {
        kind: Kind::Store,
        ..load(0)
    };
    let misses = |processor: &Processor| {
        let mut one = column(processor, K4);
        one.access(load(0));
        one.access(store);
        one.counts().streams.data.first_level_misses
    };
    let mut golden_cove = processor();
    assert_eq!(misses(&golden_cove), 1);
    let stores = one(1, Holds::Stores, &[K4], 16, 16);
    golden_cove.tlb.structures.push(stores);
    assert_eq!(misses(&golden_cove), 2);
}

#[test]
fn sizes_that_no_buffer_holds_are_told_and_use_the_entries_of_base_pages() {
    let one = column(&processor(), 64 << 10);
    assert!(!one.counts().native);
    assert!(column(&processor(), M2).counts().native);
    let chase = |pages: u64| (0..10 * pages).map(move |step| step % pages * (64 << 10));
    assert_eq!(data_of(64 << 10, chase(1536)).walks, 1536);
}

#[test]
fn halves_with_as_many_sets_are_one_and_others_are_not() {
    let with = |ways| Tlb {
        source: String::new(),
        structures: vec![
            one(2, Holds::Both, &[K4, M2], 1024, 8),
            one(2, Holds::Both, &[K4], 512, ways),
        ],
    };
    let shape = |tlb: &Tlb| shape_of(tlb, 2, &[Holds::Both], K4).map(|s| (s.entries, s.ways));
    assert_eq!(shape(&with(4)), Some((1536, 12)));
    assert_eq!(shape(&with(8)), Some((1024, 8)));
    assert_eq!(shape_of(&with(4), 1, &[Holds::Both], K4), None);
}

#[test]
fn the_same_accesses_give_the_same_numbers() {
    let run = || {
        let mut random = fastrand::Rng::with_seed(11);
        data_of(K4, (0..50_000).map(move |_| random.u64(0..64 << 20)))
    };
    assert_eq!(run(), run());
}

proptest::proptest! {
    #[test]
    fn no_processor_and_no_access_panic(
        entries: u16, ways: u32, address: u64, bytes: u64, size: u64, cache: Option<u8>,
    ) {
        let mut odd = processor();
        odd.tlb.structures[0].entries = u32::from(entries);
        odd.tlb.structures[0].ways = Some(ways);
        odd.walk_cache = cache.map(|entries| WalkCache { entries: u32::from(entries) });
        for size in [size, K4] {
            let mut one = column(&odd, size);
            for kind in [Kind::Fetch, Kind::Load, Kind::Store] {
                one.access(MemoryAccess { kind, address, bytes });
            }
            let data = one.counts().streams.data;
            proptest::prop_assert!(data.walks <= data.first_level_misses);
        }
    }
}

/// One pass over 8 MiB under a processor with 4 KiB and 2 MiB entries.
fn simulation() -> Simulation {
    let paging = Paging::of_base_page(K4).expect("a granule");
    let mut columns: Vec<Column> = [K4, 64 << 10, M2]
        .map(|size| Column::new(&processor(), paging, size))
        .into();
    let mut mapped = Mapped::new(K4, columns.len());
    for step in 0..2048_u64 {
        let fetch = MemoryAccess {
            kind: Kind::Fetch,
            address: 64,
            bytes: 4,
        };
        for access in [fetch, load(0x4000_0000 + step * K4)] {
            let each = columns.iter_mut().map(|column| column.access(access));
            let walks: Vec<u64> = each.collect();
            mapped.walked(access.address, &walks, Vec::new);
        }
    }
    Simulation {
        format: FORMAT.to_owned(),
        command: vec!["./prog".to_owned()],
        tracer: Tracer {
            name: "valgrind-3.24.0".to_owned(),
        },
        processor: processor(),
        base_page_bytes: K4,
        accesses: Accesses {
            fetches: 2048,
            loads: 2048,
            stores: 0,
        },
        cut: Cut::Whole,
        columns: columns.iter().map(Column::counts).collect(),
        mappings: mapped.rows(),
        as_mapped: Err(Missing::NotAsked),
        outcome: None,
    }
}

#[test]
fn every_row_of_the_table_is_per_1000_instructions() {
    let text = to_text(&simulation().document(), &Style::default());
    assert!(text.lines().count() <= 24, "{text}");
    let long = text.lines().find(|line| line.chars().count() > 80);
    assert_eq!(long, None);
    expect_test::expect![[r#"
        Simulated, not measured: 2.44 page walks per 1000 instructions with 2 MiB pages,
        1000 with 4 KiB pages.
        ./prog: 2048 instructions, 2048 loads, 0 stores, from valgrind-3.24.0. TLB from
        test.

        per 1000 instructions      4 KiB  64 KiB*   2 MiB
        data: L1 TLB misses         1000     62.5    1.95
        data: page walks            1000     62.5    1.95
        data: table entries read  ≤ 4000    ≤ 250  ≤ 5.86
        code: L1 TLB misses        0.488    0.488   0.488
        code: page walks           0.488    0.488   0.488
        code: table entries read  ≤ 1.95   ≤ 1.95  ≤ 1.46
        walks: not known            1000     63.0    2.44
        * no TLB entries of this size: simulated with those of base pages
        ≤ upper bound: the size of the page-walk cache is unknown
        Pages as the kernel mapped them: not requested.
        Measured, where there are counters: hugewise stat
    "#]]
    .assert_eq(&text);
}

#[test]
fn rows_for_programs_have_every_column() {
    let csv = simulation().csv();
    let columns = csv.lines().map(|line| line.matches(',').count());
    assert!(columns.into_iter().all(|commas| commas == 8), "{csv}");
    assert!(csv.contains("as_mapped,,,,,,,not requested,\n"), "{csv}");
}

use super::*;
use crate::perf::ring::HEADER_BYTES;
use proptest::prelude::*;

/// A record from words of 8 bytes.
fn record(kind: u32, misc: u16, words: &[u64]) -> Vec<u8> {
    let size = u16::try_from(HEADER_BYTES + 8 * words.len()).unwrap();
    let mut bytes = kind.to_ne_bytes().to_vec();
    bytes.extend(misc.to_ne_bytes());
    bytes.extend(size.to_ne_bytes());
    bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
    bytes
}

fn pair(low: u32, high: u32) -> u64 {
    let [low, high] = [low, high].map(u32::to_ne_bytes);
    u64::from_ne_bytes([low, high].concat().try_into().unwrap())
}

const FULL: Layout = Layout {
    code: true,
    stack: true,
    raw: true,
    physical: true,
    page_size: true,
};

#[test]
fn a_sample_has_its_fields_in_the_kernels_order() {
    let user = CONTEXT_USER;
    let kernel = (-128_i64).cast_unsigned();
    let words = [
        7,
        0x401,
        pair(10, 11),
        5000,
        0x7000,
        5,
        kernel,
        0xffff_8000,
        user,
        0x401,
        0x402,
        pair(12, 1),
        pair(2, 3),
        0x9000,
        4096,
    ];
    let bytes = record(RECORD_SAMPLE, 0, &words);
    let expected = Sample {
        id: 7,
        code: Some(0x401),
        pid: 10,
        tid: 11,
        time_ns: 5000,
        address: 0x7000,
        stack: Some(vec![0x401, 0x402]),
        raw: [1_u32, 2, 3].map(u32::to_ne_bytes).concat(),
        physical: Some(0x9000),
        page_bytes: Some(4096),
    };
    let parsed = parse_record(&bytes, |id| (id == 7).then_some(FULL));
    assert_eq!(parsed, Ok(Record::Sample(expected)));
    let stranger = parse_record(&bytes, |_| None).unwrap_err();
    assert_eq!(stranger, "a sample of unknown event 7");
}

#[test]
fn a_mapping_has_its_name_and_its_time() {
    let name = u64::from_ne_bytes(*b"//anon\0\0");
    let words = [
        pair(10, 11),
        0x1000,
        0x3000,
        0,
        0,
        0,
        0,
        pair(3, 2),
        name,
        pair(10, 11),
        99,
        7,
    ];
    let bytes = record(RECORD_MMAP2, 0, &words);
    let Ok(Record::Map(map)) = parse_record(&bytes, |_| None) else {
        panic!("a mapping");
    };
    assert_eq!((map.start, map.bytes, map.time_ns), (0x1000, 0x3000, 99));
    assert_eq!((map.protection, map.flags, &*map.name), (3, 2, "//anon"));
}

#[test]
fn only_an_exec_changes_the_program() {
    let name = u64::from_ne_bytes(*b"sleep\0\0\0");
    let words = [pair(10, 10), name, pair(10, 10), 99, 7];
    let renamed = record(RECORD_COMM, 0, &words);
    assert_eq!(parse_record(&renamed, |_| None), Ok(Record::Other));
    let exec = record(RECORD_COMM, COMM_EXEC, &words);
    let expected = Record::Exec {
        pid: 10,
        time_ns: 99,
        name: "sleep".into(),
    };
    assert_eq!(parse_record(&exec, |_| None), Ok(expected));
}

#[test]
fn a_piece_of_the_aux_area_says_who_ran() {
    let words = [4096, 640, 1, pair(10, 11), 99, 7];
    let expected = Piece {
        offset: 4096,
        bytes: 640,
        flags: 1,
        pid: 10,
        tid: 11,
        time_ns: 99,
    };
    let bytes = record(RECORD_AUX, 0, &words);
    assert_eq!(parse_record(&bytes, |_| None), Ok(Record::Aux(expected)));
}

#[test]
fn losses_are_told() {
    let lost = record(RECORD_LOST, 0, &[7, 42, 0, 0, 7]);
    let expected = Ok(Record::Lost { count: 42 });
    assert_eq!(parse_record(&lost, |_| None), expected);
}

proptest! {
    #[test]
    fn no_bytes_panic(kind in 0_u32..20, misc: u16, rest: Vec<u8>) {
        let mut bytes = record(kind, misc, &[]);
        bytes.extend(rest);
        let _ = parse_record(&bytes, |_| Some(FULL));
        let _ = parse_record(&bytes[..bytes.len().min(5)], |_| None);
    }
}

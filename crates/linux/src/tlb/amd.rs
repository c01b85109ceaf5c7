//! AMD64 Architecture Programmer's Manual, volume 3, appendix E.4: functions 8000_0005h (first
//! level), 8000_0006h (second) and 8000_0019h (1 GiB pages).
//!
//! Zen processors merge neighbouring 4 KiB pages into one entry if their frames are neighbours too; the CPUID leaves do
//! not show this, so the capacity for 4 KiB pages is a lower bound.

use hugewise_base::tlb::{Holds, Structure, Tlb};

use super::{Cpuid, GIB_1, KIB_4, MIB_2};

pub(super) fn read(cpuid: &impl Cpuid) -> Tlb {
    let [large_1, small_1, ..] = cpuid.leaf(0x8000_0005, 0);
    let [large_2, small_2, ..] = cpuid.leaf(0x8000_0006, 0);
    let [giant_1, giant_2, ..] = cpuid.leaf(0x8000_0019, 0);
    let structures = [
        first(small_1, KIB_4),
        first(large_1, MIB_2),
        wide(giant_1, 1, GIB_1),
        wide(small_2, 2, KIB_4),
        wide(large_2, 2, MIB_2),
        wide(giant_2, 2, GIB_1),
    ];
    Tlb {
        source: "CPUID 8000_0005h, 8000_0006h, 8000_0019h".to_owned(),
        structures: structures.into_iter().flatten().flatten().collect(),
    }
}

/// Bytes in ascending order: instruction entries, their ways, data entries, their ways.
fn first(register: u32, page_bytes: u64) -> [Option<Structure>; 2] {
    let [instructions, instruction_ways, data, data_ways] = register.to_le_bytes();
    let one = |holds, entries: u8, ways: u8| {
        let entries = u32::from(entries);
        let associativity = match ways {
            u8::MAX => Some(entries),
            ways => Some(u32::from(ways)),
        };
        structure(1, holds, page_bytes, entries, associativity)
    };
    [
        one(Holds::Data, data, data_ways),
        one(Holds::Instructions, instructions, instruction_ways),
    ]
}

/// Each half has twelve bits of entries and four of ways. If the upper half is empty, the lower one describes a unified
/// buffer.
fn wide(register: u32, level: u8, page_bytes: u64) -> [Option<Structure>; 2] {
    let half = |bits: u32| (bits & 0xfff, bits >> 12 & 0xf);
    let (instructions, instruction_ways) = half(register & 0xffff);
    let (data, data_ways) = half(register >> 16);
    let lower = if register >> 16 == 0 {
        Holds::Both
    } else {
        Holds::Instructions
    };
    [
        structure(level, Holds::Data, page_bytes, data, ways(data, data_ways)),
        structure(
            level,
            lower,
            page_bytes,
            instructions,
            ways(instructions, instruction_ways),
        ),
    ]
}

/// Decodes the four bits of associativity (appendix E.4, the table of L2 associativity).
fn ways(entries: u32, code: u32) -> Option<u32> {
    match code {
        0..=4 => Some(code),
        5 => Some(6),
        6 => Some(8),
        8 => Some(16),
        0xa => Some(32),
        0xb => Some(48),
        0xc => Some(64),
        0xd => Some(96),
        0xe => Some(128),
        0xf => Some(entries),
        _ => None,
    }
}

/// Zero ways mean that the buffer is disabled.
fn structure(
    level: u8,
    holds: Holds,
    page_bytes: u64,
    entries: u32,
    ways: Option<u32>,
) -> Option<Structure> {
    (entries > 0 && ways != Some(0)).then(|| Structure {
        level,
        holds,
        page_bytes: vec![page_bytes],
        entries,
        ways,
    })
}

//! Intel 64 Software Developer's Manual, volume 2A, CPUID: leaf 18h if present, otherwise the one-byte descriptors of
//! leaf 2 (table 3-12), in which FEh refers to leaf 18h.

use hugewise_base::tlb::{Holds, Structure, Tlb};

use super::{Cpuid, GIB_1, KIB_4, MIB_2, MIB_4};

/// More subleaves than any processor has: a bound in case a hypervisor reports a wrong number.
const MOST_SUBLEAVES: u32 = 64;

pub(super) fn read(cpuid: &impl Cpuid) -> Tlb {
    let parameters: Vec<Structure> = subleaves(cpuid).collect();
    if !parameters.is_empty() {
        return Tlb {
            source: "CPUID 18h".to_owned(),
            structures: parameters,
        };
    }
    Tlb {
        source: "CPUID 2".to_owned(),
        structures: descriptors(cpuid.leaf(2, 0)),
    }
}

fn subleaves(cpuid: &impl Cpuid) -> impl Iterator<Item = Structure> {
    let last = cpuid.leaf(0x18, 0)[0].min(MOST_SUBLEAVES);
    (0..=last).filter_map(|subleaf| parameters(cpuid.leaf(0x18, subleaf)))
}

/// Decodes one subleaf: page sizes and ways in EBX, sets in ECX, kind and level in EDX.
fn parameters([_, sizes, sets, kind]: [u32; 4]) -> Option<Structure> {
    let holds = match kind & 0x1f {
        1 | 4 => Holds::Data,
        2 => Holds::Instructions,
        3 => Holds::Both,
        5 => Holds::Stores,
        _ => return None,
    };
    let level = u8::try_from(kind >> 5 & 0x7).ok()?;
    let all = [KIB_4, MIB_2, MIB_4, GIB_1];
    let page_bytes: Vec<u64> = (0..)
        .zip(all)
        .filter(|(bit, _)| sizes >> bit & 1 == 1)
        .map(|(_, size)| size)
        .collect();
    let entries = (sizes >> 16).checked_mul(sets)?;
    (entries > 0 && !page_bytes.is_empty()).then_some(Structure {
        level,
        holds,
        page_bytes,
        entries,
        ways: Some(sizes >> 16),
    })
}

/// Returns the descriptors in the bytes of a register, unless its top bit marks it as empty. The lowest byte of EAX is
/// a historic number, always 1.
fn descriptors(registers: [u32; 4]) -> Vec<Structure> {
    let mut found = Vec::new();
    for (place, register) in registers.into_iter().enumerate() {
        if register >> 31 == 1 {
            continue;
        }
        let skip = usize::from(place == 0);
        for byte in register.to_le_bytes().into_iter().skip(skip) {
            let rows = DESCRIPTORS.iter().filter(|row| row.0 == byte);
            found.extend(
                rows.map(|&(_, level, holds, sizes, entries, ways)| Structure {
                    level,
                    holds,
                    page_bytes: sizes.to_vec(),
                    entries,
                    ways: Some(ways),
                }),
            );
        }
    }
    found
}

type Row = (u8, u8, Holds, &'static [u64], u32, u32);

const SMALL: &[u64] = &[KIB_4];
const LARGE: &[u64] = &[MIB_2, MIB_4];
const BOTH: &[u64] = &[KIB_4, MIB_2];
const GIANT: &[u64] = &[GIB_1];

/// Descriptors of processors that run 64-bit Linux and have no leaf 18h (Core 2 to Cascade Lake): value, level, kind,
/// page sizes, entries, ways. A byte with two rows describes two buffers. Linux has most descriptors too
/// (arch/x86/kernel/cpu/cpuid_0x2_table.c). C3h is 6-way in that table of the manual and 12-way in the optimization
/// manual (248966, Skylake); only the latter gives whole sets and agrees with measurements (Gras et al., USENIX
/// Security 2018).
const DESCRIPTORS: &[Row] = &[
    (0x03, 1, Holds::Data, SMALL, 64, 4),
    (0x55, 1, Holds::Instructions, LARGE, 7, 7),
    (0x57, 1, Holds::Data, SMALL, 16, 4),
    (0x5a, 1, Holds::Data, LARGE, 32, 4),
    (0x61, 1, Holds::Instructions, SMALL, 48, 48),
    (0x63, 1, Holds::Data, LARGE, 32, 4),
    (0x63, 1, Holds::Data, GIANT, 4, 4),
    (0x76, 1, Holds::Instructions, LARGE, 8, 8),
    (0xb2, 1, Holds::Instructions, SMALL, 64, 4),
    (0xb5, 1, Holds::Instructions, SMALL, 64, 8),
    (0xb6, 1, Holds::Instructions, SMALL, 128, 8),
    (0xba, 1, Holds::Data, SMALL, 64, 4),
    (0xc1, 2, Holds::Both, BOTH, 1024, 8),
    (0xc3, 2, Holds::Both, BOTH, 1536, 12),
    (0xc3, 2, Holds::Both, GIANT, 16, 4),
    (0xca, 2, Holds::Both, SMALL, 512, 4),
];

//! Translation lookaside buffers of this machine's processor: x86 says by CPUID, on arm64 the
//! manuals say it for the parts that they describe.
//!
//! A hypervisor may hide the leaves or show those of another processor; the reported values are those shown, and
//! `source` names the leaf. A machine with several core types is described by the core that ran this.
//!
//! To add an Arm core, add a row to `arm.rs` with its manual. A processor for `simulate --cpu` is a file in `named/`
//! and a line in its `mod.rs`.

use hugewise_base::missing::Missing;
use hugewise_base::tlb::Tlb;

use crate::machine::root::Root;

mod amd;
mod arm;
mod intel;
#[cfg(feature = "tlb")]
pub mod named;

const KIB_4: u64 = 4 << 10;
const MIB_2: u64 = 2 << 20;
const MIB_4: u64 = 4 << 20;
const GIB_1: u64 = 1 << 30;

/// The instruction that x86 processors describe themselves with.
pub trait Cpuid {
    /// EAX, EBX, ECX and EDX of a leaf and subleaf; zeroes for one that does not exist.
    fn leaf(&self, leaf: u32, subleaf: u32) -> [u32; 4];
}

/// Reads the buffers of this processor.
///
/// # Errors
/// Why they are not known: no leaf, no row for this part, or a frozen machine, whose processor
/// is not this one.
pub fn read_tlb(root: &Root) -> Result<Tlb, Missing> {
    match std::env::consts::ARCH {
        "x86_64" if root.is_real() => from_cpuid(&real()),
        "aarch64" => arm::read(root),
        other => Err(Missing::not_supported(format!(
            "a description of the TLB ({other})"
        ))),
    }
}

/// The buffers that CPUID describes.
///
/// # Errors
/// The vendor is neither Intel nor AMD, or its leaves are empty.
pub fn from_cpuid(cpuid: &impl Cpuid) -> Result<Tlb, Missing> {
    let [_, b, c, d] = cpuid.leaf(0, 0);
    let vendor: Vec<u8> = [b, d, c].into_iter().flat_map(u32::to_le_bytes).collect();
    let tlb = match vendor.as_slice() {
        b"GenuineIntel" => intel::read(cpuid),
        b"AuthenticAMD" | b"HygonGenuine" => amd::read(cpuid),
        _ => {
            return Err(Missing::not_supported(format!(
                "CPUID leaves of vendor `{}` that describe the TLB",
                String::from_utf8_lossy(&vendor)
            )));
        }
    };
    if tlb.structures.is_empty() {
        return Err(Missing::not_supported(
            "CPUID leaves that describe the TLB (a hypervisor may hide them)",
        ));
    }
    Ok(tlb)
}

#[cfg(target_arch = "x86_64")]
fn real() -> impl Cpuid {
    struct Real;
    impl Cpuid for Real {
        fn leaf(&self, leaf: u32, subleaf: u32) -> [u32; 4] {
            use std::arch::x86_64::__cpuid_count;
            // A leaf beyond the last answers with that of another on Intel.
            let last = __cpuid_count(leaf & 0x8000_0000, 0).eax;
            if leaf > last {
                return [0; 4];
            }
            let answer = __cpuid_count(leaf, subleaf);
            [answer.eax, answer.ebx, answer.ecx, answer.edx]
        }
    }
    Real
}

#[cfg(not(target_arch = "x86_64"))]
fn real() -> impl Cpuid {
    struct Absent;
    impl Cpuid for Absent {
        fn leaf(&self, _: u32, _: u32) -> [u32; 4] {
            [0; 4]
        }
    }
    Absent
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hugewise_base::tlb::Room;
    use proptest::prelude::*;

    use super::*;

    /// A processor as a table of its leaves.
    struct Frozen(BTreeMap<(u32, u32), [u32; 4]>);

    impl Cpuid for Frozen {
        fn leaf(&self, leaf: u32, subleaf: u32) -> [u32; 4] {
            self.0.get(&(leaf, subleaf)).copied().unwrap_or_default()
        }
    }

    const INTEL: [u32; 4] = [0x1f, 0x756e_6547, 0x6c65_746e, 0x4965_6e69];
    const AMD: [u32; 4] = [0x10, 0x6874_7541, 0x444d_4163, 0x6974_6e65];

    fn frozen(vendor: [u32; 4], leaves: &[(u32, u32, [u32; 4])]) -> Frozen {
        let mut all: BTreeMap<_, _> = leaves.iter().map(|&(l, s, r)| ((l, s), r)).collect();
        all.insert((0, 0), vendor);
        Frozen(all)
    }

    fn room(cpu: &Frozen, page_bytes: u64) -> Option<(u8, u64)> {
        let room: Option<Room> = from_cpuid(cpu).expect("described").room(page_bytes);
        room.map(|room| (room.level, room.entries))
    }

    /// Read on an EPYC 9004 under a hypervisor that hides the leaf of 1 GiB pages.
    #[test]
    fn zen_4() {
        let cpu = frozen(
            AMD,
            &[
                (0x8000_0000, 0, [0x8000_0021, 0, 0, 0]),
                (
                    0x8000_0005,
                    0,
                    [0xff48_ff40, 0xff48_ff40, 0x2008_0140, 0x2008_0140],
                ),
                (
                    0x8000_0006,
                    0,
                    [0x5c00_2200, 0x6c00_4200, 0x0400_6140, 0x0a00_9140],
                ),
            ],
        );
        assert_eq!(room(&cpu, KIB_4), Some((2, 3072)));
        assert_eq!(room(&cpu, MIB_2), Some((2, 3072)));
        assert_eq!(room(&cpu, GIB_1), None);
        let first = from_cpuid(&cpu).expect("described").structures;
        let level_1: Vec<_> = first.iter().filter(|one| one.level == 1).collect();
        assert_eq!(level_1.len(), 4);
        assert!(level_1.iter().all(|one| matches!(one.entries, 64 | 72)));
    }

    #[test]
    fn zen_2() {
        let cpu = frozen(
            AMD,
            &[
                (0x8000_0000, 0, [0x8000_0020, 0, 0, 0]),
                (0x8000_0005, 0, [0xff40_ff40, 0xff40_ff40, 0, 0]),
                (0x8000_0006, 0, [0x4800_6400, 0x6800_6400, 0, 0]),
                (0x8000_0019, 0, [0xf040_f040, 0, 0, 0]),
            ],
        );
        assert_eq!(room(&cpu, KIB_4), Some((2, 2048)));
        assert_eq!(room(&cpu, MIB_2), Some((2, 2048)));
        assert_eq!(room(&cpu, GIB_1), Some((1, 64)));
    }

    #[test]
    fn intel_by_descriptors() {
        let with =
            |last: u32, first: u32| frozen(INTEL, &[(2, 0, [first, 0x00f0_b5ff, 0, last << 16])]);
        let skylake = with(0xc3, 0x7603_6301);
        assert_eq!(room(&skylake, KIB_4), Some((2, 1536)));
        assert_eq!(room(&skylake, MIB_2), Some((2, 1536)));
        assert_eq!(room(&skylake, GIB_1), Some((2, 16)));
        let haswell = with(0xc1, 0x7603_6301);
        assert_eq!(room(&haswell, MIB_2), Some((2, 1024)));
        assert_eq!(room(&haswell, GIB_1), Some((1, 4)));
        let sandy_bridge = with(0xca, 0x7603_5a01);
        assert_eq!(room(&sandy_bridge, KIB_4), Some((2, 512)));
        assert_eq!(room(&sandy_bridge, MIB_2), Some((1, 32)));
    }

    /// A second level in two halves: one shared by 4 KiB and 2 MiB pages, one by 4 KiB and 1 GiB.
    #[test]
    fn ice_lake_by_leaf_18() {
        let cpu = frozen(
            INTEL,
            &[
                (2, 0, [0x00fe_ff01, 0xf0, 0, 0]),
                (0x18, 0, [7, 0, 0, 0]),
                (0x18, 1, [0, 0x0008_0007, 1, 0x4122]),
                (0x18, 2, [0, 0x0010_000f, 1, 0x4125]),
                (0x18, 3, [0, 0x0004_0001, 0x10, 0x4024]),
                (0x18, 4, [0, 0x0004_0006, 8, 0x4024]),
                (0x18, 5, [0, 0x0008_0008, 1, 0x4124]),
                (0x18, 6, [0, 0x0008_0007, 0x80, 0x4043]),
                (0x18, 7, [0, 0x0008_0009, 0x80, 0x4043]),
            ],
        );
        assert_eq!(room(&cpu, KIB_4), Some((2, 2048)));
        assert_eq!(room(&cpu, MIB_2), Some((2, 1024)));
        assert_eq!(room(&cpu, GIB_1), Some((2, 1024)));
    }

    #[test]
    fn what_is_hidden_is_missing_and_not_zero() {
        for vendor in [INTEL, AMD, [1, 2, 3, 4]] {
            assert!(from_cpuid(&frozen(vendor, &[])).is_err());
        }
    }

    /// Any x86 machine without a hypervisor has a first level of some kind.
    #[test]
    fn this_processor_is_described_or_the_reason_is_told() {
        match read_tlb(&Root::real()) {
            Ok(tlb) => assert!(tlb.structures.iter().all(|one| one.entries > 0), "{tlb:?}"),
            Err(missing) => assert!(missing.to_string().contains("TLB"), "{missing}"),
        }
    }

    proptest! {
        #[test]
        fn no_registers_panic(registers: [u32; 4], subleaves: u32) {
            struct Same([u32; 4], u32, [u32; 4]);
            impl Cpuid for Same {
                fn leaf(&self, leaf: u32, subleaf: u32) -> [u32; 4] {
                    match (leaf, subleaf) {
                        (0, _) => self.2,
                        (0x18, 0) => [self.1, 0, 0, 0],
                        _ => self.0,
                    }
                }
            }
            let _ = from_cpuid(&Same(registers, subleaves, INTEL));
            let _ = from_cpuid(&Same(registers, subleaves, AMD));
        }
    }
}

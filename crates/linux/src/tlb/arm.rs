//! Arm cores have no register that describes their TLB, so a table contains the known values, with the manual as the
//! source. A part without a row is unknown: no number is inferred from a related core. Parts without a public source
//! for the second level (Neoverse V1, V2, N2) have no row, because the first level would be mistaken for the total.
//!
//! Checked against the manuals: Cortex-A76 (A5.2), and the second level of Cortex-A72 (5.2.3). Not verified: the first
//! level of A72, and N1, whose numbers are those of A76.

use std::collections::BTreeMap;

use hugewise_base::missing::Missing;
use hugewise_base::tlb::{Holds, Structure, Tlb};

use super::{GIB_1, KIB_4, MIB_2};
use crate::machine::root::Root;

/// One core, as described in a manual.
struct Core {
    /// `CPU part` of `/proc/cpuinfo` (bits 15:4 of MIDR_EL1), for implementer 0x41 (Arm).
    part: u32,
    /// First level, for data.
    data: u32,
    /// First level, for instructions.
    instructions: u32,
    /// Second level, for instructions and data.
    second: u32,
    /// Ways of the second level; the first has one set.
    second_ways: u32,
    source: &'static str,
}

/// `Implementer` of cores by Arm.
const ARM: &str = "0x41";

const CORES: &[Core] = &[
    Core {
        part: 0xd08,
        data: 32,
        instructions: 48,
        second: 1024,
        second_ways: 4,
        source: "Arm Cortex-A72 MPCore Processor TRM (100095), 5.2",
    },
    Core {
        part: 0xd0b,
        data: 48,
        instructions: 48,
        second: 1280,
        second_ways: 5,
        source: "Arm Cortex-A76 Core TRM (100798), A5.2",
    },
    Core {
        part: 0xd0c,
        data: 48,
        instructions: 48,
        second: 1280,
        second_ways: 5,
        source: "Arm Neoverse N1 Core TRM (100616), A5.2",
    },
];

/// Page sizes with a PMD or PUD entry of the three granules, and base pages.
const SIZES: [u64; 7] = [KIB_4, 16 << 10, 64 << 10, MIB_2, 32 << 20, 512 << 20, GIB_1];

pub(super) fn read(root: &Root) -> Result<Tlb, Missing> {
    let content = root
        .read("proc/cpuinfo")
        .map_err(|error| error.into_missing("read access to /proc/cpuinfo"))?;
    from_cpuinfo(&content)
}

fn from_cpuinfo(content: &[u8]) -> Result<Tlb, Missing> {
    let text = String::from_utf8_lossy(content);
    let mut first: BTreeMap<&str, &str> = BTreeMap::new();
    for (key, value) in text.lines().filter_map(|line| line.split_once(':')) {
        first.entry(key.trim()).or_insert(value.trim());
    }
    let field = |name| first.get(name).copied().unwrap_or("?");
    let (implementer, part) = (field("CPU implementer"), field("CPU part"));
    let number = part
        .strip_prefix("0x")
        .and_then(|digits| u32::from_str_radix(digits, 16).ok());
    CORES
        .iter()
        .find(|core| implementer == ARM && Some(core.part) == number)
        .map(described)
        .ok_or_else(|| {
            Missing::not_supported(format!(
                "the TLB of implementer {implementer}, part {part}, in the table"
            ))
        })
}

fn described(core: &Core) -> Tlb {
    let first = |holds, entries| Structure {
        level: 1,
        holds,
        // The first level splits larger pages into these sizes.
        page_bytes: SIZES.into_iter().filter(|&size| size <= MIB_2).collect(),
        entries,
        ways: Some(entries),
    };
    let second = Structure {
        level: 2,
        holds: Holds::Both,
        page_bytes: SIZES.to_vec(),
        entries: core.second,
        ways: Some(core.second_ways),
    };
    Tlb {
        source: core.source.to_owned(),
        structures: vec![
            first(Holds::Data, core.data),
            first(Holds::Instructions, core.instructions),
            second,
        ],
    }
}

#[cfg(test)]
mod tests {
    use hugewise_base::tlb::Room;
    use proptest::prelude::*;

    use super::*;

    fn room(part: &str, page_bytes: u64) -> Option<Room> {
        let text = format!("processor : 0\nCPU implementer : 0x41\nCPU part : {part}\n");
        from_cpuinfo(text.as_bytes()).ok()?.room(page_bytes)
    }

    #[test]
    fn parts_of_the_table_and_no_others() {
        let second = |entries| Some(Room { level: 2, entries });
        assert_eq!(room("0xd0c", KIB_4), second(1280));
        assert_eq!(room("0xd0c", 32 << 20), second(1280));
        assert_eq!(room("0xd08", MIB_2), second(1024));
        assert_eq!(room("0xd49", KIB_4), None);
        let other = b"CPU implementer : 0xc0\nCPU part : 0xd0c\n";
        let missing = from_cpuinfo(other).expect_err("another implementer");
        assert!(missing.to_string().contains("0xc0"), "{missing}");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = from_cpuinfo(&bytes);
        }
    }
}

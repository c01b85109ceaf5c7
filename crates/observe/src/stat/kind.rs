//! Kinds of events, with one name per kind on every processor.

/// A kind of event. The processor tables list the event that counts it, its code, and its limitations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its unique name.
    pub name: &'static str,
    /// Its meaning.
    pub doc: &'static str,
}

const fn kind(name: &'static str, doc: &'static str) -> Kind {
    Kind { name, doc }
}

/// Cycles of the processor, without halted cycles.
pub const CYCLES: &str = "cycles";
/// Retired instructions.
pub const INSTRUCTIONS: &str = "instructions";

/// All kinds, by priority for a counter. The first ones decide whether address translation matters at all.
#[rustfmt::skip]
pub static KINDS: &[Kind] = &[
    kind(CYCLES, "cycles in which the processor was not halted"),
    kind(INSTRUCTIONS, "instructions that retired"),
    kind("dtlb_walks", "page walks for data"),
    kind("dtlb_load_walks", "page walks for loads"),
    kind("dtlb_store_walks", "page walks for stores"),
    kind("dtlb_load_walk_active", "cycles with a walk for loads"),
    kind("dtlb_store_walk_active", "cycles with a walk for stores"),
    kind("dtlb_walk_pending", "walks for data, summed over cycles"),
    kind("itlb_walks", "page walks for code"),
    kind("itlb_walk_active", "cycles with a walk for code"),
    kind("itlb_walk_pending", "walks for code, summed over cycles"),
    kind("dtlb_load_walk_pending", "walks for loads, summed over cycles"),
    kind("dtlb_store_walk_pending", "walks for stores, summed over cycles"),
    kind("stall_backend_tlb", "cycles that waited for a data translation"),
    kind("stall_frontend_tlb", "cycles that waited for a code translation"),
    kind("dtlb_walks_4k", "walks for data to 4 KiB pages"),
    kind("dtlb_walks_coalesced", "walks for data to coalesced small pages"),
    kind("dtlb_walks_2m", "walks for data to 2 MiB pages"),
    kind("dtlb_walks_1g", "walks for data to 1 GiB pages"),
    kind("dtlb_load_walks_4k", "walks for loads to 4 KiB pages"),
    kind("dtlb_store_walks_4k", "walks for stores to 4 KiB pages"),
    kind("dtlb_load_walks_2m", "walks for loads to 2 or 4 MiB pages"),
    kind("dtlb_store_walks_2m", "walks for stores to 2 or 4 MiB pages"),
    kind("dtlb_load_walks_1g", "walks for loads to 1 GiB pages"),
    kind("dtlb_store_walks_1g", "walks for stores to 1 GiB pages"),
    kind("dtlb_walks_small", "walks for data to pages"),
    kind("dtlb_walks_large", "walks for data to blocks or contiguous pages"),
    kind("itlb_walks_4k", "walks for code to 4 KiB pages"),
    kind("itlb_walks_coalesced", "walks for code to coalesced small pages"),
    kind("itlb_walks_2m", "walks for code to 2 or 4 MiB pages"),
    kind("itlb_walks_1g", "walks for code to 1 GiB pages"),
    kind("itlb_walks_small", "walks for code to pages"),
    kind("itlb_walks_large", "walks for code to blocks or contiguous pages"),
    kind("dtlb_load_l2_hits", "loads served by the second-level TLB"),
    kind("dtlb_store_l2_hits", "stores served by the second-level TLB"),
    kind("itlb_l2_hits", "fetches served by the second-level TLB"),
    kind("dtlb_l2_hits_4k", "data, second-level hits on 4 KiB pages"),
    kind("dtlb_l2_hits_coalesced", "data, second-level hits on coalesced pages"),
    kind("dtlb_l2_hits_2m", "data, second-level hits on 2 MiB pages"),
    kind("dtlb_l2_hits_1g", "data, second-level hits on 1 GiB pages"),
    kind("dtlb_l1_misses", "first-level misses for data"),
    kind("itlb_l1_misses", "first-level misses for code"),
    kind("l2_tlb_accesses", "accesses of the second-level TLB"),
    kind("l2_tlb_misses", "refills of the second-level TLB"),
    kind("walker_loads_data_l1", "walks for data: loads from L1"),
    kind("walker_loads_data_l2", "walks for data: loads from L2"),
    kind("walker_loads_data_l3", "walks for data: loads from L3"),
    kind("walker_loads_data_memory", "walks for data: loads from memory"),
    kind("walker_loads_code_l1", "walks for code: loads from L1"),
    kind("walker_loads_code_l2", "walks for code: loads from L2"),
    kind("walker_loads_code_l3", "walks for code: loads from L3"),
    kind("walker_loads_code_memory", "walks for code: loads from memory"),
    kind("dtlb_walk_steps", "walks for data: accesses to tables"),
    kind("itlb_walk_steps", "walks for code: accesses to tables"),
    kind("dtlb_load_walk_starts", "walks for loads begun"),
    kind("dtlb_store_walk_starts", "walks for stores begun"),
    kind("itlb_walk_starts", "walks for code begun"),
    kind("dtlb_table_walks", "table walker: walks for data"),
    kind("itlb_table_walks", "table walker: walks for code"),
    kind("retired_load_misses", "retired loads that missed every TLB"),
    kind("retired_store_misses", "retired stores that missed every TLB"),
    kind("tlb_flushes", "TLB flushes"),
    kind("dtlb_flushes", "flushes of the data TLB"),
    kind("itlb_flushes", "flushes of the code TLB"),
    kind("l2_tlb_flushes", "flushes of the second-level TLB"),
    kind("ept_walk_cycles", "nested paging: walks, summed over cycles"),
    kind("walker_loads_ept_data_l1", "nested paging, data: loads from L1"),
    kind("walker_loads_ept_data_l2", "nested paging, data: loads from L2"),
    kind("walker_loads_ept_data_l3", "nested paging, data: loads from L3"),
    kind("walker_loads_ept_data_memory", "nested paging, data: loads from memory"),
    kind("walker_loads_ept_code_l1", "nested paging, code: loads from L1"),
    kind("walker_loads_ept_code_l2", "nested paging, code: loads from L2"),
    kind("walker_loads_ept_code_l3", "nested paging, code: loads from L3"),
    kind("walker_loads_ept_code_memory", "nested paging, code: loads from memory"),
];

/// Finds a kind by its name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

/// Returns true if the kind is counted by default: the cost of address translation, and the page sizes involved.
#[must_use]
pub fn is_usual(name: &str) -> bool {
    let active = name.ends_with("_walk_active") || name.starts_with("stall_");
    let size = ["_4k", "_2m", "_1g", "_coalesced", "_small", "_large"];
    let walks = ["dtlb", "dtlb_load", "dtlb_store", "itlb"]
        .iter()
        .any(|side| {
            name.strip_prefix(side)
                .and_then(|rest| rest.strip_prefix("_walks"))
                .is_some_and(|rest| rest.is_empty() || size.contains(&rest))
        });
    let from_memory = ["walker_loads_data_memory", "walker_loads_code_memory"].contains(&name);
    active || walks || from_memory
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_named_once_and_told_in_one_line() {
        let mut seen = std::collections::BTreeSet::new();
        for kind in KINDS {
            assert!(seen.insert(kind.name), "{} twice", kind.name);
            assert!(kind.name.len() <= 28, "{}", kind.name);
            assert!(kind.doc.len() <= 46, "{}", kind.name);
        }
        assert!(find("dtlb_walks").is_some() && find("dtlb").is_none());
    }

    #[test]
    fn the_usual_ones_are_walks_their_cycles_and_sizes() {
        for name in [
            "dtlb_walks",
            "itlb_walks_2m",
            "dtlb_store_walk_active",
            "stall_backend_tlb",
        ] {
            assert!(is_usual(name), "{name}");
        }
        for name in [
            "itlb_walk_starts",
            "dtlb_l2_hits_4k",
            "dtlb_walk_steps",
            CYCLES,
        ] {
            assert!(!is_usual(name), "{name}");
        }
    }
}

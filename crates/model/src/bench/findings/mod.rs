//! What the cells of a suite show: rules that only a record of that suite can answer.

use crate::run::findings::Rule;

mod cells;
mod growth_below_huge_page;
mod no_difference;
mod page_fault_bound;
mod read_first_prefault;
mod zero_page_source;
mod zeroing_bound;

/// The rules, in the order in which their findings are listed.
pub static RULES: &[&dyn Rule] = &[
    &no_difference::NoDifference,
    &zero_page_source::ZeroPageSource,
    &read_first_prefault::ReadFirstPrefault,
    &growth_below_huge_page::GrowthBelowHugePage,
    &page_fault_bound::PageFaultBound,
    &zeroing_bound::ZeroingBound,
];

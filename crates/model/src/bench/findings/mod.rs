//! What the cells of a suite show: rules that only a record of that suite can answer.

use crate::run::findings::Rule;

mod cells;
mod growth_below_huge_page;
mod large_share;
mod no_difference;
mod read_first_prefault;
mod zero_page_source;

/// The rules, in the order in which their findings are listed.
pub static RULES: &[&dyn Rule] = &[
    &no_difference::NoDifference,
    &zero_page_source::ZeroPageSource,
    &read_first_prefault::ReadFirstPrefault,
    &growth_below_huge_page::GrowthBelowHugePage,
    &large_share::PAGE_FAULT_BOUND,
    &large_share::ZEROING_BOUND,
];

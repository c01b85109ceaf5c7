//! The rules about benches: each looks at the cells of one suite.

mod cells;
pub(super) mod growth;
pub(super) mod large_share;
pub(super) mod no_difference;
pub(super) mod prefault;
pub(super) mod zero_page;

pub use growth::GrowthBelowHugePage;
pub use large_share::LargeShare;
pub use no_difference::NoDifference;
pub use prefault::ReadFirstPrefault;
pub use zero_page::{Misread, ZeroPageSource};

//! Making the memory of a running process huge: which ranges can be (`plan`), what happened to
//! each (`fate`), and what is reported (`report`).
//!
//! `MADV_COLLAPSE` can return success although nothing happened, and failure although some ranges were made huge
//! (mm/khugepaged.c, madvise_collapse). Its result is therefore not used: a range counts as huge if a second reading
//! shows that a PMD maps it.
//!
//! To add a kernel reason for a failed collapse, add its text and meaning to `outcome.rs`. The trace event's format has
//! its number.

mod document;
mod outcome;
mod plan;
mod report;
mod rules;

pub use outcome::{End, RangeOutcome, Refusal, meaning};
pub use plan::{Choice, Exclusion, Plan, PlannedRange, Unfit, plan};
pub use report::{Attempt, FORMAT, RefusalCount, Report, Stretch, Success, report};
pub use rules::FileRules;

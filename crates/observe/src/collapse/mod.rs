//! Making the memory of a running process huge: which ranges can be (`plan`), what happened to
//! each (`fate`), and what is reported (`report`).
//!
//! `MADV_COLLAPSE` returns success for ranges in which nothing happened, and failure although
//! part of them was made (mm/khugepaged.c, madvise_collapse). So nothing here rests on its
//! result: a range is made huge when a second reading shows that a PMD maps it.
//!
//! To add a kernel's reason for not collapsing, add its text and meaning to `outcome.rs`; the event's format has its number.

mod document;
mod outcome;
mod plan;
mod report;
mod rules;

pub use outcome::{End, RangeOutcome, Refusal, meaning};
pub use plan::{Choice, Exclusion, Plan, PlannedRange, Unfit, plan};
pub use report::{Attempt, FORMAT, RefusalCount, Report, Stretch, Success, report};
pub use rules::FileRules;

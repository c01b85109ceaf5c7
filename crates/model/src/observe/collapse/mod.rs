//! Making the memory of a running process huge: which ranges can be (`plan`), what became of
//! each (`fate`), and what is said of it (`report`).
//!
//! `MADV_COLLAPSE` returns success for ranges in which nothing happened, and failure although
//! part of them was made (mm/khugepaged.c, madvise_collapse). So nothing here rests on what it
//! returned: a range is made when it was read again and a PMD maps it.

mod fate;
mod plan;
mod render;
mod report;

pub use fate::{Ended, Fate, Refusal, meaning};
pub use plan::{Choice, LeftOut, Plan, Planned, Unfit, plan};
pub use render::{render_csv, render_markdown, render_text};
pub use report::{Done, FORMAT, Made, Measured, Refused, Report, Stretch, report};

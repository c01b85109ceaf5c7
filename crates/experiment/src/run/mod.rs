//! The spine, in the order of the data: from the policies to the report.

/// Policies, the matrix that they span, and the mechanism by which each is reached.
pub mod policy;

/// The laboratory's measurements: suites of cells, as data.
pub mod cells;

/// The plan: rounds, the control, and when to stop.
pub mod plan;

/// The metrics, in one table.
pub mod metric;

/// The observations: trials and readings, or the reason if there is none.
pub mod trial;

/// The record, written as events happen.
pub mod record;

pub use hugewise_stats as stats;

/// The sites at which a program maps its memory.
pub mod site;

/// Comparisons and verdicts.
pub mod compare;

/// Gates for pipelines: conditions on comparisons.
pub mod gate;

/// A trial of a service second by second, and its slow requests against its stalls.
pub mod timeline;

/// The results for one command, record after record, and their changes.
pub mod history;

/// The report, in several formats.
pub mod report;

/// Causes of an effect, or of its absence, as typed figures.
pub mod cause;

/// The answer, decided once, as data.
pub mod answer;

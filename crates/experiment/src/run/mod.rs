//! The spine, in the order of the data: from the policies to the report.

/// What to try: policies, the matrix they span, and the means by which each is reached.
pub mod policy;

/// What the laboratory measures itself: suites of cells, as data.
pub mod cells;

/// In which order: rounds, the control, and when to stop.
pub mod plan;

/// What can be measured: one table of metrics.
pub mod metric;

/// What was seen: trials and readings, or the reason there is none.
pub mod trial;

/// What is kept: the record, written as it happens.
pub mod record;

pub use hugewise_stats as stats;

/// Where a program maps its memory.
pub mod site;

/// What differs: comparisons and verdicts.
pub mod compare;

/// Whether a pipeline may go on: conditions on comparisons.
pub mod gate;

/// A trial of a service second by second, and its slow requests against its stalls.
pub mod timeline;

/// What was measured of one command, record after record, and where it changed.
pub mod history;

/// What is said: one report, several renderings.
pub mod report;

/// Why an effect is there, or why there is none, as typed figures.
pub mod cause;

/// The answer, decided once, as data.
pub mod answer;

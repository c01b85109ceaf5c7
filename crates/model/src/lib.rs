//! The pure part of hugewise, in the order of the way of the data.
//!
//! Nothing here reads a file, a clock or the environment: what is needed from the machine
//! is an argument. The rooms, first to last:

/// 1. Where: the machine and its settings, as facts.
pub mod host;

/// How many translations its processor remembers.
pub mod tlb;

/// What can be measured there, what will mislead, and what is set wrongly.
pub mod doctor;

/// 2. What to try: policies, the matrix they span, and the means by which each is reached.
pub mod policy;

/// 3. In which order: rounds, the control, and when to stop.
pub mod plan;

/// 4. What can be measured: one table of metrics.
pub mod metric;

/// 4a. What the laboratory measures itself: suites of cells, each a family of metrics.
pub mod bench;

/// 5. What was seen: trials and readings, or the reason there is none.
pub mod observation;

/// 5a. What was seen of page faults: one by one, in pairs, by kind, and the shapes they make.
pub mod fault;

/// 5b. What was seen of one address space.
pub mod space;

/// 5c. What is seen of a running program, interval by interval: events of the hardware, and
/// what the kernel counts.
pub mod stat;

/// 5d. Where the kernel stalls: what can be traced there, and what was seen; durations as
/// histograms.
pub mod trace;

pub mod latency;

/// 5e. Where misses of the TLB come from: sampled addresses, by mapping, page size and function.
pub mod miss;

/// 5f. What load generators and benchmarks tell of their requests.
pub mod reader;

/// 5g. A trial of a service from second to second, and its slow requests against its stalls.
pub mod timeline;

/// 5h. Recordings of faults and of misses: events, a line each, and back.
pub mod recording;

/// 6. What is kept: the record, written as it happens.
pub mod record;

/// 7. What differs: estimates with intervals (`stats`), then comparisons and verdicts.
pub mod compare;
pub mod stats;

/// 7a. Whether a pipeline may go on: conditions on comparisons.
pub mod gate;

/// 8. Why: rules that recognise a cause, or say that they cannot.
pub mod findings;

/// 8a. Why memory is not huge: a reason for every range.
pub mod reason;

/// 8b. What huge pages would cost and could be worth, before anything is switched on.
pub mod forecast;

/// 8c. What can be done to a running process: making its memory huge.
pub mod collapse;

/// 9. What is said: one report, several renderings.
pub mod report;

/// 9a. What is said of one process: its memory and its reasons.
pub mod inspection;

/// The units in which all of it is told: bytes and durations as people type and read them.
pub mod quantity;

/// Names by pattern, as people type them.
pub mod glob;

//! What everything else stands on: units, reasons for absence, the machine, histograms, recordings.

/// Exit codes.
pub mod exit;
/// Names by pattern, as people type them.
pub mod glob;
/// Durations as histograms, and what can be said from them.
pub mod histogram;
/// The machine and its settings, as facts.
pub mod host;
/// Files of JSON lines.
pub mod jsonl;
/// Why something is not known.
pub mod missing;
/// Recordings: events, a line each, and back.
pub mod recording;
/// TLB geometry.
pub mod tlb;
/// Units: bytes and durations as people type and read them.
pub mod units;

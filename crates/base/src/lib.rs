//! The base of all other crates: bisection, units, kernel counters, reasons for absence, the machine, histograms,
//! recordings.

pub mod bisect;
pub mod calendar;
pub mod counter;
pub mod exit;
pub mod facility;
pub mod fnv;
pub mod free_blocks;
pub mod geometry;
pub mod glob;
pub mod gzip;
pub mod histogram;
pub mod host;
pub mod jsonl;
pub mod missing;
pub mod parquet;
pub mod plain;
pub mod recording;
pub mod setting;
pub mod shell;
pub mod table;
pub mod tlb;
pub mod tunables;
pub mod units;
pub mod verification;

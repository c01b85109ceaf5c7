//! The instruments. Each one turns events of a running program into a summary, and renders it.

/// An address space as the kernel shows it: mappings, and how their pages are mapped.
pub mod address_space;
/// Making the memory of a running process huge.
pub mod collapse;
/// Diagnosis of a machine: what can be measured, what misleads measurements, and wrong settings.
pub mod doctor;
/// Page faults, one by one: kinds, latencies, places, shapes.
pub mod faults;
/// The cost and possible benefit of huge pages, before anything is enabled.
pub mod forecast;
/// Why memory of a process is huge or not.
pub mod inspect;
/// The huge page state of the machine at one moment.
pub mod machine;
mod outlived;
/// The progress of a process that fills its memory.
pub mod progress;
/// Counters of a running program, interval by interval.
pub mod stat;
/// Kernel stalls: what can be traced, and the results.
pub mod trace;
/// Verification of hardware events by loops with a known number of TLB misses.
pub mod verify;

pub use outlived::outlived;

#[cfg(test)]
#[path = "../../experiment/src/test_host.rs"]
mod test_host;

//! The instruments: each turns events of a running program into a summary and draws it.

/// An address space as the kernel shows it: mappings, and how their pages are mapped.
pub mod address_space;
/// Making the memory of a running process huge.
pub mod collapse;
/// What can be measured on a machine, what will mislead, and what is set wrongly.
pub mod doctor;
/// Page faults, one by one: kinds, latencies, places, shapes.
pub mod faults;
/// What huge pages would cost and could be worth, before anything is switched on.
pub mod forecast;
/// Why memory of a process is huge or not.
pub mod inspect;
/// The huge page state of the machine at one moment.
pub mod machine;
mod outlived;
/// What a running program does, interval by interval.
pub mod stat;
/// Where the kernel stalls: what can be traced there, and what was seen.
pub mod trace;

pub use outlived::outlived;

#[cfg(test)]
#[path = "../../experiment/src/test_host.rs"]
mod test_host;

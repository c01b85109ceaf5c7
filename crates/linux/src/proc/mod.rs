//! What the kernel shows under `/proc`: one file per subject.

/// `/proc/cpuinfo`.
pub mod cpuinfo;

/// `/proc/loadavg`.
pub mod loadavg;

/// `/proc/meminfo`.
pub mod meminfo;

/// `/proc/self/mountinfo`.
pub mod mounts;

//! Data shared with the BPF programs, laid out as in `latency.bpf.c`.

use aya::Pod;
use hugewise_base::histogram::buckets::{FINE_SLOTS, MICRO_SLOTS};

/// `struct settings` of the programs.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Settings {
    pub(super) root: u32,
    pub(super) epoch: u32,
}

/// `struct hist` of the programs.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct RawHistogram {
    pub(super) count: u64,
    pub(super) total_ns: u64,
    pub(super) fine: [u64; FINE_SLOTS],
    pub(super) micro: [u64; MICRO_SLOTS],
}

/// `struct extremes` of the programs.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RawExtremes {
    pub(super) max_ns: u64,
    pub(super) min_complement: u64,
}

/// `struct losses` of the programs.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RawLosses {
    pub(super) no_room: u64,
    pub(super) reentered: u64,
}

// SAFETY: plain integers without padding, for which every pattern of bits is a value.
unsafe impl Pod for Settings {}
// SAFETY: as above.
unsafe impl Pod for RawHistogram {}
// SAFETY: as above.
unsafe impl Pod for RawExtremes {}
// SAFETY: as above.
unsafe impl Pod for RawLosses {}

//! The processors and memory nodes of a process, which its children inherit through exec.

use std::{mem, ptr};

use hugewise_experiment::run::policy::numa::{MOST_NODES, parse_nodes};
use hugewise_experiment::run::policy::{Numa, NumaMode};

use crate::machine::root::Root;

/// Returns a set of processors in the format of the system call; numbers beyond its size are ignored.
pub(super) fn cpu_set(cpus: &[u32]) -> libc::cpu_set_t {
    // SAFETY: cpu_set_t is a plain array of bits, for which zeroes are valid.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    for &cpu in cpus {
        if cpu < libc::CPU_SETSIZE.unsigned_abs() {
            // SAFETY: the number is within the set.
            unsafe { libc::CPU_SET(cpu as usize, &mut set) };
        }
    }
    set
}

const WORD_BITS: u32 = libc::c_ulong::BITS;
const WORDS: usize = (MOST_NODES / WORD_BITS) as usize;

/// A memory policy in the format of the system call.
#[derive(Clone, Debug)]
pub(super) struct Nodes {
    mode: libc::c_int,
    mask: [libc::c_ulong; WORDS],
}

impl Nodes {
    /// `interleave` without nodes means all nodes with memory.
    pub(super) fn of(numa: &Numa) -> Self {
        let mode = match numa.mode {
            NumaMode::Local => libc::MPOL_LOCAL,
            NumaMode::Prefer => libc::MPOL_PREFERRED,
            NumaMode::Bind => libc::MPOL_BIND,
            NumaMode::Interleave => libc::MPOL_INTERLEAVE,
        };
        let mut nodes = numa.nodes.clone();
        if numa.mode == NumaMode::Interleave && nodes.is_empty() {
            let list = Root::real().read_trimmed("sys/devices/system/node/has_memory");
            nodes = list
                .ok()
                .and_then(|list| parse_nodes(&list))
                .unwrap_or_default();
        }
        let mut mask = [0; WORDS];
        for node in nodes {
            mask[(node / WORD_BITS) as usize] |= 1 << (node % WORD_BITS);
        }
        Self { mode, mask }
    }

    /// Sets the policy for this process; returns -1 if the kernel refuses. Makes one system call, so it can be called
    /// between fork and exec.
    pub(super) fn set(&self) -> libc::c_int {
        let (mask, bits) = match self.mode {
            libc::MPOL_LOCAL => (ptr::null(), 0),
            // The kernel subtracts one (`get_nodes`, mm/mempolicy.c).
            _ => (self.mask.as_ptr(), libc::c_ulong::from(MOST_NODES) + 1),
        };
        // SAFETY: the mask holds MOST_NODES bits and outlives the call.
        let result = unsafe { libc::syscall(libc::SYS_set_mempolicy, self.mode, mask, bits) };
        if result == 0 { 0 } else { -1 }
    }
}

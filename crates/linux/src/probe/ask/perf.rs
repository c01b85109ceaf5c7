//! Probes perf_event_open(2): which events exist, and whether enough of them can be counted at once.

use std::io;

use perf_event::events::{Cache, CacheId, CacheOp, CacheResult, Event, Hardware, KProbe, Software};
use perf_event::{Builder, ReadFormat};

use crate::machine::root::Root;
use crate::probe::answers::{Answer, PerfAnswers};

/// Page faults of this thread.
pub(super) fn page_faults() -> PerfAnswers {
    both(|| Software::PAGE_FAULTS)
}

/// Cycles.
pub(super) fn cycles() -> PerfAnswers {
    both(|| Hardware::CPU_CYCLES)
}

/// Data TLB misses of loads.
pub(super) fn tlb_misses() -> PerfAnswers {
    both(dtlb_misses)
}

/// Opens a breakpoint at the entry of a function present in every kernel. It is never enabled.
pub(super) fn kprobe(root: &Root) -> Answer {
    if !root.path("sys/bus/event_source/devices/kprobe").exists() {
        return Answer::Refused(libc::ENOENT);
    }
    match KProbe::probe("handle_mm_fault", 0) {
        Ok(probe) => Builder::new(probe).build().map(drop).into(),
        Err(error) => Err(error).into(),
    }
}

fn dtlb_misses() -> Cache {
    Cache {
        which: CacheId::DTLB,
        operation: CacheOp::READ,
        result: CacheResult::MISS,
    }
}

fn both<E: Event>(event: impl Fn() -> E) -> PerfAnswers {
    let mut builder = Builder::new(event());
    let user = builder.exclude_kernel(true).exclude_hv(true).build();
    let kernel = builder.exclude_kernel(false).build();
    PerfAnswers {
        kernel: kernel.map(drop).into(),
        user: user.map(drop).into(),
    }
}

/// Opens the three hardware events needed to find causes as one group, lets it run for a moment, and checks that it was
/// scheduled: a group that is too large opens but never counts.
pub(super) fn counter_group() -> Answer {
    match run_group() {
        Ok(true) => Answer::Accepted,
        Ok(false) => Answer::Empty,
        Err(error) => Err(error).into(),
    }
}

/// Siblings are enabled from the start and only the leader is switched: enabling a group member by member loses counts
/// on some kernels.
fn run_group() -> io::Result<bool> {
    let mut leader = Builder::new(Hardware::CPU_CYCLES)
        .exclude_kernel(true)
        .exclude_hv(true)
        .read_format(ReadFormat::TOTAL_TIME_ENABLED | ReadFormat::TOTAL_TIME_RUNNING)
        .build()?;
    let _instructions = sibling(Hardware::INSTRUCTIONS, &mut leader)?;
    let _misses = sibling(dtlb_misses(), &mut leader)?;
    leader.enable()?;
    spin();
    leader.disable()?;
    let running = leader.read_full()?.time_running();
    Ok(running.is_some_and(|time| !time.is_zero()))
}

fn sibling(event: impl Event, leader: &mut perf_event::Counter) -> io::Result<perf_event::Counter> {
    Builder::new(event)
        .exclude_kernel(true)
        .exclude_hv(true)
        .enabled(true)
        .build_with_group(leader)
}

/// Does some work in user mode, well under a millisecond.
fn spin() {
    for number in 0..100_000_u32 {
        std::hint::black_box(number);
    }
}

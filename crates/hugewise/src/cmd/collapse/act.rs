//! The planned ranges, made huge or only forecast.

use hugewise_base::missing::{Fact, Missing};
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::collapse;
use hugewise_linux::observe::collapse::{CollapseTarget, KernelReasons};
use hugewise_linux::proc::smaps_rollup::read_smaps_rollup;
use hugewise_observe::address_space::Space;
use hugewise_observe::collapse::{Attempt, End, Plan, Report, report};

use crate::collapse_facts::{self, Activity};
use crate::interrupt::Interrupt;

/// What would become huge, and what it would add.
pub(super) fn dry_run(
    root: &Root,
    space: &Space,
    plan: &Plan,
    activity: Option<Activity>,
    lacks: Option<Missing>,
) -> Report {
    let done = Attempt {
        fates: Vec::new(),
        ended: End::DryRun,
        call_seconds: 0.0,
    };
    let mut report = report(space.process.pid, &space.process.command, plan, &done);
    let activity = activity.unwrap_or_else(|| Activity::of_a_moment(root, space.process.pid));
    report.forecast = Some(collapse_facts::of(root, space, activity));
    report.lacks = lacks;
    report
}

/// Makes the planned ranges huge.
pub(super) fn collapse(
    root: &Root,
    pid: u32,
    space: &Space,
    plan: &Plan,
    target: &CollapseTarget,
    stop: &Interrupt,
) -> Report {
    let mut heard = KernelReasons::open(root);
    let memory_before = memory(root, pid);
    let done = collapse::collapse(target, plan, &mut heard, stop.flag(), &mut |_| ());
    let memory_after = memory(root, pid);
    let mut report = report(space.process.pid, &space.process.command, plan, &done);
    (report.resident_before_bytes, report.huge_anon_before_bytes) = memory_before;
    (report.resident_after_bytes, report.huge_anon_after_bytes) = memory_after;
    report.reasons_missing = heard.missing().cloned();
    report
}

/// Resident memory of a process, and the anonymous huge memory in it.
fn memory(root: &Root, pid: u32) -> (Fact<u64>, Fact<u64>) {
    match read_smaps_rollup(root, pid) {
        Ok(rollup) => (Ok(rollup.rss_bytes), Ok(rollup.huge_anon_bytes)),
        Err(error) => {
            let missing = error.into_missing("the same user id, or CAP_SYS_PTRACE");
            (Err(missing.clone()), Err(missing))
        }
    }
}

//! Durations of faults and stalls in the kernel, counted there by BPF programs.

use hugewise_base::missing::{Fact, Missing};
use hugewise_linux::bpf::{PointWindow, Tracer};
use hugewise_linux::machine::root::Root;
use hugewise_monitor::export::PointDurations;
use hugewise_observe::trace::PointKind;
use hugewise_observe::trace::points::points;

/// The traced points: rare ones, and huge page faults, each of which takes a hundred times longer than its tracing.
const POINTS: [&str; 8] = [
    "direct_compaction",
    "direct_reclaim",
    "cgroup_reclaim",
    "khugepaged_scan",
    "collapse",
    "zeroing",
    "huge_fault",
    "split_page",
];
const GRANT: &str = "CAP_BPF and CAP_PERFMON";

/// A running trace, with its sums.
#[derive(Debug)]
pub(super) struct KernelDurations {
    tracing: Fact<Tracing>,
}

#[derive(Debug)]
struct Tracing {
    tracer: Tracer,
    sums: Vec<PointWindow>,
}

impl KernelDurations {
    /// Starts as far as permitted.
    pub(super) fn begin() -> Self {
        let mut wanted = points();
        wanted.retain(|point| POINTS.contains(&&*point.name));
        let tracing = match Tracer::start(&Root::real(), &wanted, None) {
            Ok((tracer, _)) if tracer.traced().is_empty() => Err(Missing::not_permitted(GRANT)),
            Ok((tracer, _)) => Ok(Tracing {
                sums: vec![PointWindow::default(); tracer.traced().len()],
                tracer,
            }),
            Err(error) => Err(error.into_missing(GRANT)),
        };
        Self { tracing }
    }

    /// All durations since the start; points that cannot be traced are absent.
    pub(super) fn read(&mut self) -> Fact<Vec<PointDurations>> {
        let tracing = self.tracing.as_mut().map_err(|why| why.clone())?;
        let added = tracing.tracer.add_window(&mut tracing.sums);
        added.map_err(|error| error.into_missing(GRANT))?;
        let traced = tracing.tracer.traced().into_iter().zip(&tracing.sums);
        let durations = traced.filter(|(point, _)| point.kind == PointKind::Durations);
        Ok(durations
            .map(|(point, sum)| PointDurations {
                point: point.name,
                durations: sum.all.clone(),
            })
            .collect())
    }
}

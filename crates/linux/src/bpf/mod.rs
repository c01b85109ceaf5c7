//! Latency tracing in the kernel: BPF programs measure durations from begin to end and keep them as
//! histograms, so that only sums leave the kernel.
//!
//! Nothing is pinned and no probe uses tracefs: when this process ends, for whatever reason, the kernel removes
//! everything.

use std::time::Duration;

use hugewise_observe::trace::points::Point;
use hugewise_observe::trace::{Attachment, MissingPoint, PointTotals, TracePoint};

use crate::machine::error::{Error, Kind as ErrorKind, Result};
use crate::machine::root::Root;

pub(crate) mod faults;
pub mod ladder;
mod mapped;
mod point;
mod probe;
mod programs;
mod records;
mod refused;
pub mod types;

use ladder::{KernelTypes, attempts, climb};
use point::PointTracer;
pub use point::PointWindow;
pub use probe::{LongStall, Totals};
use refused::{lacking, not_supported, refused, untraced};

/// Returns a hash of the programs' sources (FNV-1a), which reveals a committed object older than its source without a
/// compiler.
#[must_use]
pub fn source_fingerprint() -> u64 {
    let sources = [
        include_bytes!("mini.h").as_slice(),
        include_bytes!("faults.h"),
        include_bytes!("latency.bpf.c"),
    ];
    let bytes = sources.concat();
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// How long a program may still write to the old half after the switch; each run takes less than a microsecond.
const STRAGGLERS: Duration = Duration::from_millis(2);

/// The points being traced. Dropping it ends the tracing.
#[derive(Debug)]
pub struct Tracer {
    points: Vec<PointTracer>,
}

impl Tracer {
    /// Starts tracing those of `points` that can be traced: on the whole machine, or in the process `pid` and its
    /// descendants. Points that cannot be traced come back with the reason.
    ///
    /// # Errors
    /// The kernel's types could not be parsed.
    pub fn start(
        root: &Root,
        points: &[Point],
        pid: Option<u32>,
    ) -> Result<(Self, Vec<MissingPoint>)> {
        Self::start_by(root, points, pid, |_| true)
    }

    /// Does the same, and also keeps each duration of at least `long` until it is read with
    /// [`take_long_stalls`](Self::take_long_stalls).
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with_long_stalls(
        root: &Root,
        points: &[Point],
        pid: Option<u32>,
        long: Duration,
    ) -> Result<(Self, Vec<MissingPoint>)> {
        Self::open(root, points, pid, Some(long), |_| true)
    }

    /// Does the same with some attach methods only, to compare them.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_by(
        root: &Root,
        points: &[Point],
        pid: Option<u32>,
        may: impl Fn(Attachment) -> bool,
    ) -> Result<(Self, Vec<MissingPoint>)> {
        Self::open(root, points, pid, None, may)
    }

    fn open(
        root: &Root,
        points: &[Point],
        pid: Option<u32>,
        long: Option<Duration>,
        may: impl Fn(Attachment) -> bool,
    ) -> Result<(Self, Vec<MissingPoint>)> {
        let none = Self { points: Vec::new() };
        let types = match types::read_types(root) {
            Ok(types) => types,
            Err(error) if error.kind == ErrorKind::NotFound => {
                let what = "the kernel's types, /sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF)";
                return Ok((none, untraced(points, &not_supported(what))));
            }
            Err(error) => return Err(error),
        };
        let kernel = KernelTypes {
            types,
            functions: crate::proc::kallsyms::read_kallsyms(root).unwrap_or_default(),
        };
        let mut opener = probe::Kernel::new(pid)
            .map_err(|error| Error::io("reading", &root.path("sys/kernel/btf/vmlinux"), error))?
            .with_long_stalls(long);
        let lacking = lacking(root);
        let mut tracer = none;
        let mut missing = Vec::new();
        for point in points {
            let (mut attempts, absent) = attempts(point, &kernel);
            attempts.retain(|attempt| may(attempt.attachment));
            match climb(&attempts, &mut opener) {
                Ok((attempt, probe)) => {
                    tracer
                        .points
                        .push(PointTracer::new(point, &attempt, probe, &kernel));
                }
                Err(refusals) => missing.push(refused(point, absent, &refusals, lacking.as_ref())),
            }
        }
        Ok((tracer, missing))
    }

    /// Returns the traced points and their attach methods.
    #[must_use]
    pub fn traced(&self) -> Vec<TracePoint> {
        self.points
            .iter()
            .map(|point| point.traced.clone())
            .collect()
    }

    /// Switches to the tree of another process.
    ///
    /// # Errors
    /// The kernel failed.
    pub fn watch(&mut self, pid: u32) -> Result<()> {
        for point in &mut self.points {
            point.probe.watch(pid).map_err(|error| failed(&error))?;
        }
        Ok(())
    }

    /// Ends a window and returns its latencies, in the order of [`traced`](Self::traced).
    ///
    /// # Errors
    /// The kernel failed.
    pub fn window(&mut self) -> Result<Vec<PointWindow>> {
        for point in &mut self.points {
            point.probe.turn().map_err(|error| failed(&error))?;
        }
        std::thread::sleep(STRAGGLERS);
        let windows = self.points.iter_mut().map(|point| {
            let counts = point.probe.read().map_err(|error| failed(&error))?;
            Ok(point.window(counts))
        });
        windows.collect()
    }

    /// Ends a window and adds it to the sums of earlier ones, in the order of [`traced`](Self::traced). Returns only
    /// the latencies of the ended window.
    ///
    /// # Errors
    /// The kernel failed.
    pub fn add_window(&mut self, sums: &mut [PointWindow]) -> Result<Vec<PointWindow>> {
        let windows = self.window()?;
        for (sum, window) in sums.iter_mut().zip(&windows) {
            sum.add(window);
        }
        Ok(windows)
    }

    /// Takes the long durations kept since the last call, in the order of [`traced`](Self::traced).
    ///
    /// # Errors
    /// The kernel failed.
    pub fn take_long_stalls(&mut self) -> Result<Vec<Vec<LongStall>>> {
        let points = self.points.iter_mut();
        points
            .map(|point| {
                point
                    .probe
                    .take_long_stalls()
                    .map_err(|error| failed(&error))
            })
            .collect()
    }

    /// Returns the totals of each point since tracing began, independent of windows; empty if no long stalls are kept.
    ///
    /// # Errors
    /// The kernel failed.
    pub fn totals(&self) -> Result<Vec<Totals>> {
        let points = self.points.iter();
        points
            .map(|point| point.probe.totals().map_err(|error| failed(&error)))
            .collect()
    }

    /// Converts windows to latencies with names.
    #[must_use]
    pub fn summaries(&self, windows: &[PointWindow]) -> Vec<PointTotals> {
        let pairs = self.points.iter().zip(windows);
        pairs.map(|(point, window)| point.summary(window)).collect()
    }
}

fn failed(error: &aya::maps::MapError) -> Error {
    Error {
        kind: ErrorKind::Other(error.to_string()),
        doing: "reading the counts of the BPF programs".to_owned(),
        path: None,
        source: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_object_is_of_these_sources() {
        let origin = include_str!("prebuilt/ORIGIN");
        let line = format!("sources {:016x}", source_fingerprint());
        assert!(
            origin.contains(&line),
            "the sources have changed; run: cargo xtask bpf"
        );
    }
}

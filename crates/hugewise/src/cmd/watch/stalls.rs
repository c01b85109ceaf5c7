//! Traces kernel stalls on the whole machine while their tab is shown, as `trace` does.

use std::time::Instant;

use anyhow::Result;
use hugewise_linux::bpf::{PointWindow, Tracer};
use hugewise_linux::machine::clock::unix_ms;
use hugewise_linux::machine::root::Root;
use hugewise_observe::trace::points::{Preset, points};
use hugewise_observe::trace::{FORMAT, MissingPoint, Trace, Window};
use hugewise_text::document::Document;

/// A running trace. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Stalls {
    tracer: Tracer,
    missing: Vec<MissingPoint>,
    sum: Vec<PointWindow>,
    began: Instant,
    started_unix_ms: u64,
}

impl Stalls {
    /// Starts to trace the cheapest points, as far as permitted.
    pub(super) fn begin() -> Result<Self> {
        let mut rare = points();
        rare.retain(|point| Preset::RARE.contains(&point.preset));
        let (mut tracer, missing) = Tracer::start(&Root::real(), &rare, None)?;
        // Events during the attaching of programs belong to no window.
        tracer.window()?;
        Ok(Self {
            sum: vec![PointWindow::default(); tracer.traced().len()],
            tracer,
            missing,
            began: Instant::now(),
            started_unix_ms: unix_ms(),
        })
    }

    /// The stalls since the start, and the points that cannot be traced, each with the missing privilege.
    pub(super) fn document(&mut self) -> Result<Document> {
        self.tracer.add_window(&mut self.sum)?;
        let seconds = self.began.elapsed().as_secs_f64();
        let trace = Trace {
            format: FORMAT.to_owned(),
            kernel: Root::real().read_trimmed("proc/sys/kernel/osrelease")?,
            pid: None,
            started_unix_ms: self.started_unix_ms,
            seconds,
            interval_seconds: None,
            points: self.tracer.traced(),
            missing: self.missing.clone(),
            intervals: Vec::new(),
            total: Window {
                from_seconds: 0.0,
                to_seconds: seconds,
                points: self.tracer.summaries(&self.sum),
            },
        };
        Ok(trace.screen())
    }
}

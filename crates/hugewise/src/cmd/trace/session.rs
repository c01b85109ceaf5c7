//! One trace session, from start to report.

use std::time::{Duration, Instant};

use anyhow::Result;
use hugewise_linux::bpf::{PointWindow, Tracer};
use hugewise_linux::machine::clock::unix_ms;
use hugewise_linux::machine::root::Root;
use hugewise_observe::trace;
use hugewise_observe::trace::{FORMAT, MissingPoint, Trace, TracePoint, Window};
use hugewise_text::to_text;

use super::Arguments;
use crate::output::{self, Format};

/// One trace session, from start to report.
pub(super) struct Session<'a> {
    tracer: Tracer,
    points: Vec<TracePoint>,
    arguments: &'a Arguments,
    started: Instant,
    started_unix_ms: u64,
    sum: Vec<PointWindow>,
    /// When the last window ended.
    last: Duration,
    windows: Vec<Window>,
    intervals: u64,
}

impl<'a> Session<'a> {
    /// Prepares a session; no window has begun.
    pub(super) fn new(tracer: Tracer, arguments: &'a Arguments) -> Self {
        let points = tracer.traced();
        Self {
            sum: vec![PointWindow::default(); points.len()],
            points,
            tracer,
            arguments,
            started: Instant::now(),
            started_unix_ms: unix_ms(),
            last: Duration::ZERO,
            windows: Vec::new(),
            intervals: 0,
        }
    }

    /// The traced points.
    pub(super) fn points(&self) -> &[TracePoint] {
        &self.points
    }

    /// Starts the first window. Events during the attaching of programs, which happens one by one, belong to no window.
    pub(super) fn begin(&mut self) -> Result<()> {
        self.tracer.window()?;
        self.started = Instant::now();
        self.started_unix_ms = unix_ms();
        if self.arguments.output.format == Format::Csv {
            output::print(&trace::csv_head())?;
        }
        Ok(())
    }

    /// Traces until `ended`, or until the time is over.
    pub(super) fn run(&mut self, ended: impl Fn() -> bool) -> Result<()> {
        /// How late a signal or the end is noticed.
        const PATIENCE: Duration = Duration::from_millis(50);
        let end = self.arguments.duration.unwrap_or(Duration::MAX);
        let every = self.arguments.interval.or(self.page_interval());
        let every = every.unwrap_or(Duration::MAX);
        let mut due = every;
        loop {
            let now = self.started.elapsed();
            if now >= end || ended() {
                break;
            }
            if now >= due {
                self.close_interval()?;
                due = due.saturating_add(every);
                continue;
            }
            std::thread::sleep((due.min(end) - now).min(PATIENCE));
        }
        self.close_interval()
    }

    /// The interval of the page's timeline, if the user set none.
    fn page_interval(&self) -> Option<Duration> {
        const USUAL: Duration = Duration::from_secs(1);
        self.is_for_page().then_some(USUAL)
    }

    fn is_for_page(&self) -> bool {
        self.arguments.page.html.is_some()
    }

    /// Ends a window, and adds it to the sum.
    fn close(&mut self) -> Result<Window> {
        let now = self.started.elapsed();
        let sightings = self.tracer.add_window(&mut self.sum)?;
        let from = std::mem::replace(&mut self.last, now);
        Ok(Window {
            from_seconds: from.as_secs_f64(),
            to_seconds: now.as_secs_f64(),
            points: self.tracer.summaries(&sightings),
        })
    }

    /// Ends an interval, and prints it on request.
    fn close_interval(&mut self) -> Result<()> {
        let window = self.close()?;
        let output = &self.arguments.output;
        let text = match output.format {
            _ if self.arguments.interval.is_none() => String::new(),
            Format::Text => to_text(&window.document(&self.points), &output::style(output)) + "\n",
            Format::Csv => window.csv(&self.points, &self.intervals.to_string()),
            Format::Json | Format::Markdown => String::new(),
        };
        // Intervals are kept only for a document that lists them: there may be days of them.
        let is_in_json = output.format == Format::Json || output.json.is_some();
        if self.is_for_page() || is_in_json && self.arguments.interval.is_some() {
            self.windows.push(window);
        }
        self.intervals += 1;
        output::print(&text)
    }

    /// Writes the report.
    pub(super) fn finish(self, missing: Vec<MissingPoint>) -> Result<()> {
        let total = Window {
            from_seconds: 0.0,
            to_seconds: self.last.as_secs_f64(),
            points: self.tracer.summaries(&self.sum),
        };
        let trace = Trace {
            format: FORMAT.to_owned(),
            kernel: Root::real().read_trimmed("proc/sys/kernel/osrelease")?,
            pid: self.arguments.pid,
            started_unix_ms: self.started_unix_ms,
            seconds: self.last.as_secs_f64(),
            interval_seconds: self.arguments.interval.map(|time| time.as_secs_f64()),
            points: self.points,
            missing,
            intervals: self.windows,
            total,
        };
        // Detaching can take a moment. The report does not wait for it, but must not be lost if its reader exits.
        report(&trace, self.arguments)
    }
}

/// Writes a trace in the requested format.
pub(super) fn report(trace: &Trace, arguments: &Arguments) -> Result<()> {
    let csv = || trace.total.csv(&trace.points, "total");
    let shown = output::show(&arguments.output, trace, || trace.document(), csv);
    let page = || Ok(trace.page(output::json(trace)?.as_bytes()));
    shown.and(arguments.page.write(page))
}

//! `hugewise trace --progress`: a process that fills its memory, until it has all.

use std::time::{Duration, Instant};

use anyhow::Result;
use hugewise_linux::machine::clock::unix_ms;
use hugewise_linux::machine::process::HeldProcess;
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::progress::ProgressWatch;
use hugewise_linux::proc::pid_stat::read_pid_stat;
use hugewise_observe::progress::{
    FORMAT, FillState, Progress, ProgressInterval, Remedy, csv_head, line, lines_head,
};

use super::{Arguments, held};
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::output::{self, Format};
use crate::stderr::message;

/// The usual length of an interval.
const USUAL: Duration = Duration::from_secs(1);

/// The readings of the memory in an interval.
const READINGS: u32 = 8;

/// After this many intervals without growth at the target, the process has finished.
const QUIET: usize = 3;

/// One session, from start to report.
struct Session<'a> {
    arguments: &'a Arguments,
    watch: ProgressWatch,
    process: HeldProcess,
    started: Instant,
    intervals: Vec<ProgressInterval>,
    /// The number of finished intervals without growth, up to now.
    quiet: usize,
    /// The last remedy on stderr.
    shown: Option<Remedy>,
}

/// Watches the process until it has its memory, ends, or the user stops.
pub(super) fn run(arguments: &Arguments, pid: u32) -> Result<Exit> {
    let root = Root::real();
    let process = held("--progress", pid)?;
    output::check_file(&arguments.output)?;
    let interrupt = Interrupt::catch()?;
    let every = arguments.interval.unwrap_or(USUAL);
    let started_unix_ms = unix_ms();
    let command = read_pid_stat(&root, pid).map(|stat| stat.command);
    let mut session = Session {
        watch: ProgressWatch::open(&root, pid, every, arguments.target),
        arguments,
        process,
        started: Instant::now(),
        intervals: Vec::new(),
        quiet: 0,
        shown: None,
    };
    session.begin()?;
    session.watch_until(every, &interrupt)?;
    let progress = Progress {
        format: FORMAT.to_owned(),
        kernel: root.read_trimmed("proc/sys/kernel/osrelease")?,
        pid,
        command: command.unwrap_or_default(),
        started_unix_ms,
        interval_seconds: every.as_secs_f64(),
        settings: session.watch.settings(),
        total: session.watch.total(),
        missing: session.watch.missing(),
        intervals: session.intervals,
    };
    report(&progress, arguments)?;
    Ok(Exit::Done)
}

impl Session<'_> {
    fn begin(&mut self) -> Result<()> {
        self.watch.begin(self.started.elapsed());
        if !self.arguments.output.quiet {
            message("watching the memory; Ctrl-C stops and reports");
        }
        match self.arguments.output.format {
            Format::Text => output::print(&lines_head()),
            Format::Csv | Format::Json | Format::Markdown => Ok(()),
        }
    }

    fn watch_until(&mut self, every: Duration, interrupt: &Interrupt) -> Result<()> {
        let end = self.arguments.duration.unwrap_or(Duration::MAX);
        let reading = every / READINGS;
        let (mut due, mut next) = (every, reading);
        loop {
            let now = self.started.elapsed();
            let is_over = now >= end || interrupt.asked() || self.process.has_ended();
            if is_over || now >= due {
                self.close(now)?;
                // A late interval is not followed by a short one.
                due = now.max(due) + every;
                next = now + reading;
            } else if now >= next {
                self.watch.tick(now);
                next = now + reading;
            }
            if is_over || self.quiet >= QUIET {
                return Ok(());
            }
            let until = due.min(next).min(end);
            interrupt.wait(until.saturating_sub(self.started.elapsed()));
        }
    }

    /// Ends an interval, and shows it.
    fn close(&mut self, now: Duration) -> Result<()> {
        let interval = self.watch.close(now);
        let is_quiet = interval.state == FillState::Finished && !interval.has_grown();
        self.quiet = if is_quiet { self.quiet + 1 } else { 0 };
        let output = &self.arguments.output;
        if output.format == Format::Text {
            output::print(&line(&interval))?;
            self.show_setting(&interval);
        }
        // Kept only for a document that lists intervals, because a session can last for days.
        if output.format == Format::Json || output.format == Format::Csv || output.json.is_some() {
            self.intervals.push(interval);
        }
        Ok(())
    }

    /// Shows a setting as soon as it follows: the user can write it while the process waits.
    fn show_setting(&mut self, interval: &ProgressInterval) {
        let Some(remedy) = &interval.remedy else {
            return;
        };
        let is_known = self
            .shown
            .as_ref()
            .is_some_and(|it| it.setting == remedy.setting);
        if !is_known && !self.arguments.output.quiet {
            message(remedy.setting.short());
        }
        self.shown = Some(remedy.clone());
    }
}

fn report(progress: &Progress, arguments: &Arguments) -> Result<()> {
    let output = &arguments.output;
    if output.format == Format::Text {
        output::print("\n")?;
    }
    let csv = || csv_head() + &progress.csv();
    output::show(output, progress, || progress.document(), csv)
}

//! `hugewise trace`: how long the kernel stalls, and where.

use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use hugewise_linux::bpf::{Sighting, Tracer};
use hugewise_linux::clock::unix_ms;
use hugewise_linux::error::Kind;
use hugewise_linux::proc::kallsyms::{Functions, read_kallsyms};
use hugewise_linux::proc::process::{Watched, numbers_are_global};
use hugewise_linux::root::Root;
use hugewise_model::base::units::parse_duration;
use hugewise_model::observe::trace;
use hugewise_model::observe::trace::points::{Means, Point, Preset, of_function, points};
use hugewise_model::observe::trace::{FORMAT, Rung, Trace, Traced, Untraced, Window};

use crate::cli::{Format, Output};
use crate::exit::{self, Exit};
use crate::interrupt::Interrupt;
use crate::output;
use crate::say::say;

/// Flags of `trace`.
#[derive(Debug, Args)]
#[command(
    after_help = "Presets:  alloc, compaction, reclaim, khugepaged, zeroing, split; these \
                        are the default.\n          fault and lock cost something for every page \
                        fault and every lock.\n          all: every preset."
)]
pub struct Arguments {
    /// Presets, or functions of the kernel
    #[arg(value_name = "PRESET|FUNCTION")]
    what: Vec<String>,

    /// Only this process and its descendants
    #[arg(long, short, value_name = "PID")]
    pid: Option<u32>,

    /// End after this time [default: on Ctrl-C]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,

    /// Print what came in each interval of this length, too
    #[arg(long, short = 'I', value_name = "TIME", value_parser = parse_duration)]
    interval: Option<Duration>,

    /// Only by these means, to compare them: fentry, kprobe, tp_btf, raw_tp, tracepoint,
    /// perf_event
    #[arg(long, value_name = "MEANS", value_delimiter = ',', value_parser = parse_means)]
    means: Vec<Rung>,

    #[command(flatten)]
    output: Output,
}

fn parse_means(word: &str) -> Result<Rung, String> {
    let found = Rung::ALL.into_iter().find(|rung| rung.name() == word);
    found.ok_or_else(|| {
        let all = Rung::ALL.map(Rung::name).join(", ");
        format!("there are {all}")
    })
}

/// Runs the verb. Ctrl-C is how most tracings end, so it is no failure.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    let root = Root::real();
    check_times(arguments)?;
    let points = chosen(&arguments.what, &read_kallsyms(&root).unwrap_or_default())?;
    let process = arguments.pid.map(|pid| watched(&root, pid)).transpose()?;
    output::check_file(&arguments.output)?;
    let interrupt = Interrupt::catch()?;
    let (tracer, missing) = Tracer::start_by(&root, &points, arguments.pid, |rung| {
        arguments.means.is_empty() || arguments.means.contains(&rung)
    })?;
    let mut session = Session::new(tracer, arguments);
    let nothing = session.points.is_empty();
    if !nothing {
        session.begin()?;
    }
    // Who waits for this line to do what is to be seen is in the first window.
    if !arguments.output.quiet {
        announce(&session.points, &missing);
    }
    if !nothing {
        session.run(|| interrupt.asked() || process.as_ref().is_some_and(Watched::has_ended))?;
        if process.is_some_and(|process| process.has_ended()) && !arguments.output.quiet {
            say("the process has ended");
        }
    }
    session.finish(missing)?;
    Ok(if nothing { Exit::Refused } else { Exit::Done })
}

fn check_times(arguments: &Arguments) -> Result<()> {
    /// Reading and clearing what was counted takes its time.
    const SHORTEST: Duration = Duration::from_millis(10);
    let times = [
        ("--duration", arguments.duration),
        ("--interval", arguments.interval),
    ];
    for (flag, time) in times {
        if time.is_some_and(|time| time < SHORTEST) {
            return Err(exit::usage(format!("{flag} is too short; at least 10ms")));
        }
    }
    Ok(())
}

fn watched(root: &Root, pid: u32) -> Result<Watched> {
    if !numbers_are_global(root) {
        return Err(exit::refused(
            "--pid: process numbers of a container mean nothing to the kernel's tracing; \
             run hugewise outside of it, or without --pid",
        ));
    }
    Watched::open(root, pid).map_err(|error| match error.kind {
        Kind::NotFound => exit::usage(format!("--pid {pid}: there is no such process")),
        _ => exit::usage(format!("--pid {pid}: {error}")),
    })
}

/// The points behind the words, each once, in the order of the table.
fn chosen(words: &[String], functions: &Functions) -> Result<Vec<Point>> {
    let mut presets: Vec<Preset> = Vec::new();
    let mut own = Vec::new();
    for word in words {
        match Preset::named(word) {
            Some(preset) => presets.push(preset),
            None if word == "all" => presets.extend(Preset::NAMED),
            None => own.push(named_function(word, functions)?),
        }
    }
    if words.is_empty() {
        presets.extend(Preset::RARE);
    }
    let mut all = points();
    all.retain(|point| presets.contains(&point.preset));
    for point in own {
        if !all.iter().any(|known| known.name == point.name) {
            all.push(point);
        }
    }
    Ok(all)
}

fn named_function(word: &str, functions: &Functions) -> Result<Point> {
    let point = of_function(word);
    let names = point.means.iter().flat_map(|means| match means {
        Means::Function { names, .. } => names.clone(),
        _ => Vec::new(),
    });
    if functions.is_empty() || functions.find(names).is_some() {
        return Ok(point);
    }
    let similar = functions.like(word);
    let hint = if similar.is_empty() {
        "it may be inlined into its callers".to_owned()
    } else {
        format!("there are {}", similar.join(", "))
    };
    Err(exit::usage(format!(
        "`{word}` is neither a preset nor a function of this kernel; {hint}"
    )))
}

fn announce(traced: &[Traced], missing: &[Untraced]) {
    if traced.is_empty() {
        say("nothing of this can be traced here");
        return;
    }
    let titles: Vec<&str> = traced.iter().map(|point| point.title.as_str()).collect();
    say(format_args!("tracing {}; Ctrl-C ends", titles.join(", ")));
    if !missing.is_empty() {
        say(format_args!(
            "{} of {} cannot be traced here; the end says why",
            missing.len(),
            missing.len() + traced.len()
        ));
    }
}

/// One tracing, from its begin to its report.
struct Session<'a> {
    tracer: Tracer,
    points: Vec<Traced>,
    arguments: &'a Arguments,
    started: Instant,
    started_unix_ms: u64,
    sum: Vec<Sighting>,
    /// When the last window ended.
    last: Duration,
    windows: Vec<Window>,
    intervals: u64,
}

impl<'a> Session<'a> {
    fn new(tracer: Tracer, arguments: &'a Arguments) -> Self {
        let points = tracer.traced();
        Self {
            sum: vec![Sighting::default(); points.len()],
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

    /// What came while the programs were being attached one after the other belongs to no
    /// window.
    fn begin(&mut self) -> Result<()> {
        self.tracer.window()?;
        self.started = Instant::now();
        self.started_unix_ms = unix_ms();
        if self.arguments.output.format == Format::Csv {
            output::print(trace::csv_head())?;
        }
        Ok(())
    }

    fn run(&mut self, ended: impl Fn() -> bool) -> Result<()> {
        /// A signal or an end is noticed this late.
        const PATIENCE: Duration = Duration::from_millis(50);
        let end = self.arguments.duration.unwrap_or(Duration::MAX);
        let mut due = self.arguments.interval.unwrap_or(Duration::MAX);
        loop {
            let now = self.started.elapsed();
            if now >= end || ended() {
                break;
            }
            if now >= due {
                self.close_interval()?;
                due += self.arguments.interval.unwrap_or(Duration::MAX);
                continue;
            }
            std::thread::sleep((due.min(end) - now).min(PATIENCE));
        }
        if self.arguments.interval.is_some() {
            return self.close_interval();
        }
        self.close().map(drop)
    }

    /// Ends a window, and adds it to the sum.
    fn close(&mut self) -> Result<Window> {
        let now = self.started.elapsed();
        let sightings = self.tracer.window()?;
        for (sum, sighting) in self.sum.iter_mut().zip(&sightings) {
            sum.add(sighting);
        }
        let from = std::mem::replace(&mut self.last, now);
        Ok(Window {
            from_seconds: from.as_secs_f64(),
            to_seconds: now.as_secs_f64(),
            points: self.tracer.told(&sightings),
        })
    }

    /// An interval is told as it ends.
    fn close_interval(&mut self) -> Result<()> {
        let window = self.close()?;
        let mut text = Vec::new();
        match self.arguments.output.format {
            Format::Text => trace::render_window(&self.points, &window, &mut text)?,
            Format::Csv => {
                let name = self.intervals.to_string();
                trace::render_csv(&self.points, &window, &name, &mut text)?;
            }
            Format::Json | Format::Markdown => {}
        }
        // Days of intervals are kept for a document that lists them, and only for that.
        if self.arguments.output.format == Format::Json || self.arguments.output.json.is_some() {
            self.windows.push(window);
        }
        self.intervals += 1;
        output::print(&String::from_utf8_lossy(&text))
    }

    fn finish(self, missing: Vec<Untraced>) -> Result<()> {
        let total = Window {
            from_seconds: 0.0,
            to_seconds: self.last.as_secs_f64(),
            points: self.tracer.told(&self.sum),
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
        // Detaching may take a moment; the report need not wait behind it, but must not be
        // lost when its reader is gone.
        let printed = output::print(&rendered(&trace, self.arguments.output.format)?);
        if let Some(path) = &self.arguments.output.json {
            output::write_file(path, &rendered(&trace, Format::Json)?)?;
        }
        printed
    }
}

fn rendered(trace: &Trace, format: Format) -> Result<String> {
    let mut text = Vec::new();
    match format {
        Format::Text => trace::render_text(trace, &mut text)?,
        Format::Csv => trace::render_csv(&trace.points, &trace.total, "total", &mut text)?,
        Format::Markdown => trace::render_markdown(trace, &mut text)?,
        Format::Json => {
            serde_json::to_writer_pretty(&mut text, trace)?;
            text.push(b'\n');
        }
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

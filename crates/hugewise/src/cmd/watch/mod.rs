//! `hugewise watch`: a live terminal view of huge pages, for the machine and each process.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use hugewise_linux::machine::clock::nanoseconds;
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::watch::{Focus, Groups, Watcher};
use hugewise_monitor::watch::{Recording, State, parse};
use hugewise_text::to_text;

use crate::exit::{self, Exit};
use crate::file;
use crate::interrupt::Interrupt;
use crate::options::parse_interval;
use crate::output::{self, Colour};
use crate::process_name;

mod collecting;
mod draw;
mod event;
mod experiment;
mod live;
mod looking;
mod recorder;
mod replay;
mod stalls;
mod terminal;

use recorder::Recorder;

/// Flags of `watch`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Show only these processes, until Esc
    #[arg(short, long, value_name = "PID|NAME", conflicts_with = "replay")]
    pid: Option<String>,

    /// Take a sample every TIME
    #[arg(short = 'I', long, value_name = "TIME", default_value = "2s", value_parser = parse_interval)]
    interval: Duration,

    /// Print one moment as text, and end
    #[arg(long)]
    once: bool,

    /// Also write the samples to FILE
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// Show a recording again
    #[arg(long, value_name = "FILE", conflicts_with = "record")]
    replay: Option<PathBuf>,

    /// Watch a frozen machine instead of this one
    #[arg(long, hide = true, value_name = "DIR")]
    host: Option<PathBuf>,

    /// Colour: auto, always, never
    #[arg(long, value_enum, hide_possible_values = true, default_value_t = Colour::Auto, value_name = "WHEN")]
    color: Colour,
}

/// Runs the verb.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    if let Some(path) = &arguments.replay {
        let recording = read(path)?;
        return match arguments.once {
            true => print_last(recording, arguments),
            false => replay::run(recording, arguments),
        };
    }
    let mut recorder = Recorder::begin(arguments.record.as_deref())?;
    let watcher = begin(arguments)?;
    recorder.header(watcher.header())?;
    match arguments.once {
        true => once(watcher, recorder, arguments),
        false => live::run(watcher, recorder, arguments),
    }
}

/// The screen before the first sample.
fn state(watcher: &Watcher, arguments: &Arguments) -> Result<State> {
    let state = State::new(watcher.header().clone());
    let Some(word) = &arguments.pid else {
        return Ok(state);
    };
    match process_name::named(&arguments.root(), word) {
        Ok(pids) if pids.len() == 1 && !runs(&arguments.root(), pids[0]) => {
            Err(exit::no_process(pids[0]))
        }
        Ok(pids) if pids.len() == 1 => Ok(state.filtered(&pids[0].to_string())),
        Ok(_) => Ok(state.filtered(word)),
        Err(why) => Err(exit::usage(format!("-p {word}: {why}"))),
    }
}

fn runs(root: &Root, pid: u32) -> bool {
    root.path(format!("proc/{pid}")).exists()
}

impl Arguments {
    fn root(&self) -> Root {
        self.host.clone().map_or_else(Root::real, Root::at)
    }
}

fn begin(arguments: &Arguments) -> Result<Watcher> {
    let root = arguments.root();
    let program = concat!("hugewise ", env!("CARGO_PKG_VERSION"));
    Ok(Watcher::begin(
        root,
        nanoseconds(arguments.interval),
        program,
    )?)
}

/// Takes two samples, to show rates.
fn once(mut watcher: Watcher, mut recorder: Recorder, arguments: &Arguments) -> Result<Exit> {
    let interrupt = Interrupt::catch()?;
    let focus = Focus {
        process: None,
        groups: Groups::Read,
    };
    let mut state = state(&watcher, arguments)?;
    for wait in [arguments.interval, Duration::ZERO] {
        let sample = watcher.sample(focus);
        recorder.sample(&sample)?;
        state.push(sample);
        interrupt.wait(wait);
    }
    print(&state, arguments)
}

fn print_last(recording: Recording, arguments: &Arguments) -> Result<Exit> {
    let mut state = State::new(recording.header);
    recording
        .samples
        .into_iter()
        .for_each(|sample| state.push(sample));
    print(&state, arguments)
}

fn print(state: &State, arguments: &Arguments) -> Result<Exit> {
    let style = output::plain_style(arguments.color);
    output::print(&to_text(&state.document(style.width), &style))?;
    Ok(Exit::Done)
}

fn read(path: &Path) -> Result<Recording> {
    let fault = |what: &dyn Display| exit::usage(format!("--replay {}: {what}", path.display()));
    let bytes = file::read(path).map_err(|error| fault(&error))?;
    parse(&bytes).map_err(|error| fault(&error))
}

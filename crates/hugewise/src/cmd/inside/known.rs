//! Switchbacks inside the runs of a program.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use hugewise_base::units::rough;
use hugewise_linux::machine::root::Root;

use crate::cmd::live;
use crate::exit::{self, Exit};
use crate::experiment::rounds::{LongRuns, Scout, Switchbacks};
use crate::interrupt::Interrupt;
use crate::options::{Options, PageFile};
use crate::output::Output;
use crate::stderr::message;

/// The time after the first trial, if none is asked for.
const TIME: Duration = Duration::from_secs(120);

/// Returns the scout of switchbacks.
pub fn scout(root: &Root) -> Option<Box<dyn Scout + '_>> {
    Some(Box::new(live::Inside::new(root)))
}

/// Returns what measures inside the servers.
pub fn switchbacks<'a>(root: &'a Root, output: &Output) -> Option<Box<dyn Switchbacks + 'a>> {
    Some(Box::new(live::InsideStarts::new(root, output)))
}

/// Measures inside the runs of a program, after its first trial.
///
/// # Errors
/// As `hugewise live` with a command.
pub fn go_on(
    root: &Root,
    options: &Options,
    long: &LongRuns,
    out: Option<PathBuf>,
    page: &PageFile,
    output: &Output,
) -> Result<Exit> {
    if !output.quiet {
        message(format_args!(
            "a run takes {}, so huge and small pages are compared inside the runs, by {}, without the cost \
             of start-up and first touch; --whole-runs compares whole runs",
            rough(long.trial),
            long.source
        ));
    }
    let time = options.limits.max_time;
    let arguments = live::Arguments::of_run(
        options,
        long.source.parse().map_err(exit::usage)?,
        time.map_or(TIME, |time| time.saturating_sub(long.trial)),
        out,
        page.clone(),
        output.clone(),
    );
    let stop = Interrupt::catch()?;
    live::inside(root, options, &arguments, &stop)
}

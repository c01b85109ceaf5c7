//! `hugewise run`: the whole path from policies to the answer.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, Command, FromArgMatches};
use hugewise_base::host::Host;
use hugewise_experiment::run::record::Record;
use hugewise_linux::machine::clock::unix_ms;
use hugewise_linux::machine::root::Root;

use super::inside;
use crate::exit::{self, Exit};
use crate::experiment::beginning::Beginning;
use crate::experiment::conduct::{Files, carry_out, conduct};
use crate::experiment::plan::realise_all;
use crate::experiment::report::ReportFiles;
use crate::experiment::rounds::{LongRuns, Switchbacks};
use crate::experiment::stdin::{Input, with_input};
use crate::experiment::{continuation, preview, recorder, records};
use crate::options::{self, Exports, Options};
use crate::output::Output;
use crate::stderr::message;
use crate::{paths, turn};

/// Flags of `run`.
#[derive(Debug, Args)]
pub struct Arguments {
    // This must come first, because clap lists flags after the output's flags under their heading.
    #[command(flatten)]
    options: Options,

    /// Compare whole runs, however long they are
    ///
    /// Without it and with the usual policies, a command whose first run takes more than 10 s is measured inside
    /// its runs, if that is possible here: its memory is switched between huge and small pages in periods,
    /// as `hugewise live -- COMMAND` does. That shows the lasting effect in minutes, without the
    /// cost of start-up and first touch. With --service such periods come in addition to whole
    /// starts, inside the servers of the baseline, and take a third of the time at most.
    #[arg(long, hide_short_help = true, help_heading = "What to try")]
    whole_runs: bool,

    /// Write the record to FILE, which must be new
    ///
    /// Without it the record is a new file in $XDG_STATE_HOME/hugewise, or else in
    /// ~/.local/state/hugewise; the report names it.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    out: Option<PathBuf>,

    /// Add rounds to a record, which may be `last`
    ///
    /// It uses the command, policies and flags of the record. --max-time and --max-rounds apply to the added rounds.
    /// The machine must be the same, with the same kernel and settings; it may have been rebooted. It warms up again,
    /// because the page cache and the host may have changed.
    #[arg(long = "continue", value_name = "RECORD", conflicts_with_all = options::fixed_by_record(), conflicts_with_all = ["out", "dry_run"], help_heading = "Output")]
    record: Option<PathBuf>,

    /// Show what would be run and set; change nothing
    #[arg(long, help_heading = "Output")]
    dry_run: bool,

    #[command(flatten)]
    exports: Exports,

    #[command(flatten)]
    output: Output,
}

fn report_files(exports: &Exports) -> ReportFiles<'_> {
    ReportFiles {
        svg: None,
        exports: &exports.files,
        page: Some(&exports.page),
    }
}

/// Runs the verb.
pub fn run(arguments: Arguments) -> Result<Exit> {
    let root = Root::real();
    arguments.exports.check()?;
    if let Some(record) = &arguments.record {
        return go_on(&root, record, &arguments);
    }
    let swallowed = swallowed(&arguments.options.command, std::env::args_os());
    if !swallowed.is_empty() {
        message(format_args!(
            "the command gets what stands after it: {}. Flags of hugewise come before. If that is meant, \
             write `--` before the command",
            swallowed.join(", ")
        ));
    }
    let switchbacks = switchbacks(&root, &arguments, &arguments.output);
    let options = arguments.options.complete()?;
    let seed = unix_ms();
    if arguments.dry_run {
        let host = paths::host(&root)?;
        let plan = options.plan(&host, seed)?;
        let realisations = realise_all(&plan, &host, options.reach())?;
        preview::show(&plan, &realisations, &arguments.output)?;
        return Ok(Exit::Done);
    }
    let input = Input::of_trials(&options)?;
    let options = with_input(options, input.as_ref());
    let may_go_inside =
        !arguments.whole_runs && options.is_general() && arguments.exports.files.is_empty();
    let scout = may_go_inside.then(|| inside::scout(&root)).flatten();
    let files = Files {
        record: arguments.out.as_deref(),
        stdin: input.as_ref(),
        report: report_files(&arguments.exports),
        scout: scout.as_deref(),
        switchbacks: switchbacks.as_deref(),
        ..Files::default()
    };
    let plan = |host: &Host| options.plan(host, seed);
    let ran = conduct(&root, &options, plan, files, &arguments.output);
    let Some(long) = ran
        .as_ref()
        .err()
        .and_then(|it| it.downcast_ref::<LongRuns>())
    else {
        return ran;
    };
    let page = &arguments.exports.page;
    inside::go_on(
        &root,
        &options,
        long,
        arguments.out,
        page,
        &arguments.output,
    )
}

/// The words of the command that are flags of `run`, if no `--` marks the start of the command.
fn swallowed(command: &[OsString], mut typed: impl Iterator<Item = OsString>) -> Vec<String> {
    if typed.any(|word| word == "--") {
        return Vec::new();
    }
    let run = Arguments::augment_args(Command::new("run"));
    let flags: Vec<String> = run
        .get_arguments()
        .filter_map(|it| Some(format!("--{}", it.get_long()?)))
        .collect();
    let words = command.iter().skip(1).filter_map(|word| word.to_str());
    let names = words.map(|word| word.split('=').next().unwrap_or(word));
    names
        .filter(|name| flags.iter().any(|flag| flag == name))
        .map(str::to_owned)
        .collect()
}

/// Returns what measures inside the servers, unless only whole starts are compared.
fn switchbacks<'a>(
    root: &'a Root,
    arguments: &Arguments,
    output: &Output,
) -> Option<Box<dyn Switchbacks + 'a>> {
    let is_asked = arguments.options.server.service.is_some() && !arguments.whole_runs;
    let switchbacks = is_asked.then(|| inside::switchbacks(root, output));
    switchbacks.flatten()
}

/// Adds rounds to a record.
fn go_on(root: &Root, named: &Path, arguments: &Arguments) -> Result<Exit> {
    let path = records::find(named)?;
    let record = recorder::read(&path)?;
    let made = made_by(&record)?;
    let switchbacks = switchbacks(root, &made, &arguments.output);
    let made = made.options;
    continuation::check_command(&made.command, &arguments.options.command)?;
    let options = Options {
        limits: arguments.options.limits,
        wait: arguments.options.wait,
        ..made.complete()?
    };
    let input = Input::of_trials(&options)?;
    continuation::check_input(&record, input.as_ref())?;
    let path = recorder::growable(path)?;
    let options = with_input(options, input.as_ref());
    let (turn, continuation) = turn::take_with(options.purpose(), options.wait, || {
        continuation::plan(&record, &paths::host(root)?, &options)
    })?;
    let beginning = Beginning::After(record, continuation, path);
    let beginning = (turn, beginning);
    let files = Files {
        report: report_files(&arguments.exports),
        switchbacks: switchbacks.as_deref(),
        ..Files::default()
    };
    carry_out(root, &options, beginning, files, &arguments.output)
}

/// Parses the flags of the command line that made a record.
fn made_by(record: &Record) -> Result<Arguments> {
    let words = record.header.made_by.iter().map(OsString::from).collect();
    let run = Command::new("hugewise").subcommand(Arguments::augment_args(Command::new("run")));
    let words = options::with_file(run.clone(), words)?;
    let not_made =
        || exit::usage("only a record of whole runs that `hugewise run` made can be continued");
    if record.header.plan.live.is_some() {
        return Err(not_made());
    }
    let matches = run.try_get_matches_from(words).map_err(|_| not_made())?;
    let (_, flags) = matches.subcommand().ok_or_else(not_made)?;
    Ok(Arguments::from_arg_matches(flags)?)
}

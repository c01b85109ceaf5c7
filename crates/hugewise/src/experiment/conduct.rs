//! Carries out a plan on its host: applies the policies, runs the rounds, restores the machine, and reports the record.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;
use hugewise_base::host::Host;
use hugewise_experiment::run::compare::{self, host_differences};
use hugewise_experiment::run::metric::requests::suffix_metric;
use hugewise_experiment::run::plan::Plan;
use hugewise_experiment::run::policy::realise::Realisation;
use hugewise_experiment::run::record::{End, Header, Record, StopReason};
use hugewise_experiment::run::trial::{Reading, Trial};
use hugewise_linux::machine::clock::unix_ms;
use hugewise_linux::machine::root::Root;
use hugewise_linux::machine::turn::Turn;
use hugewise_linux::observe::verify::events_of;
use hugewise_linux::undo::LeftBehind;

use super::announcement::announce;
use super::beginning::Beginning;
use super::cells;
use super::earlier;
use super::fragmentation::Fragmentation;
use super::own_setting::beside_knowledge;
use super::plan::realise_all;
use super::progress::Telling;
use super::recorder::{self, Recorder};
use super::records;
use super::report::{self, ReportFiles};
use super::rounds::{self, Rounds, Scout, Switchbacks};
use super::stdin::Input;
use crate::exit::{self, Exit};
use crate::interrupt::Interrupt;
use crate::options::{Demands, Options};
use crate::output::{self, Output};
use crate::stderr::{chain, message, message_lines};
use crate::{invoker, left_over, paths, turn, verified};

/// The files of an experiment in addition to those of the output flags, and the kind of its progress messages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files<'a> {
    /// The kind of progress messages.
    pub telling: Telling,
    /// Our own stdin, which each trial reads.
    pub stdin: Option<&'a Input>,
    /// The path of the record; `None` for a new file in its usual place.
    pub record: Option<&'a Path>,
    /// The files for the report.
    pub report: ReportFiles<'a>,
    /// What looks inside the first trial.
    pub scout: Option<&'a dyn Scout>,
    /// What measures inside the servers.
    pub switchbacks: Option<&'a dyn Switchbacks>,
}

/// Carries out a plan on this host, keeps the record, and reports.
///
/// # Errors
///
/// Measuring is impossible: a policy cannot be realised, another experiment runs, or a file cannot be written. Earlier
/// results are reported first.
pub fn conduct(
    root: &Root,
    options: &Options,
    plan: impl Fn(&Host) -> Result<Plan>,
    files: Files<'_>,
    output: &Output,
) -> Result<Exit> {
    let beginning = begin(root, options, plan, files)?;
    carry_out(root, options, beginning, files, output)
}

/// Carries out a plan on this host and keeps the record; the caller reports it.
///
/// # Errors
///
/// As for [`conduct`]; trials measured before an error are in the record.
#[cfg(feature = "attribute")]
pub fn gather(
    root: &Root,
    options: &Options,
    plan: impl Fn(&Host) -> Result<Plan>,
    files: Files<'_>,
    output: &Output,
) -> Result<(Record, PathBuf)> {
    let beginning = begin(root, options, plan, files)?;
    match observe(root, options, beginning, files, output)? {
        (record, path, None) => Ok((record, path)),
        (_, path, Some(error)) => {
            Err(error.context(format!("the record {} was cut short", path.display())))
        }
    }
}

/// Takes the machine, and makes the header of a new record.
fn begin(
    root: &Root,
    options: &Options,
    plan: impl Fn(&Host) -> Result<Plan>,
    files: Files<'_>,
) -> Result<(Turn, Beginning)> {
    let (turn, header) = turn::take_with(options.purpose(), options.wait, || {
        let host = paths::host(root)?;
        let plan = plan(&host)?;
        let realisations = realise_all(&plan, &host, options.reach())?;
        Ok(Header {
            stdin_bytes: files.stdin.map(Input::bytes),
            ..header(host, plan, realisations)
        })
    })?;
    Ok((turn, Beginning::New(header)))
}

/// Runs the trials, keeps the record, and reports.
///
/// # Errors
///
/// As for [`conduct`], except that policies are realised already.
pub fn carry_out(
    root: &Root,
    options: &Options,
    (turn, beginning): (Turn, Beginning),
    files: Files<'_>,
    output: &Output,
) -> Result<Exit> {
    output::check_file(output)?;
    output::check_writable("--svg", files.report.svg)?;
    let (record, path, trouble) = observe(root, options, (turn, beginning), files, output)?;
    if let Some(error) = trouble {
        return Err(shown_before(&record, &path, output, error));
    }
    let judged = show(&record, &path, &options.demands, files.report, output)?;
    Ok(exit_of(&record, judged))
}

/// Runs trials and records them; returns the record, its path, and the error that cut it short.
fn observe(
    root: &Root,
    options: &Options,
    (turn, beginning): (Turn, Beginning),
    files: Files<'_>,
    output: &Output,
) -> Result<(Record, PathBuf, Option<anyhow::Error>)> {
    if let Beginning::New(header) = &beginning
        && files.telling == Telling::Policies
    {
        announce(header, output);
    }
    let beginning = beginning.under(&turn.settings);
    let (recorder, ended, left) = measure(root, options, (turn, beginning), files, output)?;
    let path = recorder.path().to_owned();
    if paths::is_temporary(&path) && !output.quiet {
        message(format_args!(
            "no home folder can be written, so the record is {}; --out FILE puts it elsewhere",
            path.display()
        ));
    }
    if recorder.is_empty() {
        recorder.discard();
        return Err(nothing_measured(ended));
    }
    let (record, trouble) = close(recorder, ended, left);
    Ok((record, path, trouble))
}

/// The record with its trials, the reason for their end, and the settings that could not be restored.
type Measured = (Recorder, Result<StopReason>, Vec<String>);

/// Prepares the machine, runs the trials, and restores the machine.
fn measure(
    root: &Root,
    options: &Options,
    (turn, beginning): (Turn, Beginning),
    files: Files<'_>,
    output: &Output,
) -> Result<Measured> {
    let identity = invoker::identity()?;
    let interrupt = Interrupt::catch()?;
    let header = beginning.header().clone();
    let wanted: Vec<_> = header.realisations.values().collect();
    let fragmentation = Fragmentation::begin(root, &header, &interrupt)?;
    let mut machine = paths::begin(root, turn.settings, &wanted)?;
    left_over::tell(machine.recovered());
    let counters = rounds::counters(root, options);
    let planned = counters.as_ref().ok();
    let verification = planned.map(|plan| verified::of(root, &header.host, &events_of(plan)));
    let mut recorder = beginning.verified(verification).recorder(files.record)?;
    let ended = Rounds::new(
        root, options, &interrupt, identity, output, &recorder, counters,
    )?
    .in_state(fragmentation.as_ref())
    .telling(files.telling)
    .scouted(files.scout)
    .inside(files.switchbacks)
    .run(&mut recorder, &mut machine);
    let mut left = left_behind(machine.finish(), fragmentation.and_then(Fragmentation::end));
    left.extend(changed_meanwhile(root, &header));
    drop(turn.measuring);
    Ok((recorder, ended, left))
}

/// Ends the record, or leaves it without an end if measuring failed.
fn close(
    recorder: Recorder,
    ended: Result<StopReason>,
    left_behind: Vec<String>,
) -> (Record, Option<anyhow::Error>) {
    match ended {
        Ok(reason) => recorder.finish(End {
            reason,
            ended_unix_ms: unix_ms(),
            left_behind,
        }),
        Err(error) => recorder.abandon(error),
    }
}

/// The settings that another process changed during the experiment.
fn changed_meanwhile(root: &Root, header: &Header) -> Option<String> {
    let holder = header.settings_held_by.as_ref()?;
    let differences = host_differences(&header.host, &paths::host(root).ok()?);
    let text = format!(
        "{holder} changed settings during the experiment: {}",
        differences.join("; ")
    );
    (!differences.is_empty()).then(|| {
        message(&text);
        text
    })
}

/// Explains why an experiment ended before its first trial.
fn nothing_measured(ended: Result<StopReason>) -> anyhow::Error {
    match ended {
        Ok(_) => exit::interrupted("nothing was measured yet"),
        Err(error) => error,
    }
}

/// Shows the results.
///
/// # Errors
/// The record cannot be compared, or the report cannot be written.
pub fn show(
    record: &Record,
    path: &Path,
    demands: &Demands,
    files: ReportFiles<'_>,
    output: &Output,
) -> Result<Exit> {
    let table = compare::table(record, &compare::Options::default()).map_err(exit::usage)?;
    let report =
        cells::report(record, table, Some(path.display().to_string())).called(records::word(path));
    let report = beside_knowledge(earlier::beside_earlier(report, path));
    report::show(&report, output, files, &demands.fail_if).map_err(kept)?;
    let exit = report::judge(demands, &report, output);
    report::write_page(report, files, || recorder::read_back(path)).map_err(kept)?;
    Ok(exit)
}

/// Adds to an error that no measurement was lost.
fn kept(trouble: anyhow::Error) -> anyhow::Error {
    let text = chain(&trouble);
    trouble.context(format!("{text}; the record holds all measurements"))
}

/// Shows the trials measured so far and returns the error that ends the program.
fn shown_before(
    record: &Record,
    path: &Path,
    output: &Output,
    error: anyhow::Error,
) -> anyhow::Error {
    if !record.trials.is_empty()
        && let Err(second) = show(
            record,
            path,
            &Demands::default(),
            ReportFiles::default(),
            output,
        )
    {
        message_lines(chain(&second));
    }
    error
}

/// Returns the header of a new record.
pub fn header(host: Host, plan: Plan, realisations: BTreeMap<String, Realisation>) -> Header {
    Header {
        program: concat!("hugewise ", env!("CARGO_PKG_VERSION")).to_owned(),
        made_by: parted(words(std::env::args_os()), &plan.command),
        created_unix_ms: unix_ms(),
        host,
        plan,
        realisations,
        settings_held_by: None,
        stdin_bytes: None,
        verification: None,
    }
}

/// A command line as lossy UTF-8 text.
pub(super) fn words(words: impl Iterator<Item = OsString>) -> Vec<String> {
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// The same with `--` before the command, so that flags of the command cannot be taken for ours when the line is parsed
/// again.
fn parted(mut words: Vec<String>, command: &[String]) -> Vec<String> {
    if !command.is_empty() && words.ends_with(command) && !words.iter().any(|it| it == "--") {
        words.insert(words.len() - command.len(), "--".to_owned());
    }
    words
}

/// Describes for the record and stderr the settings that could not be restored.
fn left_behind(
    left_behind: hugewise_linux::machine::error::Result<Vec<LeftBehind>>,
    fragmented: Option<String>,
) -> Vec<String> {
    let mut lines = match left_behind {
        Ok(left) => left.iter().map(ToString::to_string).collect(),
        Err(error) => vec![format!("{error}; run `hugewise doctor --undo`")],
    };
    lines.extend(fragmented);
    for line in &lines {
        message(line);
    }
    lines
}

fn exit_of(record: &Record, judged: Exit) -> Exit {
    let interrupted = record
        .end
        .as_ref()
        .is_some_and(|end| end.reason == StopReason::Interrupted);
    if interrupted {
        Exit::Interrupted
    } else if !record.trials.iter().all(Trial::succeeded) {
        Exit::TrialFailed
    } else if !record.trials.is_empty() && !reads_latencies(record) {
        message("--latency was read in no trial; the report says why");
        Exit::TrialFailed
    } else {
        judged
    }
}

/// Returns false if latencies were requested and no trial gave any.
fn reads_latencies(record: &Record) -> bool {
    let is_read = |trial: &Trial| {
        let readings = trial.readings.iter();
        let mut of_source = readings.filter(|(name, _)| suffix_metric(name).is_some());
        of_source.any(|(_, reading)| !matches!(reading, Reading::Missing { .. }))
    };
    record.header.plan.latency.is_none() || record.trials.iter().any(is_read)
}

//! Carrying out a plan on its host: the policies are applied, the rounds run, the machine is put
//! back, and the record is reported.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;
use hugewise_linux::apply::Machine;
use hugewise_linux::machine::clock::unix_ms;
use hugewise_linux::machine::identity::Identity;
use hugewise_linux::machine::root::Root;
use hugewise_linux::undo::LeftBehind;
use hugewise_model::base::host::Host;
use hugewise_model::bench;
use hugewise_model::run::compare;
use hugewise_model::run::plan::Plan;
use hugewise_model::run::policy::realise::Realisation;
use hugewise_model::run::policy::warnings;
use hugewise_model::run::record::{End, Header, Record, StopReason};
use hugewise_model::run::trial::Trial;

use super::fragmentation::Fragmentation;
use super::plan::realise_all;
use super::recorder::Recorder;
use super::report;
use super::rounds::Rounds;
use crate::exit::{self, Exit};
use crate::interrupt::Interrupt;
use crate::options::{Demands, Options, Switch};
use crate::output::{self, Output};
use crate::stderr::{chain, message};
use crate::{invoker, paths};

/// The files of an experiment, in addition to those of the output flags.
#[derive(Clone, Copy, Debug)]
pub struct Files<'a> {
    /// The record; a new file in its usual place where none is named.
    pub record: Option<&'a Path>,
    /// The curves of a bench.
    pub svg: Option<&'a Path>,
}

/// Carries a plan out on its host, keeps the record, and reports.
///
/// # Errors
///
/// What makes measuring impossible: a policy that cannot be realised, another experiment, a place
/// where nothing can be written. What was measured before an error is reported first.
pub fn conduct(
    root: &Root,
    options: &Options,
    (host, plan): (Host, Plan),
    files: Files<'_>,
    output: &Output,
) -> Result<Exit> {
    let realisations = realise_all(&plan, &host, options.reach())?;
    let identity = invoker::identity()?;
    output::check_file(output)?;
    output::check_writable("--svg", files.svg)?;
    let hold = paths::hold()?;
    let interrupt = Interrupt::catch()?;

    let header = header(host, plan, realisations);
    let path = record_path(files.record, &header, identity.as_ref())?;
    announce(&header, output);

    let wanted: Vec<_> = header.realisations.values().collect();
    let fragmentation = Fragmentation::begin(root, &header)?;
    let mut machine = paths::begin(root, hold, &wanted)?;
    report_recovered(&machine);
    let mut recorder = Recorder::create(&path, header, identity.as_ref())?;
    let ended = Rounds::new(root, options, &interrupt, identity, output, &recorder)?
        .in_state(fragmentation.as_ref())
        .run(&mut recorder, &mut machine);
    let left = left_behind(machine.finish(), fragmentation.and_then(Fragmentation::end));
    let (record, trouble) = close(recorder, ended, left);
    hint_at_tracing(&record, options);
    if let Some(error) = trouble {
        return Err(shown_before(&record, &path, output, error));
    }
    let judged = show(&record, &path, &options.demands, files.svg, output)?;
    Ok(exit_of(&record, judged))
}

/// The path that was named, or a new one in the user's state folder.
fn record_path(
    named: Option<&Path>,
    header: &Header,
    identity: Option<&Identity>,
) -> Result<PathBuf> {
    match named {
        Some(path) => Ok(path.to_owned()),
        None => paths::new_record(program(&header.plan), header.created_unix_ms, identity),
    }
}

/// Ends the record, or leaves it without an end where measuring itself failed.
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

/// The program of the command, by which the record is named: of a line for the shell the first
/// word.
fn program(plan: &Plan) -> &str {
    let first = plan.command.first().map_or("", String::as_str);
    if plan.shell {
        first.split_whitespace().next().unwrap_or_default()
    } else {
        first
    }
}

/// Leak checkers trace their own process, and only one can.
fn hint_at_tracing(record: &Record, options: &Options) {
    let mentions_it = |trial: &Trial| {
        let tail = trial.stderr_tail.as_deref().unwrap_or_default();
        !trial.succeeded() && tail.contains("ptrace")
    };
    if options.exit_hold != Some(Switch::Off) && record.trials.iter().any(mentions_it) {
        message(
            "the workload mentions ptrace, which hugewise uses to read its memory at exit; try \
             --exit-hold off",
        );
    }
}

/// Shows what was measured.
fn show(
    record: &Record,
    path: &Path,
    demands: &Demands,
    svg: Option<&Path>,
    output: &Output,
) -> Result<Exit> {
    let table = compare::table(record, &compare::Options::default()).map_err(exit::usage)?;
    let report = bench::report(record, table, Some(path.display().to_string()));
    report::show(&report, output, svg)?;
    Ok(report::judge(demands, &report, output))
}

/// The error that ends the program, once everything that was measured before it is shown.
fn shown_before(
    record: &Record,
    path: &Path,
    output: &Output,
    error: anyhow::Error,
) -> anyhow::Error {
    if !record.trials.is_empty()
        && let Err(second) = show(record, path, &Demands::default(), None, output)
    {
        message(chain(&second));
    }
    error
}

fn header(host: Host, plan: Plan, realisations: BTreeMap<String, Realisation>) -> Header {
    Header {
        program: concat!("hugewise ", env!("CARGO_PKG_VERSION")).to_owned(),
        made_by: words(std::env::args_os()),
        created_unix_ms: unix_ms(),
        host,
        plan,
        realisations,
    }
}

/// A command line as it can be written down.
fn words(words: impl Iterator<Item = OsString>) -> Vec<String> {
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// Warns about policies before anything runs.
fn announce(header: &Header, output: &Output) {
    if output.quiet {
        return;
    }
    for policy in &header.plan.policies {
        for doubt in warnings(policy, &header.host) {
            message(format_args!("{}: {doubt}", policy.name));
        }
    }
}

/// Reports the settings of a killed experiment that were restored just now.
fn report_recovered(machine: &Machine) {
    for restored in &machine.recovered().restored {
        message(format_args!(
            "an earlier experiment was killed: /{} is restored to `{}`",
            restored.path, restored.to
        ));
    }
    for left in &machine.recovered().left_behind {
        message(left);
    }
}

/// What could not be put back, in words for the record and for stderr.
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
    } else {
        judged
    }
}

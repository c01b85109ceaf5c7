//! `hugewise run`: the whole way of the data, from policies to findings.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use hugewise_linux::apply::Machine;
use hugewise_linux::clock::unix_ms;
use hugewise_linux::root::Root;
use hugewise_linux::spawn::Identity;
use hugewise_linux::undo::LeftBehind;
use hugewise_model::base::host::Host;
use hugewise_model::bench;
use hugewise_model::run::compare;
use hugewise_model::run::gate::Gate;
use hugewise_model::run::plan::Plan;
use hugewise_model::run::policy::realise::Realisation;
use hugewise_model::run::policy::{unreached, warnings};
use hugewise_model::run::record::{End, Header, Record, StopReason};
use hugewise_model::run::trial::Trial;

use crate::cli::Output;
use crate::exit::{self, Exit};
use crate::experiment::realise_all;
use crate::fragmentation::Fragmentation;
use crate::interrupt::Interrupt;
use crate::options::{Options, Switch};
use crate::output::{self, GateState};
use crate::recorder::Recorder;
use crate::rounds::Rounds;
use crate::say::{chain, say};
use crate::{invoker, places, preview};

/// Flags of `run`.
#[derive(Debug, Args)]
pub struct Arguments {
    // First, because what follows the output's flags would be listed among them.
    #[command(flatten)]
    options: Options,

    /// Write the record to FILE, which must be new
    ///
    /// Without it the record is a new file in $XDG_STATE_HOME/hugewise, or else in
    /// ~/.local/state/hugewise; the report names it.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    out: Option<PathBuf>,

    /// Say what would be run and set, and do nothing
    #[arg(long, help_heading = "Output")]
    dry_run: bool,

    #[command(flatten)]
    output: Output,
}

/// Runs the verb.
pub fn run(arguments: Arguments) -> Result<Exit> {
    let root = Root::real();
    let options = arguments.options.complete()?;
    let host = places::host(&root)?;
    let plan = options.plan(&host, unix_ms())?;
    if arguments.dry_run {
        let realisations = realise_all(&plan, &host, options.reach())?;
        preview::show(&plan, &realisations, &arguments.output)?;
        return Ok(Exit::Done);
    }
    let place = arguments.out.as_deref();
    conduct(&root, &options, (host, plan), place, &arguments.output)
}

/// Carries a plan out on its host, keeps the record at `out` or in its usual place, and reports.
pub(super) fn conduct(
    root: &Root,
    options: &Options,
    (host, plan): (Host, Plan),
    out: Option<&Path>,
    output: &Output,
) -> Result<Exit> {
    let realisations = realise_all(&plan, &host, options.reach())?;
    let identity = invoker::identity()?;
    output::check_file(output)?;
    let hold = places::hold()?;
    let interrupt = Interrupt::catch()?;

    let header = header(host, plan, realisations);
    let path = match out {
        Some(path) => path.to_owned(),
        None => new_record(&header, identity.as_ref())?,
    };
    announce(&header, options, output);

    let wanted: Vec<_> = header.realisations.values().collect();
    let fragmentation = Fragmentation::begin(root, &header)?;
    let mut machine = places::begin(root, hold, &wanted)?;
    tell_recovered(&machine);
    let mut recorder = Recorder::create(&path, header, identity.as_ref())?;
    let rounds = Rounds::new(root, options, &interrupt, identity, output, &recorder)?;
    let rounds = rounds.in_state(fragmentation.as_ref());
    let ended = rounds.run(&mut recorder, &mut machine);
    let left_behind = told(machine.finish(), fragmentation.and_then(Fragmentation::end));
    let (record, trouble) = close(recorder, ended, left_behind);
    hint_at_tracing(&record, options);
    if let Some(error) = trouble {
        return Err(shown_before(&record, &path, output, error));
    }
    let gates = report(&record, &path, &options.fail_if, output)?;
    Ok(exit_of(&record, gates))
}

fn new_record(header: &Header, identity: Option<&Identity>) -> Result<PathBuf> {
    places::new_record(program(&header.plan), header.created_unix_ms, identity)
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
    let speaks_of_it = |trial: &Trial| {
        let tail = trial.stderr_tail.as_deref().unwrap_or_default();
        !trial.succeeded() && tail.contains("ptrace")
    };
    if options.exit_hold != Some(Switch::Off) && record.trials.iter().any(speaks_of_it) {
        say("the workload speaks of ptrace, by which it is held at its end: try --exit-hold off");
    }
}

/// Shows what was measured.
fn report(record: &Record, path: &Path, gates: &[Gate], output: &Output) -> Result<GateState> {
    let table = compare::table(record, &compare::Options::default()).map_err(exit::usage)?;
    let report = bench::report(record, table, Some(path.display().to_string()));
    output::show(&report, output)?;
    Ok(output::judge(gates, &report))
}

/// The error that ends the program, once everything that was measured before it is shown.
fn shown_before(
    record: &Record,
    path: &Path,
    output: &Output,
    error: anyhow::Error,
) -> anyhow::Error {
    if !record.trials.is_empty()
        && let Err(second) = report(record, path, &[], output)
    {
        say(chain(&second));
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

/// What is said before anything runs: doubts about policies, and what more could be reached.
fn announce(header: &Header, options: &Options, output: &Output) {
    if output.quiet {
        return;
    }
    for policy in &header.plan.policies {
        for doubt in warnings(policy, &header.host) {
            say(format_args!("{}: {doubt}", policy.name));
        }
    }
    if options.policy.is_empty()
        && options.matrix.is_empty()
        && let Some(more) = unreached(&header.host, options.reach())
    {
        say(more);
    }
}

/// What an experiment that was killed had left, and that is put back now.
fn tell_recovered(machine: &Machine) {
    for restored in &machine.recovered().restored {
        say(format_args!(
            "an earlier experiment was killed: /{} is `{}` again",
            restored.path, restored.to
        ));
    }
    for left in &machine.recovered().left_behind {
        say(left);
    }
}

/// What could not be put back, in words for the record and for stderr.
fn told(
    left_behind: hugewise_linux::error::Result<Vec<LeftBehind>>,
    fragmented: Option<String>,
) -> Vec<String> {
    let mut told = match left_behind {
        Ok(left) => left.iter().map(ToString::to_string).collect(),
        Err(error) => vec![format!("{error}; run `hugewise doctor --undo`")],
    };
    told.extend(fragmented);
    for line in &told {
        say(line);
    }
    told
}

fn exit_of(record: &Record, gates: GateState) -> Exit {
    let interrupted = record
        .end
        .as_ref()
        .is_some_and(|end| end.reason == StopReason::Interrupted);
    if interrupted {
        Exit::Interrupted
    } else if !record.trials.iter().all(Trial::succeeded) {
        Exit::TrialFailed
    } else if gates == GateState::Closed {
        Exit::Gate
    } else {
        Exit::Done
    }
}

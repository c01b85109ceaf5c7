//! `hugewise advise`: shows which settings are recommended for the running programs, by whom, and whether they are
//! followed.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use hugewise_advise::advice::{Advice, Program, advise};
use hugewise_base::host::Host;
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::application::{Observer, read_machine};

use crate::exit::Exit;
use crate::output::{self, Output};
use crate::stderr::message;

mod knowledge;
mod measured;
mod observed;
mod write;

/// Flags of `advise`.
#[derive(Debug, Args)]
#[command(mut_arg("verbose", |it| it.help("Show reasons, ways to set it, costs and sources")))]
pub struct Arguments {
    /// PIDs or names of programs [default: all processes]
    #[arg(value_name = "PID|NAME")]
    targets: Vec<String>,

    /// A running process; repeat for more
    #[arg(short, long, value_name = "PID|NAME")]
    pid: Vec<String>,

    /// All processes
    #[arg(short, long, conflicts_with_all = ["targets", "pid", "cgroup"])]
    all: bool,

    /// The processes of a cgroup and those below it
    #[arg(long, value_name = "GROUP", conflicts_with_all = ["targets", "pid"])]
    cgroup: Option<String>,

    /// An application that does not run here, e.g. redis=7.2; repeat for more
    #[arg(long, value_name = "NAME=VERSION", conflicts_with_all = ["targets", "pid", "all", "cgroup"])]
    app: Vec<String>,

    /// Exit with 5 if a rule of the kernel or a vendor is not followed
    ///
    /// Each such rule is a line on stderr; stdout still has the whole advice.
    #[arg(long)]
    check: bool,

    /// Write what makes the advice last into DIR, to review; nothing is applied
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,

    /// Look at a frozen machine instead of this one
    #[arg(long, hide = true, value_name = "DIR")]
    host: Option<PathBuf>,

    /// The command and its arguments; it is not started
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["targets", "pid", "all", "cgroup", "app"])]
    command: Vec<OsString>,

    #[command(flatten)]
    output: Output,
}

impl Arguments {
    /// The processes that the user named, in either way.
    fn named(&self) -> impl Iterator<Item = &str> {
        self.pid.iter().chain(&self.targets).map(String::as_str)
    }
}

/// Runs the verb.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    let root = arguments.host.clone().map_or_else(Root::real, Root::at);
    let knowledge = knowledge::read()?;
    let host = observed::machine(&root)?;
    let observed = observed::find(&root, &knowledge, &host, arguments)?;
    let measurements = measured::of(&observed, &host);
    let advice = advise(&knowledge, &host, observed, &measurements);
    let output = &arguments.output;
    output::show(output, &advice, || advice.document(), || advice.csv())?;
    if let Some(folder) = &arguments.write {
        write::write(folder, &advice, output)?;
    }
    Ok(match arguments.check {
        true => check(&advice),
        false => Exit::Done,
    })
}

/// The advice for all processes of a machine, without past measurements.
pub(super) fn of_all(root: &Root, host: &Host) -> Result<Advice> {
    let knowledge = knowledge::read()?;
    let host = read_machine(root, host);
    let observed = observed::all(root, &knowledge, &host)?;
    Ok(advise(&knowledge, &host, observed, &[]))
}

/// The advice for one process; `None` if it has ended or has no program.
pub(super) fn of_process(root: &Root, pid: u32) -> Result<Option<Program>> {
    let knowledge = knowledge::read()?;
    let host = observed::machine(root)?;
    let Some(observed) = Observer::new(root, &knowledge, &host).process(pid) else {
        return Ok(None);
    };
    let observed = vec![observed];
    let measurements = measured::of(&observed, &host);
    Ok(advise(&knowledge, &host, observed, &measurements)
        .programs
        .pop())
}

/// Reports the rules that are not followed, even with `--quiet`, and returns the exit code.
fn check(advice: &Advice) -> Exit {
    let complaints = advice.complaints();
    for complaint in &complaints {
        message(format_args!("not followed: {complaint}"));
    }
    match complaints.is_empty() {
        true => Exit::Done,
        false => Exit::Gate,
    }
}

//! Running a workload under a *keeper*: a small process of its own for every trial.
//!
//! Why not simply fork and wait:
//!
//! * `ru_maxrss` survives exec: the kernel folds the peak of the memory that exec replaces into
//!   the process's record (`exec_mmap`, fs/exec.c), so a child of a fat parent reports the
//!   parent's size. Under a keeper of a few MiB with a known peak, anything larger is true.
//! * A workload may leave processes behind. The keeper is their subreaper: it inherits them,
//!   adds up what they used, and ends them with the trial.
//! * When the measuring program dies, by whatever signal, the keeper sees its socket close and
//!   kills the tree. When the keeper dies, the kernel kills the main process
//!   (`PR_SET_PDEATHSIG`, `PTRACE_O_EXITKILL`).
//! * The keeper may stop the main process at its end, when it still holds all its memory, and
//!   read it there (see [`AtExit::Hold`](crate::spawn::AtExit::Hold)).
//!
//! The way of a workload: [`start`](crate::spawn::start) → [`Suspended`](crate::spawn::Suspended)
//! → [`Running`](crate::spawn::Running) → [`End`](crate::spawn::End).

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use hugewise_experiment::run::policy::realise::{MemoryLimits, Realisation, ThpPrctl, TreeTracer};
use hugewise_experiment::run::policy::{Collapse, Numa, Text, environment};
use serde::{Deserialize, Serialize};

use crate::machine::identity::Identity;

mod calls;
mod cgroup;
mod child;
mod collapser;
mod drain;
mod entry;
mod exit_reading;
mod filters;
pub(crate) mod folios;
mod hook;
pub(crate) mod huge_blocks;
mod image;
mod injector;
mod keeper;
mod oom_score;
pub(crate) mod page_scan;
mod placement;
mod plain;
mod printed;
mod registers;
mod running;
mod scratch;
mod step;
mod thp_switch;
mod traced;
mod tracee;
mod tracer;
mod usage;
mod wire;

pub use cgroup::{CgroupPlan, TreeCgroup};
pub use drain::Echo;
pub use entry::keeper_main;
pub use exit_reading::{ExitReading, ExitRequest, read_living};
pub use folios::PageSizes;
pub(crate) use hook::become_identity;
pub use hook::hook;
pub use plain::run_plain;
pub use printed::{NotPrinted, printed};
pub use running::{CapturedOutput, Running, StartResult, Suspended, start};
pub use scratch::{scratch_name, sweep_scratch};
pub use traced::run_traced;
pub use tracer::try_tracing;
pub use usage::Usage;
pub use wire::End;

/// The hidden first argument by which the program becomes a keeper: its `main` must call
/// [`keeper_main`] before anything else when it sees this word.
pub const KEEPER_WORD: &str = "__keep";

/// A command and its environment.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Program and arguments; the program is searched for in `PATH` when it has no slash.
    pub command: Vec<OsString>,
    /// Variables set on top of the inherited environment.
    pub environment: Vec<(String, String)>,
    /// What is done with the per-process THP switch.
    pub prctl: ThpPrctl,
    /// Whether its tree is traced to advise its memory.
    pub tracer: TreeTracer,
    /// When the memory that its tree has in use is made huge; not together with a tracer.
    pub collapse: Option<Collapse>,
    /// Whether its code is put into huge pages; not together with a tracer.
    pub text: Option<Text>,
    /// Its user; `None` is the user of this process.
    pub identity: Option<Identity>,
    /// Where it runs; `None` is here.
    pub directory: Option<PathBuf>,
    /// What it reads; `None` is `/dev/null`.
    pub stdin: Option<PathBuf>,
    /// What becomes of what it prints.
    pub output: Output,
    /// How long it may run.
    pub timeout: Option<Duration>,
    /// Whether its memory is read at its end.
    pub at_exit: AtExit,
    /// The memory nodes it asks for.
    pub numa: Option<Numa>,
    /// Whether it gets a memory cgroup of its own.
    pub group: CgroupChoice,
    /// Processors it is bound to; `None` leaves the binding as it is.
    pub cpus: Option<BTreeSet<u32>>,
    /// A folder that is made for it, and removed when its tree is dead and nobody holds its
    /// [`Running`] any more; it must not exist.
    pub scratch: Option<PathBuf>,
}

impl Launch {
    /// A command with everything else left at its default.
    #[must_use]
    pub fn new(command: Vec<OsString>) -> Self {
        Self {
            command,
            environment: Vec::new(),
            prctl: ThpPrctl::Leave,
            tracer: TreeTracer::None,
            collapse: None,
            text: None,
            identity: None,
            directory: None,
            stdin: None,
            output: Output::Discard,
            timeout: None,
            at_exit: AtExit::Hold,
            numa: None,
            group: CgroupChoice::Leave,
            cpus: None,
            scratch: None,
        }
    }

    /// The same under a policy, as far as that acts on the program itself.
    #[must_use]
    pub fn under(self, policy: &Realisation) -> Self {
        Self {
            environment: environment(&policy.environment, |name| std::env::var(name).ok()),
            prctl: policy.prctl,
            tracer: policy.tracer.clone(),
            collapse: policy.collapse,
            text: policy.text,
            numa: policy.numa.clone(),
            group: match policy.limits {
                limits if limits.is_none() => self.group,
                limits => CgroupChoice::Limit(limits),
            },
            ..self
        }
    }

    /// Whether calls are made in its tree, so that this process has to stay.
    #[must_use]
    pub fn is_traced(&self) -> bool {
        !self.tracer.is_none() || self.collapses()
    }

    /// Whether memory or code of its tree is made huge while it runs.
    #[must_use]
    pub(crate) fn collapses(&self) -> bool {
        self.collapse.is_some() || self.text.is_some()
    }

    /// The program, as the user wrote it.
    #[must_use]
    pub fn program(&self) -> &OsStr {
        self.command
            .first()
            .map_or(OsStr::new(""), OsString::as_ref)
    }
}

/// Where the output of a workload goes. The end of its stderr is kept in every case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Nothing is shown.
    Discard,
    /// Both streams go to our stderr, because our stdout is for the result.
    Show,
    /// Its stdout is kept, the last 16 MiB of it.
    Keep,
    /// Both streams are one log, which can be read while it grows; the last 16 MiB of it are
    /// kept in the place of stderr.
    Log(Echo),
}

/// Whether the main process is held at its end to read its memory.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub enum AtExit {
    /// Hold it (`PTRACE_EVENT_EXIT`) and read what it maps; the time is taken out of its wall
    /// time. Only the main process is traced, not its threads and children.
    ///
    /// Being traced costs a stop of about 10 µs for every signal that is delivered to the first
    /// thread, and shows: leak checkers and debuggers that want to attach to the main process
    /// fail, and set-user-id programs started by others than root would lose their privilege
    /// (these are recognised when they are the command itself, and not traced).
    #[default]
    Hold,
    /// Let it go; what only the end could show is missing.
    Pass,
    /// The same for a program that fails if it is traced.
    Spare,
}

/// Whether a trial gets a memory cgroup of its own.
///
/// Not by default, because what charging a page costs depends on the group and on its depth,
/// and the program is to be measured where it runs. How much that is: on Linux 6.18 with the
/// version 1 hierarchy, 100,000 small pages touched in a fresh group took 1.005 times the
/// kernel time of staying (median of 40 pairs, 0.997 in 20 earlier ones): not told from none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CgroupChoice {
    /// It stays in ours: charging pages costs what it always costs there.
    #[default]
    Leave,
    /// A fresh one below ours, removed afterwards, to read its peak.
    Make,
    /// The same, with limits; without it there is no trial.
    Limit(MemoryLimits),
}

/// Becomes the command, in this process, without measuring anything. It keeps the standard
/// streams and the signals that are ignored; `launch` cannot give it another input.
///
/// Returns only when that failed; the process then may have changed its identity and its
/// directory, and is fit for nothing but reporting the error.
#[must_use]
pub fn exec(launch: &Launch) -> crate::machine::error::Error {
    let order = match wire::Order::of(launch, &ExitRequest::default()) {
        Ok(order) => order,
        Err(error) => return error,
    };
    let failure = match image::Image::prepare(&order) {
        Ok(mut image) => child::become_in_place(&order, &mut image),
        Err(sentence) => sentence,
    };
    wire::fault("starting the command", failure)
}

//! Runs a workload under a *keeper*, a separate small process for each trial.
//!
//! A plain fork and wait is not enough:
//!
//! * `ru_maxrss` survives exec: the kernel copies the peak of the replaced memory into the process's record
//!   (`exec_mmap`, fs/exec.c), so the child of a large parent reports the parent's size. A keeper has a few MiB and a
//!   known peak, and any larger value is correct.
//! * A workload may leave processes behind. The keeper is their subreaper: it inherits them, adds up their usage, and
//!   ends them with the trial.
//! * If the measuring program dies, from any signal, the keeper sees its socket close and kills the tree. If the keeper
//!   dies, the kernel kills the main process (`PR_SET_PDEATHSIG`, `PTRACE_O_EXITKILL`).
//! * The keeper can stop the main process at its end, when it still has all its memory, and read it (see
//!   [`AtExit::Hold`](crate::spawn::AtExit::Hold)).
//!
//! The states of a workload: [`start`](crate::spawn::start) → [`Suspended`](crate::spawn::Suspended) →
//! [`Running`](crate::spawn::Running) → [`End`](crate::spawn::End).

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use hugewise_experiment::run::policy::realise::{MemoryLimits, Realisation, ThpPrctl, TreeTracer};
use hugewise_experiment::run::policy::{Collapse, Numa, Text, Tmpfs, environment};
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
mod tmpfs;
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
pub(crate) use tmpfs::seen_by;
pub use tmpfs::{NoTmpfs, try_tmpfs};
pub use traced::run_traced;
pub use tracer::try_tracing;
pub use usage::Usage;
pub use wire::End;

/// The hidden first argument that makes the program a keeper: if it is present, `main` must call [`keeper_main`] before
/// anything else.
pub const KEEPER_WORD: &str = "__keep";

/// A command and its environment.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Program and arguments; the program is searched for in `PATH` when it has no slash.
    pub command: Vec<OsString>,
    /// Variables set on top of the inherited environment.
    pub environment: Vec<(String, String)>,
    /// The setting of the per-process THP switch.
    pub prctl: ThpPrctl,
    /// The tracing of its tree, to advise its memory.
    pub tracer: TreeTracer,
    /// The times at which the memory of its tree is collapsed; excludes a tracer.
    pub collapse: Option<Collapse>,
    /// The setting for its code in huge pages. If it is copied there, this excludes a tracer; if it is in the page cache, the
    /// caller puts it there ([`CachedCode`](crate::apply::cached_code::CachedCode)).
    pub text: Option<Text>,
    /// Its user; `None` means the user of this process.
    pub identity: Option<Identity>,
    /// Its working directory; `None` means that of this process.
    pub directory: Option<PathBuf>,
    /// Its input; `None` means `/dev/null`.
    pub stdin: Option<PathBuf>,
    /// The destination of its output.
    pub output: Output,
    /// Its time limit.
    pub timeout: Option<Duration>,
    /// The reading of its memory at its end.
    pub at_exit: AtExit,
    /// Its NUMA memory policy.
    pub numa: Option<Numa>,
    /// Its own tmpfs.
    pub tmpfs: Option<Tmpfs>,
    /// The choice of its memory cgroup.
    pub group: CgroupChoice,
    /// The processors to which it is bound; `None` leaves the binding unchanged.
    pub cpus: Option<BTreeSet<u32>>,
    /// A directory created for it, and removed when its tree is dead and its [`Running`] was dropped; the directory
    /// must not exist before.
    pub scratch: Option<PathBuf>,
}

impl Launch {
    /// Creates a launch of a command with default settings.
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
            tmpfs: None,
            group: CgroupChoice::Leave,
            cpus: None,
            scratch: None,
        }
    }

    /// Applies the parts of a policy that act on the program.
    #[must_use]
    pub fn under(self, policy: &Realisation) -> Self {
        Self {
            environment: environment(&policy.environment, |name| std::env::var(name).ok()),
            prctl: policy.prctl,
            tracer: policy.tracer.clone(),
            collapse: policy.collapse,
            text: policy.text,
            numa: policy.numa.clone(),
            tmpfs: policy.tmpfs.clone(),
            group: match policy.limits {
                limits if limits.is_none() => self.group,
                limits => CgroupChoice::Limit(limits),
            },
            ..self
        }
    }

    /// Returns true if system calls are injected into its tree, which requires this process to stay.
    #[must_use]
    pub fn is_traced(&self) -> bool {
        !self.tracer.is_none() || self.collapses()
    }

    /// Returns true if memory or code of its tree is collapsed during the run.
    #[must_use]
    pub(crate) fn collapses(&self) -> bool {
        self.collapse.is_some() || self.text.is_some_and(Text::is_traced)
    }

    /// Returns the program, as written by the user.
    #[must_use]
    pub fn program(&self) -> &OsStr {
        self.command
            .first()
            .map_or(OsStr::new(""), OsString::as_ref)
    }
}

/// The destination of a workload's output. The end of its stderr is always kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Nowhere.
    Discard,
    /// Both streams go to stderr, because stdout is for the result.
    Show,
    /// The last 16 MiB of its stdout are kept.
    Keep,
    /// Both streams form one log, which can be read during the run; its last 16 MiB are kept instead of stderr.
    Log(Echo),
}

/// Selects whether the main process is stopped at its end to read its memory.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub enum AtExit {
    /// Hold it (`PTRACE_EVENT_EXIT`) and read its mappings; the time is deducted from its wall time. Only the main
    /// process is traced, not its threads and children.
    ///
    /// Tracing costs a stop of about 10 µs for every signal delivered to the first thread, and is visible. Leak
    /// checkers and debuggers cannot attach to the main process. Set-user-ID programs started by ordinary users would
    /// lose their privilege, so such a command is recognised and not traced.
    #[default]
    Hold,
    /// Let it go; data available only at the end is missing.
    Pass,
    /// The same, for a program that fails under tracing.
    Spare,
}

/// Selects whether a trial gets its own memory cgroup.
///
/// The default is no, because the cost of charging a page depends on the group and its depth, and the program must be
/// measured in its usual place. The cost is small: on Linux 6.18 with the v1 hierarchy, touching 100,000 small pages in
/// a fresh group took 1.005 times the kernel time of staying (median of 40 pairs; 0.997 in 20 earlier ones),
/// indistinguishable from no difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CgroupChoice {
    /// It stays in the group of this process, where charging pages costs as much as usual.
    #[default]
    Leave,
    /// A new group below the current one to read the peak, removed afterwards.
    Make,
    /// The same with limits; the trial does not start without it.
    Limit(MemoryLimits),
}

/// Executes the command in this process, without measuring. Standard streams and ignored signals are inherited;
/// `launch` cannot set another input.
///
/// Returns only on failure; the process may then have changed its user and its directory, and can do nothing except
/// report the error.
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

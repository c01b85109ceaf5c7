//! Observing one trial: the machine before and after, the tree while it runs, its end.
//!
//! Everything here reads; nothing judges. What a reading means is said in
//! [`hugewise_model::metric::METRICS`]; what spoils a trial is decided in [`marks`].

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hugewise_model::host::Host;
use hugewise_model::observation::{Mark, Outcome, ReadBack, Reading};

use crate::error::Result;
use crate::root::Root;
use crate::spawn::{self, Beginning, End, FolioQuestion, Launch, Printed, Question, Running};

mod group;
mod machine;
mod marks;
mod readback;
mod readings;
mod sampler;

use group::OwnGroup;
use machine::Snapshot;
use sampler::Sampler;

pub use readback::in_force;

/// What a trial should find in force.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// Settings files, relative to the root, with the value each should have while the trial
    /// runs.
    pub expected: BTreeMap<String, String>,
    /// A library that should be mapped in the workload.
    pub preload: Option<String>,
}

/// Everything that was seen of one trial.
#[derive(Clone, Debug)]
pub struct Observed {
    /// How the workload ended.
    pub outcome: Outcome,
    /// The end of its stderr, when it failed.
    pub stderr_tail: Option<String>,
    /// Its stdout, where it was kept.
    pub output: Vec<u8>,
    /// A reading, or the reason for its absence, for every metric of the table.
    pub readings: BTreeMap<String, Reading>,
    /// What was in force.
    pub read_back: ReadBack,
    /// What spoilt it.
    pub marks: Vec<Mark>,
    /// When it began, in milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Whether it was ended on request rather than by itself.
    pub interrupted: bool,
}

impl Observed {
    /// A trial in which nothing ran.
    #[must_use]
    pub fn not_run(outcome: Outcome, started_unix_ms: u64) -> Self {
        Self {
            outcome,
            stderr_tail: None,
            output: Vec::new(),
            readings: readings::of_nothing(),
            read_back: ReadBack::default(),
            marks: Vec::new(),
            started_unix_ms,
            interrupted: false,
        }
    }
}

/// Runs the workload once and observes it.
///
/// When `interrupt` is set the tree is killed and what was seen so far comes back.
///
/// # Errors
/// The keeper could not be started or died. A workload that fails is no error.
pub fn trial(
    root: &Root,
    host: &Host,
    launch: &Launch,
    watch: &Watch,
    interrupt: &AtomicBool,
) -> Result<Observed> {
    let started_unix_ms = unix_ms();
    let sizes = machine::folio_sizes(root, host);
    let before = Snapshot::take(root, host, &sizes);
    let suspended = match spawn::start(launch, &question(host, watch, &sizes))? {
        Beginning::Suspended(suspended) => suspended,
        Beginning::NotStarted(error) => {
            return Ok(Observed::not_run(
                Outcome::NotStarted { error },
                started_unix_ms,
            ));
        }
    };
    let group = OwnGroup::join(root, suspended.main(), launch.group);
    let thp_disable = suspended.thp_disable();
    let files = readback::read_files(root, watch);

    let mut running = suspended.release()?;
    let sampler = Sampler::start(root, running.keeper(), sizes.clone());
    let end = wait(&mut running, interrupt);
    let samples = sampler.stop();
    let end = end?;
    let Printed {
        stdout,
        stderr_tail,
    } = running.into_printed();

    let after = Snapshot::take(root, host, &sizes);
    let drift = readback::drift(watch, &files, &readback::read_files(root, watch));
    let seen = readings::Seen {
        end: &end,
        samples: &samples,
        before: &before,
        after: &after,
        group: &group,
    };
    let readings = readings::all(&seen);
    let read_back = readback::read_back(files, thp_disable, watch, end.exit.as_ref().ok());
    let mut marks = drift;
    marks.extend(marks::not_applied(launch.prctl, &read_back));
    marks.extend(marks::hazards(host, &readings, before.until(&after)));
    Ok(Observed {
        stderr_tail: failed(&end).then(|| String::from_utf8_lossy(&stderr_tail).into_owned()),
        interrupted: interrupt.load(Ordering::Relaxed),
        outcome: end.outcome,
        output: stdout,
        readings,
        read_back,
        marks,
        started_unix_ms,
    })
}

fn question(host: &Host, watch: &Watch, sizes: &[u64]) -> Question {
    let units = host.pmd_bytes().map(|pmd_bytes| FolioQuestion {
        page_bytes: host.page_bytes,
        pmd_bytes,
    });
    Question {
        preload: watch.preload.clone(),
        // Telling folios apart costs a read per folio: it is asked only where there can be any.
        folios: units.filter(|_| !sizes.is_empty()),
    }
}

/// Waits for the end; on request, for the end of the kill.
fn wait(running: &mut Running, interrupt: &AtomicBool) -> Result<End> {
    let mut stopped = false;
    loop {
        if let Some(end) = running.wait(Duration::from_millis(100))? {
            return Ok(end);
        }
        if interrupt.load(Ordering::Relaxed) && !stopped {
            running.stop()?;
            stopped = true;
        }
    }
}

fn failed(end: &End) -> bool {
    end.outcome != Outcome::Exited { code: 0 }
}

fn unix_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

//! A load that is started again whenever it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hugewise_experiment::run::trial::Outcome;

use crate::machine::error::{Error, Kind, Result};
use crate::spawn::{self, ExitRequest, Launch, StartResult};

/// How often the end of the load, and the request to stop, are looked at.
const LOOK: Duration = Duration::from_millis(50);

/// A load without pauses. Dropping it kills the load.
#[derive(Debug)]
pub struct SteadyLoad {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    /// Set once the load failed, and is not started again.
    over: Arc<AtomicBool>,
    /// Completed loads.
    done: AtomicU32,
}

impl SteadyLoad {
    /// Starts it.
    pub(super) fn begin(launch: Launch) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let repeat = move || {
            while !theirs.stop.load(Ordering::Relaxed) {
                if !matches!(once(&launch, &theirs), Ok(true)) {
                    break;
                }
                theirs.done.fetch_add(1, Ordering::Relaxed);
            }
            theirs.over.store(true, Ordering::Relaxed);
        };
        let thread = thread::Builder::new().spawn(repeat);
        let thread = thread.map_err(|error| Error {
            kind: Kind::Other(error.to_string()),
            doing: "loading the service".to_owned(),
            path: None,
            source: None,
        })?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Returns a flag that is set once the load runs no more, because it failed.
    #[must_use]
    pub fn over(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.shared.over)
    }

    /// Waits at most `limit` until the load has run once, or has failed. Returns true if it has run once.
    #[must_use]
    pub fn has_run(&self, limit: Duration, interrupt: &AtomicBool) -> bool {
        let began = Instant::now();
        let is_asked = || interrupt.load(Ordering::Relaxed);
        let is_over = || self.shared.over.load(Ordering::Relaxed);
        loop {
            let has_run = self.shared.done.load(Ordering::Relaxed) > 0;
            if has_run || began.elapsed() >= limit || is_asked() || is_over() {
                return has_run;
            }
            thread::sleep(LOOK);
        }
    }
}

/// Runs the load once; returns true if it ended well.
fn once(launch: &Launch, shared: &Shared) -> Result<bool> {
    let StartResult::Suspended(suspended) = spawn::start(launch, &ExitRequest::default())? else {
        return Ok(false);
    };
    let mut running = suspended.release()?;
    loop {
        if let Some(end) = running.wait(LOOK)? {
            return Ok(end.outcome == Outcome::Exited { code: 0 });
        }
        if shared.stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
    }
}

impl Drop for SteadyLoad {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

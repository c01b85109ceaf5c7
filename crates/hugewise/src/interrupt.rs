//! Signals that end an experiment. It ends cleanly: the trial's process tree is killed, the settings are restored, and
//! the trials measured so far are reported. A command under `exec` receives the signals directly.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hugewise_linux::machine::signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

/// The signals to catch. An uncaught one would kill us and leave the settings to be restored at the next start. If
/// `nohup` ignores SIGHUP, it stays ignored.
fn caught() -> impl Iterator<Item = i32> {
    [SIGINT, SIGQUIT, SIGTERM, SIGHUP]
        .into_iter()
        .filter(|&signal| signal != SIGHUP || !signal::is_ignored(SIGHUP))
}

/// Set once a signal has asked to end.
#[derive(Clone, Debug)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Starts to catch the signals.
    pub fn catch() -> Result<Self> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in caught() {
            signal_hook::flag::register(signal, Arc::clone(&flag))
                .with_context(|| format!("catching signal {signal}"))?;
        }
        Ok(Self(flag))
    }

    /// Starts to catch the signals after one second: people often press the keys twice, and only a signal after they
    /// have read the screen is a new request.
    pub fn catch_later() -> Self {
        const SECOND_THOUGHT: Duration = Duration::from_secs(1);
        let later = Self(Arc::new(AtomicBool::new(false)));
        let flag = Arc::clone(&later.0);
        let catch = move || {
            std::thread::sleep(SECOND_THOUGHT);
            for signal in caught() {
                let _ = signal_hook::flag::register(signal, Arc::clone(&flag));
            }
        };
        // If this fails, the hook runs to its end.
        let _ = std::thread::Builder::new().spawn(catch);
        later
    }

    /// Waits for `time`, or until a signal arrives.
    pub fn wait(&self, time: Duration) {
        const LOOK: Duration = Duration::from_millis(20);
        let began = Instant::now();
        while !self.asked() {
            let left = time.saturating_sub(began.elapsed());
            if left.is_zero() {
                break;
            }
            std::thread::sleep(left.min(LOOK));
        }
    }

    /// Returns true if a signal asked to end.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag, for code that polls it.
    pub fn flag(&self) -> &AtomicBool {
        &self.0
    }
}

/// Forwards signals to the one child that we wait for.
#[derive(Clone, Debug)]
pub struct Relay(Arc<AtomicUsize>);

impl Relay {
    /// Starts to catch the signals.
    pub fn catch() -> Result<Self> {
        let last = Arc::new(AtomicUsize::new(0));
        for signal in caught() {
            let number = usize::try_from(signal).context("a signal's number")?;
            signal_hook::flag::register_usize(signal, Arc::clone(&last), number)
                .with_context(|| format!("catching signal {signal}"))?;
        }
        Ok(Self(last))
    }

    /// The signal to forward since the last call. The terminal sends keyboard signals to the child as well as to us, so
    /// those are not forwarded: a program that asks before it ends must not receive them twice.
    pub fn next(&self) -> Option<i32> {
        let signal = i32::try_from(self.0.swap(0, Ordering::Relaxed)).ok()?;
        match signal {
            0 => None,
            SIGINT | SIGQUIT if signal::come_from_terminal() => None,
            other => Some(other),
        }
    }
}

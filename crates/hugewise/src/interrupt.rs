//! Signals that ask for the end. An experiment ends cleanly: the trial's tree is killed, the
//! machine is put back, and what was measured is reported. A command that runs under `exec`
//! gets them itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hugewise_linux::machine::signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

/// The signals that are caught. One that would kill us uncaught would leave the machine's
/// settings to the next start. A hangup that `nohup` has switched off stays off.
fn caught() -> impl Iterator<Item = i32> {
    [SIGINT, SIGQUIT, SIGTERM, SIGHUP]
        .into_iter()
        .filter(|&signal| signal != SIGHUP || !signal::is_ignored(SIGHUP))
}

/// Set once a signal has asked for the end.
#[derive(Clone, Debug)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Catches the signals from here on.
    pub fn catch() -> Result<Self> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in caught() {
            signal_hook::flag::register(signal, Arc::clone(&flag))
                .with_context(|| format!("catching signal {signal}"))?;
        }
        Ok(Self(flag))
    }

    /// Catches them from a moment later on: keys are often struck twice, and only a signal
    /// that comes after a look at the screen is meant anew.
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
        // If it fails, the hook runs to its end.
        let _ = std::thread::Builder::new().spawn(catch);
        later
    }

    /// Waits, but no longer than until the end is asked for.
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

    /// Whether the end was asked for.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag itself, for those who wait.
    pub fn flag(&self) -> &AtomicBool {
        &self.0
    }
}

/// Passes signals on to the one child that we wait for.
#[derive(Clone, Debug)]
pub struct Relay(Arc<AtomicUsize>);

impl Relay {
    /// Catches the signals from here on.
    pub fn catch() -> Result<Self> {
        let last = Arc::new(AtomicUsize::new(0));
        for signal in caught() {
            let number = usize::try_from(signal).context("a signal's number")?;
            signal_hook::flag::register_usize(signal, Arc::clone(&last), number)
                .with_context(|| format!("catching signal {signal}"))?;
        }
        Ok(Self(last))
    }

    /// A signal that has come since the last call and that the child does not have yet: those
    /// of the keyboard go from the terminal to it and us alike, and twice would be too often
    /// for a program that asks before it ends.
    pub fn next(&self) -> Option<i32> {
        let signal = i32::try_from(self.0.swap(0, Ordering::Relaxed)).ok()?;
        match signal {
            0 => None,
            SIGINT | SIGQUIT if signal::come_from_terminal() => None,
            other => Some(other),
        }
    }
}

//! Chooses the largest default size for which enough rounds fit into the time. It is measured on this machine, because
//! machines differ by a factor of three.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hugewise_base::units::MIB;

use super::room::power_below;
use crate::interrupt::Interrupt;
use crate::{exit, paths};

/// Rounds that have to fit into the given time, so that there is an answer.
const ROUNDS: u32 = 10;

/// The first size to try.
const FIRST: u64 = 64 * MIB;

/// The smallest default size of the largest cell, however slow the machine is.
const LEAST: u64 = 16 * MIB;

/// The available time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// No new round begins after this time.
    pub(super) time: Duration,
    /// Trials of one round.
    pub(super) trials: u32,
}

/// The largest power of two up to `most` for which ten rounds of its cells fit into the time.
pub(super) fn largest(
    suite: &str,
    budget: Budget,
    most: u64,
    cells: impl Fn(u64) -> Result<Vec<Vec<String>>>,
) -> Result<u64> {
    let each = budget.time / (ROUNDS * budget.trials.max(1));
    let interrupt = Interrupt::catch()?;
    choose(each, most, |size| trial(suite, &cells(size)?, &interrupt))
}

/// Chooses the size from trial times. Large cells take time in proportion to their size, and small cells a constant
/// time. So a trial four times as large takes at most four times as long. An extrapolation to larger sizes therefore
/// never exceeds the time, and a second try with a larger size is more precise.
fn choose(
    each: Duration,
    most: u64,
    mut trial: impl FnMut(u64) -> Result<Duration>,
) -> Result<u64> {
    let first = FIRST.min(most);
    // The first try is slow if the host of a virtual machine has not backed its memory yet.
    let mut faster = |size| Ok::<_, anyhow::Error>(trial(size)?.min(trial(size)?));
    let fits = |size: u64, took: Duration| {
        let times = each.as_secs_f64() / took.as_secs_f64().max(1e-9);
        power_below((size as f64 * times) as u64)
    };
    let mut chosen = fits(first, faster(first)?);
    if (first..most).contains(&chosen) && 4 * first <= most {
        chosen = chosen.max(fits(4 * first, faster(4 * first)?));
    }
    Ok(chosen.max(LEAST).min(most))
}

/// What may fail.
const WHAT: &str = "measuring how long a trial takes";

/// The time of one trial with small pages, which are the slowest.
fn trial(suite: &str, cells: &[Vec<String>], interrupt: &Interrupt) -> Result<Duration> {
    const LOOK: Duration = Duration::from_millis(2);
    let cells: Vec<String> = cells.iter().map(|words| words.join("/")).collect();
    let began = Instant::now();
    // The rounds report the same error again.
    let mut child = Command::new(paths::laboratory()?)
        .args(["bench", suite, "--cells", &cells.join(",")])
        .env("HUGEWISE_LAB_PAGES", "small")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context(WHAT)?;
    while child.try_wait().context(WHAT)?.is_none() {
        if interrupt.asked() {
            let _ = child.kill();
            child.wait().context(WHAT)?;
        }
        std::thread::sleep(LOOK);
    }
    match interrupt.asked() {
        true => Err(exit::interrupted("nothing was measured yet")),
        false => Ok(began.elapsed()),
    }
}

#[cfg(test)]
mod tests {
    use hugewise_base::units::GIB;

    use super::*;

    /// Chooses on a machine on which a trial takes a fixed number of seconds plus a number of seconds per GiB.
    fn chosen(each: f64, most: u64, fixed: f64, per_gib: f64) -> (u64, Vec<u64>) {
        let mut tried = Vec::new();
        let chosen = choose(Duration::from_secs_f64(each), most, |size| {
            tried.push(size);
            let gibs = size as f64 / GIB as f64;
            Ok(Duration::from_secs_f64(fixed + gibs * per_gib))
        });
        tried.dedup();
        (chosen.unwrap(), tried)
    }

    #[test]
    fn what_is_chosen_fits_on_fast_and_slow_machines() {
        for (fixed, per_gib) in [(1.0, 3.0), (3.0, 9.0), (0.2, 0.5), (2.0, 60.0)] {
            let (size, _) = chosen(6.0, 4 * GIB, fixed, per_gib);
            let took = fixed + size as f64 / GIB as f64 * per_gib;
            assert!(took <= 6.0, "{fixed} {per_gib}: {took} s");
            assert!(size == 4 * GIB || size <= 1 << size.ilog2(), "{size}");
        }
    }

    #[test]
    fn a_slow_first_touch_does_not_count() {
        let mut tries = 0;
        let chosen = choose(Duration::from_secs(2), 256 * MIB, |_| {
            tries += 1;
            Ok(Duration::from_secs(if tries == 1 { 20 } else { 1 }))
        });
        assert_eq!(chosen.unwrap(), 256 * MIB);
    }

    #[test]
    fn a_second_try_finds_more_room() {
        let (size, tried) = chosen(6.0, 4 * GIB, 1.0, 3.0);
        assert_eq!((size, tried), (512 * MIB, vec![64 * MIB, 256 * MIB]));
        // Mostly small cells: the first try would give half this size.
        let (size, tried) = chosen(6.0, 4 * GIB, 3.0, 3.0);
        assert_eq!((size, tried), (256 * MIB, vec![64 * MIB, 256 * MIB]));
        // With only one size to choose from, no try is needed.
        let (size, tried) = chosen(60.0, 256 * MIB, 1.0, 3.0);
        assert_eq!((size, tried), (256 * MIB, vec![64 * MIB]));
    }

    #[test]
    fn there_are_cells_on_the_slowest_machine_and_none_beyond_its_memory() {
        assert_eq!(chosen(0.1, 4 * GIB, 10.0, 100.0).0, LEAST);
        assert_eq!(chosen(0.1, MIB, 10.0, 100.0), (MIB, vec![MIB]));
        assert_eq!(chosen(6.0, 0, 0.0, 0.0).0, 0);
    }
}

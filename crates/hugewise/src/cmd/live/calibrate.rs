//! The first seconds: how long switching takes, and how soon work is steady after it.

use std::time::{Duration, Instant};

use hugewise_linux::live::{Halt, Work};
use hugewise_linux::machine::root::Root;
use hugewise_live::{Calibration, settle};

use super::period::Moment;
use super::session::Session;
use super::unit::Unit;
use super::work::Counter;
use crate::interrupt::Interrupt;

/// Slices after a switch, and their length.
const SLICES: usize = 12;
const SLICE: Duration = Duration::from_millis(50);
/// A source that takes longer to answer, or counts late, is not asked after each slice.
const QUICK: Duration = Duration::from_millis(5);
/// The wait of such a source.
const USUAL_SETTLE: f64 = 0.25;

/// Switches there and back twice. The first switch finds memory in any state, so the second counts. Returns the longest
/// call too.
pub(super) fn calibrate(
    root: &Root,
    unit: &Unit,
    counter: &mut Counter,
    session: &mut Session<'_>,
    stop: &Interrupt,
) -> Result<(Calibration, Duration), Halt> {
    let began = Instant::now();
    Moment::now(root, unit, counter);
    let is_quick = began.elapsed() < QUICK && counter.delay() <= 0.0;
    let mut rates = Vec::new();
    let mut took = [0.0; 2];
    let mut longest = Duration::ZERO;
    for work in [Work::Collapse, Work::Split, Work::Collapse, Work::Split] {
        let moved = session.make_all(work, stop.flag())?;
        took[usize::from(work == Work::Collapse)] = moved.took.as_secs_f64();
        longest = longest.max(moved.longest.hold);
        if is_quick {
            rates.push(slices(root, unit, counter, stop));
        }
        if stop.asked() {
            return Err(Halt::Interrupted);
        }
    }
    let settle = match is_quick {
        true => settle(&rates, SLICE.as_secs_f64()),
        // Work from before the switch must not count.
        false => USUAL_SETTLE.max(counter.delay()),
    };
    let [to_small, to_huge] = took;
    let calibration = Calibration {
        to_small,
        to_huge,
        settle,
    };
    Ok((calibration, longest))
}

/// Work per processor second in slices after a switch; those in which nothing was done are left out.
fn slices(root: &Root, unit: &Unit, counter: &mut Counter, stop: &Interrupt) -> Vec<f64> {
    let mut before = Moment::now(root, unit, counter);
    let mut rates = Vec::new();
    for _ in 0..SLICES {
        stop.wait(SLICE);
        let now = Moment::now(root, unit, counter);
        let growth = now.since(&before);
        rates.extend(
            growth
                .ok()
                .filter(|it| it.cpu > 0.0)
                .map(|it| it.work / it.cpu),
        );
        before = now;
    }
    rates
}

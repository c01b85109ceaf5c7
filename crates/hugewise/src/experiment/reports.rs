//! When the kernel reports free memory to the host, which takes it back.
//!
//! It does so at once and then not for two seconds (`PAGE_REPORTING_DELAY` in `mm/page_reporting.c`),
//! and tells nobody. What was warm and free is cold after it; so the next touch tells.

use std::time::{Duration, Instant};

use hugewise_model::run::metric::MetricId;
use hugewise_model::run::trial::{FirstTouch, Trial};

/// From one report to the next, at least.
const PERIOD: Duration = Duration::from_secs(2);
/// Fewer cold pages than these are no report, but pages that the touches before did not get.
const FEW: u64 = 8;
/// In so long a report is seen, if there are any.
const LONGEST_WAIT: Duration = Duration::from_millis(2500);
/// What a trial needs besides its own time: a process starts, and the clock of the kernel is coarse.
const MARGIN: Duration = Duration::from_millis(100);

/// The reports, as far as touches have shown them.
#[derive(Debug, Default)]
pub(super) struct Reports {
    /// When memory was touched last.
    touched: Option<Instant>,
    /// Until when no report comes.
    quiet_until: Option<Instant>,
    /// Whether the last touch found memory warm.
    is_warm: bool,
    /// The longest that a trial took to bring its memory in.
    needed: Duration,
    /// Whether a wait ended without a report: then none is worth it.
    is_vain: bool,
}

impl Reports {
    /// Memory was touched until `now`.
    pub(super) fn touched(&mut self, touch: &FirstTouch, now: Instant) {
        self.is_warm = touch.cold_pages < FEW;
        // The report may have come right after the touch before.
        if let Some(before) = self.touched.filter(|_| !self.is_warm) {
            self.quiet_until = Some(before + PERIOD);
        }
        self.touched = Some(now);
    }

    /// A trial is over: the next may need as long.
    pub(super) fn learn(&mut self, trial: &Trial) {
        let arrival = trial.value(MetricId::ArrivalSeconds);
        let needed = arrival.or(trial.value(MetricId::WallSeconds));
        let needed = needed.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        self.needed = self.needed.max(needed.unwrap_or_default());
    }

    /// Whether to wait for the next report before a trial, which has waited since `began`: a trial
    /// that brings its memory in before the one after it meets no cold page. A longer trial meets one
    /// whatever it waits for.
    pub(super) fn is_worth_waiting(&mut self, began: Instant, now: Instant) -> bool {
        let needed = self.needed + MARGIN;
        let is_quiet = self.quiet_until.is_some_and(|until| now + needed <= until);
        if self.is_vain || self.needed.is_zero() || 2 * needed > PERIOD || is_quiet && self.is_warm
        {
            return false;
        }
        self.is_vain = now.duration_since(began) > LONGEST_WAIT;
        !self.is_vain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(cold_pages: u64) -> FirstTouch {
        FirstTouch {
            cold_pages,
            ..FirstTouch::of(1, 1, &[], &[])
        }
    }

    fn after(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// Reports before trials that need 300 ms.
    fn reports() -> Reports {
        Reports {
            needed: after(300),
            ..Reports::default()
        }
    }

    #[test]
    fn a_trial_begins_between_two_reports() {
        let (mut reports, begin) = (reports(), Instant::now());
        reports.touched(&touch(0), begin);
        assert!(reports.is_worth_waiting(begin, begin));
        let seen = begin + after(100);
        reports.touched(&touch(64), seen);
        // It may go on, so that what was touched is cold again.
        assert!(reports.is_worth_waiting(begin, seen));
        let warm = seen + after(100);
        reports.touched(&touch(2), warm);
        assert!(!reports.is_worth_waiting(begin, warm));
        let late = begin + after(1601);
        reports.touched(&touch(0), late);
        assert!(!reports.is_worth_waiting(late, begin + after(1600)));
        assert!(reports.is_worth_waiting(late, late));
    }

    #[test]
    fn nobody_waits_in_vain_twice_nor_for_a_long_trial() {
        let (mut reports, begin) = (reports(), Instant::now());
        reports.touched(&touch(0), begin);
        assert!(reports.is_worth_waiting(begin, begin + after(2400)));
        assert!(!reports.is_worth_waiting(begin, begin + after(2600)));
        assert!(!reports.is_worth_waiting(begin, begin));
        let mut long = Reports {
            needed: after(950),
            ..Reports::default()
        };
        assert!(!long.is_worth_waiting(begin, begin));
        assert!(!Reports::default().is_worth_waiting(begin, begin));
    }
}

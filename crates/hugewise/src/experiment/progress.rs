//! Progress on stderr while an experiment runs; none when stderr is not a terminal.

use std::time::{Duration, Instant};

use hugewise_model::run::plan::Plan;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::stderr;

/// Who sees the progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// A person at a terminal.
    Person,
    /// Nobody: `--quiet`, or the workload's own output is shown.
    Nobody,
}

/// The line of progress: what runs now, and the estimate so far.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    began: Instant,
    rounds_done: u32,
    so_far: String,
}

impl Progress {
    /// Begins the line.
    pub fn begin(plan: &Plan, audience: Audience) -> Self {
        let target = match audience {
            Audience::Person => ProgressDrawTarget::stderr_with_hz(5),
            Audience::Nobody => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(
            Some(u64::from(plan.bounds.max_rounds) * plan.round(0, |_| true).len() as u64),
            target,
        );
        // Cut to the width of the terminal; a line that wraps could not be erased.
        if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(500));
        Self {
            bar,
            began: Instant::now(),
            rounds_done: 0,
            so_far: String::new(),
        }
    }

    /// A trial begins.
    pub fn trial(&self, round: u32, position: usize, of: usize, policy: &str) {
        self.bar.set_message(format!(
            "round {}, trial {}/{of}: {policy}{}",
            round + 1,
            position + 1,
            self.so_far
        ));
    }

    /// An unmeasured trial begins.
    pub fn warmup(&self, policy: &str) {
        self.bar.set_message(format!("warming up: {policy}"));
    }

    /// A trial after a rest begins.
    pub fn cold(&self, policy: &str) {
        self.bar.set_message(format!("on cold memory: {policy}"));
    }

    /// A round is over: `running` is the estimate so far.
    pub fn round_done(&mut self, plan: &Plan, running: &str) {
        self.rounds_done += 1;
        self.so_far = format!(" | so far: {running}{}", self.time_left(plan));
    }

    /// Prints one line above the progress.
    pub fn print_above(&self, line: &str) {
        self.bar.suspend(|| stderr::line(line));
    }

    /// Ends the line.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn time_left(&self, plan: &Plan) -> String {
        let elapsed = self.began.elapsed();
        let Some(per_round) = elapsed.checked_div(self.rounds_done) else {
            return String::new();
        };
        let rounds_left = plan.bounds.max_rounds.saturating_sub(self.rounds_done);
        let mut left = per_round * rounds_left;
        if let Some(max_time) = plan.bounds.max_time {
            left = left.min(max_time.saturating_sub(elapsed));
        }
        format!("; at most {} left", rough(left))
    }
}

/// `45 s`, `3 min`, `2.5 h`.
pub fn rough(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rough() {
        assert_eq!(rough(Duration::from_secs(45)), "45 s");
        assert_eq!(rough(Duration::from_secs(170)), "3 min");
        assert_eq!(rough(Duration::from_secs(9000)), "2.5 h");
    }
}

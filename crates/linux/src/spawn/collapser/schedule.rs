//! Schedules the passes over a tree, and the target of each.

use std::time::{Duration, Instant};

use hugewise_experiment::run::policy::{Collapse, Text};

/// The target of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Private anonymous memory.
    Data,
    /// Code of files.
    Text,
}

/// The time of the first pass over code. By then a program has read only a little of its code, so the next passes
/// follow soon, and later ones rarely.
const FIRST_TEXT: Duration = Duration::from_millis(10);
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// The passes over one target.
#[derive(Debug)]
struct Passes {
    target: Target,
    /// The start of the next pass; `None` before the tree starts and after the last pass.
    due: Option<Instant>,
    /// The interval between the next pass and the following one; `None` if there is none.
    wait: Option<Duration>,
}

impl Passes {
    fn begun(&mut self, now: Instant) {
        self.due = self.wait.map(|wait| now + wait);
        if self.target == Target::Text {
            self.wait = self.wait.map(|wait| (wait * 2).min(LONGEST_WAIT));
        }
    }
}

/// All remaining passes.
#[derive(Debug)]
pub(in crate::spawn) struct Schedule {
    collapse: Option<Collapse>,
    /// Set if code in use is copied into huge pages.
    text: Option<Text>,
    passes: Vec<Passes>,
}

impl Schedule {
    /// Returns `None` if nothing is requested.
    pub(in crate::spawn) fn new(collapse: Option<Collapse>, text: Option<Text>) -> Option<Self> {
        let text = text.filter(|text| text.is_traced());
        let asked = collapse.is_some() || text.is_some();
        asked.then_some(Self {
            collapse,
            text,
            passes: Vec::new(),
        })
    }

    /// Returns the targets that have passes.
    pub(super) fn targets(&self) -> impl Iterator<Item = Target> {
        let data = self.collapse.map(|_| Target::Data);
        data.into_iter().chain(self.text.map(|_| Target::Text))
    }

    /// Starts the clock when the tree begins to run.
    pub(super) fn begin(&mut self, now: Instant) {
        let data = self.collapse.map(|when| Passes {
            target: Target::Data,
            due: Some(now + when.time()),
            wait: match when {
                Collapse::After(_) => None,
                Collapse::Every(time) => Some(time),
            },
        });
        let text = self.text.map(|_| Passes {
            target: Target::Text,
            due: Some(now + FIRST_TEXT),
            wait: Some(FIRST_TEXT),
        });
        self.passes = data.into_iter().chain(text).collect();
    }

    /// Returns the start of the next pass.
    pub(super) fn due(&self) -> Option<Instant> {
        self.passes.iter().filter_map(|passes| passes.due).min()
    }

    /// Returns the target of the due pass; `None` if no pass is due.
    pub(super) fn take(&mut self, now: Instant) -> Option<Target> {
        let due = self.due().filter(|&due| due <= now)?;
        let mut passes = self.passes.iter_mut();
        let next = passes.find(|passes| passes.due == Some(due))?;
        next.begun(now);
        Some(next.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_looked_at_ever_more_seldom() {
        let mut schedule = Schedule::new(None, Some(Text::Huge)).unwrap();
        assert_eq!(schedule.due(), None);
        let start = Instant::now();
        schedule.begin(start);
        let mut waits = Vec::new();
        let mut last = start;
        for _ in 0..10 {
            let now = schedule.due().unwrap();
            assert_eq!(schedule.take(now), Some(Target::Text));
            waits.push((now - last).as_millis());
            last = now;
        }
        assert_eq!(waits, [10, 10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
    }

    #[test]
    fn two_targets_have_their_own_times() {
        let once = Collapse::After(Duration::from_millis(15));
        let mut schedule = Schedule::new(Some(once), Some(Text::Huge)).unwrap();
        let start = Instant::now();
        schedule.begin(start);
        let due = |schedule: &Schedule| schedule.due().unwrap();
        let order: Vec<Option<Target>> = (0..3).map(|_| schedule.take(due(&schedule))).collect();
        let expected = [Target::Text, Target::Data, Target::Text];
        assert_eq!(order, expected.map(Some));
        assert_eq!(schedule.take(start), None);
        assert!(Schedule::new(None, None).is_none());
        assert!(Schedule::new(None, Some(Text::File)).is_none());
    }
}

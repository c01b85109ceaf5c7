//! When passes over a tree begin, and what each makes huge.

use std::time::{Duration, Instant};

use hugewise_experiment::run::policy::{Collapse, Text};

/// What a pass makes huge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Private anonymous memory.
    Data,
    /// Code of files.
    Text,
}

/// The first pass over code. A program has read little of it by then, so that the next passes
/// follow soon, and later ones seldom.
const FIRST_TEXT: Duration = Duration::from_millis(10);
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// The passes of one target.
#[derive(Debug)]
struct Passes {
    target: Target,
    /// When the next begins; `None` before the start and after the last.
    due: Option<Instant>,
    /// From the next pass to the one behind it; `None` where there is none.
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

/// All passes that are still to come.
#[derive(Debug)]
pub(in crate::spawn) struct Schedule {
    collapse: Option<Collapse>,
    text: Option<Text>,
    passes: Vec<Passes>,
}

impl Schedule {
    /// `None` where nothing is asked for.
    pub(in crate::spawn) fn new(collapse: Option<Collapse>, text: Option<Text>) -> Option<Self> {
        let asked = collapse.is_some() || text.is_some();
        asked.then_some(Self {
            collapse,
            text,
            passes: Vec::new(),
        })
    }

    /// The targets for which there are passes.
    pub(super) fn targets(&self) -> impl Iterator<Item = Target> {
        let data = self.collapse.map(|_| Target::Data);
        data.into_iter().chain(self.text.map(|_| Target::Text))
    }

    /// The tree begins to run: its time counts from now on.
    pub(super) fn begin(&mut self, now: Instant) {
        let data = self.collapse.map(|when| Passes {
            target: Target::Data,
            due: Some(now + when.time()),
            wait: match when {
                Collapse::After(_) => None,
                Collapse::Every(time) => Some(time),
            },
        });
        let text = self.text.map(|Text::Huge| Passes {
            target: Target::Text,
            due: Some(now + FIRST_TEXT),
            wait: Some(FIRST_TEXT),
        });
        self.passes = data.into_iter().chain(text).collect();
    }

    /// When the next pass begins.
    pub(super) fn due(&self) -> Option<Instant> {
        self.passes.iter().filter_map(|passes| passes.due).min()
    }

    /// What is made huge in the pass that begins now; `None` where none is due.
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
    }
}

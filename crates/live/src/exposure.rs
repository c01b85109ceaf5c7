//! Proof that the blocks had the right pages through a period.

use hugewise_experiment::run::trial::Mark;
use hugewise_text::number::percent;

/// The share of the switched blocks that must have the pages of the policy at both ends of a period.
pub const HELD: f64 = 0.9;
/// The share that may have other pages.
const LAPSED: f64 = 0.1;

/// How much of the switched memory was huge at both ends of a period, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exposure {
    /// All of it.
    pub switched: u64,
    /// Huge at the begin.
    pub begin: u64,
    /// Huge at the end.
    pub end: u64,
}

impl Exposure {
    /// Returns the mark of a period whose blocks did not have the pages of its policy.
    #[must_use]
    pub fn mark(&self, wants_huge: bool) -> Option<Mark> {
        let share = |huge: u64| huge as f64 / self.switched.max(1) as f64;
        let (begin, end) = (share(self.begin), share(self.end));
        let held = match wants_huge {
            true => begin.min(end) >= HELD,
            false => begin.max(end) <= LAPSED,
        };
        (!held).then(|| Mark::NotApplied {
            detail: format!(
                "{} % of the memory was huge at the begin of the period, {} % at its end",
                percent(begin),
                percent(end)
            ),
        })
    }
}

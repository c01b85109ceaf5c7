//! A second look at what comes once: the time until a program's memory was in, and the time after.

use super::context::{MissingInput, PolicyView, told};
use super::where_the_time_went::signed;
use crate::run::metric::MetricId;

/// Ticks of 10 ms tell nothing of less, in seconds.
const LEAST_AFTER: f64 = 1.0;

/// What changed until the memory was in, and after that. `None` where the program did not run on for
/// a second, or where no sample saw its memory come in.
pub(super) fn afterwards(view: &mut PolicyView<'_, '_>) -> Option<String> {
    let parts = Parts::of(view).ok()?;
    let (before, here) = parts.seconds;
    let after = (parts.wall.0 - before).min(parts.wall.1 - here);
    (after >= LEAST_AFTER).then(|| parts.sentence(view))
}

/// Means under the baseline and under the policy.
struct Parts {
    wall: (f64, f64),
    /// Until the memory was in.
    seconds: (f64, f64),
    /// Change of kernel time until then, and after that.
    system: (f64, f64),
    user: (f64, f64),
    /// Faults after that.
    faults: (f64, f64),
}

impl Parts {
    fn of(view: &mut PolicyView<'_, '_>) -> Result<Self, MissingInput> {
        let seconds = view.means(MetricId::ArrivalSeconds)?;
        let early = view.means(MetricId::ArrivalFaultsTotal)?;
        let faults = view.means(MetricId::MinorFaultsTotal)?;
        Ok(Self {
            wall: view.means(MetricId::WallSeconds)?,
            seconds,
            system: split(
                view,
                MetricId::ArrivalSystemSeconds,
                MetricId::SystemSeconds,
            )?,
            user: split(view, MetricId::ArrivalUserSeconds, MetricId::UserSeconds)?,
            faults: (faults.0 - early.0, faults.1 - early.1),
        })
    }

    fn sentence(&self, view: &PolicyView<'_, '_>) -> String {
        let baseline = view.context.baseline();
        let faults = |(wall, until): (f64, f64), faults: f64| {
            let rate = (faults / (wall - until)).max(0.0);
            told(MetricId::MinorFaultsTotal, rate.round())
        };
        let before = faults((self.wall.0, self.seconds.0), self.faults.0);
        let here = faults((self.wall.1, self.seconds.1), self.faults.1);
        format!(
            ". Memory was in after {} ({baseline}: {}): until then kernel time changed by {} and user \
             time by {}; after that by {} and {}, with {here} faults a second ({baseline}: {before})",
            told(MetricId::WallSeconds, self.seconds.1),
            told(MetricId::WallSeconds, self.seconds.0),
            signed(self.system.0),
            signed(self.user.0),
            signed(self.system.1),
            signed(self.user.1),
        )
    }
}

/// The change of a time until the memory was in, and after that.
fn split(
    view: &mut PolicyView<'_, '_>,
    until: MetricId,
    whole: MetricId,
) -> Result<(f64, f64), MissingInput> {
    let (until_before, until_here) = view.means(until)?;
    let (whole_before, whole_here) = view.means(whole)?;
    let until = until_here - until_before;
    Ok((until, whole_here - whole_before - until))
}

//! The parts of a change in time: one answer for each arm, instead of a rule for each part.

use serde::Serialize;

use super::context::{MissingInput, Told, View};
use super::rules::program::is_vain;
use super::{CauseOutcome, Kind, Pair};
use crate::run::compare::Change;
use crate::run::metric::MetricId;

mod costs;
mod gains;
mod lasting;
mod seconds;

pub use costs::{MovedToStart, Stalls, Zeroing};
pub use gains::{FewerFaults, Share, UserTime, Walks, WalksFell};
pub use lasting::{Arrival, Lasting, Way};
pub use seconds::{Seconds, seconds};

/// The parts of a change in time, if shown.
#[derive(Clone, Debug, Default, Serialize, PartialEq)]
pub struct Breakdown {
    /// The largest part in the direction of the whole. `None` while the change of wall time is undecided.
    pub dominant: Option<Part>,
    /// Mean changes per run; `None` if wall, user or kernel time is missing.
    pub seconds: Option<Seconds>,
    /// Minor faults in a typical run.
    pub faults: Option<Pair>,
    /// The part of a gain that comes from fewer page faults.
    pub fewer_faults: Option<FewerFaults>,
    /// The part of a gain that comes from cheaper page walks, if they were counted.
    pub walks: Option<Walks>,
    /// The part of a gain in user time, if page walks were not counted.
    pub user_time: Option<UserTime>,
    /// The cost of making huge pages against the saved faults.
    pub zeroing: Option<Zeroing>,
    /// The part of a loss that comes from compaction and reclaim.
    pub stalls: Option<Stalls>,
    /// Faults of a service that moved from its load to its start.
    pub start: Option<MovedToStart>,
    /// One-time changes, and changes that last as long as the program runs.
    pub lasting: Option<Lasting>,
    /// Missing readings of parts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingInput>,
}

/// A part of a change in time.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Counted page walks.
    PageWalks,
    /// User mode; with [`Breakdown::user_time`] probably fewer TLB misses.
    UserMode,
    /// Page faults.
    PageFaults,
    /// Zeroing new pages.
    Zeroing,
    /// Compaction and reclaim for the program's own allocations.
    CompactionAndReclaim,
    /// Splits of huge pages.
    Splits,
    /// The kernel, without a known largest part.
    Kernel,
    /// Time outside user mode and kernel.
    OffCpu,
}

pub(super) fn ask(view: &View<'_, '_>) -> Told {
    let mut parts = Parts {
        view,
        is_of_pages: !is_vain(view.context, Some(view.arm)),
        missing: Vec::new(),
    };
    let mut breakdown = Breakdown {
        dominant: None,
        seconds: seconds(view.context.record, view.context.baseline(), view.arm),
        faults: view.both(MetricId::MinorFaultsTotal).ok(),
        fewer_faults: parts.of_pages(gains::fewer_faults),
        walks: parts.of_pages(gains::walks),
        user_time: parts.of_pages(gains::user_time),
        zeroing: parts.of_pages(costs::zeroing),
        stalls: parts.any(costs::stalls),
        start: parts.any(costs::start),
        lasting: parts.of_pages(lasting::lasting),
        missing: parts.missing,
    };
    breakdown.dominant = breakdown.dominant(view);
    let outcome = breakdown.outcome();
    Ok(outcome.map(|outcome| (outcome, Kind::Breakdown(Box::new(breakdown)))))
}

/// A part, or `None` if it does not apply.
type PartTold<T> = Result<Option<T>, MissingInput>;

struct Parts<'v, 'g, 'a> {
    view: &'v View<'g, 'a>,
    is_of_pages: bool,
    missing: Vec<MissingInput>,
}

impl<'g, 'a> Parts<'_, 'g, 'a> {
    /// Computes a part, and notes its missing reading.
    fn any<T>(&mut self, of: fn(&View<'g, 'a>) -> PartTold<T>) -> Option<T> {
        of(self.view).unwrap_or_else(|missing| {
            let is_known = missing.is_of_failed_trials() || self.missing.contains(&missing);
            self.missing.extend((!is_known).then_some(missing));
            None
        })
    }

    /// Computes a part only if the program kept huge pages enabled.
    fn of_pages<T>(&mut self, of: fn(&View<'g, 'a>) -> PartTold<T>) -> Option<T> {
        self.is_of_pages.then(|| self.any(of)).flatten()
    }
}

impl Breakdown {
    /// Returns the best outcome of its parts; `None` without any part.
    fn outcome(&self) -> Option<CauseOutcome> {
        let parts = [
            self.dominant.map(|_| CauseOutcome::Shown),
            self.fewer_faults.map(|it| it.outcome),
            self.walks.map(|it| it.outcome),
            self.user_time.as_ref().map(|_| CauseOutcome::Shown),
            self.zeroing.as_ref().map(|it| it.outcome),
            self.stalls.map(|it| it.outcome),
            self.start.map(|it| it.outcome),
            self.lasting.map(|it| it.outcome),
            self.missing.first().map(|_| CauseOutcome::CannotTell),
            self.seconds.map(|_| CauseOutcome::NotShown),
        ];
        parts.into_iter().flatten().min()
    }

    /// Returns the largest of user, kernel and off-CPU time in the direction of the whole, then the largest known part
    /// within it.
    ///
    /// User and kernel time must be decided in this direction by their own rows. If causes of kernel time were timed,
    /// the parts add up in each round, so the largest is known without that. Off-CPU time has no row.
    fn dominant(&self, view: &View<'_, '_>) -> Option<Part> {
        let whole = view.change(MetricId::WallSeconds)?;
        let seconds = self.seconds?;
        let sign = match whole {
            Change::Lower => -1.0,
            Change::Higher => 1.0,
            Change::NoDifference | Change::CannotTell => return None,
        };
        let is_sure = |metric| seconds.is_timed() || view.change(metric) == Some(whole);
        let user = is_sure(MetricId::UserSeconds).then_some(seconds.user);
        let system = is_sure(MetricId::SystemSeconds).then_some(seconds.system);
        let off_cpu = seconds.is_timed().then_some(seconds.off_cpu);
        let parts = [
            (Part::UserMode, user),
            (Part::Kernel, system),
            (Part::OffCpu, off_cpu),
        ];
        Some(match largest(&parts, sign)? {
            Part::UserMode if sign < 0.0 && self.has_cheaper_walks() => Part::PageWalks,
            Part::Kernel => self.within_kernel(&seconds, sign),
            other => other,
        })
    }

    fn has_cheaper_walks(&self) -> bool {
        let walks = self.walks.filter(|it| it.outcome == CauseOutcome::Shown);
        walks.is_some_and(|it| it.effect == WalksFell::Cheaper)
    }

    fn within_kernel(&self, seconds: &Seconds, sign: f64) -> Part {
        let is_shown = |outcome: CauseOutcome| outcome == CauseOutcome::Shown;
        if sign < 0.0 && self.fewer_faults.is_some_and(|it| is_shown(it.outcome)) {
            return Part::PageFaults;
        }
        let stalled = self.stalls.filter(|it| is_shown(it.outcome));
        let stalled = stalled.map_or_else(|| seconds.stalled(), |it| it.seconds());
        // If it was not timed, zeroing is assumed: the usual cost of huge pages whose faults cost more than they saved.
        let made = self.zeroing.as_ref();
        let made = made.filter(|it| is_shown(it.outcome) && it.is_dearer);
        let growth = made.map(|it| it.system_seconds.change() - stalled);
        let parts = [
            (Part::CompactionAndReclaim, Some(stalled)),
            (Part::Zeroing, seconds.zeroing.or(growth)),
            (Part::Splits, seconds.splits),
        ];
        largest(&parts, sign).unwrap_or(Part::Kernel)
    }
}

/// Returns the part with the largest change in a direction, if there is one.
fn largest(parts: &[(Part, Option<f64>)], sign: f64) -> Option<Part> {
    let parts = parts.iter();
    let towards = parts.filter_map(|(part, change)| Some((*part, (*change)? * sign)));
    let positive = towards.filter(|(_, towards)| *towards > 0.0);
    let most = positive.max_by(|(_, a), (_, b)| a.total_cmp(b));
    most.map(|(part, _)| part)
}

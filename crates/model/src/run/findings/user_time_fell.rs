//! Claims that most of the time saved is user time, where nothing counted the TLB misses that may
//! be the reason.

use super::alone::runs_alone;
use super::context::{Claim, Context, MissingInput, PolicyView};
use super::coverage;
use super::paired::{PairedRounds, Times};
use super::where_the_time_went::signed;
use super::{Finding, Rule};
use crate::base::missing::Missing;
use crate::run::compare::{Answer, Change};
use crate::run::metric::MetricId;
use crate::text::number::percent;

/// The rule of this module.
#[derive(Debug)]
pub(super) struct UserTimeFell;

const WALL: MetricId = MetricId::WallSeconds;
const USER: MetricId = MetricId::UserSeconds;
const WALKS: MetricId = MetricId::DtlbWalksTotal;

impl Rule for UserTimeFell {
    fn id(&self) -> &'static str {
        "user-time-fell"
    }

    fn explain(&self) -> &'static str {
        "Claims that most of the time saved is user time, for which fewer TLB misses are the likely reason. \
         Evidence: more memory was huge, nothing else was set, wall time and user time are significantly \
         lower, and by means over the rounds user time fell by at least half of the gain and by more than \
         kernel time. Page walks were not counted; where they were, the rule on cheaper page walks \
         speaks. Refuted when counted page walks did not fall. Next: `hugewise simulate -- COMMAND`, a \
         model of the TLB, or `hugewise stat` on a machine with hardware counters."
    }

    fn is_about_huge_pages(&self) -> bool {
        true
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context.of_arms(self, ask)
    }
}

fn ask(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    let Err(uncounted) = view.median_or_missing(WALKS) else {
        return Ok(Claim::Nothing);
    };
    let change = PairedRounds::of(view.context, view.policy).times();
    let Some(change) = change.filter(is_mostly_user_time) else {
        return Ok(Claim::Nothing);
    };
    let fell = |metric: MetricId| view.change(metric) == Some(Change::Lower);
    if !(fell(WALL) && fell(USER) && pages_alone_are_the_reason(view)?) {
        return Ok(Claim::Nothing);
    }
    let ratio = view.context.comparison(USER, view.policy);
    let Some(ratio) = ratio.and_then(|row| row.ratio) else {
        return Ok(Claim::Nothing);
    };
    view.means(USER)?;
    if runs_alone(view) {
        view.evidence
            .figure("user_share_of_gain", change.user / change.wall);
    }
    Ok(Claim::Shown(format!(
        "{}: most of the time saved is user time, {} % less: probably fewer TLB misses, which {}; hugewise \
         simulate estimates them. Mean change per run: wall time {}, user time {}, kernel time {}",
        view.policy,
        percent(1.0 - ratio),
        why_unknown(&uncounted),
        signed(change.wall),
        signed(change.user),
        signed(change.system),
    )))
}

fn is_mostly_user_time(change: &Times) -> bool {
    let Times { wall, user, system } = *change;
    wall < 0.0 && user <= wall / 2.0 && user < system
}

/// Another allocator changes user time by itself; so does what depends on the order of the runs.
fn pages_alone_are_the_reason(view: &mut PolicyView<'_, '_>) -> Result<bool, MissingInput> {
    let context = view.context;
    let baseline = context.settings(context.baseline());
    let is_alike = context.settings(view.policy).is_sibling_of(&baseline);
    let is_better = context.answer(view.policy) == Some(Answer::Better);
    if !(is_alike && is_better) {
        return Ok(false);
    }
    let covered = coverage::compare(view)?;
    Ok(!covered.is_equal && covered.here > covered.there)
}

fn why_unknown(uncounted: &Missing) -> &'static str {
    match uncounted {
        Missing::NoHardware => "this machine cannot count",
        _ => "were not counted",
    }
}

//! Claims which part of an effect is paid or saved once, when memory is brought in, and which goes
//! on as long as the program runs.

use super::context::{Claim, Context, MissingInput, PolicyView, told};
use super::{Finding, Rule};
use crate::run::compare::Change;
use crate::run::metric::MetricId;
use crate::text::number::percent;

/// The rule of this module.
#[derive(Debug)]
pub(super) struct OnceAndLasting;

/// Faults, zeroing and compaction: most of it while memory is brought in.
const ONCE: MetricId = MetricId::SystemSeconds;
/// What the program itself does, page walks included.
const LASTING: MetricId = MetricId::UserSeconds;
const WALL: MetricId = MetricId::WallSeconds;

impl Rule for OnceAndLasting {
    fn id(&self) -> &'static str {
        "once-and-lasting"
    }

    fn explain(&self) -> &'static str {
        "Claims which part of an effect comes once, when memory is brought in, and which lasts as long \
         as the program runs. Evidence: kernel time and user time, each with its own interval. Refuted \
         where the program goes on mapping and freeing memory: then kernel time lasts too; run it for \
         twice as long and look whether kernel time grows. Next: compare the break-even with how long \
         the program runs for you."
    }

    fn is_about_huge_pages(&self) -> bool {
        true
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        // The readings of a service are those of its load: nothing in them comes once.
        if context.record.header.plan.service.is_some() {
            return Vec::new();
        }
        context.of_arms(self, ask)
    }
}

fn ask(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    let (system_before, _) = view.both(ONCE)?;
    let (user_before, _) = view.both(LASTING)?;
    let (wall, _) = view.both(WALL)?;
    // The changes of the table, which are those within rounds.
    let change = |metric| view.context.comparison(metric, view.policy)?.ratio;
    let (Some(system), Some(user)) = (change(ONCE), change(LASTING)) else {
        return Ok(Claim::Nothing);
    };
    let (system, user) = (system * system_before, user * user_before);
    let once = told(ONCE, (system - system_before).abs());
    let lasting = percent((user / user_before - 1.0).abs());
    // Seconds of running until what lasts is worth what comes once.
    let even = (system - system_before).abs() / ((user - user_before).abs() / wall);
    let even = told(WALL, even);
    let why = format!(
        "Kernel time is mostly that of bringing memory in, user time that of work. This run took {}",
        told(WALL, wall)
    );
    let policy = view.policy;
    Ok(match (view.change(ONCE), view.change(LASTING)) {
        (Some(Change::Higher), Some(Change::Lower)) => Claim::Shown(format!(
            "{policy}: pays from {even} of running: once +{once} of kernel, then −{lasting} % of user time. {why}"
        )),
        (Some(Change::Lower), Some(Change::Higher)) => Claim::Shown(format!(
            "{policy}: pays until {even} of running: once −{once} of kernel, then +{lasting} % of user time. {why}"
        )),
        (Some(Change::Lower), Some(Change::Lower)) => Claim::Shown(format!(
            "{policy}: once −{once} of kernel time, then −{lasting} % of user time. {why}"
        )),
        (Some(Change::Higher), Some(Change::Higher)) => Claim::Shown(format!(
            "{policy}: once +{once} of kernel time, then +{lasting} % of user time. {why}"
        )),
        (Some(Change::Lower), Some(Change::NoDifference)) => Claim::Shown(format!(
            "{policy}: once −{once} of kernel time, then nothing: user time is the same. {why}"
        )),
        (Some(Change::Higher), Some(Change::NoDifference)) => Claim::Shown(format!(
            "{policy}: once +{once} of kernel time, then nothing: user time is the same. {why}"
        )),
        _ => Claim::NotShown(format!(
            "{policy}: kernel time or user time is not known well enough to tell what comes once from what \
             lasts"
        )),
    })
}

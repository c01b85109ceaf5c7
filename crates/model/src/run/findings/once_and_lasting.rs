//! Claims which part of an effect is paid or saved once, when memory is brought in, and which goes
//! on as long as the program runs.

use super::context::{Claim, Context, MissingInput, PolicyView, told};
use super::{Finding, Rule, arrival};
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
         as the program runs. Evidence: kernel time and user time, each with its own interval; of programs \
         that run on for a second, both times and the faults until nine tenths of their memory are there, \
         and after. Refuted where the program goes on mapping and freeing memory: then kernel time lasts too; run it for \
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
    let (system_before, system) = view.means(ONCE)?;
    let (user_before, user) = view.means(LASTING)?;
    let (wall, _) = view.means(WALL)?;
    let row = view.context.comparison(LASTING, view.policy);
    let Some(share) = row.and_then(|row| row.ratio) else {
        return Ok(Claim::Nothing);
    };
    let policy = view.policy;
    let known = way(view.change(ONCE)).zip(way(view.change(LASTING)));
    let Some(ways) = known else {
        return Ok(Claim::NotShown(format!(
            "{policy}: kernel time or user time is not known well enough to tell what comes once from what \
             lasts"
        )));
    };
    let (once, lasting) = ((system - system_before).abs(), (user - user_before).abs());
    let split = Split {
        once: format!("{} of kernel time", told(ONCE, once)),
        lasting: format!("{} % of user time", percent((share - 1.0).abs())),
        even: told(WALL, once * wall / lasting),
        wall: told(WALL, wall),
    };
    Ok(match ways {
        (Way::Same, Way::Same) => Claim::NotShown(format!(
            "{policy}: neither kernel time nor user time changed"
        )),
        ways => {
            let afterwards = arrival::afterwards(view).unwrap_or_default();
            Claim::Shown(format!("{policy}: {}{afterwards}", split.sentence(ways)))
        }
    })
}

/// An effect, split, in words.
struct Split {
    once: String,
    lasting: String,
    /// Running until what lasts is worth what comes once.
    even: String,
    wall: String,
}

impl Split {
    fn sentence(&self, ways: (Way, Way)) -> String {
        let Self {
            once,
            lasting,
            even,
            wall,
        } = self;
        match ways {
            (Way::More, Way::Less) => format!(
                "pays in runs longer than {even}; this one took {wall}. Bringing memory in costs {once} once, \
                 and {lasting} is saved throughout"
            ),
            (Way::Less, Way::More) => format!(
                "pays only in runs shorter than {even}; this one took {wall}. Bringing memory in saves {once} once, \
                 and {lasting} is added throughout"
            ),
            (first, Way::Same) => {
                format!(
                    "{} {once} once, and nothing after that. {WHY}",
                    first.verb()
                )
            }
            (Way::Same, then) => format!(
                "{} {lasting} throughout, and nothing once. {WHY}",
                then.verb()
            ),
            (first, _) => format!(
                "{} {once} once and {lasting} throughout. {WHY}",
                first.verb()
            ),
        }
    }
}

const WHY: &str = "Kernel time is mostly that of bringing memory in, user time that of work";

/// Which way a time changed.
#[derive(Clone, Copy)]
enum Way {
    Less,
    Same,
    More,
}

/// `None` where it is not known.
fn way(change: Option<Change>) -> Option<Way> {
    match change? {
        Change::Lower => Some(Way::Less),
        Change::Higher => Some(Way::More),
        Change::NoDifference => Some(Way::Same),
        Change::CannotTell => None,
    }
}

impl Way {
    fn verb(self) -> &'static str {
        match self {
            Self::More => "costs",
            Self::Less | Self::Same => "saves",
        }
    }
}

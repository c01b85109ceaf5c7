//! Words for the ways in which a policy reached memory: a tracer, a library, a hugetlb pool.

use super::{joined, seconds};
use crate::base::units::Unit;
use crate::run::answer::Arm;
use crate::run::cause::facts::{MadeHuge, MechanismCost, MechanismFacts, NothingMade, Pool};
use crate::text::ends::percent_ends;
use crate::text::number::{percent_change, quantity};

/// Returns the facts of a policy's tracer, library and pool.
pub(super) fn reached(arm: &Arm) -> String {
    let memory = arm.made_huge.as_ref().map(|it| made_huge(it, "memory"));
    let code = arm.huge_code.as_ref().map(|it| made_huge(it, "code"));
    let pool = arm.pool.as_ref().map(pool);
    let means = arm.means.as_ref().map(means);
    joined([memory, code, pool, means].into_iter().flatten())
}

fn made_huge(it: &MadeHuge, what: &str) -> String {
    let refused = it.refused.iter();
    let refused = refused.map(|(error, size)| format!("{error} refused {}", bytes(*size)));
    let made = format!(
        "{} of {what} became huge in {} calls, which held threads {}, at most {}",
        bytes(it.bytes),
        count(it.calls),
        seconds(it.held_seconds),
        seconds(it.longest_seconds)
    );
    let nothing = it.nothing.as_ref().map(nothing_made);
    let parts = [made].into_iter().chain(refused).chain(nothing);
    joined(parts.chain(it.beyond.iter().cloned()))
}

fn nothing_made(reason: &NothingMade) -> String {
    match reason {
        NothingMade::EndedBefore => "the program ended before that time".to_owned(),
        NothingMade::NoSmallPages => "no range in use had small pages".to_owned(),
        NothingMade::NoCode => "no huge page fits into the code in use".to_owned(),
        NothingMade::Refused(errors) => format!("the kernel refused: {}", errors.join(", ")),
    }
}

fn pool(it: &Pool) -> String {
    let size = crate::base::units::bytes_text(it.bytes);
    match it.used_bytes {
        Some(used) => format!("pool of {size}, {} used", bytes(used)),
        None => format!("pool of {size}, its use not read"),
    }
}

fn means(it: &MechanismFacts) -> String {
    match it {
        MechanismFacts::Tracing {
            stops,
            ranges,
            beyond,
            cost: costs,
        } => {
            let stops = format!("{} stops, {} ranges advised", count(*stops), count(*ranges));
            let cost = costs.as_ref().map(cost);
            joined(
                [stops]
                    .into_iter()
                    .chain(beyond.iter().cloned())
                    .chain(cost),
            )
        }
        MechanismFacts::Preloading {
            trials,
            instead_of_tracer,
            cost: costs,
        } => {
            let trials = format!("library mapped in {trials} trials");
            let instead = instead_of_tracer.map(|clash| format!("no tracer: {clash}"));
            joined(
                [trials]
                    .into_iter()
                    .chain(instead)
                    .chain(costs.as_ref().map(cost)),
            )
        }
    }
}

/// Returns the cost of a mechanism without its huge pages.
fn cost(it: &MechanismCost) -> String {
    let ends = it.interval.map(|[low, high]| {
        let ends = percent_ends(low - 1.0, high - 1.0).join(", ");
        format!(" [{ends}]")
    });
    let ends = ends.unwrap_or_default();
    format!(
        "{} costs {} %{ends}",
        it.control,
        percent_change(it.ratio - 1.0)
    )
}

fn bytes(value: f64) -> String {
    quantity(&Unit::Bytes, value)
}

fn count(value: f64) -> String {
    quantity(&Unit::Count, value)
}

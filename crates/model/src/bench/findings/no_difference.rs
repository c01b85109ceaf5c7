//! Claims that a policy makes no difference in any cell of a bench, and within which bounds.

use super::cells::percent;
use crate::run::compare::Change;
use crate::run::findings::context::{Claim, Context, MissingInput, PolicyView};
use crate::run::findings::{Finding, Rule};

/// The rule of this module.
#[derive(Debug)]
pub(super) struct NoDifference;

impl Rule for NoDifference {
    fn id(&self) -> &'static str {
        "no-difference"
    }

    fn explain(&self) -> &'static str {
        "Claims that a policy makes no difference in any cell of a bench. Evidence: the interval of \
         the deciding metric in every cell contains no change, and the widest end of all of them is \
         the bound. Refuted by any cell whose interval lies beyond the threshold. \
         A bound beyond 10 % says nothing. Next: more rounds narrow the bound."
    }

    fn explains_programs(&self) -> bool {
        false
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context.of_arms(self, ask)
    }
}

/// A bound beyond this says nothing.
const WIDEST: f64 = 0.10;

fn ask(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    let Some(bench) = view.context.record.header.plan.bench.as_ref() else {
        return Ok(Claim::Nothing);
    };
    let Some(suite) = bench.suite() else {
        return Ok(Claim::Nothing);
    };
    let mut bound: f64 = 0.0;
    let mut differ = 0;
    for cell in &bench.cells {
        let name = cell.reading(suite.primary());
        let Some((low, high)) = interval(view, &name) else {
            return Ok(Claim::Nothing);
        };
        view.both(&name)?;
        let change = view.change(&name);
        differ += usize::from(matches!(change, Some(Change::Lower | Change::Higher)));
        bound = bound.max((low - 1.0).abs()).max((high - 1.0).abs());
    }
    view.evidence.figure("bound_ratio", bound);
    let (policy, count) = (view.policy, bench.cells.len());
    Ok(if differ > 0 {
        Claim::NotShown(format!("{policy}: {differ} of {count} cells differ"))
    } else if bound <= WIDEST {
        Claim::Shown(format!(
            "{policy}: no difference within ±{} in any of {count} cells",
            percent(bound)
        ))
    } else {
        Claim::CannotTell(format!(
            "{policy}: too noisy. None of {count} cells differs significantly, but differences up to {} \
             are not excluded",
            percent(bound)
        ))
    })
}

/// The interval of the ratio to the baseline.
fn interval(view: &PolicyView<'_, '_>, metric: &str) -> Option<(f64, f64)> {
    let comparison = view.context.comparison(metric, view.policy)?;
    comparison.ratio?;
    comparison.low.zip(comparison.high)
}

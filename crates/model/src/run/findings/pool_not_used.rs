//! Claims that the hugetlb pool of a policy was of no use to the program.

use super::context::{Claim, Context, MissingInput, PolicyView, told};
use super::{Finding, Rule};
use crate::base::units::bytes_text;
use crate::run::metric::MetricId;

/// The rule of this module.
#[derive(Debug)]
pub(super) struct PoolNotUsed;

impl Rule for PoolNotUsed {
    fn id(&self) -> &'static str {
        "pool-not-used"
    }

    fn explain(&self) -> &'static str {
        "Claims that a policy made a hugetlb pool and the program took no page of it, so that the \
         policy only took memory away. Evidence: hugetlb memory of the tree in all samples. \
         Refuted where the program held such pages between two samples alone. Next: have the \
         program ask for them: malloc=hugetlb, java.UseLargePages=+, MAP_HUGETLB, SHM_HUGETLB, or \
         a file on hugetlbfs."
    }

    fn is_about_huge_pages(&self) -> bool {
        true
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context.of_all(self, ask)
    }
}

fn ask(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    let Some(bytes) = pool_bytes(view) else {
        return Ok(Claim::Nothing);
    };
    let used = view.here(MetricId::HugetlbPeakBytes)?;
    view.evidence.figure("pool_bytes", bytes);
    let (policy, pool) = (view.policy, bytes_text(bytes));
    Ok(if used > 0.0 {
        let used = told(MetricId::HugetlbPeakBytes, used);
        Claim::NotShown(format!(
            "{policy}: its hugetlb pool was used. {used} of {pool}"
        ))
    } else {
        Claim::Shown(format!(
            "{policy}: the program used no page of its hugetlb pool. The pool held {pool}; \
             malloc=hugetlb lets the malloc of glibc take pages from it"
        ))
    })
}

/// The memory of the pools that a policy makes, in bytes; `None` where it makes none.
pub(super) fn pool_bytes(view: &PolicyView<'_, '_>) -> Option<u64> {
    let settings = view.context.settings(view.policy);
    let pools = settings.hugetlb.iter();
    let bytes = pools.map(|(kib, pages)| kib.saturating_mul(1024).saturating_mul(*pages));
    Some(bytes.fold(0, u64::saturating_add)).filter(|&bytes| bytes > 0)
}

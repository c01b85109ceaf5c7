//! Claims that a heap grows in steps too small for huge pages, unless malloc is told to grow it by these.

use super::context::{Claim, Context, MissingInput, PolicyView, told};
use super::{Finding, Rule};
use crate::run::compare::coverage::MANY_PAGES;
use crate::run::metric::MetricId;
use crate::run::policy::{Malloc, Thp};
use crate::text::wrap::plain;

/// The rule of this module.
#[derive(Debug)]
pub(super) struct HeapGrewInSteps;

const HUGE: MetricId = MetricId::HugeAnonPeakBytes;

/// Less than so many times the huge memory may be another moment of the samples.
const CLEARLY_MORE: f64 = 2.0;

impl Rule for HeapGrewInSteps {
    fn id(&self) -> &'static str {
        "heap-grew-in-steps"
    }

    fn explain(&self) -> &'static str {
        "Claims that the heap grows in steps smaller than a huge page, which malloc=thp makes larger: a block that \
         was begun with small pages stays small. Evidence: malloc=thp made at least twice as much memory huge as \
         thp=always, by at least eight pages. Refuted when `hugewise inspect` gives another reason for the \
         small pages of the heap under thp=always. Next: glibc.malloc.hugetlb=1 needs glibc 2.35; in another \
         allocator, let the heap grow by huge pages."
    }

    fn is_about_huge_pages(&self) -> bool {
        true
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        context.of_arms(self, ask)
    }
}

fn ask(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    let page = view.context.host().pmd_bytes();
    let (Some(page), Some(always)) = (page, whole_machine(view)) else {
        return Ok(Claim::Nothing);
    };
    let here = view.median(view.policy, HUGE)?;
    let there = view.median(always, HUGE)?;
    if here < CLEARLY_MORE * there || here - there < MANY_PAGES * page as f64 {
        return Ok(Claim::Nothing);
    }
    let [policy, always] = [view.policy, always].map(plain);
    Ok(Claim::Shown(format!(
        "{policy}: {} were huge, with {always} {}: probably the heap grows in small steps, which {policy} makes \
         larger. A block that was begun with small pages stays small",
        told(HUGE, here),
        told(HUGE, there),
    )))
}

/// The policy that gives huge pages to all memory and leaves malloc alone, where this one is about malloc.
fn whole_machine<'a>(view: &PolicyView<'_, 'a>) -> Option<&'a str> {
    let is_of_malloc = view.context.settings(view.policy).malloc == Some(Malloc::Thp);
    let mut policies = view.context.policies().iter();
    let found = policies.find(|it| {
        it.settings.thp == Some(Thp::Always) && it.settings.malloc.is_none() && is_of_malloc
    });
    found.map(|it| it.name.as_str())
}

//! The heap grows in steps too small for huge pages, unless malloc is set to grow it by huge pages.

use serde::Serialize;

use super::super::context::{Told, View};
use super::super::{Kind, Outcome};
use crate::run::compare::coverage::MANY_PAGES;
use crate::run::metric::MetricId;
use crate::run::policy::{Malloc, Thp};

/// A smaller factor may be another moment of the samples.
const CLEARLY_MORE: f64 = 2.0;

/// Huge memory by malloc beside that of the whole machine's setting.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct HeapGrewInSteps {
    /// Bytes that were huge with malloc's own setting.
    pub huge_bytes: f64,
    /// The arm that gives huge pages to all memory.
    pub always: String,
    /// Bytes that were huge under that arm.
    pub always_huge_bytes: f64,
}

pub(in super::super) fn ask(view: &View<'_, '_>) -> Told {
    let page = view.context.host().pmd_bytes();
    let (Some(page), Some(always)) = (page, whole_machine(view)) else {
        return Ok(None);
    };
    let here = view.here(MetricId::HugeAnonPeakBytes)?;
    let there = view.median(always, MetricId::HugeAnonPeakBytes)?;
    let is_more = here >= CLEARLY_MORE * there && here - there >= MANY_PAGES * page as f64;
    let found = HeapGrewInSteps {
        huge_bytes: here,
        always: always.to_owned(),
        always_huge_bytes: there,
    };
    Ok(is_more.then_some((Outcome::Shown, Kind::HeapGrewInSteps(found))))
}

/// Returns the arm that gives huge pages to all memory and leaves malloc alone, if this one is about malloc.
fn whole_machine<'a>(view: &View<'_, 'a>) -> Option<&'a str> {
    let is_of_malloc = view.context.settings(view.arm).malloc == Some(Malloc::Thp);
    let mut policies = view.context.policies().iter();
    let found = policies.find(|it| {
        it.settings.thp == Some(Thp::Always) && it.settings.malloc.is_none() && is_of_malloc
    });
    found.map(|it| it.name.as_str())
}

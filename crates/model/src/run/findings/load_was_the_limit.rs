//! Claims that what loads a service, and not the service, set the pace.
//!
//! Evidence: the processor time of the load by its wall time, against the processors that it may
//! use; and, where the two are not bound apart, that of both against the processors of the
//! machine. A generator at its limit hides what a policy gains, and its own waiting becomes the
//! latency of the service. Refuted by a load of more threads, or from another machine, that gets
//! no more out of the service. Next: bind the two apart, or lighten the load.

use super::ground::{Absent, Ground, Look, Said};
use super::{Finding, Rule};
use crate::run::metric::MetricId;
use crate::text::number::percent;

/// See the module.
#[derive(Debug)]
pub(super) struct LoadWasTheLimit;

/// The share of its processors from which on a program is taken to want more: the clock of
/// processor time ticks a hundred times a second, and there are always short waits.
const FULL: f64 = 0.9;

const LOAD: MetricId = MetricId::LoadUseRatio;
const SERVICE: MetricId = MetricId::ServiceUseRatio;

impl Rule for LoadWasTheLimit {
    fn id(&self) -> &'static str {
        "load-was-the-limit"
    }

    fn explain(&self) -> &'static str {
        "Claims that what loads a service, and not the service, set the pace. Evidence: the \
         processor time of the load by its wall time, against the processors that it may use, and \
         that of both against the machine's where they are not bound apart. Such a load hides what \
         a policy gains. Refuted by a load of more threads, or from another machine, that gets no \
         more out of the service. Next: --service-cpus and --load-cpus, or a lighter load."
    }

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        if ground.record.header.plan.service.is_none() {
            return Vec::new();
        }
        ground.of_all(self, ask)
    }
}

fn ask(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    let (load, service) = (look.here(LOAD)?, look.here(SERVICE)?);
    let plan = look.ground.record.header.plan.service.as_ref();
    let bound = plan.and_then(|it| it.load_cpus.as_ref()).map(Vec::len);
    let apart = bound.is_some() && plan.is_some_and(|it| it.service_cpus.is_some());
    let all = f64::from(look.ground.host().cpus);
    let policy = look.policy;
    if let Some(bound) = bound.filter(|bound| load >= FULL * *bound as f64) {
        return Ok(Said::Shown(format!(
            "{policy}: the load used {} % of the processors that it was bound to ({bound}): it, and \
             not the service, set the pace, so that a gain of the service shows less than it is",
            percent(load / bound as f64)
        )));
    }
    if !apart && load + service >= FULL * all {
        return Ok(Said::Shown(format!(
            "{policy}: the load took {load:.2} and the service {service:.2} of {all} processors: \
             they waited for each other, so that the load's share is in the throughput and in the \
             latencies"
        )));
    }
    if load >= FULL {
        return Ok(Said::CannotTell(format!(
            "{policy}: whether the load was the limit: it used {load:.2} processors, which is all \
             that a program of one thread can use"
        )));
    }
    Ok(Said::NotShown(format!(
        "{policy}: the load used {load:.2} processors, and the service {service:.2} of {all}"
    )))
}

//! Claims that what loads a service, and not the service, set the pace.

use super::context::{Claim, Context, MissingInput, PolicyView};
use super::{Finding, Rule};
use crate::run::metric::MetricId;
use crate::text::number::percent;

/// The rule of this module.
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
        "Claims that the load, not the service, was the bottleneck. Evidence: CPU time of the load by \
         its wall time, against the CPUs that it may use; and that of both against the machine's, \
         where they are not bound apart. Such a load hides what a policy gains. Refuted by a load of more threads, or from another machine, that gets no \
         more out of the service. Next: --service-cpus and --load-cpus; where these are given, more CPUs for the load, or another machine."
    }

    fn check(&self, context: &Context<'_>) -> Vec<Finding> {
        if context.record.header.plan.service.is_none() {
            return Vec::new();
        }
        context.of_all(self, ask)
    }
}

fn ask(view: &mut PolicyView<'_, '_>) -> Result<Claim, MissingInput> {
    let (load, service) = (view.here(LOAD)?, view.here(SERVICE)?);
    let plan = view.context.record.header.plan.service.as_ref();
    let bound = plan.and_then(|it| it.load_cpus.as_ref()).map(Vec::len);
    let apart = bound.is_some() && plan.is_some_and(|it| it.service_cpus.is_some());
    let all = f64::from(view.context.host().cpus);
    let policy = view.policy;
    if let Some(bound) = bound.filter(|bound| load >= FULL * *bound as f64) {
        return Ok(Claim::Shown(format!(
            "{policy}: the load was the bottleneck, so gains of the service are understated. It used {} % \
             of the CPUs it was bound to ({bound})",
            percent(load / bound as f64)
        )));
    }
    if !apart && load + service >= FULL * all {
        return Ok(Claim::Shown(format!(
            "{policy}: load and service shared the CPUs, which distorts rates and latency. \
             The load used {load:.2} and the service {service:.2} of {all} CPUs"
        )));
    }
    if load >= FULL {
        return Ok(Claim::CannotTell(format!(
            "{policy}: the load may have been the bottleneck. It used {load:.2} CPUs, all that one thread \
             can use"
        )));
    }
    Ok(Claim::NotShown(format!(
        "{policy}: the load was not the bottleneck. It used {load:.2} and the service {service:.2} of \
         {all} CPUs"
    )))
}

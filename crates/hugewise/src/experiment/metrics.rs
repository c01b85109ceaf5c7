//! Checks the metrics that the user names; unknown ones are refused before anything runs.

use anyhow::Result;
use hugewise_experiment::run::gate::{Gate, GateSubject};
use hugewise_experiment::run::metric::{self, MetricId};
use hugewise_experiment::run::plan::{PrintedMetric, Program};
use hugewise_text::suggest::nearest;

use crate::exit;

/// Returns true for a metric of the table or one that the workload prints.
pub(super) fn is_known(name: &str, printed: &[PrintedMetric]) -> bool {
    metric::find(name).is_some() || printed.iter().any(|printed| printed.name == name)
}

/// Refuses conditions on unknown metrics: a gate with a typing error would never close.
pub fn check_gates(gates: &[Gate], printed: &[PrintedMetric], programs: &[Program]) -> Result<()> {
    let exists = |gate: &&Gate| match gate.subject {
        GateSubject::Metric => is_known(&gate.metric, printed),
        GateSubject::Interaction => !programs.is_empty(),
    };
    match gates.iter().find(|gate| !exists(gate)) {
        None => Ok(()),
        Some(gate) if gate.subject == GateSubject::Interaction => Err(exit::usage(format!(
            "--fail-if '{gate}': an interaction is one of programs and policies; name the programs \
             with --program"
        ))),
        Some(gate) => Err(exit::usage(format!(
            "--fail-if '{gate}': there is no metric `{}`; {}",
            gate.metric,
            metric_hint(&gate.metric, printed)
        ))),
    }
}

/// A hint for an unknown metric.
pub(super) fn metric_hint(name: &str, printed: &[PrintedMetric]) -> String {
    let printed = printed.iter().map(|printed| printed.name.as_str());
    let known = MetricId::all().map(|id| -> &str { id.name() });
    match nearest(name, known.chain(printed)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "for example wall_seconds, minor_faults_total, peak_rss_bytes".to_owned(),
    }
}

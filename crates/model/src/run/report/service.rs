//! Trials with a service: whose figures the metrics are, and which policy the load had.

use super::Report;
use crate::run::findings::Finding;
use crate::run::plan::service::{CommandLine, LoadPolicy, Service};
use crate::run::record::Header;
use crate::text::wrap::plain;
use crate::text::wrap::shortened;

/// Longer commands are cut; the record has them in full.
const COMMAND_WIDTH: usize = 60;

/// The lines, where the workload is a service.
pub(super) fn service(report: &Report<'_>) -> Vec<String> {
    let header = &report.record.header;
    let Some(service) = &header.plan.service else {
        return Vec::new();
    };
    let windows = service.interleave.windows();
    let windows = windows.filter(|_| report.record.trials.iter().any(|it| it.start.is_some()));
    let how = match windows {
        Some(windows) => format!(
            "the servers of all policies live at once, and each trial is one load of one of them \
             while the others idle; all are started anew after {} rounds (ready: {})",
            windows.rounds_per_start,
            plain(&service.ready.to_string())
        ),
        None => format!(
            "each trial starts it, waits until it is ready ({}) and measures it while its load \
             runs",
            plain(&service.ready.to_string())
        ),
    };
    vec![format!(
        "Service: {how}. Wall time is the load's; faults, CPU time and memory are the service's \
         during the load, peak memory is that of its whole life. The load, `{}`, {}.",
        shortened(&plain(&one_line(&service.load)), COMMAND_WIDTH),
        reach(header, service)
    )]
}

/// That the load set the pace under the baseline, which is the same question under all policies.
pub(super) fn limit(report: &Report<'_>) -> Option<String> {
    let baseline = report.table.verdict.baseline.as_str();
    let finding = Finding::shown(&report.findings, LOAD_WAS_THE_LIMIT, baseline)?;
    let claim = plain(&finding.claim());
    let mut letters = claim.trim_end_matches('.').chars();
    let first = letters.next()?.to_uppercase();
    let claim: String = first.chain(letters).collect();
    let service = report.record.header.plan.service.as_ref()?;
    let next = match (&service.service_cpus, &service.load_cpus) {
        (Some(_), Some(_)) => "a load with more CPUs, or from another machine, tells more",
        _ => "--service-cpus and --load-cpus part them",
    };
    Some(format!("{claim}: {next}."))
}

/// The finding that it did.
pub(super) const LOAD_WAS_THE_LIMIT: &str = "load-was-the-limit";

/// A command without the breaks of its lines.
fn one_line(command: &CommandLine) -> String {
    let text = command.text();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Under which policy the load ran.
fn reach(header: &Header, service: &Service) -> &'static str {
    let mut realisations = header.realisations.values();
    match service.load_policy {
        LoadPolicy::Same => "ran under the same policy",
        LoadPolicy::None if realisations.any(|it| !it.files.is_empty()) => {
            "had no policy of its own, but machine-wide settings applied to it too"
        }
        LoadPolicy::None => "ran under no policy",
    }
}

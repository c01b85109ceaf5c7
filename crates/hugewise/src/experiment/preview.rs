//! `run --dry-run`: what would be run, and what would be set for it.

use std::collections::BTreeMap;

use anyhow::Result;
use hugewise_model::run::plan::Plan;
use hugewise_model::run::plan::service::{LoadPolicy, Service};
use hugewise_model::run::policy::realise::Realisation;
use hugewise_model::run::report::advice::describe;
use hugewise_model::text::number::chosen_percent;
use hugewise_model::text::wrap::{plain, wrapped};
use serde_json::json;

use crate::exit;
use crate::output::{self, Format, Output};

/// Prints it.
pub fn show(
    plan: &Plan,
    realisations: &BTreeMap<String, Realisation>,
    output: &Output,
) -> Result<()> {
    output::emit(output, |format| match format {
        Format::Text => {
            let width = output::style(output).width;
            let lines = lines(plan, realisations);
            let folded = lines.iter().flat_map(|line| wrapped(line, width, 4));
            Ok(folded.map(|line| line + "\n").collect())
        }
        Format::Json => output::json(
            &json!({"format": "hugewise-plan 1", "plan": plan, "realisations": realisations}),
        ),
        Format::Csv | Format::Markdown => Err(exit::usage("--dry-run prints text or json")),
    })
}

fn lines(plan: &Plan, realisations: &BTreeMap<String, Realisation>) -> Vec<String> {
    let mut lines = vec![format!("Would run: {}", one_line(&plan.command.join(" ")))];
    lines.extend(plan.service.iter().flat_map(service));
    for policy in &plan.policies {
        let means = realisations.get(&policy.name).map(describe);
        let means = means
            .filter(|means| !means.is_empty())
            .map_or_else(|| "nothing is set".to_owned(), |means| means.join("; "));
        let baseline = if policy.name == plan.baseline {
            " (the baseline)"
        } else {
            ""
        };
        lines.push(format!("Under {}{baseline}: {means}", plain(&policy.name)));
    }
    lines.push(rounds(plan));
    lines.push(format!(
        "Judged by {}; differences below {} % do not count.",
        plan.verdict_metric,
        chosen_percent(plan.bounds.threshold)
    ));
    lines.push("Nothing was run or set.".to_owned());
    lines
}

/// A command without the breaks of its lines.
fn one_line(text: &str) -> String {
    plain(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn service(service: &Service) -> Vec<String> {
    let cpus = |cpus: &Option<Vec<u32>>| match cpus {
        Some(cpus) => format!(", on CPUs {cpus:?}"),
        None => String::new(),
    };
    let mut lines = vec![format!(
        "A service{}, ready ({}) within {} s",
        cpus(&service.service_cpus),
        plain(&service.ready.to_string()),
        service.ready_timeout.as_secs_f64()
    )];
    let warm_up = service.warm_up_load.iter();
    lines.extend(warm_up.map(|line| format!("Warmed up by: {}", one_line(&line.text()))));
    let under = match service.load_policy {
        LoadPolicy::None => "without a policy",
        LoadPolicy::Same => "under the same policy",
    };
    lines.push(format!(
        "Loaded by: {} ({under}{})",
        one_line(&service.load.text()),
        cpus(&service.load_cpus)
    ));
    let asked = match &service.stop_command {
        Some(line) => one_line(&line.text()),
        None => service.stop_signal.to_string(),
    };
    lines.push(format!(
        "Stopped by: {asked}, killed {} s later",
        service.grace.as_secs_f64()
    ));
    lines
}

fn rounds(plan: &Plan) -> String {
    let bounds = &plan.bounds;
    let trials = plan.round(0).len();
    let time = bounds.max_time.map_or_else(String::new, |time| {
        format!(", none started after {} s", time.as_secs_f64())
    });
    format!(
        "{} to {} rounds of {trials} trials each{time}, after {} unmeasured; seed {}",
        bounds.min_rounds, bounds.max_rounds, bounds.warmup_rounds, plan.seed
    )
}

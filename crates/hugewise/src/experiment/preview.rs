//! `run --dry-run`: shows the experiment and the settings it would write.

use std::collections::BTreeMap;

use anyhow::Result;
use hugewise_experiment::run::answer::describe;
use hugewise_experiment::run::plan::Plan;
use hugewise_experiment::run::plan::service::{Interleave, LoadPolicy, Service, Windows};
use hugewise_experiment::run::policy::realise::Realisation;
use hugewise_text::document::{Document, Field, Section};
use hugewise_text::number::{chosen_percent, counted};
use hugewise_text::to_text;
use hugewise_text::wrap::plain;
use serde_json::json;

use super::conduct::words;
use super::predicted_drops::left_out;
use crate::exit;
use crate::output::{self, Format, Output};

/// Prints the preview.
pub fn show(
    plan: &Plan,
    realisations: &BTreeMap<String, Realisation>,
    output: &Output,
) -> Result<()> {
    let left_out = left_out(plan, realisations);
    output::emit(output, |format| match format {
        Format::Text => {
            let document = document(plan, realisations, &left_out);
            Ok(to_text(&document, &output::style(output)))
        }
        Format::Json => output::json(&json!({
            "format": "hugewise-plan 1",
            "plan": plan,
            "realisations": realisations,
            "left_out": left_out,
        })),
        Format::Csv | Format::Markdown => Err(exit::usage("--dry-run prints text or json")),
    })
}

fn document(
    plan: &Plan,
    realisations: &BTreeMap<String, Realisation>,
    left_out: &BTreeMap<String, String>,
) -> Document {
    let mut fields = commands(plan);
    fields.extend(plan.service.iter().flat_map(service));
    for name in plan.own_policies() {
        let arm = plan.programs.first();
        let arm = arm.map_or_else(|| name.to_owned(), |program| program.under(name));
        let means = realisations.get(&arm).map(describe);
        let means = means
            .filter(|means| !means.is_empty())
            .map_or_else(|| "sets nothing".to_owned(), |means| means.join("; "));
        let baseline = if plan.is_baseline(name) {
            " (baseline)"
        } else {
            ""
        };
        fields.push(Field::new(plain(name), means + baseline));
    }
    fields.extend(left_out.iter().map(|(policy, why)| {
        let why = format!(
            "{}, unless it starts another program: {}",
            plain(policy),
            plain(why)
        );
        Field::new("left out", why)
    }));
    let controls = plan.controls();
    if !controls.is_empty() {
        let names = controls
            .iter()
            .map(|&index| plain(&plan.policies[index].name));
        let names: Vec<String> = names.collect();
        let control = format!("{} once more in each round", names.join(", "));
        fields.push(Field::new("control", control));
    }
    fields.extend(not_tried(plan));
    fields.push(Field::new("rounds", rounds(plan)));
    if !plan.host_memory.is_as_is() {
        fields.push(Field::new("host memory", plan.host_memory.to_string()));
    }
    let verdict = format!(
        "{}; differences within {} % do not count",
        plan.verdict_metric,
        chosen_percent(plan.bounds.threshold)
    );
    fields.push(Field::new("decided by", verdict));
    let lead = "Dry run: nothing was run or set.";
    Document::new([Section::default().with(lead).with(fields)])
}

/// The command, or those of the compared programs.
fn commands(plan: &Plan) -> Vec<Field> {
    let command = |words: &[String]| one_line(&words.join(" "));
    let programs = plan.programs.iter();
    let mut fields: Vec<Field> = programs
        .map(|it| Field::new(plain(&it.name), command(&it.command)))
        .collect();
    if fields.is_empty() {
        fields.push(Field::new("command", command(&plan.command)));
    }
    fields
}

/// The policies that another privilege would allow, with the command for it.
fn not_tried(plan: &Plan) -> Option<Field> {
    let omission = plan.not_tried.as_ref()?;
    let made_by = words(std::env::args_os().filter(|word| word != "--dry-run"));
    let command = omission.command(&made_by);
    let command = command.map_or_else(String::new, |command| format!(": {command}"));
    Some(Field::new(
        "not tried",
        plain(&omission.reason()) + &command,
    ))
}

/// A command on one line.
fn one_line(text: &str) -> String {
    plain(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn service(service: &Service) -> Vec<Field> {
    let cpus = |cpus: &Option<Vec<u32>>| match cpus {
        Some(cpus) => format!(", on CPUs {cpus:?}"),
        None => String::new(),
    };
    let ready = format!(
        "{} within {} s{}",
        plain(&service.ready.to_string()),
        service.ready_timeout.as_secs_f64(),
        cpus(&service.service_cpus)
    );
    let mut fields = vec![Field::new("service ready", ready)];
    let warm_up = service.warm_up_load.iter();
    fields.extend(warm_up.map(|line| Field::new("warm-up load", one_line(&line.text()))));
    let under = match service.load_policy {
        LoadPolicy::None => "without a policy",
        LoadPolicy::Same => "under the same policy",
    };
    let load = format!(
        "{} ({under}{})",
        one_line(&service.load.text()),
        cpus(&service.load_cpus)
    );
    fields.push(Field::new("load", load));
    let asked = match &service.stop_command {
        Some(line) => one_line(&line.text()),
        None => service.stop_signal.to_string(),
    };
    let end = format!("{asked}, killed {} s later", service.grace.as_secs_f64());
    fields.push(Field::new("stop", end));
    fields.push(Field::new("servers", servers(service.interleave)));
    fields
}

fn servers(interleave: Interleave) -> String {
    match interleave {
        Interleave::No => "one started for each trial".to_owned(),
        Interleave::Hindered(obstacle) => format!("one started for each trial, because {obstacle}"),
        Interleave::Windows(Windows {
            rounds_per_start, ..
        }) => format!(
            "all at once if they take no more than 60 % of the available memory, started anew \
             after {rounds_per_start} rounds"
        ),
    }
}

fn rounds(plan: &Plan) -> String {
    let bounds = &plan.bounds;
    let trials = plan.round(0, |_| true).len();
    let time = bounds.max_time.map_or_else(String::new, |time| {
        let but = match bounds.least_rounds {
            Some(least) => format!(" but the first {least}"),
            None => String::new(),
        };
        format!(", none{but} that would end after {} s", time.as_secs_f64())
    });
    let most = bounds.max_rounds;
    let rounds = match bounds.min_rounds {
        0 | 1 => format!("at most {most}"),
        least if least == most => most.to_string(),
        least => format!("{least} to {most}"),
    };
    format!(
        "{rounds} of {} each{time}, after {} unmeasured; seed {}",
        counted(trials as u64, "trial"),
        bounds.warmup_rounds,
        plan.seed
    )
}

//! Go's benchmark format.

use std::fmt::Write;

use super::{Arm, arms, command_line, metrics};
use crate::base::units::Unit;
use crate::run::metric::{Better, Metric, MetricId};
use crate::run::record::Record;
use crate::text::wrap::plain;

pub(super) fn render(record: &Record) -> String {
    let metrics = metrics(record);
    let mut text = configuration(record);
    for metric in &metrics {
        let better = match metric.better {
            Better::Lower => " better=lower",
            Better::Higher => " better=higher",
            Better::Neither => "",
        };
        let _ = writeln!(text, "Unit {} assume=nothing{better}", unit(metric));
    }
    text.push('\n');
    for arm in arms(record) {
        let name = match record.header.plan.programs.is_empty() {
            true => format!("{}{}", name(arm.program), key("policy", arm.policy)),
            false => of_programs(&arm),
        };
        for trial in &arm.trials {
            let _ = write!(text, "Benchmark{name} 1");
            for metric in &metrics {
                if let Some(value) = trial.value(&metric.name) {
                    let _ = write!(text, " {value} {}", unit(metric));
                }
            }
            text.push('\n');
        }
    }
    text
}

fn configuration(record: &Record) -> String {
    let header = &record.header;
    let host = &header.host;
    let thp = host.thp.as_ref().map(|thp| thp.enabled.to_string());
    format!(
        "made-by: {}\nkernel: {}\narch: {}\ncpu: {}\nthp: {}\ncommand: {}\n",
        header.program,
        plain(&host.kernel),
        host.arch,
        plain(&host.cpu_model),
        thp.unwrap_or_else(|_| "none".to_owned()),
        plain(&command_line(record)),
    )
}

/// One name for all programs: readers compare rows that differ only in a key.
fn of_programs(arm: &Arm<'_>) -> String {
    let program = key("program", arm.program);
    format!("Programs{program}{}", key("policy", arm.policy))
}

fn key(key: &str, value: &str) -> String {
    format!("/{key}={}", value.replace(char::is_whitespace, "_"))
}

/// A name begins with a capital and has no space.
fn name(program: &str) -> String {
    let safe = program.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
    let mut letters = safe.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    match first {
        Some(first) if first.is_ascii_uppercase() => format!("{first}{}", letters.as_str()),
        _ => format!("Run{safe}"),
    }
}

/// Readers scale units that end in `sec` and `B`, and show `sec/op` first.
fn unit(metric: &Metric) -> String {
    if metric.name == MetricId::WallSeconds.name() {
        return "sec/op".to_owned();
    }
    let end = match metric.unit {
        Unit::Seconds => "-sec",
        Unit::Bytes => "-B",
        Unit::BytesPerSecond => "-B/s",
        Unit::PerSecond => "/s",
        Unit::Count | Unit::Ratio | Unit::Other(_) => "",
    };
    let suffix = metric.unit.suffix().filter(|_| !end.is_empty());
    let stem = suffix.and_then(|suffix| metric.name.strip_suffix(suffix));
    stem.unwrap_or(&metric.name).replace(['_', ' '], "-") + end
}

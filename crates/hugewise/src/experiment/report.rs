//! Writes the report of an experiment and judges its `--fail-if` conditions.

use std::path::Path;

use anyhow::Result;
use hugewise_base::host::{Host, HugetlbPool};
use hugewise_experiment::run::answer::{Doubt, Word};
use hugewise_experiment::run::gate::{Gate, Judgement};
use hugewise_experiment::run::record::{Record, StopReason};
use hugewise_experiment::run::report::Report;
use hugewise_experiment::run::trial::{Outcome, Reading};
use hugewise_text::wrap::{plain, short_command};
use hugewise_text::{to_markdown, to_text};

use crate::exit::Exit;
use crate::experiment::cells;
use crate::options::{Demands, ExportFile, PageFile};
use crate::output::{self, Format, Output};
use crate::stderr::message;

/// The files that a report is written to, in addition to stdout and the file of `--json`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReportFiles<'a> {
    /// The file for the curves.
    pub svg: Option<&'a Path>,
    /// The files for other programs.
    pub exports: &'a [ExportFile],
    /// The HTML page, if the verb has the flag.
    pub page: Option<&'a PageFile>,
}

/// Writes the report to stdout and to the named files. `gates` become the test cases of an export.
pub fn show(
    report: &Report<'_>,
    output: &Output,
    files: ReportFiles<'_>,
    gates: &[Gate],
) -> Result<()> {
    let shown = output::emit(output, |format| Ok(rendered(report, format, output)));
    for file in files.exports {
        output::write_file(&file.path, file.format.render(report, gates)?)?;
    }
    if let Some(path) = files.svg {
        output::write_file(path, &cells::curves(report)?)?;
    }
    shown
}

/// Writes the page, if the user named a file for it. `record` reads the record's bytes, which the page holds.
pub fn write_page(
    report: Report<'_>,
    files: ReportFiles<'_>,
    record: impl FnOnce() -> Result<Vec<u8>>,
) -> Result<()> {
    let page = || Ok(report.page(&record()?));
    files.page.map_or(Ok(()), |file| file.write(page))
}

fn rendered(report: &Report<'_>, format: Format, output: &Output) -> String {
    let style = output::style(output);
    match format {
        Format::Text if is_failure(report.record) => failure_text(report.record),
        Format::Text => to_text(&report.document(style.width, style.verbose), &style),
        Format::Json => report.json(),
        Format::Csv => report.csv(),
        // The Markdown renderer wraps the lines.
        Format::Markdown => {
            let document = report.document(usize::MAX, style.verbose);
            to_markdown(&document, style.verbose)
        }
    }
}

/// Returns true if the command failed in every trial, so that there is nothing to report.
fn is_failure(record: &Record) -> bool {
    let end = record
        .end
        .as_ref()
        .filter(|_| record.header.plan.service.is_none());
    end.is_some_and(|end| end.reason == StopReason::WorkloadFails)
}

/// SIGBUS, sent when no page is available.
const BUS: i32 = 7;

/// Possible causes of [`BUS`] other than a bug in the program.
fn lacks_pool(host: &Host) -> String {
    let pages = |of: fn(&HugetlbPool) -> u64| host.hugetlb.values().map(of).sum::<u64>();
    format!(
        "; a page of the hugetlb pool that is missing, or over the limit of its cgroup, ends a program \
         so: {} of {} pages are free here",
        pages(|pool| pool.free),
        pages(|pool| pool.total)
    )
}

/// How a command failed, and the end of its stderr.
fn failure_text(record: &Record) -> String {
    let Some(trial) = record.trials.first() else {
        return String::new();
    };
    let command = short_command(&record.header.plan.command, 60);
    let way_out = match trial.outcome {
        Outcome::Exited { .. } | Outcome::RequestsFailed { .. } => {
            "; --ignore-failure measures it nevertheless".to_owned()
        }
        Outcome::Signalled { signal: BUS } => lacks_pool(&record.header.host),
        _ => String::new(),
    };
    let mut text = format!(
        "`{command}` fails in every trial: {}{way_out}\n",
        trial.outcome
    );
    let tail = trial.stderr_tail.as_deref().unwrap_or_default();
    for line in tail.lines().filter(|line| !line.trim().is_empty()) {
        text.push_str(&format!("    {}\n", plain(line)));
    }
    text
}

/// Returns the exit code for a report, and prints the reason on stderr.
pub fn judge(demands: &Demands, report: &Report<'_>, output: &Output) -> Exit {
    let answer = report.answer();
    let gates: Vec<Judgement> = demands
        .fail_if
        .iter()
        .map(|gate| judged(gate, report, demands))
        .collect();
    let is_open = |gate: &Judgement| matches!(gate, Judgement::CannotTell(_));
    for doubt in &answer.doubts {
        let text = answer.doubt_text(doubt);
        if demands.strict && doubt.forbids_strict() {
            message(format_args!("--strict: {text}"));
        } else if answer.warns_of(doubt) && !output.quiet {
            message(text);
        }
    }
    if has_no_value(report) {
        tell_reason(report);
    }
    let is_doubtful = answer.doubts.iter().any(Doubt::forbids_strict) || has_no_value(report);
    if gates
        .iter()
        .any(|gate| matches!(gate, Judgement::Closed(_)))
    {
        Exit::Gate
    } else if !gates.is_empty() && fails_requests(report.record) {
        Exit::TrialFailed
    } else if demands.strict && (is_doubtful || gates.iter().any(is_open)) {
        Exit::Doubtful
    } else {
        Exit::Done
    }
}

/// Returns true if no trial gave the judged metric.
fn has_no_value(report: &Report<'_>) -> bool {
    report.answer().word == Word::Failed
}

/// Prints the first reason why a successful trial lacks the judged metric.
fn tell_reason(report: &Report<'_>) {
    let metric = &report.answer().judged.metric;
    let mut trials = report.record.trials.iter().filter(|it| it.succeeded());
    let reason = trials.find_map(|trial| trial.readings.get(metric));
    if let Some(Reading::Missing { missing }) = reason {
        message(format_args!("{metric} was measured in no trial: {missing}"));
    }
}

/// Returns true if requests failed in most of a trial: then no gate can pass.
fn fails_requests(record: &Record) -> bool {
    let mut outcomes = record.trials.iter().map(|trial| &trial.outcome);
    outcomes.any(|outcome| matches!(outcome, Outcome::RequestsFailed { .. }))
}

/// Judges a gate, and explains on stderr why it did not pass.
fn judged(gate: &Gate, report: &Report<'_>, demands: &Demands) -> Judgement {
    let judgement = gate.judge(report.answer());
    // Under --strict an undecided gate has its own exit code.
    let (flag, follows) = match demands.strict {
        true => ("--strict: ", ""),
        false if fails_requests(report.record) => ("", ": requests failed"),
        false => ("", ", so it does not fail"),
    };
    match &judgement {
        Judgement::Open => {}
        Judgement::Closed(policies) => {
            message(format_args!(
                "--fail-if '{gate}' holds for {}",
                policies.join(", ")
            ));
        }
        Judgement::CannotTell(policies) if policies.is_empty() => {
            message(format_args!(
                "{flag}--fail-if '{gate}' is not decided{follows}: {} was not compared",
                gate.metric
            ));
        }
        Judgement::CannotTell(policies) => {
            message(format_args!(
                "{flag}--fail-if '{gate}' is not decided for {}{follows}: the limit is inside the \
                 interval, or too few rounds gave none",
                policies.join(", ")
            ));
        }
    }
    judgement
}

//! Giving a report out: one report, in the form that was asked for.

use std::io::{IsTerminal, Write};
use std::path::Path;

use anyhow::{Context, Result};
use hugewise_model::bench::plot;
use hugewise_model::bench::plot::render_svg;
use hugewise_model::run::gate::{Gate, Judgement};
use hugewise_model::run::report::Report;
use hugewise_model::run::report::{render_csv, render_json, render_markdown, render_text};
use hugewise_model::text::{Color, Style, Verbosity};

use crate::cli::{Colour, Format, Output};
use crate::exit;
use crate::say::say;

/// Writes the report to stdout, and as JSON to the file that was named. Trouble with one does
/// not keep back the other.
pub fn show(report: &Report<'_>, output: &Output) -> Result<()> {
    let printed = print(&rendered(report, output.format, output)?);
    if let Some(path) = &output.json {
        write_file(path, &rendered(report, Format::Json, output)?)
            .context("the record still holds everything that was measured")?;
    }
    if let Some(path) = &output.svg {
        write_file(path, &drawn(report)?)
            .context("the record still holds everything that was measured")?;
    }
    printed
}

/// The curves of a bench as SVG.
fn drawn(report: &Report<'_>) -> Result<String> {
    let charts = match report.other {
        None => plot::charts(report.record),
        Some(_) => return Err(exit::usage("--svg draws one record; name only one")),
    };
    if charts.is_empty() {
        return Err(exit::usage(
            "--svg: there is nothing to draw; a bench over at least two sizes of block, \
             footprint or step has curves",
        ));
    }
    let title = report.record.header.plan.command.join(" ");
    Ok(render_svg(&charts, &title))
}

/// Opens the files of `--json` and `--svg`, so that a place where nothing can be written is
/// known before hours of measuring. What is in them stays until the report replaces it.
pub fn check_file(output: &Output) -> Result<()> {
    let files = [("--json", &output.json), ("--svg", &output.svg)];
    let mut files = files
        .into_iter()
        .filter_map(|(flag, path)| Some((flag, path.as_ref()?)));
    files.try_for_each(|(flag, path)| check_place(flag, path))
}

fn check_place(flag: &str, path: &Path) -> Result<()> {
    let opened = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path);
    opened.map(drop).map_err(|error| {
        exit::usage(format!(
            "{flag} {}: {error}; name a file in a folder where you may write",
            path.display()
        ))
    })
}

/// Writes a result to stdout, whole.
pub fn print(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .context("writing to stdout")
}

/// Writes a result to a file that the user named.
pub fn write_file(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

fn rendered(report: &Report<'_>, format: Format, output: &Output) -> Result<String> {
    let mut text = String::new();
    match format {
        Format::Text => render_text(report, &style(output), &mut text),
        Format::Json => render_json(report, &mut text),
        Format::Csv => render_csv(report, &mut text),
        Format::Markdown => render_markdown(report, &mut text),
    }
    .context("rendering the report")?;
    Ok(text)
}

/// How text is drawn on this stdout.
pub fn style(output: &Output) -> Style {
    Style {
        width: width(),
        color: color(output.color),
        verbose: if output.verbose {
            Verbosity::Verbose
        } else {
            Verbosity::Normal
        },
    }
}

/// Whether stdout gets colour.
pub fn color(asked: Colour) -> Color {
    let wanted = match asked {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => {
            std::io::stdout().is_terminal()
                && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
                && std::env::var_os("TERM").is_some_and(|v| v != "dumb")
        }
    };
    if wanted { Color::Always } else { Color::Never }
}

/// Columns of stdout: a wide terminal gets up to 120, everything else 80.
fn width() -> usize {
    let columns = std::env::var("COLUMNS")
        .ok()
        .and_then(|text| text.parse().ok());
    let columns = columns
        .or_else(hugewise_linux::machine::terminal::columns)
        .unwrap_or(80);
    usize::from(columns).clamp(60, 120)
}

/// Judges the gates and tells on stderr what each says; whether one has closed.
pub fn judge(gates: &[Gate], report: &Report<'_>) -> GateState {
    let mut state = GateState::Open;
    for gate in gates {
        match gate.judge(&report.table) {
            Judgement::Open => {}
            Judgement::Closed(policies) => {
                state = GateState::Closed;
                say(format_args!(
                    "--fail-if '{gate}' came true for {}",
                    policies.join(", ")
                ));
            }
            Judgement::CannotTell(policies) if policies.is_empty() => {
                say(format_args!(
                    "--fail-if '{gate}' cannot be judged: {} was not compared",
                    gate.metric
                ));
            }
            Judgement::CannotTell(policies) => {
                say(format_args!(
                    "--fail-if '{gate}' cannot be judged yet for {}: the limit is inside the interval",
                    policies.join(", ")
                ));
            }
        }
    }
    state
}

/// What the gates came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateState {
    /// None closed.
    Open,
    /// At least one closed.
    Closed,
}

//! Output of results: to stdout in the requested format, and to files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anstream::{AutoStream, ColorChoice};
use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use hugewise_linux::file::sheet::Sheet;
use hugewise_linux::machine::closed::stdout_was_closed;
use hugewise_text::document::Document;
use hugewise_text::{Color, Style, Verbosity, to_markdown, to_text};
use serde::Serialize;

use crate::file::first_line;
use crate::{exit, invoker};

/// Output flags, the same for every verb.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// Format: text, json, csv, markdown
    #[arg(long, value_enum, hide_possible_values = true, default_value_t = Format::Text, value_name = "FORM")]
    pub format: Format,
    /// Also write the JSON report to FILE
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Show all metrics and intervals
    #[arg(long, short)]
    pub verbose: bool,
    /// No progress and no warnings
    #[arg(hide_short_help = true, long, short)]
    pub quiet: bool,
    /// Colour on stdout: auto, always, never
    #[arg(hide_short_help = true, long, value_enum, hide_possible_values = true, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
}

/// Output formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// The report as one JSON document
    Json,
    /// One row per trial and metric
    Csv,
    /// Tables for a pull request
    Markdown,
}

impl Format {
    /// Returns true for formats that people read as text.
    #[must_use]
    pub fn is_prose(self) -> bool {
        matches!(self, Self::Text | Self::Markdown)
    }
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal or with CLICOLOR_FORCE, unless NO_COLOR is set or TERM is `dumb`
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Writes a result to stdout in the requested format, and as JSON to the file of `--json`. An error in one does not
/// suppress the other.
pub fn emit(output: &Output, render: impl Fn(Format) -> Result<String>) -> Result<()> {
    let printed = render(output.format).and_then(|text| print(&text));
    if let Some(path) = &output.json {
        write_file(path, &render(Format::Json)?)?;
    }
    printed
}

/// Writes a result: a document for people, rows as CSV, or the full value as JSON.
pub fn show(
    output: &Output,
    result: &impl Serialize,
    document: impl Fn() -> Document,
    csv: impl Fn() -> String,
) -> Result<()> {
    let style = style(output);
    emit(output, |format| match format {
        Format::Text => Ok(to_text(&document(), &style)),
        Format::Markdown => Ok(to_markdown(&document(), style.verbose)),
        Format::Csv => Ok(csv()),
        Format::Json => json(result),
    })
}

/// A value as a JSON document.
pub fn json(value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(value).context("rendering as JSON")?;
    Ok(text + "\n")
}

/// Opens the file of `--json`, so that an unwritable place is found before hours of measuring. Its old content stays
/// until the result replaces it.
pub fn check_file(output: &Output) -> Result<()> {
    check_writable("--json", output.json.as_deref())
}

/// Does the same for the file of another flag, if given.
pub fn check_writable(flag: &str, path: Option<&Path>) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    keep_records(flag, path)?;
    match opened(path) {
        Ok(_) => Ok(()),
        Err(error) => Err(not_writable(flag, path, &error)),
    }
}

/// The file that a user named, opened once and kept open: if somebody exchanges the path later, the new file must not
/// be overwritten.
fn opened(path: &Path) -> Result<Arc<Sheet>> {
    static OPEN: Mutex<BTreeMap<PathBuf, Arc<Sheet>>> = Mutex::new(BTreeMap::new());
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(sheet) = open.get(path) {
        return Ok(Arc::clone(sheet));
    }
    let sheet = Arc::new(Sheet::open(path, &invoker::rights()?)?);
    open.insert(path.to_owned(), Arc::clone(&sheet));
    Ok(sheet)
}

/// Refuses to overwrite a record or a recording.
fn keep_records(flag: &str, path: &Path) -> Result<()> {
    let first = first_line(path);
    let begins = [
        b"{\"format\":\"hugewise-".as_slice(),
        b"{\"line\":\"header\"",
    ];
    if !begins.iter().any(|begin| first.starts_with(begin)) {
        return Ok(());
    }
    let also = match flag {
        "--json" => "; to print JSON: --format json",
        _ => "",
    };
    Err(exit::usage(format!(
        "{flag} {}: this is a record, which would be overwritten; name a new file{also}",
        path.display()
    )))
}

/// Creates the file that a flag names, empty.
pub fn create(flag: &str, path: &Path) -> Result<File> {
    let file = opened(path).and_then(|sheet| Ok(sheet.begin()?));
    file.map_err(|error| not_writable(flag, path, &error))
}

fn not_writable(flag: &str, path: &Path, error: &anyhow::Error) -> anyhow::Error {
    exit::usage(format!(
        "{flag} {}: {error}; name a file in a folder where you may write{}",
        path.display(),
        invoker::rights_hint()
    ))
}

/// Returns an error if stdout is closed.
pub fn check_stdout() -> Result<()> {
    ensure!(
        !stdout_was_closed(),
        "stdout is closed, so the result cannot be printed; open it, for example with > FILE"
    );
    Ok(())
}

/// Writes a whole result to stdout.
pub fn print(text: &str) -> Result<()> {
    check_stdout()?;
    let mut stdout = std::io::stdout().lock();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .context("writing to stdout")
}

/// Writes a result to a file that the user named.
pub fn write_file(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    let written = opened(path).and_then(|sheet| Ok(sheet.replace(bytes.as_ref())?));
    written.with_context(|| format!("writing {}", path.display()))
}

/// The text style for this stdout.
pub fn style(output: &Output) -> Style {
    Style {
        verbose: if output.verbose {
            Verbosity::Verbose
        } else {
            Verbosity::Normal
        },
        ..plain_style(output.color)
    }
}

/// The text style for this stdout, for output without details.
pub fn plain_style(asked: Colour) -> Style {
    Style {
        width: width(),
        color: color(asked),
        verbose: Verbosity::Normal,
    }
}

/// Returns whether stdout gets colour.
pub fn color(asked: Colour) -> Color {
    let wanted = match asked {
        Colour::Always => true,
        Colour::Never => false,
        // NO_COLOR, CLICOLOR_FORCE, CLICOLOR and TERM, as on stderr.
        Colour::Auto => AutoStream::choice(&std::io::stdout()) != ColorChoice::Never,
    };
    if wanted { Color::Always } else { Color::Never }
}

/// Columns of stdout: a wide terminal gets up to 120, everything else 80.
fn width() -> usize {
    let columns = std::env::var("COLUMNS")
        .ok()
        .and_then(|text| text.parse().ok());
    let columns = columns
        .or_else(|| hugewise_linux::machine::terminal::columns(std::io::stdout()))
        .unwrap_or(80);
    usize::from(columns).clamp(60, 120)
}

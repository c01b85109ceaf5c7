//! `hugewise doctor`: what can be measured here, what will mislead, and what is set wrongly.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use hugewise_linux::probe::{self, Environment};
use hugewise_linux::root::Root;
use hugewise_model::doctor::{self, Diagnosis};

/// Say what can be measured on this machine, what will mislead, and what to grant
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Put back settings that an experiment left changed when it was killed
    #[arg(long)]
    pub undo: bool,
    /// Form of the output
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    pub format: Format,
    /// Examine a frozen machine instead of this one
    #[arg(long, hide = true, value_name = "DIR")]
    pub host: Option<PathBuf>,
}

/// Form of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For a terminal of 80 columns
    #[default]
    Text,
    /// The diagnosis as a whole
    Json,
    /// One row for each rung and remark
    Csv,
    /// For documents
    Markdown,
}

/// Examines the machine and writes the diagnosis; with `--undo` calls `undo` instead, which puts
/// settings back and says what it did.
///
/// # Errors
/// The machine could not be read, the settings could not be put back, or the writer failed.
pub fn run(
    options: &Options,
    environment: Environment,
    undo: impl FnOnce(&Root) -> Result<()>,
    out: &mut impl Write,
) -> Result<()> {
    let root = options.host.clone().map_or_else(Root::real, Root::at);
    if options.undo {
        return undo(&root);
    }
    let answers = probe::answers(&root, environment)?;
    let diagnosis = doctor::diagnose(&probe::examine(&root, &answers)?);
    render(&diagnosis, options.format, out)
}

fn render(diagnosis: &Diagnosis, format: Format, out: &mut impl Write) -> Result<()> {
    match format {
        Format::Text => doctor::render_text(diagnosis, out)?,
        Format::Csv => doctor::render_csv(diagnosis, out)?,
        Format::Markdown => doctor::render_markdown(diagnosis, out)?,
        Format::Json => {
            serde_json::to_writer_pretty(&mut *out, diagnosis)?;
            writeln!(out)?;
        }
    }
    Ok(())
}

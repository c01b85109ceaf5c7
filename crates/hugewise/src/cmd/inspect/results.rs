//! An inspection in the requested format.

use std::io::{BufWriter, Write};

use anyhow::{Context, Result};
use hugewise_model::observe::address_space::Space;
use hugewise_model::observe::forecast;
use hugewise_model::observe::inspect::reasons::Settings;
use hugewise_model::observe::inspect::view::{
    Brief, Inspection, render_csv, render_map, render_markdown, render_several, render_several_csv,
    render_text,
};
use serde::Serialize;

use super::{Arguments, glob};
use crate::output;
use crate::output::Format;

/// Judges an address space, with as much evidence as the output shows.
pub(super) fn judged(space: Space, settings: Settings, arguments: &Arguments) -> Inspection {
    let output = &arguments.output;
    if output.format == Format::Text && output.json.is_none() && !arguments.map {
        let verbose = output::style(output).verbose;
        Inspection::for_text(space, settings, glob(arguments).as_ref(), verbose)
    } else {
        Inspection::of(space, settings)
    }
}

/// One process, in full. JSON is written as it is made: for many mappings it is larger than
/// all that was read.
pub(super) fn one(inspection: &Inspection, arguments: &Arguments) -> Result<()> {
    if let Some(path) = &arguments.output.json {
        let file = output::create("--json", path)?;
        json(inspection, file).with_context(|| format!("writing {}", path.display()))?;
    }
    match arguments.output.format {
        Format::Json => json(inspection, std::io::stdout().lock()).context("writing to stdout"),
        Format::Text if !arguments.map => {
            let mut out = Stream::new();
            let style = output::style(&arguments.output);
            let drawn = render_text(inspection, glob(arguments).as_ref(), &style, &mut out)
                .and_then(|()| append_forecast(inspection, arguments, &mut out));
            out.finish(drawn)
        }
        _ => output::print(&text(inspection, arguments)?),
    }
}

/// Text that goes to stdout as it is made: with --verbose, that of many mappings is larger than
/// all that was read.
struct Stream {
    out: BufWriter<std::io::StdoutLock<'static>>,
    /// Formatting has no room for the reason of a failure.
    failed: Option<std::io::Error>,
}

impl Stream {
    fn new() -> Self {
        Self {
            out: BufWriter::new(std::io::stdout().lock()),
            failed: None,
        }
    }

    /// The end of the text; the first failure, if there was one.
    fn finish(mut self, drawn: std::fmt::Result) -> Result<()> {
        if let Some(error) = self.failed {
            return Err(error).context("writing to stdout");
        }
        drawn.context("rendering the inspection")?;
        self.out.flush().context("writing to stdout")
    }
}

impl std::fmt::Write for Stream {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.out.write_all(text.as_bytes()).map_err(|error| {
            self.failed = Some(error);
            std::fmt::Error
        })
    }
}

/// One process as text, Markdown or CSV.
pub(super) fn text(inspection: &Inspection, arguments: &Arguments) -> Result<String> {
    let mut text = String::new();
    let style = output::style(&arguments.output);
    let all = std::slice::from_ref(inspection);
    match arguments.output.format {
        Format::Csv => render_csv(all, &mut text),
        Format::Markdown => render_markdown(all, &mut text),
        _ if arguments.map => render_map(inspection, &style, &|_| false, &mut text),
        _ => render_text(inspection, glob(arguments).as_ref(), &style, &mut text),
    }
    .context("rendering the inspection")?;
    append_forecast(inspection, arguments, &mut text).context("rendering the forecast")?;
    Ok(text)
}

/// The forecast as a section of its own; CSV has none, because it is no list.
fn append_forecast(
    inspection: &Inspection,
    arguments: &Arguments,
    out: &mut impl std::fmt::Write,
) -> std::fmt::Result {
    let Some(forecast) = &inspection.forecast else {
        return Ok(());
    };
    match arguments.output.format {
        Format::Csv | Format::Json => Ok(()),
        Format::Text => {
            out.write_char('\n')?;
            forecast::render_text(forecast, output::style(&arguments.output).width, out)
        }
        Format::Markdown => {
            out.write_str("\n```text\n")?;
            forecast::render_text(forecast, 80, out)?;
            out.write_str("```\n")
        }
    }
}

/// Many processes, one line each.
pub(super) fn many(briefs: &[Brief], arguments: &Arguments) -> Result<()> {
    let object = serde_json::json!({ "format": "hugewise-inspections 1", "processes": briefs });
    output::emit(&arguments.output, |format| {
        let mut text = String::new();
        match format {
            Format::Json => text = format!("{object:#}\n"),
            Format::Csv => render_several_csv(briefs, &mut text).context("rendering")?,
            Format::Text => render_several(briefs, &mut text).context("rendering")?,
            Format::Markdown => {
                text.push_str("```\n");
                render_several(briefs, &mut text).context("rendering")?;
                text.push_str("```\n");
            }
        }
        Ok(text)
    })
}

fn json(value: &impl Serialize, out: impl Write) -> Result<()> {
    let mut out = BufWriter::new(out);
    serde_json::to_writer_pretty(&mut out, value).map_err(std::io::Error::from)?;
    out.write_all(b"\n")?;
    out.flush()?;
    Ok(())
}

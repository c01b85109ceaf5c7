//! Writes an inspection in the requested format.

use std::io::{BufWriter, Write};

use anyhow::{Context, Result};
use hugewise_observe::address_space::Space;
use hugewise_observe::inspect::reasons::Settings;
use hugewise_observe::inspect::view::{Brief, Inspection, csv, map, several, several_csv};
use hugewise_text::plain_text::level;
use hugewise_text::{to_markdown, to_text};
use serde::Serialize;

use super::{Arguments, glob};
use crate::output;
use crate::output::Format;

/// Judges an address space, with as much evidence as the output shows.
pub(super) fn judged(space: Space, settings: Settings, arguments: &Arguments) -> Inspection {
    let output = &arguments.output;
    let in_full = output.json.is_some() || arguments.page.html.is_some() || arguments.map;
    if output.format == Format::Text && !in_full {
        let level = level(output::style(output).verbose);
        Inspection::for_text(space, settings, glob(arguments).as_ref(), level)
    } else {
        Inspection::of(space, settings)
    }
}

/// One process, in full. JSON is streamed: with many mappings it is larger than the data read.
pub(super) fn one(inspection: &Inspection, arguments: &Arguments) -> Result<()> {
    if let Some(path) = &arguments.output.json {
        let file = output::create("--json", path)?;
        json(inspection, file).with_context(|| format!("writing {}", path.display()))?;
    }
    arguments.page.write(|| {
        let mut source = Vec::new();
        json(inspection, &mut source)?;
        Ok(inspection.page(glob(arguments).as_ref(), &source))
    })?;
    match arguments.output.format {
        Format::Json => json(inspection, std::io::stdout().lock()).context("writing to stdout"),
        _ => output::print(&text(inspection, arguments)),
    }
}

/// One process as text, Markdown or CSV.
pub(super) fn text(inspection: &Inspection, arguments: &Arguments) -> String {
    let style = output::style(&arguments.output);
    let document = || match arguments.map {
        true => map(inspection, &style, &|_| false),
        false => inspection.document(glob(arguments).as_ref(), level(style.verbose)),
    };
    match arguments.output.format {
        Format::Csv => csv(std::slice::from_ref(inspection)),
        Format::Markdown => to_markdown(&document(), style.verbose),
        Format::Text | Format::Json => to_text(&document(), &style),
    }
}

/// Many processes, one line each.
pub(super) fn many(briefs: &[Brief], arguments: &Arguments) -> Result<()> {
    let object = serde_json::json!({ "format": "hugewise-inspections 1", "processes": briefs });
    output::show(
        &arguments.output,
        &object,
        || several(briefs),
        || several_csv(briefs),
    )
}

fn json(value: &impl Serialize, out: impl Write) -> Result<()> {
    let mut out = BufWriter::new(out);
    serde_json::to_writer_pretty(&mut out, value).map_err(std::io::Error::from)?;
    out.write_all(b"\n")?;
    out.flush()?;
    Ok(())
}

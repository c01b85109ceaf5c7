//! `live --dry-run`: what would be switched, how long it takes, and what it may cost.

use anyhow::Result;
use hugewise_base::units::Unit as Measure;
use hugewise_experiment::run::plan::Skipped;
use hugewise_experiment::run::site::Site;
use hugewise_linux::live::{SwitchPrice, switch_price};
use hugewise_linux::machine::root::Root;
use hugewise_live::{Blocks, SwitchedSite};
use hugewise_text::Tone;
use hugewise_text::csv::Csv;
use hugewise_text::document::{Document, Field, Paragraph, Section};
use hugewise_text::number::{counted, quantity};
use serde::Serialize;

use super::unit::Unit;
use super::{Arguments, sites};
use crate::exit::{self, Exit};
use crate::output;

/// The blocks of an experiment, before it.
#[derive(Debug, Serialize)]
struct Preview {
    /// The name of the document.
    format: &'static str,
    /// The processes.
    pids: Vec<u32>,
    /// The name of the first, with its number.
    process: String,
    /// Bytes that would be switched.
    switched_bytes: u64,
    /// Bytes among them that are huge now.
    huge_bytes: u64,
    /// Bytes of a block.
    block_bytes: u64,
    /// The sites that would be switched separately, with `--by`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sites: Vec<PreviewSite>,
    /// Blocks that would not be switched, by reason.
    skipped: Vec<Skipped>,
    /// Seconds to make all blocks huge, at the price of blocks of our own.
    to_huge_seconds: f64,
    /// Seconds to make them small.
    to_small_seconds: f64,
    /// Seconds of a call of one block.
    call_seconds: f64,
}

/// A site that would be switched separately.
#[derive(Debug, Serialize)]
struct PreviewSite {
    /// The site.
    site: Site,
    /// Its mappings.
    mappings: u64,
    /// Bytes that would be switched.
    switched_bytes: u64,
    /// Its address, if it is one mapping.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<u64>,
    /// The line about it.
    #[serde(skip)]
    line: String,
}

fn site(site: &SwitchedSite, huge_page_bytes: u64) -> PreviewSite {
    PreviewSite {
        site: site.site,
        mappings: site.mappings.len() as u64,
        switched_bytes: site.blocks * huge_page_bytes,
        address: site.alone().map(|it| it.start),
        line: sites::line(site, huge_page_bytes),
    }
}

/// Shows it.
pub(super) fn show(root: &Root, unit: &Unit, arguments: &Arguments) -> Result<Exit> {
    let found = sites::look(root, unit)?;
    let layout = sites::layout(arguments.by, &found);
    let mut all = Blocks::default();
    for (_, (blocks, _)) in found {
        all.able.extend(blocks.able);
        for (why, blocks) in blocks.skipped {
            all.skip(why, blocks);
        }
    }
    let price = switch_price(root, unit.page_bytes, unit.huge_bytes).map_err(exit::refused)?;
    let preview = preview(unit, &all, layout.sites(), price);
    output::show(
        &arguments.output,
        &preview,
        || preview.document(),
        || preview.csv(),
    )?;
    Ok(Exit::Done)
}

fn preview(unit: &Unit, all: &Blocks, sites: &[SwitchedSite], price: SwitchPrice) -> Preview {
    let blocks = all.able.len() as u64;
    let huge = all.able.iter().filter(|it| it.is_huge).count() as u64;
    Preview {
        format: "hugewise-live 1",
        pids: unit.pids(),
        process: unit.name(),
        switched_bytes: blocks * unit.huge_bytes,
        huge_bytes: huge * unit.huge_bytes,
        block_bytes: unit.huge_bytes,
        sites: sites.iter().map(|it| site(it, unit.huge_bytes)).collect(),
        skipped: all.skipped(),
        to_huge_seconds: price.to_huge * blocks as f64,
        to_small_seconds: price.to_small * blocks as f64,
        call_seconds: price.to_huge.max(price.to_small),
    }
}

impl Preview {
    fn document(&self) -> Document {
        let bytes = |value: u64| quantity(&Measure::Bytes, value as f64);
        let seconds = |value: f64| quantity(&Measure::Seconds, value);
        let head = format!(
            "{}: live would switch {}; nothing was changed.",
            self.process,
            bytes(self.switched_bytes)
        );
        let skipped = self.skipped.iter();
        let skipped = skipped.map(|it| {
            Field::new(
                "Skipped",
                format!("{}, {}", counted(it.blocks, "block"), it.why),
            )
        });
        let mut fields = vec![
            Field::new("Huge now", bytes(self.huge_bytes)),
            Field::new(
                "Each switch",
                format!(
                    "about {} to huge pages, {} to small ones",
                    seconds(self.to_huge_seconds),
                    seconds(self.to_small_seconds)
                ),
            ),
            Field::new(
                "Each call",
                format!(
                    "about {} for a block; threads that touch it or change mappings may wait so long",
                    seconds(self.call_seconds)
                ),
            ),
        ];
        let sites = self.sites.iter();
        fields.extend(sites.map(|it| Field::new("Site", it.line.clone())));
        fields.extend(skipped);
        let head = Section::default().with(Paragraph::new(head).tone(Tone::Strong));
        Document::new([head.with(fields)])
    }

    fn csv(&self) -> String {
        let mut csv = Csv::new(&["reason", "blocks"]);
        let switched = self.switched_bytes / self.block_bytes.max(1);
        csv.row(["switched".to_owned(), switched.to_string()]);
        for it in &self.skipped {
            csv.row([it.why.to_string(), it.blocks.to_string()]);
        }
        csv.into_text()
    }
}

//! `live --dry-run`: what would be switched, how long it takes, and what it may cost.

use anyhow::Result;
use hugewise_base::units::Unit as Measure;
use hugewise_experiment::run::plan::Skipped;
use hugewise_linux::live::{SwitchPrice, switch_price};
use hugewise_linux::machine::root::Root;
use hugewise_live::Blocks;
use hugewise_text::Tone;
use hugewise_text::csv::Csv;
use hugewise_text::document::{Document, Field, Paragraph, Section};
use hugewise_text::number::{counted, quantity};
use serde::Serialize;

use super::Arguments;
use super::unit::Unit;
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
    /// Blocks that would not be switched, by reason.
    skipped: Vec<Skipped>,
    /// Seconds to make all blocks huge, at the price of blocks of our own.
    to_huge_seconds: f64,
    /// Seconds to make them small.
    to_small_seconds: f64,
    /// Seconds of a call of one block.
    call_seconds: f64,
}

/// Shows it.
pub(super) fn show(root: &Root, unit: &Unit, arguments: &Arguments) -> Result<Exit> {
    let mut all = Blocks::default();
    for member in &unit.members {
        let found = member.blocks(root).map_err(exit::refused)?;
        all.able.extend(found.able);
        for (why, blocks) in found.skipped {
            all.skip(why, blocks);
        }
    }
    let price = switch_price(root, unit.page_bytes, unit.huge_bytes).map_err(exit::refused)?;
    let preview = preview(unit, &all, price);
    output::show(
        &arguments.output,
        &preview,
        || preview.document(),
        || preview.csv(),
    )?;
    Ok(Exit::Done)
}

fn preview(unit: &Unit, all: &Blocks, price: SwitchPrice) -> Preview {
    let blocks = all.able.len() as u64;
    let huge = all.able.iter().filter(|it| it.is_huge).count() as u64;
    Preview {
        format: "hugewise-live 1",
        pids: unit.pids(),
        process: unit.name(),
        switched_bytes: blocks * unit.huge_bytes,
        huge_bytes: huge * unit.huge_bytes,
        block_bytes: unit.huge_bytes,
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

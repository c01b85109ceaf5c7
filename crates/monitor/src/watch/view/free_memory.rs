//! Free memory by node, zone and block size: whether the next huge page is available at once.

use crate::watch::sample::{Header, Sample};
use hugewise_base::free_blocks::{free_bytes, free_huge_pages, small_block_share};
use hugewise_base::units::bytes_text;
use hugewise_observe::machine::Zone;
use hugewise_text::Tone;
use hugewise_text::document::{Block, Document, Section};
use hugewise_text::grid::{Align, Cell, Grid};
use hugewise_text::number::{count, percent};
use hugewise_text::wrap::plain;

/// The number of columns for sizes below a huge page.
const SIZES: usize = 6;

/// The table.
pub(super) fn document(header: &Header, now: &Sample) -> Document {
    let mut section = Section::titled("Free memory by block size");
    match &now.machine.zones.value {
        Err(why) => section.push(why.to_string()),
        Ok(zones) => {
            section.push(grid(header, zones));
            let note = "free blocks of each size, by node and zone; huge: huge pages that larger blocks \
                        have room for; small: the part of free memory in smaller blocks, which \
                        compaction has to join first";
            section.push(Block::Notes(vec![note.to_owned()]));
        }
    }
    Document::new([section])
}

fn grid(header: &Header, zones: &[Zone]) -> Grid {
    let orders = zones
        .iter()
        .map(|zone| zone.blocks.len())
        .max()
        .unwrap_or(0);
    let size = |order: usize| header.page_bytes << order.min(40);
    let is_small = |&order: &usize| header.huge_bytes.is_none_or(|huge| size(order) < huge);
    let small = (0..orders).filter(is_small).count();
    let shown: Vec<usize> = (small.saturating_sub(SIZES)..small).collect();
    let mut heading = vec!["node".to_owned(), "zone".to_owned(), "free".to_owned()];
    heading.extend(
        shown
            .iter()
            .map(|&order| bytes_text(size(order)).replace("iB", "").replace(' ', "")),
    );
    heading.extend(["huge".to_owned(), "small".to_owned()]);
    let mut grid = Grid::default().aligned(&[Align::Right, Align::Left]);
    grid.push(heading);
    for zone in zones {
        grid.rows.push(row(header, zone, &shown));
    }
    grid
}

fn row(header: &Header, zone: &Zone, shown: &[usize]) -> Vec<Cell> {
    let free = free_bytes(&zone.blocks, header.page_bytes);
    let mut row = vec![
        Cell::plain(zone.node.to_string()),
        Cell::plain(plain(&zone.name)),
        Cell::plain(bytes_text(free)),
    ];
    let blocks = shown.iter().map(|&order| zone.blocks.get(order).copied());
    row.extend(blocks.map(|blocks| Cell::plain(blocks.map_or_else(String::new, count))));
    let Some(huge) = header.huge_bytes else {
        return row;
    };
    let pages = free_huge_pages(&zone.blocks, header.page_bytes, huge);
    let tone = if pages == 0 { Tone::Bad } else { Tone::Plain };
    let share = small_block_share(&zone.blocks, header.page_bytes, huge);
    row.push(Cell::plain(count(pages)).tone(tone));
    row.push(Cell::plain(format!("{} %", percent(share))));
    row
}

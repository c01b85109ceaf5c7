//! The forecast as sections: the memory that huge pages would add, and the TLB reach.

use super::{Bloat, Extent, Fits, Forecast, MemoryGrowth, Need, ProcessorTime, Worth};
use crate::stat::WalkShare;
use hugewise_base::missing::{Fact, Missing};
use hugewise_base::units::{GIB, KIB, MIB, Unit};
use hugewise_text::Tone;
use hugewise_text::document::{Block, Paragraph, Section};
use hugewise_text::grid::{Align, Grid};
use hugewise_text::number::{count, percent, quantity, three_digits};

impl Forecast {
    /// Renders the sections. The TLB reach comes first, because it decides whether the memory is worth its cost.
    #[must_use]
    pub fn sections(&self) -> Vec<Section> {
        let worth = Section::titled("Forecast: TLB reach")
            .with(Paragraph::new(conclusion(&self.worth)).tone(Tone::Strong))
            .with(worth_table(&self.worth))
            .with_detail(Block::Notes(worth_notes(&self.worth)));
        let bloat = Section::titled("Forecast: resident memory")
            .with(bloat_table(&self.bloat))
            .with_detail(Block::Notes(bloat_notes(&self.bloat)));
        vec![worth, bloat]
    }
}

fn bloat_table(bloat: &Bloat) -> Grid {
    let mut grid = Grid::headed(&["if huge", "ranges", "adds"]);
    let known = |name: &str, growth: &MemoryGrowth| {
        let cells = [count(growth.ranges), bytes(growth.bytes_added)];
        std::iter::once(name.to_owned()).chain(cells)
    };
    grid.push(known("all populated ranges", &bloat.populated));
    for (name, growth) in [
        ("by khugepaged, as set now", &bloat.khugepaged_now),
        (
            "by khugepaged, with enabled=always",
            &bloat.khugepaged_always,
        ),
    ] {
        match growth {
            Ok(growth) => grid.push(known(name, growth)),
            Err(_) => grid.push([name, "unknown", ""]),
        }
    }
    grid.push(known("all ranges, untouched ones too", &bloat.worst));
    grid
}

fn bloat_notes(bloat: &Bloat) -> Vec<String> {
    let mut notes = vec![format!(
        "{} of {} eligible ranges of private anonymous memory are huge; the others hold {} in small \
         pages. Assumed: pages stay as they are, and khugepaged's limits on absent and swapped \
         pages alone decide (not those on shared or unused pages).",
        count(bloat.huge_ranges),
        count(bloat.eligible_ranges),
        bytes(bloat.small_bytes),
    )];
    let limits = [&bloat.khugepaged_now, &bloat.khugepaged_always];
    if let Some(missing) = limits.into_iter().find_map(|one| one.as_ref().err()) {
        notes.push(format!("khugepaged's limits: {missing}."));
    }
    notes
}

fn worth_table(worth: &Worth) -> Grid {
    let mut grid = Grid::headed(&["page size", "TLB entries needed", "TLB has"]);
    for need in [&worth.base, &worth.huge] {
        grid.push(need_row(need));
    }
    grid.aligned(&[Align::Right])
}

fn need_row(need: &Need) -> [String; 3] {
    let needed = if need.least == need.most {
        count(need.most)
    } else {
        format!("{} to {}", count(need.least), count(need.most))
    };
    let room = need.room.map_or_else(
        || "unknown".to_owned(),
        |room| format!("{} (level {})", count(room.entries), room.level),
    );
    [page_size(need.page_bytes), needed, room]
}

fn worth_notes(worth: &Worth) -> Vec<String> {
    let tlb = match &worth.tlb {
        Ok(tlb) => format!(
            "TLB by {}: of one core, shared with all that runs on it; entries that the processor \
             merges are not counted.",
            tlb.source
        ),
        Err(missing) => format!("TLB: {missing}."),
    };
    let mut notes = Vec::from_iter(extent(worth));
    notes.push(format!(
        "DAMON ({}) or idle page tracking ({}) would show which pages are in use.",
        worth.used_where.damon, worth.used_where.idle_pages
    ));
    notes.extend([tlb, walks(&worth.walk_share)]);
    notes
}

/// The memory that is counted.
fn extent(worth: &Worth) -> Option<String> {
    let small = bytes(worth.small_bytes);
    match (worth.extent, &worth.hot_bytes) {
        (Extent::Used { seconds }, hot) => Some(format!(
            "{} of {small} in small pages were used within {} s. Which pages of a mapping is \
             unknown, so the need for huge pages is a range: used pages close together, or far \
             apart.",
            hot.as_ref()
                .map_or_else(|_| "~".to_owned(), |hot| bytes(*hot)),
            three_digits(seconds)
        )),
        (Extent::Resident, Err(missing)) => Some(format!(
            "Upper bound: all {small} in small pages count as in use; what is in use: {missing}."
        )),
        (Extent::Resident, Ok(_)) => None,
    }
}

fn walks(share: &Fact<WalkShare>) -> String {
    const TITLE: &str = "Cycles in page walks, the upper bound of any gain by cheaper translation";
    let share = match share {
        Ok(share) => share,
        Err(Missing::NotAsked) => {
            return format!(
                "{TITLE}: count them with inspect --forecast --duration 5s or stat -p."
            );
        }
        Err(missing) => return format!("{TITLE}: {missing}."),
    };
    let least = share.at_least.map(percent);
    let range = match least.filter(|least| *least != percent(share.at_most)) {
        Some(least) => format!("{least} to {}", percent(share.at_most)),
        None => format!("at most {}", percent(share.at_most)),
    };
    format!(
        "{TITLE}: {range} % ({}, {} s, the process and its children).",
        share.mode.words(),
        three_digits(share.seconds),
    )
}

/// The conclusion. No gain is claimed for a sleeping process.
fn conclusion(worth: &Worth) -> String {
    let idle = worth.processor.filter(ProcessorTime::is_idle);
    let reach = reach(worth, idle);
    match idle {
        None => reach,
        Some(time) => format!(
            "{reach} The process used {} % of a processor in {}, so there was nothing to gain.",
            percent(time.used_seconds / time.seconds.max(1e-9)),
            quantity(&Unit::Seconds, time.seconds)
        ),
    }
}

fn reach(worth: &Worth, idle: Option<ProcessorTime>) -> String {
    let memory = match worth.extent {
        Extent::Resident => "all memory that is small now",
        Extent::Used { .. } => "all memory in use",
    };
    match worth.fits {
        Fits::AlreadyInBasePages => format!(
            "The TLB covers {memory} with small pages: huge pages do not make translation cheaper \
             (they still save page faults)."
        ),
        Fits::InHugePages if idle.is_some() => {
            format!("With huge pages the TLB covers {memory}; with small ones it does not.")
        }
        Fits::InHugePages => format!(
            "With huge pages the TLB covers {memory}; with small ones it does not: huge pages have \
             the most to gain here."
        ),
        Fits::InNeither => format!(
            "The TLB covers {memory} with neither page size; huge pages need {} times fewer \
             entries.",
            three_digits(worth.base.least as f64 / worth.huge.most.max(1) as f64)
        ),
        Fits::CannotTell => format!(
            "It depends on where the used pages are whether the TLB covers {memory}. That is \
             unknown."
        ),
        Fits::NotKnown if worth.base.most == 0 && worth.small_bytes > 0 => {
            "No small page was used in that time, so there was nothing to gain.".to_owned()
        }
        Fits::NotKnown if worth.base.most == 0 => {
            "No eligible memory is in small pages: there is nothing to gain.".to_owned()
        }
        Fits::NotKnown => format!("It is unknown whether the TLB covers {memory}."),
    }
}

/// Formats a page size as a whole number: `4 KiB`, `2 MiB`, `64 KiB`.
fn page_size(bytes: u64) -> String {
    let units = [(GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")];
    let whole = units
        .into_iter()
        .find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit));
    match whole {
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None => format!("{bytes} B"),
    }
}

fn bytes(bytes: u64) -> String {
    quantity(&Unit::Bytes, bytes as f64)
}

#[cfg(test)]
mod tests;

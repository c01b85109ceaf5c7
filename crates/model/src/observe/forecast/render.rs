use std::fmt::{self, Write};

use super::{Bloat, Extent, Fits, Forecast, Growth, Need, Worth};
use crate::base::missing::Fact;
use crate::base::missing::Missing;
use crate::base::units::Unit;
use crate::base::units::{GIB, KIB, MIB};
use crate::observe::stat::WalkShare;
use crate::text::grid::{Cell, Grid};
use crate::text::number::{percent, quantity, three_digits};
use crate::text::wrap::wrapped;

/// Writes the forecast as a section of text for a terminal of `width` columns.
///
/// # Errors
/// The writer failed.
pub fn render_text(forecast: &Forecast, width: usize, out: &mut impl Write) -> fmt::Result {
    writeln!(out, "Forecast: resident memory")?;
    write_grid(&bloat_rows(&forecast.bloat), out)?;
    write_notes(&bloat_notes(&forecast.bloat), width, out)?;
    writeln!(out, "\nForecast: translations")?;
    write_grid(&worth_rows(&forecast.worth), out)?;
    write_notes(&worth_notes(&forecast.worth), width, out)
}

fn write_grid(rows: &[Vec<String>], out: &mut impl Write) -> fmt::Result {
    let cells = |row: &Vec<String>| row.iter().map(|text| Cell::plain(text.as_str())).collect();
    let grid = Grid {
        rows: rows.iter().map(cells).collect(),
        ..Grid::default()
    };
    for line in grid.lines(usize::MAX, |text, _| text.to_owned()) {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

fn write_notes(notes: &[String], width: usize, out: &mut impl Write) -> fmt::Result {
    for note in notes {
        for line in wrapped(note, width.saturating_sub(2), 2) {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}

fn row(cells: [&str; 3]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

fn bloat_rows(bloat: &Bloat) -> Vec<Vec<String>> {
    let mut rows = vec![row(["if these became huge", "ranges", "adds"])];
    let known = |name: &str, growth: &Growth| {
        vec![
            name.to_owned(),
            count(growth.ranges),
            bytes(growth.bytes_added),
        ]
    };
    let of_fact = |name: &str, growth: &Fact<Growth>| match growth {
        Ok(growth) => known(name, growth),
        Err(_) => row([name, "not known", ""]),
    };
    rows.push(known("every range with a page in it", &bloat.populated));
    rows.push(of_fact("by khugepaged, as set now", &bloat.khugepaged_now));
    rows.push(of_fact(
        "by khugepaged, if enabled=always",
        &bloat.khugepaged_always,
    ));
    rows.push(known("every range, untouched ones too", &bloat.worst));
    rows
}

fn bloat_notes(bloat: &Bloat) -> Vec<String> {
    let mut notes = vec![format!(
        "Of {} ranges of private anonymous memory that can be huge, {} are; {} lie in small pages \
         of the others. Assumed: pages stay as they are now, and khugepaged's limits on absent \
         and swapped pages alone decide (not on shared or unused ones).",
        count(bloat.eligible_ranges),
        count(bloat.huge_ranges),
        bytes(bloat.small_bytes),
    )];
    let limits = [&bloat.khugepaged_now, &bloat.khugepaged_always];
    if let Some(missing) = limits.into_iter().find_map(|one| one.as_ref().err()) {
        notes.push(format!("What khugepaged would do: {missing}."));
    }
    notes
}

fn worth_rows(worth: &Worth) -> Vec<Vec<String>> {
    let mut rows = vec![row(["pages of", "translations needed", "TLB has"])];
    rows.extend([&worth.base, &worth.huge].map(need_row));
    rows
}

fn need_row(need: &Need) -> Vec<String> {
    let needed = if need.least == need.most {
        count(need.most)
    } else {
        format!("{} to {}", count(need.least), count(need.most))
    };
    let room = need.room.map_or_else(
        || "not known".to_owned(),
        |room| format!("{} (level {})", count(room.entries), room.level),
    );
    vec![page_size(need.page_bytes), needed, room]
}

fn worth_notes(worth: &Worth) -> Vec<String> {
    let mut notes = vec![conclusion(worth)];
    let of = match worth.extent {
        Extent::Used { seconds } => format!(
            "Of {} in small pages, {} were used within {} s. Which pages of a mapping were used is \
             not known, so huge pages are a range: close together, or far apart.",
            bytes(worth.small_bytes),
            worth
                .hot_bytes
                .as_ref()
                .map_or_else(|_| "~".to_owned(), |hot| bytes(*hot)),
            three_digits(seconds)
        ),
        Extent::Resident => match &worth.hot_bytes {
            Err(missing) => format!(
                "Assumed: all {} in small pages are in use, an upper bound; what is really used: \
                 {missing}.",
                bytes(worth.small_bytes)
            ),
            Ok(_) => String::new(),
        },
    };
    notes.push(of);
    notes.push(format!(
        "Which pages would be told by DAMON ({}) or by idle page tracking ({}).",
        worth.used_where.damon, worth.used_where.idle_pages
    ));
    notes.push(match &worth.tlb {
        Ok(tlb) => format!(
            "TLB by {}; one core, shared with whatever else runs on it; neighbours that the \
             processor merges into one entry are not counted.",
            tlb.source
        ),
        Err(missing) => format!("TLB: {missing}."),
    });
    notes.push(walks(&worth.walk_share));
    notes
}

fn walks(share: &Fact<WalkShare>) -> String {
    const TITLE: &str =
        "The share of cycles in page walks, the upper bound of any gain by cheaper translation";
    let share = match share {
        Ok(share) => share,
        Err(Missing::NotAsked) => {
            return format!(
                "{TITLE}: not counted; --duration 5s (`inspect`) or `stat -p` counts it."
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
        "A page walk was under way in {range} % of the cycles ({}, within {} s, of the process and \
         what it started): no page size saves more by cheaper translation.",
        share.mode.words(),
        three_digits(share.seconds),
    )
}

fn conclusion(worth: &Worth) -> String {
    let all = match worth.extent {
        Extent::Resident => "all of it",
        Extent::Used { .. } => "all that was used",
    };
    match worth.fits {
        Fits::AlreadyInBasePages => format!(
            "With small pages {all} fits already: cheaper translation is no reason for huge pages \
             (fewer faults may be one)."
        ),
        Fits::InHugePages => format!(
            "With huge pages {all} fits, with small ones it does not: the case in which there is \
             most to gain."
        ),
        Fits::InNeither => format!(
            "With neither {all} fits; huge pages need {} times fewer translations.",
            three_digits(worth.base.least as f64 / worth.huge.most.max(1) as f64)
        ),
        Fits::CannotTell => {
            "Whether it fits depends on where the used pages lie, which is not known.".to_owned()
        }
        Fits::NotKnown if worth.base.most == 0 && worth.small_bytes > 0 => {
            "Nothing of it was used meanwhile: there was nothing to gain in that time.".to_owned()
        }
        Fits::NotKnown if worth.base.most == 0 => {
            "No small pages lie in memory that could be huge: there is nothing to gain.".to_owned()
        }
        Fits::NotKnown => "Whether it fits is not known.".to_owned(),
    }
}

fn count(count: u64) -> String {
    quantity(&Unit::Count, count as f64)
}

/// Sizes of pages are whole: `4 KiB`, `2 MiB`, `64 KiB`.
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

//! What an attribution says.

use super::Listed;
use super::attribution::{Attribution, Change, Effect, SiteShare};
use crate::base::units::bytes_text;
use crate::run::compare::labels::effect_of_ratio;
use crate::run::site::Site;
use crate::text::Tone;
use crate::text::document::{Block, Document, Paragraph, Section};
use crate::text::grid::{Align, Cell, Grid};
use crate::text::number::counted;

impl Attribution {
    /// The document of the answer; `path` is that of the record.
    #[must_use]
    pub fn document(&self, path: &str) -> Document {
        let mut answer = Section::default();
        answer.push(Paragraph::new(self.answer()).tone(Tone::Strong));
        if self.sites.iter().any(|it| it.effect == Effect::Helps) {
            answer.push(Paragraph::new(format!(
                "To use it: hugewise attribute --from {path} --sites FILE; hugewise exec --sites FILE \
                 -- COMMAND"
            )));
        }
        let mut sites = Section::default();
        sites.push(self.table());
        let mut sums = Section::default();
        sums.push(Paragraph::new(self.check()));
        if let Some(frontier) = self.frontier() {
            sums.push(frontier);
        }
        let mut notes = Section::default();
        notes.push(Block::Notes(self.notes()));
        notes.push(Paragraph::new(format!(
            "Again: hugewise attribute --from {path}"
        )));
        Document::new([answer, sites, sums, notes])
    }

    fn answer(&self) -> String {
        let metric = &self.label;
        let of = |effect: Effect| {
            let sites = self.sites.iter().filter(|it| it.effect == effect);
            let changes = sites.map(|it| {
                let (change, interval) = (text(it.share.change), interval(it.share));
                format!("{}: {change} ({interval})", named(it))
            });
            changes.collect::<Vec<_>>().join(", ")
        };
        let says =
            |names: String, what: &str| (!names.is_empty()).then(|| format!("{what} {names}"));
        let parts = [
            says(of(Effect::Helps), "huge pages help at"),
            says(of(Effect::Hurts), "huge pages hurt at"),
            says(of(Effect::Changes), "huge pages change it at"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        match parts.is_empty() {
            true => format!("No site was shown to change {metric}."),
            false => format!("By {metric}, {}.", parts.join("; ")),
        }
    }

    fn table(&self) -> Grid {
        let heading = [
            "site",
            &self.label,
            "interval",
            "huge",
            "added",
            "mapped at",
        ];
        let right = Align::Right;
        let align = [Align::Left, right, right, right, right, Align::Wrapped];
        let mut grid = Grid::headed(&heading).aligned(&align);
        for site in &self.sites {
            let tone = match site.effect {
                Effect::Helps => Tone::Good,
                Effect::Hurts => Tone::Bad,
                Effect::Changes | Effect::NotShown => Tone::Plain,
            };
            grid.rows.push(vec![
                Cell::plain(site.site.to_string()),
                Cell::plain(text(site.share.change)).tone(tone),
                Cell::plain(interval(site.share)),
                Cell::plain(site.huge_bytes.map_or_else(|| "?".to_owned(), bytes_text)),
                Cell::plain(site.added_bytes.map_or_else(|| "?".to_owned(), added)),
                Cell::plain(told(site).unwrap_or_default()),
            ]);
        }
        if self.sites.iter().all(|site| told(site).is_none()) {
            grid.rows
                .iter_mut()
                .for_each(|row| row.truncate(row.len() - 1));
            grid.align.truncate(grid.align.len() - 1);
        }
        grid
    }

    /// Whether the shares add up.
    fn check(&self) -> String {
        let (sum, whole) = (text(self.sum.change), text(self.whole.change));
        let of_whole = interval(self.whole);
        if self.separable {
            format!(
                "The shares together: {sum}. All sites huge against none: {whole} ({of_whole})."
            )
        } else {
            format!(
                "Not separable: the shares together are {sum}, but all sites huge against none are \
                 {whole} ({of_whole}). Three sites or more act together."
            )
        }
    }

    /// The best sites together, one more in each row.
    fn frontier(&self) -> Option<Grid> {
        let helping: Vec<&SiteShare> = self
            .sites
            .iter()
            .filter(|it| it.effect == Effect::Helps)
            .collect();
        if helping.is_empty() {
            return None;
        }
        let gain: f64 = helping.iter().map(|it| it.log).sum();
        let huge = |sites: &[&SiteShare]| sites.iter().filter_map(|it| it.huge_bytes).sum::<u64>();
        let all: Vec<&SiteShare> = self.sites.iter().collect();
        let mut grid = Grid::headed(&[
            "the best",
            &self.label,
            "of the gain",
            "huge",
            "of all huge",
        ]);
        for count in 1..=helping.len() {
            let best = &helping[..count];
            let log: f64 = best.iter().map(|it| it.log).sum();
            let own = huge(best);
            let share = own as f64 / huge(&all).max(1) as f64;
            grid.push([
                counted(count as u64, "site"),
                text(log.exp_m1()),
                format!("{:.0} %", 100.0 * log / gain),
                bytes_text(own),
                format!("{:.0} %", 100.0 * share),
            ]);
        }
        Some(grid)
    }

    /// What is said of the sites whose memory was not as the rows say.
    fn failed(&self) -> Option<String> {
        let failed = self.sites.iter().filter(|it| it.failed_treatments > 0);
        let runs = failed.clone().map(|it| it.failed_treatments).max()?;
        let names: Vec<String> = failed.map(|it| it.site.to_string()).collect();
        let (runs, names) = (counted(runs as u64, "run"), names.join(", "));
        Some(format!(
            "In up to {runs} the memory of {names} was not as the row says, so that share is too \
             small."
        ))
    }

    /// What is said of the sites that no row made huge: of the largest each, of the others together.
    fn small_in_all(&self) -> Vec<String> {
        const NAMED: usize = 3;
        let holding = self.not_tried.iter().filter(|it| it.held_bytes() > 0);
        let holding: Vec<&Listed> = holding.collect();
        let (named, others) = holding.split_at(holding.len().min(NAMED));
        let each = named.iter().map(|it| {
            let bytes = bytes_text(it.held_bytes());
            let recurs = 100.0 * it.recurrence;
            format!(
                "{} ({bytes}, recurs in {recurs:.0} %) was small in all runs.",
                it.site
            )
        });
        let mut lines: Vec<String> = each.collect();
        if !others.is_empty() {
            let bytes = others.iter().map(|it| it.held_bytes()).sum();
            lines.push(format!(
                "{} with {} together were small in all runs.",
                counted(others.len() as u64, "smaller site"),
                bytes_text(bytes)
            ));
        }
        lines
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = vec![format!(
            "{} of {} rows; a run scatters by {:.1} %. A share is the mean over the runs in which \
             the site is huge, less that of the others. Huge and added memory: at the end; ? \
             where it was unmapped by then.",
            counted(self.rounds as u64, "round"),
            self.rows,
            100.0 * self.noise,
        )];
        notes.extend(self.failed());
        notes.extend(self.sites.iter().filter(|it| Self::is_unsteady(it)).map(|it| {
            format!(
                "{} recurs in {:.0} % of its bytes only, so its share is of different memory.",
                it.site,
                100.0 * it.recurrence
            )
        }));
        notes.extend(self.small_in_all());
        notes
    }
}

/// Where a site is mapped, or what the program calls its memory.
fn told(share: &SiteShare) -> Option<String> {
    share.place.clone().or_else(|| share.name.clone())
}

/// A site, and where it is mapped.
pub(super) fn named(share: &SiteShare) -> String {
    match told(share) {
        Some(place) => format!("{} ({place})", share.site),
        None => match share.site {
            Site::Heap => "the heap".to_owned(),
            Site::Data => "the data of the program".to_owned(),
            site => site.to_string(),
        },
    }
}

pub(super) fn text(change: f64) -> String {
    effect_of_ratio(1.0 + change)
}

pub(super) fn interval(change: Change) -> String {
    format!("{} to {}", text(change.low), text(change.high))
}

pub(super) fn added(bytes: i64) -> String {
    let size = bytes_text(bytes.unsigned_abs());
    match bytes {
        0 => "0".to_owned(),
        1.. => format!("+{size}"),
        _ => format!("\u{2212}{size}"),
    }
}

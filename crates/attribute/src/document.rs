//! The attribution as a document.

use super::Listed;
use super::attribution::{Attribution, Change, Effect, SiteShare};
use hugewise_base::shell::quoted;
use hugewise_base::units::bytes_text;
use hugewise_experiment::run::compare::labels::effect_of_ratio;
use hugewise_experiment::run::site::Site;
use hugewise_text::Tone;
use hugewise_text::document::{Block, Document, Paragraph, Section};
use hugewise_text::grid::{Align, Cell, Grid};
use hugewise_text::number::counted;

impl Attribution {
    /// The document of the result; `path` is that of the record.
    #[must_use]
    pub fn document(&self, path: &str) -> Document {
        let mut answer = Section::default();
        answer.push(Paragraph::new(self.answer()).tone(Tone::Strong));
        for line in self.uses(path) {
            answer.push(Paragraph::new(line));
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
            "Again: {} {}",
            self.again(),
            quoted(path)
        )));
        Document::new([answer, sites, sums, notes])
    }

    fn answer(&self) -> String {
        let metric = &self.label;
        let of = |effect: Effect| {
            let changes = self.with(effect).map(|it| {
                let (change, interval) = (text(it.share.change), interval(it.share));
                format!("{}: {change} ({interval})", self.called(it))
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
            false => format!("By {metric}, {}.{}", parts.join("; "), self.unconfirmed()),
        }
    }

    /// Notes that the two rows with all sites huge and with none do not confirm the shares of all rows.
    fn unconfirmed(&self) -> String {
        if self.sum.includes_zero() || !self.whole.includes_zero() || !self.separable {
            return String::new();
        }
        format!(
            " All sites huge against none do not confirm it yet: {} ({}, from 2 of {} rows).",
            text(self.whole.change),
            interval(self.whole),
            self.rows
        )
    }

    fn with(&self, effect: Effect) -> impl Iterator<Item = &SiteShare> + Clone {
        self.sites.iter().filter(move |it| it.effect == effect)
    }

    /// The command that reports the record again.
    pub(super) fn again(&self) -> &'static str {
        match self.is_live() {
            true => "hugewise report",
            false => "hugewise attribute --from",
        }
    }

    /// Returns true if the trials are periods of a running process.
    pub(super) fn is_live(&self) -> bool {
        !self.pids.is_empty()
    }

    /// The word for a trial.
    fn trial(&self) -> &'static str {
        match self.is_live() {
            true => "period",
            false => "run",
        }
    }

    /// How to use the result.
    fn uses(&self, path: &str) -> Vec<String> {
        match self.is_live() {
            true => self.uses_now(),
            false => self.uses_at_starts(path),
        }
    }

    /// The commands that make the memory of helping sites huge in the running process, and the next experiment.
    fn uses_now(&self) -> Vec<String> {
        let helps = || self.with(Effect::Helps);
        let one = match self.pids.as_slice() {
            [pid] => Some(pid),
            _ => None,
        };
        let collapse = one.into_iter().flat_map(|pid| {
            let addresses = helps().filter_map(|it| it.address);
            addresses.map(move |it| format!("Now: hugewise collapse {pid} --mapping {it:#x}"))
        });
        let lines = helps().next().map(|_| {
            "For the lines that map it: hugewise attribute --by site -- COMMAND".to_owned()
        });
        collapse.chain(lines).collect()
    }

    /// The call to write, and the commands that need no source.
    fn uses_at_starts(&self, path: &str) -> Vec<String> {
        let call = |effect: Effect, advice: &str| {
            let lines = self.with(effect).filter(|it| it.is_of_calls());
            let lines: Vec<&str> = lines.filter_map(|it| it.place.as_deref()).collect();
            (!lines.is_empty()).then(|| {
                let lines = lines.join(", ");
                format!("In the source, after {lines}: madvise(address, length, {advice})")
            })
        };
        let helps = self.with(Effect::Helps).next();
        let is_mapping = helps.is_some_and(|it| matches!(it.site, Site::Mapping { .. }));
        let file = format!(
            "Without the source: hugewise attribute --from {} --sites FILE",
            quoted(path)
        );
        let lines = "For the lines that map it: hugewise attribute --by site -- COMMAND";
        [
            call(Effect::Helps, "MADV_HUGEPAGE"),
            call(Effect::Hurts, "MADV_NOHUGEPAGE"),
            helps.map(|_| file),
            helps.map(|_| "then: hugewise exec --sites FILE -- COMMAND".to_owned()),
            is_mapping.then(|| lines.to_owned()),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// The name of a site's memory for people: the place that maps it, unless another site has the same place.
    pub(super) fn called(&self, share: &SiteShare) -> String {
        let Some(place) = &share.place else {
            return match share.site {
                Site::Heap => "the heap".to_owned(),
                Site::Data => "the data of the program".to_owned(),
                site => site.to_string(),
            };
        };
        let same = self.sites.iter().filter(|it| it.place == share.place);
        match same.count() {
            1 => place.clone(),
            _ => format!("{place} ({})", share.site),
        }
    }

    fn table(&self) -> Grid {
        let right = Align::Right;
        let align = [Align::Left, right, right, right, right, Align::Wrapped];
        let heading = [
            "site",
            &self.label,
            "interval",
            "huge",
            self.place(),
            "name",
        ];
        let columns = match self.sites.iter().any(|site| site.name.is_some()) {
            true => heading.len(),
            false => heading.len() - 1,
        };
        let mut grid = Grid::headed(&heading[..columns]).aligned(&align[..columns]);
        for site in &self.sites {
            let tone = match site.effect {
                Effect::Helps => Tone::Good,
                Effect::Hurts => Tone::Bad,
                Effect::Changes | Effect::NotShown => Tone::Plain,
            };
            let mut row = vec![
                Cell::plain(self.called(site)),
                Cell::plain(text(site.share.change)).tone(tone),
                Cell::plain(interval(site.share)),
                Cell::plain(site.huge_bytes.map_or_else(|| "?".to_owned(), bytes_text)),
                Cell::plain(self.added_or_address(site)),
                Cell::plain(site.name.clone().unwrap_or_default()),
            ];
            row.truncate(columns);
            grid.rows.push(row);
        }
        grid
    }

    /// The heading of the last figures. A switch adds no memory, and a process that runs has addresses.
    pub(super) fn place(&self) -> &'static str {
        match self.is_live() {
            true => "address",
            false => "added",
        }
    }

    pub(super) fn added_or_address(&self, site: &SiteShare) -> String {
        match (self.is_live(), site.address, site.added_bytes) {
            (true, Some(address), _) => format!("{address:#x}"),
            (true, None, _) => String::new(),
            (false, _, Some(bytes)) => added(bytes),
            (false, _, None) => "?".to_owned(),
        }
    }

    /// Describes whether the shares add up.
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
                 {whole} ({of_whole}). Three sites or more act together, or single {}s were \
                 disturbed: measure again before you rely on a share.",
                self.trial()
            )
        }
    }

    /// The best sites together, with one more in each row.
    fn frontier(&self) -> Option<Grid> {
        let helping: Vec<&SiteShare> = self.with(Effect::Helps).collect();
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

    /// Describes the sites whose memory did not follow the rows.
    fn failed(&self) -> Option<String> {
        let failed = self.sites.iter().filter(|it| it.failed_treatments > 0);
        let runs = failed.clone().map(|it| it.failed_treatments).max()?;
        let names: Vec<String> = failed.map(|it| self.called(it)).collect();
        let (runs, names) = (counted(runs as u64, self.trial()), names.join(", "));
        Some(format!(
            "In up to {runs} the memory of {names} was not as the row says, so that share is too \
             small."
        ))
    }

    /// Describes the sites that no row made huge: the largest ones individually, the others together.
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

    /// Describes the sites whose calls are known, but not their source lines.
    fn without_line(&self) -> Option<String> {
        let without = self.sites.iter().filter(|it| it.place.is_none());
        let without: Vec<&SiteShare> = without.filter(|it| !it.chain.is_empty()).collect();
        let file = without.first()?.chain.first()?.file_name();
        let names: Vec<String> = without.iter().map(|it| self.called(it)).collect();
        Some(format!(
            "{}: no line, because their files, as {file}, hold no debug information (-g).",
            names.join(", ")
        ))
    }

    fn notes(&self) -> Vec<String> {
        let trial = self.trial();
        let huge = match self.is_live() {
            true => "Huge memory: at the end of a period.",
            false => "Huge and added memory: at the end; ? where it was unmapped by then.",
        };
        let mut notes = vec![format!(
            "{} of {} rows; a {trial} scatters by {:.1} %. A share is the mean over the {trial}s in which \
             the site is huge, less that of the others. {huge}",
            counted(self.rounds as u64, "round"),
            self.rows,
            100.0 * self.noise,
        )];
        notes.extend(self.left_out_bytes.map(|bytes| {
            format!(
                "{} were left out at random to save time, so the effect of all memory can be larger. A \
                 longer --max-time switches more.",
                bytes_text(bytes)
            )
        }));
        notes.extend(self.without_line());
        notes.extend(self.failed());
        notes.extend(self.sites.iter().filter(|it| Self::is_unsteady(it)).map(|it| {
            format!(
                "{} recurs in {:.0} % of its bytes only, so its share is of different memory.",
                self.called(it),
                100.0 * it.recurrence
            )
        }));
        notes.extend(self.small_in_all());
        notes
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

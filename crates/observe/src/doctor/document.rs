//! The diagnosis as a document.

use std::iter;

use super::{Diagnosis, Feature, FeatureReport, PolicyReport, Remark, Severity, Support};
use hugewise_text::Tone;
use hugewise_text::document::{Block, Document, Level, Paragraph, Section};
use hugewise_text::grid::{Align, Cell, Grid};
use hugewise_text::wrap::plain;

impl Diagnosis {
    /// Renders the diagnosis: whether measurements on this machine can be trusted, missing features, and hazards. Every
    /// feature, every note and all evidence are details.
    #[must_use]
    pub fn document(&self) -> Document {
        let conclusion = Paragraph::new(self.conclusion()).tone(Tone::Strong);
        let machine = Paragraph::new(plain(&self.machine));
        Document::new([
            Section::default().with(conclusion).with(machine),
            self.breaking(),
            self.missing_features(),
            self.all_features(),
            self.policies(),
            self.shared_memory(),
            self.remark_section("What misleads here", false),
            self.remark_section("Notes", true),
            self.next(),
        ])
    }

    fn remarks(&self) -> impl Iterator<Item = &Remark> {
        self.hazards.iter().chain(&self.settings)
    }

    fn conclusion(&self) -> String {
        let named = |severity: Severity, remarks: &[Remark]| -> Vec<String> {
            let graver = remarks.iter().filter(|remark| remark.severity <= severity);
            graver.map(|remark| remark.id.replace('-', " ")).collect()
        };
        let wrong = named(Severity::Wrong, &self.hazards);
        let mut hazards = named(Severity::Warning, &self.hazards);
        hazards.extend(named(Severity::Warning, &self.settings));
        let trust = if !wrong.is_empty() {
            format!("Do not measure from here: {}", wrong.join(", "))
        } else if hazards.is_empty() {
            "Measurements here can be trusted".to_owned()
        } else {
            format!("Measurements here can mislead: {}", hazards.join(", "))
        };
        match self.counters() {
            Some(Support::No { .. }) => {
                format!("{trust}; without hardware counters, TLB misses cannot be counted.")
            }
            _ => format!("{trust}."),
        }
    }

    fn counters(&self) -> Option<&Support<String>> {
        let mut reports = self.features.iter();
        let cycles = reports.find(|report| report.feature == Feature::Cycles);
        cycles.map(|report| &report.support)
    }

    /// Missing features. Features that depend on another missing feature are omitted.
    fn missing_features(&self) -> Section {
        let missing = || {
            self.features
                .iter()
                .filter(|report| !report.support.is_yes())
        };
        if missing().next().is_none() {
            return Section::default();
        }
        let mut grid = Grid::default().aligned(&[Align::Left, Align::Wrapped]);
        for report in missing().filter(|report| !self.follows(report)) {
            let title = Cell::plain(plain(&report.title)).tone(Tone::Bad);
            grid.rows
                .push(vec![title, Cell::plain(plain(&report.needs()))]);
        }
        let works = self.features.len() - missing().count();
        let all = self.features.len();
        let resting = match missing().filter(|report| self.follows(report)).count() {
            0 => String::new(),
            1 => "; 1 other depends on one of these".to_owned(),
            more => format!("; {more} others depend on one of these"),
        };
        let heading = format!("{works} of {all} features work. These do not{resting}:");
        Section::titled(heading).with(grid)
    }

    fn follows(&self, report: &FeatureReport) -> bool {
        let base = report.feature.base();
        let base = self
            .features
            .iter()
            .find(|other| Some(other.feature) == base);
        base.is_some_and(|base| !base.support.is_yes())
    }

    fn all_features(&self) -> Section {
        let mut grid = Grid::headed(&["works", "feature"]).aligned(&[Align::Left, Align::Wrapped]);
        for report in &self.features {
            let answer = report.answer();
            for (index, text) in report.lines().into_iter().enumerate() {
                let answer = if index == 0 { answer } else { "" };
                let answer = Cell::plain(answer).tone(report.tone());
                grid.rows.push(vec![answer, Cell::plain(text)]);
            }
        }
        Section::titled("All features").with_detail(grid)
    }

    /// States of processes, from the rules of `advise`.
    fn breaking(&self) -> Section {
        let mut section = Section::titled("States that break programs");
        for state in &self.breaking {
            let who = plain(&state.who());
            let text = format!("{who}: {} {}", state.meaning, state.remedy);
            section.push(Paragraph::new(text).tone(Tone::Bad).hang(4));
        }
        section
    }

    /// The policies that `run` can try on this machine, and how each is applied. The obstacles are details.
    fn policies(&self) -> Section {
        if self.policies.is_empty() {
            return Section::default();
        }
        let mut grid = Grid::default().aligned(&[Align::Left, Align::Wrapped]);
        let (mut can, mut cannot) = (Vec::new(), Vec::new());
        for PolicyReport {
            policy,
            means,
            obstacles,
        } in &self.policies
        {
            let policy = plain(policy);
            let (answer, tone) = match means {
                Some(means) => (format!("by {means}"), Tone::Good),
                None => (format!("no: {}", obstacles.join("; ")), Tone::Bad),
            };
            match means {
                Some(means) => can.push(format!("{policy} by {means}")),
                None => cannot.push(policy.clone()),
            }
            let answer = Cell::plain(plain(&answer));
            grid.rows.push(vec![Cell::plain(policy).tone(tone), answer]);
        }
        let not = match cannot.is_empty() {
            true => String::new(),
            false => format!(". Not {} (-v says why)", cannot.join(", ")),
        };
        let mut section = Section::default();
        section.push_brief(format!("run can try {}{not}.", can.join(", ")));
        section.push_detail("Policies that run can try here:");
        section.with_detail(grid)
    }

    fn remark_section(&self, heading: &str, is_note: bool) -> Section {
        let mut section = Section::titled(heading);
        let remarks = self.remarks();
        for remark in remarks.filter(|remark| (remark.severity == Severity::Note) == is_note) {
            let level = if is_note { Level::Detail } else { Level::First };
            let text = Paragraph::new(remark.sentence()).hang(4);
            section.blocks.push((level, text.into()));
            for line in remark.details() {
                section.push_detail(Paragraph::new(line).indent(4));
            }
        }
        section
    }

    /// The next commands.
    fn next(&self) -> Section {
        let mut section = Section::default();
        if let Some(grant) = &self.least_grant {
            section.push("Smallest capability set that enables more:");
            section.push(Block::Lines(vec![format!("  {grant}")]));
        }
        let remarks = self.remarks();
        let notes = match remarks.filter(|one| one.severity == Severity::Note).count() {
            0 => String::new(),
            1 => ", 1 note".to_owned(),
            notes => format!(", {notes} notes"),
        };
        section.push_brief(format!(
            "All features, evidence, fixes{notes}: hugewise doctor -v"
        ));
        section
    }
}

impl FeatureReport {
    /// `yes`, `no` or `unknown`.
    pub(super) fn answer(&self) -> &'static str {
        match self.support {
            Support::Yes { .. } => "yes",
            Support::No { .. } => "no",
            Support::Unknown { .. } => "unknown",
        }
    }

    fn tone(&self) -> Tone {
        match self.support {
            Support::Yes { .. } => Tone::Good,
            Support::No { .. } => Tone::Bad,
            Support::Unknown { .. } => Tone::Plain,
        }
    }

    /// Returns what was found, or why the feature is missing.
    pub(super) fn reason(&self) -> String {
        match &self.support {
            Support::Yes { found } => found.clone(),
            Support::No { missing } => missing.to_string(),
            Support::Unknown { error } => error.clone(),
        }
    }

    fn needs(&self) -> String {
        match (&self.remedy, &self.support) {
            (_, Support::Unknown { error }) => format!("unknown: {error}"),
            (Some(remedy), _) => remedy.clone(),
            (None, _) => self.reason(),
        }
    }

    fn lines(&self) -> Vec<String> {
        let (title, reason) = (plain(&self.title), plain(&self.reason()));
        if self.support.is_yes() {
            return vec![match reason.is_empty() {
                true => title,
                false => format!("{title} ({reason})"),
            }];
        }
        let needs = self
            .remedy
            .as_ref()
            .filter(|remedy| !reason.contains(*remedy));
        let needs = needs.map(|remedy| format!("needs: {}", plain(remedy)));
        let lost = format!("lost: {}", plain(&self.loss));
        [title, reason]
            .into_iter()
            .chain(needs)
            .chain([lost])
            .collect()
    }
}

impl Severity {
    /// The name for people.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Wrong => "wrong",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

impl Remark {
    fn sentence(&self) -> String {
        let lead = match self.severity {
            Severity::Wrong => "wrong: ",
            Severity::Warning | Severity::Note => "",
        };
        format!("{lead}{}: {}", plain(&self.id), plain(&self.meaning))
    }

    /// Its evidence and its fix.
    fn details(&self) -> Vec<String> {
        let evidence = self.evidence.iter();
        let evidence =
            evidence.map(|one| format!("{} = {}", plain(&one.source), plain(&one.value)));
        let fix = iter::once(&self.remedy).filter(|fix| !fix.is_empty());
        let fix = fix.map(|fix| format!("fix: {}", plain(fix)));
        evidence.chain(fix).collect()
    }
}

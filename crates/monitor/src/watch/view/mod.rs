//! The contents of the screen.

use super::rates::Between;
use super::sample::Sample;
use super::state::{Mode, Pace, State};
use super::tab::Tab;
use hugewise_base::units::{Unit, bytes_text, time_of_day};
use hugewise_text::document::{Document, Paragraph, Section};
use hugewise_text::grid::Grid;
use hugewise_text::number::{percent, quantity};
use hugewise_text::wrap::plain;

mod free_memory;
mod groups;
mod help;
mod overview;
mod processes;
mod sizes;

/// Columns and rows of the smallest supported terminal.
pub const SMALLEST: (u16, u16) = (80, 24);

/// The limit of processes in a one-shot document.
const MOST: usize = 20;

/// A screen, from top to bottom.
#[derive(Clone, Debug, PartialEq)]
pub struct Screen {
    /// The title line: kernel, time and interval.
    pub title: String,
    /// The tabs, with `true` for the current one.
    pub tabs: Vec<(String, bool)>,
    /// The fixed lines above the rows.
    pub head: Document,
    /// Rows that scroll.
    pub body: Body,
    /// The keys or the typed text; and the cost of sampling.
    pub status: [String; 2],
}

/// The scrolling part.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Rows with one selected.
    List(List),
    /// Text.
    Text(Document),
}

/// Rows under a heading.
#[derive(Clone, Debug, PartialEq)]
pub struct List {
    /// The first row is the heading.
    pub grid: Grid,
    /// The selected row, the heading not counted.
    pub selected: usize,
}

impl State {
    /// The screen for this number of columns.
    #[must_use]
    pub fn screen(&self, columns: usize) -> Screen {
        let tabs = Tab::ALL.iter().zip(1..);
        let tabs = tabs.map(|(tab, number)| (format!("{number} {}", tab.name()), *tab == self.tab));
        let (head, body) = match &self.now {
            Some(now) => self.shown(now, columns),
            None => (
                Document::default(),
                sentence("The first sample is being read."),
            ),
        };
        Screen {
            title: self.title(),
            tabs: tabs.collect(),
            head,
            body,
            status: [self.keys(), self.cost()],
        }
    }

    /// The whole screen as one text, for use without a terminal.
    #[must_use]
    pub fn document(&self, columns: usize) -> Document {
        let Some(now) = &self.now else {
            return Document::default();
        };
        let between = self.between(now);
        let mut rows = self.rows();
        let left_out = rows.len().saturating_sub(MOST);
        rows.truncate(MOST);
        let mut processes = Section::default().with(processes::grid(&rows, self.sort));
        if left_out > 0 {
            processes.push(format!("{left_out} smaller processes are left out."));
        }
        let title = Section::default().with(Paragraph::new(self.title()));
        let mut document = Document::new([title]);
        let head = overview::head(self, &between, columns);
        document.sections.extend(head.sections);
        document.push(processes);
        document
            .sections
            .extend(sizes::document(&between, &self.trend).sections);
        let free = free_memory::document(&self.header, now);
        document.sections.extend(free.sections);
        if !now.groups.is_empty() {
            document
                .sections
                .extend(groups::document(&between).sections);
        }
        document
    }

    fn between<'a>(&'a self, now: &'a Sample) -> Between<'a> {
        Between {
            before: self.before.as_ref(),
            now,
        }
    }

    fn shown(&self, now: &Sample, columns: usize) -> (Document, Body) {
        let between = self.between(now);
        let text = |document| (Document::default(), Body::Text(document));
        match self.tab {
            _ if self.mode == Mode::Help => text(help::document()),
            Tab::Overview => {
                let rows = self.rows();
                let list = List {
                    grid: processes::grid(&rows, self.sort),
                    selected: self.selected_row(&rows),
                };
                let head = overview::head(self, &between, columns);
                (head, Body::List(list))
            }
            Tab::Sizes => text(sizes::document(&between, &self.trend)),
            Tab::FreeMemory => text(free_memory::document(&self.header, now)),
            Tab::Groups => text(groups::document(&between)),
            Tab::Process => (Document::default(), self.look_body()),
            Tab::Stalls => told(self.stalls.as_ref(), "Tracing begins."),
            Tab::Experiment => told(self.experiment.as_ref(), "The newest record is being read."),
        }
    }

    fn look_body(&self) -> Body {
        match &self.look {
            Some(look) if self.selected().is_none_or(|pid| pid == look.pid) => {
                Body::Text(look.document.clone())
            }
            _ => match self.selected() {
                Some(pid) => sentence(&format!("Press Enter to look into process {pid}.")),
                None => sentence("Select a process in the overview and press Enter."),
            },
        }
    }

    fn title(&self) -> String {
        let header = &self.header;
        let after_ms = self.now.as_ref().map_or(0, |now| now.at_ns / 1_000_000);
        let clock = time_of_day(header.started_unix_ms.saturating_add(after_ms));
        let (kernel, seconds) = (plain(&header.kernel), header.interval_ns as f64 / 1e9);
        format!("hugewise watch · Linux {kernel} · {clock} UTC · every {seconds} s")
    }

    /// The current keys.
    fn keys(&self) -> String {
        if let Some(notice) = &self.notice {
            return notice.clone();
        }
        match (self.mode, self.pace) {
            (Mode::Typing, _) => format!("filter: {}▏ Enter keeps it, Esc clears it", self.filter),
            (Mode::Help, _) => "? back  q quit".to_owned(),
            (Mode::Browse, Pace::Frozen) => "FROZEN  Space go on  ? help  q quit".to_owned(),
            (Mode::Browse, Pace::Live) if !self.filter.is_empty() => {
                format!("filter: {}  Esc no filter  ? help  q quit", self.filter)
            }
            (Mode::Browse, Pace::Live) => {
                "? help  / filter  < > sort  Enter look  Space freeze  q quit".to_owned()
            }
        }
    }

    /// The part of a processor that this program uses.
    fn cost(&self) -> String {
        let Some(now) = &self.now else {
            return String::new();
        };
        let cost = self.between(now).per_second(|sample| Some(sample.cpu_ns));
        let cost = cost.map_or_else(|| "-".to_owned(), |cost| percent(cost / 1e9));
        format!("cost {cost} % CPU")
    }
}

/// A document from outside, or a placeholder until it arrives.
fn told(document: Option<&Document>, until_then: &str) -> (Document, Body) {
    let body = match document {
        Some(document) => Body::Text(document.clone()),
        None => sentence(until_then),
    };
    (Document::default(), body)
}

fn sentence(text: &str) -> Body {
    Body::Text(Document::new([Section::default().with(text)]))
}

/// A rate with three digits; `-` if unknown.
fn rate_text(rate: Option<f64>) -> String {
    match rate {
        None => "-".to_owned(),
        Some(rate) if rate > 0.0 && rate < 0.05 => "<0.1".to_owned(),
        Some(rate) if rate < 10.0 && rate.fract() != 0.0 => format!("{rate:.1}"),
        Some(rate) => quantity(&Unit::Count, rate.round()),
    }
}

/// An amount of memory; `-` if unknown.
fn memory_text(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "-".to_owned(), bytes_text)
}

/// A share in percent; empty if the whole is zero.
fn share_text(part: Option<u64>, whole: u64) -> String {
    let share = part
        .filter(|_| whole > 0)
        .map(|part| part as f64 / whole as f64);
    share.map_or_else(|| "-".to_owned(), percent)
}

//! The state of the screen, and how keys change it.

use std::collections::BTreeMap;

use super::history::History;
use super::keys::{Action, Key, Step};
use super::rates::{Between, fault_rates};
use super::rows::{Column, Row, rows};
use super::sample::{Header, Sample};
use super::tab::Tab;
use super::trend::Trend;
use hugewise_text::document::Document;

/// Whether new samples are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// As they come.
    #[default]
    Live,
    /// The screen is paused.
    Frozen,
}

/// The current meaning of keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    #[default]
    Browse,
    /// They are letters of the filter.
    Typing,
    /// The help is shown.
    Help,
}

/// The program's task after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// End.
    Quit,
    /// Inspect this process.
    LookInto(u32),
    /// Go to the previous sample of a recording.
    SampleBefore,
    /// Go to the next sample of a recording.
    SampleAfter,
}

/// The result of one inspection of a process.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// Its number.
    pub pid: u32,
    /// The report about its memory, or why it could not be read.
    pub document: Document,
}

/// The state of the screen.
#[derive(Clone, Debug)]
pub struct State {
    pub(super) header: Header,
    pub(super) before: Option<Sample>,
    pub(super) now: Option<Sample>,
    pub(super) history: History,
    pub(super) trend: Trend,
    /// Page faults per second of each process.
    pub(super) faults: BTreeMap<(u32, u64), f64>,
    pub(super) tab: Tab,
    pub(super) mode: Mode,
    pub(super) pace: Pace,
    pub(super) sort: Column,
    pub(super) filter: String,
    pub(super) look: Option<Look>,
    /// How long the kernel stalls, since the tab of stalls was opened.
    pub(super) stalls: Option<Document>,
    /// The report of the newest record.
    pub(super) experiment: Option<Document>,
    /// A message shown until the next key.
    pub(super) notice: Option<String>,
    /// The process that the user moved to.
    selected: Option<u32>,
    /// Its row when it was last seen.
    row: usize,
    /// The first visible row.
    top: usize,
    /// The number of visible rows.
    page: usize,
}

impl State {
    /// The state before the first sample.
    #[must_use]
    pub fn new(header: Header) -> Self {
        Self {
            header,
            before: None,
            now: None,
            history: History::default(),
            trend: Trend::default(),
            faults: BTreeMap::new(),
            tab: Tab::default(),
            mode: Mode::default(),
            pace: Pace::default(),
            sort: Column::default(),
            filter: String::new(),
            look: None,
            stalls: None,
            experiment: None,
            notice: None,
            selected: None,
            row: 0,
            top: 0,
            page: 1,
        }
    }

    /// Sets the filter of the processes.
    #[must_use]
    pub fn filtered(self, filter: &str) -> Self {
        let filter = filter.to_owned();
        Self { filter, ..self }
    }

    /// Adds the next sample. While the screen is paused, samples are dropped.
    pub fn push(&mut self, sample: Sample) {
        if self.pace == Pace::Live {
            self.take(sample);
        }
    }

    /// Shows the last of these samples, with the earlier ones as history, and pauses.
    pub fn rewind(&mut self, samples: &[Sample]) {
        (self.history, self.trend) = (History::default(), Trend::default());
        (self.before, self.now) = (None, None);
        self.pace = Pace::Frozen;
        samples.iter().for_each(|sample| self.take(sample.clone()));
    }

    fn take(&mut self, sample: Sample) {
        let before = self.now.take();
        if let Some(before) = &before
            && before.processes.at_ns != sample.processes.at_ns
        {
            self.faults = fault_rates(&before.processes, &sample.processes);
        }
        let between = Between {
            before: before.as_ref(),
            now: &sample,
        };
        self.history.push(&between);
        self.trend.push(&sample);
        (self.before, self.now) = (before, Some(sample));
    }

    /// Shows the result of an inspection.
    pub fn show_look(&mut self, look: Look) {
        self.look = Some(look);
        self.notice = None;
    }

    /// Shows how long the kernel stalls, or why that cannot be measured.
    pub fn show_stalls(&mut self, document: Document) {
        self.stalls = Some(document);
    }

    /// Shows the report of the newest record.
    pub fn show_experiment(&mut self, document: Document) {
        self.experiment = Some(document);
    }

    /// Shows a message in the last line, until the next key.
    pub fn notice(&mut self, text: impl Into<String>) {
        self.notice = Some(text.into());
    }

    /// Returns whether new samples are shown.
    #[must_use]
    pub fn pace(&self) -> Pace {
        self.pace
    }

    /// The current tab.
    #[must_use]
    pub fn tab(&self) -> Tab {
        self.tab
    }

    /// The process that the user moved to.
    #[must_use]
    pub fn selected(&self) -> Option<u32> {
        self.selected
    }

    /// The first visible row.
    #[must_use]
    pub fn top(&self) -> usize {
        self.top
    }

    /// The rows of the table of processes.
    pub(super) fn rows(&self) -> Vec<Row<'_>> {
        let processes = self.now.as_ref().map(|now| &now.processes.list[..]);
        let processes = processes.unwrap_or_default();
        rows(processes, &self.faults, &self.filter, self.sort)
    }

    /// Returns true if the rows are processes, so that one is selected.
    pub(super) fn has_selection(&self) -> bool {
        self.tab == Tab::Overview && self.mode != Mode::Help
    }

    /// The place of the selected process among the rows.
    pub(super) fn selected_row(&self, rows: &[Row<'_>]) -> usize {
        let is_selected = |row: &Row<'_>| Some(row.process.pid) == self.selected;
        let found = rows.iter().position(is_selected);
        found.unwrap_or(self.row.min(rows.len().saturating_sub(1)))
    }

    /// Sets the number of all rows and of visible rows.
    pub fn fit(&mut self, shown: usize, all: usize) {
        self.page = shown.max(1);
        if self.has_selection() {
            let row = self.selected_row(&self.rows());
            let least = (row + 1).saturating_sub(shown);
            self.top = self.top.clamp(least, row.max(least));
        }
        self.top = self.top.min(all.saturating_sub(shown));
    }

    /// Handles a key; returns the program's task, if any.
    pub fn press(&mut self, key: Key) -> Option<Request> {
        self.notice = None;
        match self.mode {
            Mode::Typing => self.type_filter(key),
            Mode::Browse | Mode::Help => self.act(Action::of(key)?, key),
        }
    }

    fn type_filter(&mut self, key: Key) -> Option<Request> {
        match key {
            Key::Char(letter) => self.filter.push(letter),
            Key::Backspace => drop(self.filter.pop()),
            Key::Enter => self.mode = Mode::Browse,
            Key::Escape => {
                self.mode = Mode::Browse;
                self.filter.clear();
            }
            Key::Control('c') => return Some(Request::Quit),
            _ => {}
        }
        None
    }

    fn act(&mut self, action: Action, key: Key) -> Option<Request> {
        match action {
            Action::Quit => return Some(Request::Quit),
            Action::SampleBefore => return Some(Request::SampleBefore),
            Action::SampleAfter => return Some(Request::SampleAfter),
            Action::LookInto => return self.look_into(),
            Action::Move(step) => self.step(step),
            Action::NextTab => self.show_tab(self.tab.stepped(1)),
            Action::TabBefore => self.show_tab(self.tab.stepped(Tab::ALL.len() - 1)),
            Action::NumberedTab => self.show_tab(key.tab().unwrap_or(self.tab)),
            Action::SortNext => self.sort = self.sort.stepped(1),
            Action::SortBefore => self.sort = self.sort.stepped(Column::ALL.len() - 1),
            Action::Filter => {
                self.show_tab(Tab::Overview);
                self.mode = Mode::Typing;
            }
            Action::ClearFilter => {
                self.mode = Mode::Browse;
                self.filter.clear();
            }
            Action::Freeze => {
                self.pace = match self.pace {
                    Pace::Live => Pace::Frozen,
                    Pace::Frozen => Pace::Live,
                };
            }
            Action::Help => {
                self.top = 0;
                self.mode = match self.mode {
                    Mode::Help => Mode::Browse,
                    _ => Mode::Help,
                };
            }
        }
        None
    }

    fn show_tab(&mut self, tab: Tab) {
        (self.tab, self.mode, self.top) = (tab, Mode::Browse, 0);
    }

    fn look_into(&mut self) -> Option<Request> {
        let pid = match (self.tab, &self.look) {
            (Tab::Process, Some(look)) => look.pid,
            _ => {
                let rows = self.rows();
                rows.get(self.selected_row(&rows))?.process.pid
            }
        };
        self.selected = Some(pid);
        self.show_tab(Tab::Process);
        Some(Request::LookInto(pid))
    }

    fn step(&mut self, step: Step) {
        if !self.has_selection() {
            self.top = stepped(self.top, step, self.page, usize::MAX);
            return;
        }
        let rows = self.rows();
        let last = rows.len().saturating_sub(1);
        let row = stepped(self.selected_row(&rows), step, self.page, last);
        let selected = rows.get(row).map(|row| row.process.pid);
        (self.row, self.selected) = (row, selected);
    }
}

fn stepped(from: usize, step: Step, page: usize, last: usize) -> usize {
    let to = match step {
        Step::Up => from.saturating_sub(1),
        Step::Down => from.saturating_add(1),
        Step::PageUp => from.saturating_sub(page),
        Step::PageDown => from.saturating_add(page),
        Step::First => 0,
        Step::Last => last,
    };
    to.min(last)
}

//! A result as a document.

use super::decide::{DecidedEvent, Doubt, Fault, Test, Verdict};
use super::result::VerificationResult;
use crate::stat::kind::{CYCLES, INSTRUCTIONS};
use hugewise_base::verification::Standing;
use hugewise_text::Tone;
use hugewise_text::csv::Csv;
use hugewise_text::document::{Document, Paragraph, Section};
use hugewise_text::grid::{Align, Grid};
use hugewise_text::number::three_digits;
use hugewise_text::wrap::plain;

/// The columns of the CSV: one row for each test.
const COLUMNS: [&str; 13] = [
    "pmu",
    "kind",
    "event",
    "code",
    "standing",
    "loop",
    "per_access",
    "least",
    "most",
    "low",
    "high",
    "running",
    "growth",
];

impl VerificationResult {
    /// The conclusion, and each event; the loops of each event as details.
    #[must_use]
    pub fn document(&self) -> Document {
        let conclusion = Paragraph::new(self.conclusion()).tone(Tone::Strong);
        let identity = &self.identity;
        let microcode = identity.microcode.as_ref();
        let microcode =
            microcode.map_or_else(String::new, |it| format!(", microcode {}", plain(it)));
        let head = Section::default().with(conclusion).with(format!(
            "Valid for {}, Linux {}{microcode}; a change voids it.",
            plain(&identity.cpu_model),
            plain(&identity.kernel)
        ));
        let mut grid = Grid::headed(&["event", "result"]).aligned(&[Align::Left, Align::Wrapped]);
        for event in self.tlb_events().chain(self.general_events()) {
            grid.push([plain(&event.event), event.words()]);
        }
        let mut document = Document::new([head, Section::default().with(grid)]);
        let tested = self.events.iter().filter(|event| !event.tests.is_empty());
        for event in tested {
            document.push(event.section());
        }
        document
    }

    /// One row for each test.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut csv = Csv::new(&COLUMNS);
        for event in &self.events {
            for test in &event.tests {
                csv.row(event.row(test));
            }
        }
        csv.into_text()
    }

    /// Returns true if an event counts something else than its kind says.
    #[must_use]
    pub fn has_wrong_events(&self) -> bool {
        let mut events = self.events.iter();
        events.any(|event| event.standing() == Standing::Wrong)
    }

    fn conclusion(&self) -> String {
        let all: Vec<&DecidedEvent> = self.tlb_events().collect();
        let with = |standing| all.iter().filter(move |event| event.standing() == standing);
        let names = |events: Vec<&str>| plain(&events.join(", "));
        let wrong: Vec<&str> = with(Standing::Wrong).map(|event| &*event.event).collect();
        let (verified, of) = (with(Standing::Verified).count(), all.len());
        match (wrong.is_empty(), of) {
            (_, 0) => "No event table for this CPU: there are no TLB events to verify.".to_owned(),
            (false, _) => format!(
                "{} of {of} TLB events wrong on this CPU: {}; {verified} verified.",
                wrong.len(),
                names(wrong)
            ),
            (true, _) => format!("{verified} of {of} TLB events verified on this CPU, none wrong."),
        }
    }

    fn tlb_events(&self) -> impl Iterator<Item = &DecidedEvent> {
        self.events.iter().filter(|event| !event.is_general())
    }

    fn general_events(&self) -> impl Iterator<Item = &DecidedEvent> {
        self.events.iter().filter(|event| event.is_general())
    }
}

impl DecidedEvent {
    fn is_general(&self) -> bool {
        [CYCLES, INSTRUCTIONS].contains(&&*self.kind)
    }

    /// The decision in words.
    fn words(&self) -> String {
        match &self.verdict {
            Verdict::Verified => "verified".to_owned(),
            Verdict::Wrong { fault } => format!("WRONG: {}", self.fault(fault)),
            Verdict::Undecided { why } => format!("not verified: {}", why.words()),
        }
    }

    fn fault(&self, fault: &Fault) -> String {
        match fault {
            Fault::Dead => "always 0".to_owned(),
            Fault::Scaled { factor } => format!("counts {} times too much", three_digits(*factor)),
            Fault::Resembles { kind } => {
                format!("counts {kind} instead of {}", plain(&self.kind))
            }
            Fault::Other => match self.tests.iter().find(|test| test.is_wrong()) {
                Some(test) => format!(
                    "{} per access in {}, where {} to {} is right",
                    three_digits(test.per_access),
                    plain(&test.on),
                    three_digits(test.low),
                    three_digits(test.high)
                ),
                None => "unexplained".to_owned(),
            },
        }
    }

    fn section(&self) -> Section {
        let mut grid = Grid::headed(&["loop", "per access", "right", "growth"]).aligned(&[
            Align::Left,
            Align::Right,
            Align::Right,
            Align::Right,
        ]);
        for test in &self.tests {
            let mark = if test.is_right() { "" } else { " !" };
            grid.push([
                format!("{}{mark}", plain(&test.on)),
                three_digits(test.per_access),
                format!("{} to {}", three_digits(test.low), three_digits(test.high)),
                test.growth.map_or_else(String::new, three_digits),
            ]);
        }
        let title = format!("{} ({})", plain(&self.event), plain(&self.kind));
        let mut section = Section::default();
        section.push_detail(title);
        section.push_detail(grid);
        section
    }

    fn row(&self, test: &Test) -> [String; COLUMNS.len()] {
        let standing = match self.standing() {
            Standing::Verified => "verified",
            Standing::Wrong => "wrong",
            Standing::Unverified => "unverified",
        };
        [
            self.pmu.clone(),
            self.kind.clone(),
            self.event.clone(),
            self.code.clone(),
            standing.to_owned(),
            test.on.clone(),
            test.per_access.to_string(),
            test.least.to_string(),
            test.most.to_string(),
            test.low.to_string(),
            test.high.to_string(),
            test.running.to_string(),
            test.growth
                .map_or_else(String::new, |growth| growth.to_string()),
        ]
    }
}

impl Doubt {
    fn words(&self) -> String {
        match self {
            Self::NoLoop => "no loop has a known number of these events".to_owned(),
            Self::LoopAbsent { on, missing } => {
                format!("loop {}: {}", plain(on), plain(&missing.to_string()))
            }
            Self::NotCounted { missing } => plain(&missing.to_string()),
            Self::Disturbed { on } => {
                format!(
                    "rounds of {} contradict each other; repeat in quiet",
                    plain(on)
                )
            }
        }
    }
}

//! A simulation as a document.

use super::outcome::{Cut, MappedPages, PageColumn, References, Simulation, Streams, Tally};
use hugewise_base::units::{Unit, bytes_text};
use hugewise_experiment::run::trial::Outcome;
use hugewise_text::Tone;
use hugewise_text::document::{Block, Document, Paragraph, Section};
use hugewise_text::grid::{Cell, Grid};
use hugewise_text::number::{Scaler, three_digits};
use hugewise_text::wrap::{plain, short_command, shortened};

/// A value of a stream: its names, and its function of a tally.
pub(super) struct Value {
    pub(super) name: &'static str,
    title: &'static str,
    pub(super) most: fn(&Tally) -> u64,
}

pub(super) const VALUES: [Value; 3] = [
    Value {
        name: "first_level_misses",
        title: "L1 TLB misses",
        most: |tally| tally.first_level_misses,
    },
    Value {
        name: "walks",
        title: "page walks",
        most: |tally| tally.walks,
    },
    Value {
        name: "walk_references",
        title: "table entries read",
        most: |tally| tally.walk_references.most,
    },
];

/// Returns the two streams with their names.
pub(super) fn streams(both: &Streams) -> [(&'static str, &Tally); 2] {
    [("data", &both.data), ("code", &both.code)]
}

/// The number of mappings shown; the others are summed in one row.
const SHOWN: usize = 5;
/// Maximum width of a mapping's name.
const NAME: usize = 26;

impl Simulation {
    /// Shows the number of page walks for each page size, by stream and by mapping.
    #[must_use]
    pub fn document(&self) -> Document {
        let conclusion = Paragraph::new(self.conclusion()).tone(Tone::Strong);
        let mut head = Section::default().with(conclusion);
        head.push(self.trace());
        for text in self.ending() {
            head.push(text);
        }
        let mut rows = Section::default().with(self.table());
        rows.push(Block::Notes(self.signs()));
        rows.push(self.as_mapped_text());
        if self.mappings.len() > SHOWN {
            rows.push_detail(self.all_mappings());
        }
        rows.push_detail(Block::Notes(self.caveats()));
        rows.push("Measured, where there are counters: hugewise stat");
        Document::new([head, rows])
    }

    fn conclusion(&self) -> String {
        let walks = |column: &PageColumn| {
            let Streams { data, code } = &column.streams;
            let size = bytes_text(column.page_bytes);
            (size, self.per_kinst(data.walks + code.walks))
        };
        let sizes = self.columns.first().zip(self.columns.last());
        let Some(((small, from), (huge, to))) = sizes.map(|(a, b)| (walks(a), walks(b))) else {
            return "Nothing was simulated.".to_owned();
        };
        format!(
            "Simulated, not measured: {to} page walks per 1000 instructions with {huge} pages, \
             {from} with {small} pages{}.",
            self.part()
        )
    }

    /// Names the traced part of the program, if the trace was cut: later phases can differ.
    fn part(&self) -> String {
        let total = count(self.accesses.total());
        match self.cut {
            Cut::Whole => String::new(),
            Cut::AtMost => {
                format!(", in the program's first {total} accesses only (cut by --max-accesses)")
            }
            Cut::Interrupted => format!(", in the program's first {total} accesses only"),
        }
    }

    fn trace(&self) -> String {
        let accesses = &self.accesses;
        format!(
            "{}: {} instructions, {} loads, {} stores, from {}. TLB from {}.",
            short_command(&self.command, 60),
            count(accesses.fetches),
            count(accesses.loads),
            count(accesses.stores),
            plain(&self.tracer.name),
            plain(&self.processor.tlb.source)
        )
    }

    fn ending(&self) -> Vec<String> {
        let cut = match self.cut {
            Cut::Whole => None,
            Cut::AtMost => Some(
                "Later phases of the program may need more page walks: raise --max-accesses."
                    .to_owned(),
            ),
            Cut::Interrupted => Some("Cut: a signal ended it.".to_owned()),
        };
        let is_failure = |outcome: &&Outcome| **outcome != (Outcome::Exited { code: 0 });
        let outcome = self.outcome.as_ref().filter(is_failure);
        let outcome = outcome.map(|outcome| format!("The command ended with {outcome}."));
        cut.into_iter().chain(outcome).collect()
    }

    /// Shows all values per 1000 instructions, so that rows can be added and compared.
    fn table(&self) -> Grid {
        let mut grid = self.headed("per 1000 instructions");
        for stream in 0..2 {
            for value in &VALUES {
                let cells = self.columns.iter().map(|column| {
                    let (_, tally) = streams(&column.streams)[stream];
                    self.cell(value, tally)
                });
                let name = ["data", "code"][stream];
                let lead = format!("{name}: {}", value.title);
                grid.push([lead].into_iter().chain(cells));
            }
        }
        let (shown, rest) = self.mappings.split_at(self.mappings.len().min(SHOWN));
        for mapping in shown {
            grid.push(
                self.mapping_row(&format!("walks: {}", short(&mapping.name)), |column| {
                    mapping.walks.get(column).copied().unwrap_or(0)
                }),
            );
        }
        if !rest.is_empty() {
            let lead = format!("walks: {} more", rest.len());
            grid.push(self.mapping_row(&lead, |column| {
                rest.iter().filter_map(|one| one.walks.get(column)).sum()
            }));
        }
        grid
    }

    fn all_mappings(&self) -> Grid {
        let mut grid = self.headed("walks per 1000 instructions, by mapping");
        for mapping in &self.mappings {
            grid.push(self.mapping_row(&short(&mapping.name), |column| {
                mapping.walks.get(column).copied().unwrap_or(0)
            }));
        }
        grid
    }

    fn headed(&self, title: &str) -> Grid {
        let sizes = self.columns.iter().map(|column| {
            let mark = if column.native { "" } else { "*" };
            format!("{}{mark}", bytes_text(column.page_bytes))
        });
        let heading = [title.to_owned()].into_iter().chain(sizes);
        Grid {
            rows: vec![heading.map(Cell::plain).collect()],
            ..Grid::default()
        }
    }

    fn mapping_row(&self, name: &str, walks: impl Fn(usize) -> u64) -> Vec<String> {
        let cells = (0..self.columns.len()).map(|column| self.per_kinst(walks(column)));
        [name.to_owned()].into_iter().chain(cells).collect()
    }

    fn per_kinst(&self, part: u64) -> String {
        match self.accesses.fetches {
            0 => "-".to_owned(),
            fetches => three_digits(part as f64 * 1000.0 / fetches as f64),
        }
    }

    fn cell(&self, value: &Value, tally: &Tally) -> String {
        let References { least, most } = tally.walk_references;
        let is_bound = value.name == "walk_references" && least != most;
        let text = self.per_kinst((value.most)(tally));
        if is_bound {
            format!("≤ {text}")
        } else {
            text
        }
    }

    /// Explains the symbols used in the table.
    fn signs(&self) -> Vec<String> {
        let mut signs = Vec::new();
        if self.columns.iter().any(|column| !column.native) {
            signs.push(
                "* no TLB entries of this size: simulated with those of base pages".to_owned(),
            );
        }
        if self.processor.walk_cache.is_none() {
            signs.push("≤ upper bound: the size of the page-walk cache is unknown".to_owned());
        }
        signs
    }

    fn caveats(&self) -> Vec<String> {
        let mut caveats = Vec::new();
        if self
            .processor
            .tlb
            .structures
            .iter()
            .any(|one| one.ways.is_none())
        {
            caveats.push(
                "TLBs of unknown associativity are simulated as fully associative: conflict misses \
                 are missing."
                    .to_owned(),
            );
        }
        if !self.mappings.is_empty() {
            caveats.push(
                "Mappings are those under the tracer: names and sizes are the program's, addresses \
                 are not, and the heap has no name."
                    .to_owned(),
            );
        }
        caveats.push(
            "Simulated in program order, one thread after the other, first process only, until it \
             calls exec: no speculation, no prefetching, no other program, no kernel."
                .to_owned(),
        );
        caveats
    }

    fn as_mapped_text(&self) -> String {
        match &self.as_mapped {
            Ok(pages) => self.mapped_pages(pages),
            Err(missing) => format!(
                "Pages as the kernel mapped them: {}.",
                plain(&missing.to_string())
            ),
        }
    }

    fn mapped_pages(&self, pages: &MappedPages) -> String {
        let MappedPages {
            ranges,
            huge_ranges,
            streams,
        } = pages;
        let (data, code) = (
            self.per_kinst(streams.data.walks),
            self.per_kinst(streams.code.walks),
        );
        let mut text = format!(
            "Pages as the kernel mapped them ({huge_ranges} of {ranges} blocks huge): {data} walks \
             per 1000 instructions for data, {code} for code."
        );
        if *huge_ranges > 0 && huge_ranges < ranges {
            text.push_str(" Lower bound: shared TLB entries are counted for both sizes.");
        }
        text
    }
}

/// Returns the file name only: folders do not fit.
fn short(name: &str) -> String {
    let name = name.rsplit('/').next().unwrap_or(name);
    shortened(&plain(name), NAME)
}

fn count(number: u64) -> String {
    let number = number as f64;
    Scaler::for_row(&Unit::Count, &[number]).show(number)
}

//! Changes each number of a record and of a recording to an impossible value: reading and reporting it must end soon,
//! take little memory, and not panic. This test is in this crate because counting memory needs `unsafe`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use hugewise_base::jsonl::lines;
use hugewise_base::recording::Recorded;
use hugewise_experiment::run::compare::{Options, table};
use hugewise_experiment::run::history::Entry;
use hugewise_experiment::run::record;
use hugewise_experiment::run::report::trials;
use hugewise_monitor::watch;
use hugewise_observe::{faults, stat};
use hugewise_text::document::Document;
use hugewise_text::{Style, Verbosity, to_markdown, to_text};
use hugewise_tlb::misses;

/// Counts allocated memory, and its peak since the last query.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all memory comes from the system allocator, under its rules; this type only counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(live, Relaxed);
        // SAFETY: the caller keeps the rules of `alloc`, which are those of the system allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the memory was allocated by this allocator, and thus by the system's, with this layout.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const WORST: [&str; 8] = [
    "0",
    "1",
    "-1",
    "2147483648",
    "9223372036854775808",
    "18446744073709551615",
    "5e-324",
    "1e308",
];
/// The number of changes tried per file, in equal steps, in addition to all changes of its first line.
const TRIED: usize = 40;
/// A debug build on a busy machine is slow; an endless loop takes longer than this.
const PATIENCE: Duration = Duration::from_secs(10);
const MOST_BYTES: usize = 64 << 20;

/// Returns the positions of the numbers in a text that are values, neither keys nor within strings.
fn numbers(text: &str) -> Vec<(usize, usize)> {
    let (mut places, mut begin, mut is_string, mut is_escaped) = (Vec::new(), None, false, false);
    for (at, c) in text.char_indices() {
        let belongs = !is_string && (c.is_ascii_digit() || "+-.eE".contains(c));
        match (begin, belongs) {
            (None, true) if c.is_ascii_digit() || c == '-' => begin = Some(at),
            (Some(from), false) => {
                places.push((from, at));
                begin = None;
            }
            _ => {}
        }
        is_string ^= c == '"' && !is_escaped;
        is_escaped = is_string && c == '\\' && !is_escaped;
    }
    places
}

/// Returns the text with one number at a time changed to bad values: sizes in the first line to all of these, its other
/// numbers to one each, and numbers in other lines in equal steps.
fn changed(text: &str) -> impl Iterator<Item = String> {
    let places = numbers(text);
    let first = text.find('\n').unwrap_or(text.len());
    let header = places.iter().filter(|(at, _)| *at < first).count();
    let step = ((places.len() - header) * WORST.len())
        .div_ceil(TRIED)
        .max(1);
    let is_size = |at: usize| {
        let key = text[..at].rsplit([',', '{']).next().unwrap_or_default();
        key.contains("bytes") || key.contains("sizes") || key.contains("every")
    };
    let is_tried = |index: &usize| {
        let (number, worst) = (index / WORST.len(), index % WORST.len());
        match number < header {
            true => worst == number % WORST.len() || is_size(places[number].0),
            false => index.is_multiple_of(step),
        }
    };
    let tried: Vec<usize> = (0..places.len() * WORST.len()).filter(is_tried).collect();
    tried.into_iter().map(move |index| {
        let (from, to) = places[index / WORST.len()];
        [&text[..from], WORST[index % WORST.len()], &text[to..]].concat()
    })
}

/// Renders a document in every format.
fn draw(document: &Document) {
    let style = Style {
        verbose: Verbosity::Verbose,
        ..Style::default()
    };
    let _ = to_text(document, &style);
    let _ = to_markdown(document, Verbosity::Verbose);
}

fn of_record(bytes: &[u8]) {
    let Ok(record) = record::parse(bytes) else {
        return;
    };
    let Ok(found) = table(&record, &Options::default()) else {
        return;
    };
    let metric = found.verdict.metric.clone();
    let report = hugewise_bench::report(&record, found, None);
    draw(&report.document(80, Verbosity::Verbose));
    let _ = (report.csv(), report.json(), report.figures());
    draw(&trials(&record, &metric, 80));
    let _ = Entry::of(&record, "a.jsonl".to_owned());
}

fn replayed<A: Recorded>(bytes: &[u8]) -> Option<A> {
    let mut analysis: Option<A> = None;
    for raw in lines(bytes) {
        let event = raw.read::<A::Event>().ok()??;
        match &mut analysis {
            None => analysis = A::begin(&event),
            Some(analysis) => analysis.push(&event),
        }
    }
    analysis
}

fn of_faults(bytes: &[u8]) {
    if let Some(analysis) = replayed::<faults::Analysis>(bytes) {
        let _ = analysis.folded(faults::Weigh::Faults);
        if let Some(summary) = analysis.summary() {
            draw(&summary.document());
            let _ = summary.csv();
        }
    }
}

fn of_misses(bytes: &[u8]) {
    if let Some(analysis) = replayed::<misses::Analysis>(bytes)
        && let Some(summary) = analysis.summary()
    {
        draw(&summary.document());
        let _ = summary.csv();
    }
}

fn of_stat(bytes: &[u8]) {
    let Ok(recording) = stat::parse(bytes) else {
        return;
    };
    let header = &recording.header;
    let mut summary = stat::StatSummary::default();
    let mut text = String::new();
    for mut interval in recording.intervals.clone() {
        interval.derived = stat::derive(&interval.counts, header.hardware.missing());
        let _ = write!(text, "{}", stat::csv_rows(header, &interval));
        let _ = write!(text, "{}", stat::live_line(header, &interval));
        summary.add(&interval);
    }
    let summary = summary.finished(&header.hardware, recording.outcome);
    draw(&summary.document_with(header, &recording.intervals));
}

fn of_watch(bytes: &[u8]) {
    let Ok(recording) = watch::parse(bytes) else {
        return;
    };
    let mut state = watch::State::new(recording.header);
    for sample in recording.samples {
        state.push(sample);
    }
    for tab in '1'..='4' {
        let _ = state.press(watch::Key::Char(tab));
        draw(&state.document(100));
    }
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures")
        .join(name)
}

/// Reads and reports a file.
type Check = fn(&[u8]);

#[test]
fn no_number_of_a_file_costs_time_or_memory() {
    let files: [(&str, Check); 7] = [
        ("runs/all-failed.jsonl", of_record),
        ("runs/single-policy.jsonl", of_record),
        ("runs/noise.jsonl", of_record),
        ("recordings/faults.jsonl", of_faults),
        ("misses/server.jsonl", of_misses),
        ("recordings/stat.jsonl", of_stat),
        ("recordings/watch.jsonl", of_watch),
    ];
    let (mut tried, mut wrong) = (0, Vec::new());
    for (name, read) in files {
        let text = std::fs::read_to_string(fixture(name)).unwrap();
        for changed in changed(&text) {
            let (begun, before) = (Instant::now(), LIVE.load(Relaxed));
            MOST.store(before, Relaxed);
            let at = text.bytes().zip(changed.bytes()).position(|(a, b)| a != b);
            let (sender, ended) = channel();
            thread::spawn(move || {
                read(changed.as_bytes());
                let _ = sender.send(());
            });
            if let Err(why) = ended.recv_timeout(PATIENCE) {
                wrong.push(format!(
                    "{name} at {at:?}: {why}, after {:?}",
                    begun.elapsed()
                ));
            }
            let memory = MOST.load(Relaxed).saturating_sub(before);
            if memory > MOST_BYTES {
                wrong.push(format!("{name} at {at:?}: {memory} bytes"));
            }
            tried += 1;
        }
    }
    assert!(tried > 500, "{tried}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

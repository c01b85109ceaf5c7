//! The answers for the records of this repository, and their screens.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::{iter, thread};

use hugewise_base::gzip::unpacked;
use hugewise_experiment::run::answer::{Answer, ArmRole};
use hugewise_experiment::run::compare::{Options, table};
use hugewise_experiment::run::record::parse;

use super::numbers::numbers_are_in_the_answer;
use super::screens::{commands, screen, verbose};

/// The folders with records.
const FOLDERS: [&str; 5] = [
    "docs/records",
    "evidence",
    "examples",
    "fixtures/benches",
    "fixtures/runs",
];

/// A record by its path, with its answer.
pub struct Kept {
    /// The path below the root of the repository.
    pub path: String,
    /// The answer.
    pub answer: Answer,
    /// Returns true for a record of `attribute`, which `report` prints as an attribution.
    is_attribution: bool,
}

/// Every record, in the order of the paths. All tests share them, because comparisons are slow: one thread per
/// processor computes some of them.
pub static RECORDS: LazyLock<Vec<Kept>> = LazyLock::new(|| {
    let root = root();
    let files: Vec<PathBuf> = FOLDERS
        .iter()
        .flat_map(|folder| below(&root.join(folder)))
        .collect();
    let next = AtomicUsize::new(0);
    let take = || files.get(next.fetch_add(1, Relaxed));
    let compare = || iter::from_fn(take).map(|path| kept(&root, path)).collect();
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let mut records: Vec<Kept> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(compare)).collect();
        let done = workers.into_iter().map(|it| it.join().unwrap());
        done.flat_map(|records: Vec<Kept>| records).collect()
    });
    records.sort_by(|a, b| Path::new(&a.path).cmp(Path::new(&b.path)));
    records
});

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the records below a folder, packed or not.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let files = paths.flat_map(|path| match path.is_dir() {
        true => below(&path),
        false => vec![path],
    });
    files
        .filter(|path| {
            path.extension()
                .is_some_and(|it| it == "jsonl" || it == "gz")
        })
        .collect()
}

fn kept(root: &Path, path: &Path) -> Kept {
    let record = parse(&unpacked(&std::fs::read(path).unwrap()).unwrap()).unwrap();
    let table = table(&record, &Options::default()).unwrap();
    let report = hugewise_bench::report(&record, table, None).called(Some("last".to_owned()));
    let verb = record.header.made_by.get(1);
    Kept {
        path: path.strip_prefix(root).unwrap().display().to_string(),
        answer: report.answer().clone(),
        is_attribution: verb.is_some_and(|verb| verb == "attribute"),
    }
}

/// Returns the records whose first screen `report` prints.
fn printed() -> impl Iterator<Item = &'static Kept> {
    RECORDS.iter().filter(|it| !it.is_attribution)
}

#[test]
fn every_kind_of_record_is_kept() {
    assert!(RECORDS.len() >= 86, "{}", RECORDS.len());
    assert!(RECORDS.iter().any(|it| it.is_attribution));
}

#[test]
fn the_screen_of_every_record_fits() {
    let mut wrong = Vec::new();
    for Kept { path, answer, .. } in printed() {
        let text = screen(answer);
        let (lines, most) = (text.lines().count(), most_lines(answer));
        if lines > most {
            wrong.push(format!("{path}: {lines} lines, not {most}\n{text}"));
        }
        let commands = commands(answer);
        for line in text.lines().filter(|line| line.chars().count() > 80) {
            if commands.iter().all(|command| line.trim() != command) {
                wrong.push(format!("{path}: wide: {line}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the lines of a terminal, with a few more for many policies.
fn most_lines(answer: &Answer) -> usize {
    let arms = answer.arms.iter();
    let policies = arms.filter(|arm| arm.role != ArmRole::Baseline).count();
    let most = match answer.programs.is_empty() && policies <= 3 {
        true => 24,
        false => 30,
    };
    // A name half a line long wraps rows, and the legend shows it in full.
    let is_long = answer.arms.iter().any(|arm| arm.name.len() > 40);
    most + 3 * usize::from(is_long)
}

#[test]
fn no_screen_of_a_record_has_a_figure_of_its_own() {
    let mut wrong = Vec::new();
    for Kept { path, answer, .. } in printed() {
        let json = serde_json::to_value(answer).unwrap();
        for (form, text) in [("first", screen(answer)), ("verbose", verbose(answer))] {
            let missing = numbers_are_in_the_answer(&text, &json);
            if !missing.is_empty() {
                wrong.push(format!("{path}, {form}: {missing:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

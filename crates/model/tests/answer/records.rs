//! The screens of the records of this repository.

use std::path::{Path, PathBuf};

use hugewise_model::run::answer::{Answer, ArmRole, Beside, Source, answer};
use hugewise_model::run::compare::{Options, table};
use hugewise_model::run::record::parse;

use crate::numbers::numbers_are_in_the_answer;
use crate::screens::{commands, screen, verbose};

/// Records that `run` wrote, by their names.
fn records() -> Vec<(String, Answer)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["fixtures/runs", "examples/redis", "examples/go"];
    let files = folders.iter().flat_map(|folder| {
        let entries = std::fs::read_dir(root.join(folder)).unwrap();
        entries.map(|entry| entry.unwrap().path())
    });
    let mut files: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|it| it == "jsonl"))
        .collect();
    files.sort();
    files
        .iter()
        .map(|path| (path.display().to_string(), of_record(path)))
        .collect()
}

fn of_record(path: &Path) -> Answer {
    let record = parse(&std::fs::read(path).unwrap()).unwrap();
    let table = table(&record, &Options::default()).unwrap();
    let beside = Beside {
        word: Some("last".to_owned()),
        ..Beside::default()
    };
    answer(&Source {
        record: &record,
        table: &table,
        other: None,
        cells: None,
        beside: &beside,
    })
}

#[test]
fn the_screen_of_every_record_fits_and_has_no_figure_of_its_own() {
    let records = records();
    assert!(records.len() > 12, "{}", records.len());
    for (name, answer) in records {
        let text = screen(&answer);
        let arms = answer.arms.iter();
        let policies = arms.filter(|arm| arm.role != ArmRole::Baseline).count();
        let most = match answer.programs.is_empty() && policies <= 3 {
            true => 24,
            false => 30,
        };
        // A name that takes half a line wraps its row, and the legend has it in full.
        let is_long = answer.arms.iter().any(|arm| arm.name.len() > 40);
        let most = most + 3 * usize::from(is_long);
        assert!(text.lines().count() <= most, "{name}\n{text}");
        let commands = commands(&answer);
        for line in text.lines().filter(|line| line.chars().count() > 80) {
            let is_command = commands.iter().any(|command| line.trim() == command);
            assert!(is_command, "{name}: {line}");
        }
        let json = serde_json::to_value(&answer).unwrap();
        for text in [text, verbose(&answer)] {
            let missing = numbers_are_in_the_answer(&text, &json);
            assert_eq!(missing, [""; 0], "{name}\n{text}");
        }
    }
}

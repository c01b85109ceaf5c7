use super::*;
use crate::run::answer::Word;
use crate::run::compare::Scale;
use crate::text::grid::Grid;
use crate::text::{Style, to_text};

fn entry(at: u64, value: f64, ratio: f64) -> Entry {
    let effect = Comparison {
        metric: "wall_seconds".to_owned(),
        statistic: Statistic::Center,
        policy: "thp=always".to_owned(),
        baseline: "as-is".to_owned(),
        baseline_value: Some(value),
        policy_value: Some(value * ratio),
        scale: Scale::Ratio,
        ratio: Some(ratio),
        difference: None,
        low: None,
        high: None,
        p: None,
        n: 12,
        change: Change::Lower,
        warnings: Vec::new(),
    };
    Entry {
        path: format!("{at}.jsonl"),
        created_unix_ms: at,
        command: vec!["sort".to_owned()],
        bench: None,
        ended: None,
        word: Word::Open,
        kernel: "6.18".to_owned(),
        boot_id: "b".to_owned(),
        host: crate::test_host::host("madvise"),
        host_memory: HostMemory::AsIs,
        policies: vec!["as-is".to_owned(), "thp=always".to_owned()],
        baseline_value: Some(value),
        unit: Unit::Seconds,
        verdict: Verdict {
            metric: "wall_seconds".to_owned(),
            baseline: "as-is".to_owned(),
            best: Some("thp=always".to_owned()),
            ..Verdict::default()
        },
        effects: vec![effect],
    }
}

#[test]
fn a_program_that_became_faster_has_a_new_level() {
    let wobble = |at: u64| (at * 7 % 5) as f64 * 0.01;
    let value = |at: u64| if at < 11 { 4.0 } else { 3.0 } + wobble(at);
    let mut entries: Vec<Entry> = (0..20)
        .map(|at| entry(at, value(at), 0.8 + wobble(at + 3) / 10.0))
        .collect();
    let split = Split {
        at: 11,
        policy: None,
    };
    assert_eq!(changes(&entries), [split]);
    // Records of another metric are no evidence about this one.
    entries[15].verdict.metric = "user_seconds".to_owned();
    entries[15].baseline_value = Some(40.0);
    assert_eq!(changes(&entries).len(), 1);
    assert_eq!(entries[3].best(24), "thp=always −19.8 %");
    assert_eq!(entries[3].best(16), "thp=alw… −19.8 %");
    assert!(changes(&entries[..7]).is_empty());
}

/// Cold memory is slower but not a new version: the state has a column, and begins no new level.
#[test]
fn records_on_other_memory_say_so_and_begin_no_level() {
    let entries = (0..20).map(|at| {
        let mut entry = entry(at, if at < 11 { 4.0 } else { 3.0 }, 0.8);
        if at < 11 {
            entry.host_memory = HostMemory::Rest(std::time::Duration::from_secs(3));
        }
        entry
    });
    let differing = History::of(entries.collect());
    assert_eq!(differing.splits, []);
    let text = to_text(&differing.document(), &Style::default());
    assert!(text.contains("kernel  memory "), "{text}");
    assert!(text.contains("6.18    rest:3s"), "{text}");
    assert!(
        text.contains("memory than the last begin no level"),
        "{text}"
    );
    let mut several = differing.entries;
    several[0].command = vec!["uniq".to_owned()];
    let text = to_text(&History::of(several).document(), &Style::default());
    assert!(text.contains("memory  "), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let alike = History::of(vec![entry(1, 4.0, 0.8), entry(2, 4.0, 0.8)]);
    let text = to_text(&alike.document(), &Style::default());
    assert!(!text.contains("memory"), "{text}");
}

/// Sixteen records of a program that takes longer from the tenth record, on a newer kernel.
fn slower() -> History {
    let wobble = |at: u64| (at * 7 % 5) as f64 * 0.01;
    let entries = (0..16).map(|at| {
        let level = if at < 9 { 3.0 } else { 4.0 };
        let mut entry = entry(at * 86_400_000, level + wobble(at), 0.8 + wobble(at) / 10.0);
        if at >= 9 {
            entry.kernel = "6.19".to_owned();
        }
        (entry.effects[0].low, entry.effects[0].high) = (Some(0.78), Some(0.83));
        entry
    });
    History::of(entries.collect())
}

#[test]
fn a_page_shows_where_a_new_level_begins() {
    let history = slower();
    assert_eq!(history.splits.len(), 1, "{:?}", history.splits);
    let figures = history.figures();
    let ids: Vec<&str> = figures.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids, ["levels", "changes"]);
    let fences = |svg: &str| svg.matches("\"fence\"").count();
    assert_eq!((fences(&figures[0].svg), fences(&figures[1].svg)), (1, 0));
    for kernel in ["6.18", "6.19"] {
        assert!(
            figures[0].svg.contains(&format!(">{kernel}</text>")),
            "{}",
            figures[0].svg
        );
    }
    let page = history.page();
    assert!(page.contains("sort over time"), "{page}");
    // The medians of 3.00 to 3.04 and of 4.00 to 4.04 s.
    let level = "From 1970-01-10 00:00 on, as-is takes 4.02 s; before, 3.02 s.";
    assert!(page.contains(level), "{page}");
    assert_eq!(page, slower().page());
    assert!(!page.contains("<template"), "it holds no record");
}

/// The table for a picture, the text and the JSON come from the same entries.
#[test]
fn the_numbers_behind_a_picture_are_those_of_the_text() {
    let history = slower();
    let [levels, changes] = <[_; 2]>::try_from(history.figures()).expect("two figures");
    let cell = |grid: &Grid, row: usize, column: usize| grid.rows[row][column].text.clone();
    let of_rows = 1..=history.entries.len();
    for (row, entry) in of_rows.zip(&history.entries) {
        assert_eq!(Some(cell(&levels.table, row, 2)), entry.baseline_text());
        assert_eq!(
            Some(cell(&changes.table, row, 2)),
            entry.change("thp=always")
        );
        let is_new = cell(&levels.table, row, 3) == "*";
        assert_eq!(is_new, history.splits.iter().any(|it| it.at == row - 1));
    }
    let mut mixed = history.entries;
    mixed[0].command = vec!["uniq".to_owned()];
    assert!(
        History::of(mixed).figures().is_empty(),
        "values of two commands"
    );
}

/// Records on boots of these names, with these ratios.
fn on_boots(all: &[(&str, f64)]) -> Vec<Entry> {
    let entries = all.iter().zip(0..).map(|((boot, ratio), at)| {
        let mut entry = entry(at, 4.0, *ratio);
        entry.boot_id = (*boot).to_owned();
        entry
    });
    entries.collect()
}

fn of_always(history: &History) -> Option<&Foretold> {
    let mut foretold = history.next.foretold.iter();
    foretold.find(|it| it.policy.as_deref() == Some("thp=always"))
}

/// Student's interval for one more value, on the logarithm: quantile 4.3027 with three records.
#[test]
fn three_records_of_a_boot_foretell_the_next() {
    let ratios = [0.80, 0.84, 0.88];
    let history = History::of(on_boots(&ratios.map(|ratio| ("b", ratio))));
    let it = of_always(&history).expect("three records");
    let logs = ratios.map(f64::ln);
    let mean = logs.iter().sum::<f64>() / 3.0;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / 2.0;
    let half = 4.302_653 * (variance * (1.0 + 1.0 / 3.0)).sqrt();
    assert!((it.low.ln() - (mean - half)).abs() < 1e-4, "{it:?}");
    assert!((it.high.ln() - (mean + half)).abs() < 1e-4, "{it:?}");
    assert_eq!((it.next, it.records, it.boots), (NextUnit::Session, 3, 1));
    let text = to_text(&history.document(), &Style::default());
    assert!(text.contains("The next session on this boot"), "{text}");
    assert!(!text.contains("not pooled"), "{text}");
    let two = History::of(on_boots(&[("b", 0.8), ("b", 0.84)]));
    assert_eq!(of_always(&two), None);
}

#[test]
fn boots_and_machines_are_not_pooled() {
    let boots = [("a", 0.6), ("a", 0.62), ("b", 0.8), ("c", 0.7)];
    let history = History::of(on_boots(&boots));
    let it = of_always(&history).expect("three boots");
    assert_eq!((it.next, it.records, it.boots), (NextUnit::Boot, 4, 3));
    let places = history.next.places;
    assert_eq!((places.boots, places.on_this_boot), (3, 1));
    // Two records on each of two boots are not enough for either unit.
    let two = [("a", 0.6), ("a", 0.62), ("b", 0.8), ("b", 0.81)];
    let history = History::of(on_boots(&two));
    assert_eq!(of_always(&history), None);
    let text = to_text(&history.document(), &Style::default());
    assert!(text.contains("1 more record"), "{text}");
    assert!(text.contains("from 2 boots and are not pooled"), "{text}");
    // The same boot name on other hardware is another machine.
    let mut entries = on_boots(&[("b", 0.6), ("b", 0.8), ("b", 0.81), ("b", 0.82)]);
    entries[0].host.cpu_model = "another".to_owned();
    let history = History::of(entries);
    let it = of_always(&history).expect("three records here");
    assert_eq!((it.records, history.next.places.machines), (3, 2));
    assert!(it.low > 0.7, "{it:?}");
    // An unknown boot does not count as a boot.
    let unknown = History::of(on_boots(&[("", 0.8), ("", 0.81), ("", 0.82)]));
    assert_eq!(of_always(&unknown), None);
    assert_eq!(unknown.next.places.boots, 3);
}

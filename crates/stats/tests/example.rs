//! The worked example of `docs/how-it-decides.md`: every number and the figure, computed from the printed times.

#![expect(clippy::expect_used, reason = "a panic is a test that fails")]

use hugewise_stats::{ALPHA, Draw, Side, Sums};

/// The page can be read in a few minutes.
const MOST_WORDS: usize = 600;
/// The error of one side; the test for extreme runs gets a tenth of the total.
const ERROR: f64 = 0.9 * ALPHA / 2.0;

const PAGE: &str = include_str!("../../../docs/how-it-decides.md");

/// The rows of the example, cell by cell.
fn rows(page: &str) -> Vec<Vec<&str>> {
    let table = page
        .lines()
        .skip_while(|line| !line.starts_with("| round |"));
    let rows = table.skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect()
}

fn numbers(cell: &str) -> Vec<f64> {
    let words = cell.split_whitespace();
    words.map(|word| word.parse().expect("a time")).collect()
}

fn draws(rows: &[Vec<&str>]) -> Vec<Draw> {
    let draw = |row: &Vec<&str>| {
        let [baseline, policy] = [numbers(row[1]), numbers(row[2])];
        let logs = |times: Vec<f64>| times.into_iter().map(f64::ln);
        Draw::new(logs(policy), logs(baseline)).expect("runs of both")
    };
    rows.iter().map(draw).collect()
}

/// A factor as a change in percent.
fn change(log: f64) -> String {
    let percent = 100.0 * log.exp_m1();
    let sign = if percent < 0.0 { '−' } else { '+' };
    format!("{sign}{:.1}", percent.abs())
}

#[test]
fn every_number_of_the_example_is_that_of_its_times() {
    let rows = rows(PAGE);
    assert_eq!(rows.len(), 5);
    let draws = draws(&rows);
    let looks = Sums::of(&draws).looks(0.0, Side::Below, ERROR);
    for (at, (row, look)) in rows.iter().zip(&looks).enumerate() {
        let sums = Sums::of(&draws[..=at]);
        let estimate = sums.estimate().expect("a round");
        let interval = match sums.interval(ERROR) {
            Some((low, high)) => format!("[{}, {}] %", change(low), change(high)),
            None => "none yet".to_owned(),
        };
        let expected = [
            format!("{:.2}", look.vote),
            format!("{:.2}", look.sum),
            format!("{:.2}", look.boundary),
            format!("{:.2} %", 100.0 * look.may_spend),
            format!("{} %", change(estimate)),
            interval,
        ];
        assert_eq!(row[0], (at + 1).to_string());
        assert_eq!(row[3..], expected, "round {}", at + 1);
    }
    // "In round 4 the sum reaches the boundary", and not before.
    let crossed = looks.iter().position(|look| look.sum >= look.boundary);
    assert_eq!(crossed, Some(3));
    let refutes = |n: usize| Sums::of(&draws[..n]).refutes(0.0, Side::Below, ERROR);
    assert_eq!([3, 4, 5].map(refutes), [false, true, true]);
}

/// Twenty columns for a vote of one.
const COLUMNS: f64 = 20.0;

#[test]
fn the_figure_is_drawn_from_the_table() {
    let draws = draws(&rows(PAGE));
    let looks = Sums::of(&draws).looks(0.0, Side::Below, ERROR);
    for (look, round) in looks.iter().zip(1..) {
        let column = |sum: f64| (COLUMNS * sum).round() as usize;
        let (sum, boundary) = (column(look.sum), column(look.boundary));
        let is_decided = look.sum >= look.boundary;
        let mut line: Vec<char> = vec!['-'; sum];
        line.resize(sum.max(boundary) + 1, ' ');
        line[0] = '|';
        line[boundary] = '|';
        line[sum] = if is_decided { '*' } else { 'o' };
        let line: String = line.into_iter().collect();
        let expected = format!("    round {round}   {line}");
        assert!(PAGE.lines().any(|it| it == expected), "{expected}");
    }
}

#[test]
fn the_page_is_short() {
    let words = PAGE.split_whitespace();
    let words = words.filter(|word| word.chars().any(char::is_alphabetic));
    let count = words.count();
    assert!(count <= MOST_WORDS, "{count} words");
}

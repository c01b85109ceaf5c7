//! Finds every number of a screen in the answer that the screen was made from.

use serde_json::Value;

/// The factors by which a screen scales a number: percent, prefixes of seconds, bytes and counts.
const FACTORS: [f64; 13] = [
    1.0,
    100.0,
    1e3,
    1e6,
    1e9,
    1.0 / 1024.0,
    1.0 / 1_048_576.0,
    1.0 / 1_073_741_824.0,
    1e-3,
    1e-6,
    1e-9,
    1.0 / 60.0,
    1e-12,
];

/// Returns the numbers of a screen that no number and no text of the answer gives.
///
/// A number of the answer gives one on the screen if it rounds to it, up or down, in one of the units that a
/// screen uses; of a ratio its change counts as well. Counts of things left out, as in `3 more`, are the
/// screen's own.
pub fn numbers_are_in_the_answer(screen: &str, json: &Value) -> Vec<String> {
    let (numbers, texts) = leaves(json);
    let shown = numbers_in(screen);
    let known = |(text, value, step): &(String, f64, f64)| {
        texts.iter().any(|known| known.contains(text.as_str()))
            || numbers.iter().any(|number| gives(*number, *value, *step))
    };
    let missing = shown.into_iter().filter(|it| !known(it));
    missing.map(|(text, ..)| text).collect()
}

/// Returns true when a number of the answer is shown as this value, whose last digit is worth `step`.
pub fn gives(number: f64, value: f64, step: f64) -> bool {
    let forms = [number, number - 1.0, (number - 1.0) * -1.0];
    let scaled = forms
        .iter()
        .flat_map(|form| FACTORS.iter().map(move |factor| form * factor));
    let mut scaled = scaled;
    scaled.any(|it| (it.abs() - value).abs() <= step * 1.000_001)
}

/// Returns the numbers of a text: as it is written, its size, and the worth of its last digit.
pub fn numbers_in(screen: &str) -> Vec<(String, f64, f64)> {
    let mut found = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    for letter in screen.replace(": -v", "").chars().chain([' ']) {
        if letter.is_ascii_digit() || (!word.is_empty() && matches!(letter, '.' | ',')) {
            word.push(letter);
            continue;
        }
        // A digit inside a name, such as `examples-2` or `hugetlb1`, is no figure.
        let is_name = letter.is_alphabetic() || before.is_alphabetic();
        if let Some(number) = number(&word).filter(|_| !is_name) {
            found.push(number);
        }
        if word.is_empty() || !letter.is_ascii_digit() {
            word.clear();
            before = letter;
        }
    }
    let mut kept = Vec::new();
    let ends: Vec<&str> = screen
        .lines()
        .filter(|line| line.contains("more: -v"))
        .collect();
    for it in found {
        let is_count = ends
            .iter()
            .any(|line| line.contains(&format!("{} more: -v", it.0)));
        if !is_count {
            kept.push(it);
        }
    }
    kept
}

fn number(word: &str) -> Option<(String, f64, f64)> {
    let word = word.trim_end_matches(['.', ',']);
    let digits = word.replace(',', "");
    let value: f64 = digits.parse().ok()?;
    let decimals = digits.split_once('.').map_or(0, |(_, rest)| rest.len());
    Some((word.to_owned(), value, 10_f64.powi(-(decimals as i32))))
}

/// Returns all numbers and all texts of a value.
pub fn leaves(json: &Value) -> (Vec<f64>, Vec<String>) {
    let (mut numbers, mut texts) = (Vec::new(), Vec::new());
    let mut open = vec![json];
    while let Some(value) = open.pop() {
        match value {
            Value::Number(number) => numbers.extend(number.as_f64()),
            Value::String(text) => texts.push(text.clone()),
            Value::Array(values) => open.extend(values),
            Value::Object(fields) => open.extend(fields.values()),
            Value::Null | Value::Bool(_) => {}
        }
    }
    (numbers, texts)
}

//! Finds every number of a screen in its answer.

use std::collections::HashSet;

use serde_json::Value;

/// A number as displayed on a screen.
#[derive(Clone, Debug)]
pub struct Shown {
    /// As it is written.
    pub text: String,
    size: f64,
    /// The value of its last digit: ends of intervals are rounded outward.
    step: f64,
    /// Inside brackets, the unit of the preceding number; the control has no preceding number.
    units: Vec<String>,
}

impl Shown {
    /// Returns true if a number of the answer is displayed like this: a ratio as its change in percent; a time, a size
    /// and a count with a prefix.
    pub fn is_given_by(&self, number: f64) -> bool {
        let one_of = |forms: &[f64]| {
            let mut forms = forms.iter();
            forms.any(|it| (it.abs() - self.size).abs() <= self.step * 1.000_001)
        };
        let of_unit = |unit: &str| match unit {
            "%" => one_of(&[100.0 * (number - 1.0), 100.0 * number, number]),
            "points" => one_of(&[number]),
            "ns" => one_of(&[number * 1e9]),
            // A metric printed by a program may be in any of these.
            "µs" => one_of(&[number * 1e6, number * 1e3, number, number / 1e3]),
            "ms" => one_of(&[number * 1e3, number, number / 1e3, number / 1e6]),
            "s" => one_of(&[number, number / 1e3, number / 1e6, number / 1e9]),
            "min" => one_of(&[number, number / 60.0]),
            "KiB" => one_of(&[number / 1024.0]),
            "MiB" => one_of(&[number / 1_048_576.0]),
            "GiB" => one_of(&[number / 1_073_741_824.0]),
            "k" | "k/s" | "kB/s" => one_of(&[number / 1e3]),
            "M" | "M/s" | "MB/s" => one_of(&[number / 1e6]),
            "G" | "G/s" | "GB/s" => one_of(&[number / 1e9]),
            _ => one_of(&[number]),
        };
        self.units.iter().any(|unit| of_unit(unit))
    }
}

/// Returns the numbers of a screen that occur in no number and no text of the answer.
///
/// Counts of omitted items, as in `3 more rows`, and the 95 % of an interval belong to the screen.
pub fn numbers_are_in_the_answer(screen: &str, json: &Value) -> Vec<String> {
    let (numbers, texts) = leaves(json);
    let words: HashSet<&str> = texts.iter().flat_map(|text| words_of(text)).collect();
    let known = |shown: &Shown| {
        words.contains(shown.text.as_str())
            || numbers.iter().any(|number| shown.is_given_by(*number))
    };
    let missing = numbers_in(screen).into_iter().filter(|it| !known(it));
    missing.map(|shown| shown.text).collect()
}

/// The parts of a text between letters and signs that could be read as numbers.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_ascii_digit() && !matches!(letter, '.' | ','))
}

/// Returns the numbers of a text with their units.
pub fn numbers_in(screen: &str) -> Vec<Shown> {
    let mut found: Vec<Shown> = Vec::new();
    let mut is_between_brackets = false;
    let mut bracket_units: Vec<String> = Vec::new();
    let words: Vec<&str> = screen.split_whitespace().collect();
    for (at, word) in words.iter().enumerate() {
        if word.trim_start_matches('(').starts_with('[') {
            is_between_brackets = true;
            let before = found.last().map(|shown| shown.units.clone());
            bracket_units = before
                .into_iter()
                .flatten()
                .chain(["%".to_owned()])
                .collect();
        }
        let after = |count: usize| words.get(at + count).copied().unwrap_or_default();
        let next = match after(1) {
            "to" => after(3),
            next => next,
        };
        let mut before = ' ';
        for (begin, letter) in word.char_indices() {
            let is_start = letter.is_ascii_digit() && !before.is_alphanumeric() && before != '.';
            before = letter;
            if !is_start || is_in_a_name(&word[..begin]) {
                continue;
            }
            let rest = &word[begin..];
            let end = rest.find(|it: char| !it.is_ascii_digit() && !matches!(it, '.' | ','));
            let (digits, behind) = rest.split_at(end.unwrap_or(rest.len()));
            if behind.starts_with(char::is_alphabetic) {
                continue;
            }
            let own = next.trim_matches(|it: char| !it.is_alphabetic() && it != '%');
            let units = match is_between_brackets {
                true => [bracket_units.as_slice(), &[own.to_owned()]].concat(),
                false => vec![own.to_owned()],
            };
            let is_bound = word[..begin].ends_with(">+");
            let is_own = is_bound || next.starts_with("more") || (own == "%" && digits == "95");
            found.extend(number(digits, units).filter(|_| !is_own));
            before = '0';
        }
        is_between_brackets &= !word.contains(']');
    }
    found
}

/// Returns true after a letter: `x86`, `glibc.malloc.hugetlb=1` and `/sys/…/2` are no figures.
fn is_in_a_name(before: &str) -> bool {
    before.contains(|letter: char| letter.is_alphanumeric() || letter == '/')
}

fn number(digits: &str, units: Vec<String>) -> Option<Shown> {
    let text = digits.trim_end_matches(['.', ',']);
    let plain = text.replace(',', "");
    let size: f64 = plain.parse().ok()?;
    let decimals = plain.split_once('.').map_or(0, |(_, rest)| rest.len());
    Some(Shown {
        text: text.to_owned(),
        size,
        step: 10_f64.powi(-(decimals as i32)),
        units,
    })
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

//! The table of planted and reported reasons.

use std::fmt::Write;

use hugewise_lab::plant::Asked;
use serde_json::json;

use crate::answer::{Answer, Said};
use crate::ground::Role;

/// One plant, as one user.
pub struct Row {
    /// The plant.
    pub planted: &'static str,
    /// The question that its code answers.
    pub asked: Asked,
    /// The user who planted and inspected.
    pub role: Role,
    /// The outcome.
    pub outcome: Outcome,
}

/// The outcome of a plant.
pub enum Outcome {
    /// It was judged.
    Reported(Answer),
    /// This machine does not support it.
    NotHere(String),
    /// It was not established or did not last.
    Spoilt(String),
}

impl Row {
    /// The answer in words.
    pub fn reported(&self) -> String {
        match &self.outcome {
            Outcome::Reported(answer) => words(self.answers(answer).iter()),
            Outcome::NotHere(reason) => format!("not here: {reason}"),
            Outcome::Spoilt(reason) => format!("did not come up: {reason}"),
        }
    }

    /// The part of an answer that concerns the plant.
    pub fn answers<'a>(&self, answer: &'a Answer) -> &'a std::collections::BTreeSet<Said> {
        match self.asked {
            Asked::Why => &answer.why,
            Asked::Still => &answer.still,
        }
    }
}

fn words<'a>(said: impl Iterator<Item = &'a Said>) -> String {
    let each: Vec<String> = said.map(one).collect();
    if each.is_empty() {
        return "nothing".to_owned();
    }
    each.join(" and ")
}

fn one(said: &Said) -> String {
    match &said.others {
        None => format!("{}?", said.code),
        Some(others) if others.is_empty() => said.code.to_string(),
        Some(others) => {
            let others: Vec<String> = others.iter().map(ToString::to_string).collect();
            format!("{} or {}", said.code, others.join(", "))
        }
    }
}

/// Prints the table.
pub fn print(rows: &[Row]) {
    let mut text = String::new();
    for row in rows {
        let planted = format!("{} as {}", row.planted, row.role.name());
        let _ = writeln!(text, "{planted:<40} {}", row.reported());
    }
    print!("{text}");
}

/// Writes the table as JSON to the path in `HUGEWISE_CONFUSION`.
pub fn save(rows: &[Row]) {
    let Some(path) = std::env::var_os("HUGEWISE_CONFUSION") else {
        return;
    };
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            let kind = match (&row.outcome, row.asked) {
                (Outcome::Reported(_), Asked::Why) => "why",
                (Outcome::Reported(_), Asked::Still) => "still",
                (Outcome::NotHere(_), _) => "not_here",
                (Outcome::Spoilt(_), _) => "spoilt",
            };
            json!({
                "planted": row.planted,
                "role": row.role.name(),
                "kind": kind,
                "reported": row.reported(),
                "exception": crate::expected::exception(row),
            })
        })
        .collect();
    let text = serde_json::to_string_pretty(&rows).expect("JSON");
    std::fs::write(path, text).expect("the table");
}

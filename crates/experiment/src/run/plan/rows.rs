//! Selects the rows of a table, or lines of JSON, that count as requests: `,where=FIELD=VALUE`. The failed requests:
//! `,failed=FIELD`, `,ok=FIELD` or `,status=FIELD`.

use std::fmt;

use super::Stamp;
use super::stamp::EDGES;

/// The options after the field of a latency.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// The field of the time of each request.
    pub stamp: Option<Stamp>,
    /// The filters; a row counts if it passes all of these.
    pub only: Vec<Only>,
    /// The field of failures.
    pub failed: Option<Failed>,
}

/// A field and its value in the rows that count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Only {
    /// A column or a field.
    pub field: String,
    /// Its value.
    pub value: String,
}

/// The field of failures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// A column or a field.
    pub field: String,
    /// Its meaning.
    pub by: FailedBy,
}

/// The meaning of a field of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedBy {
    /// It failed: `true`, or the text of an error.
    Failed,
    /// It succeeded: `true`.
    Ok,
    /// An HTTP status: 0 and at least 400 are failures.
    Status,
}

const ONLY: &str = ",where=";

const FAILED: [(&str, FailedBy); 3] = [
    (",failed=", FailedBy::Failed),
    (",ok=", FailedBy::Ok),
    (",status=", FailedBy::Status),
];

impl FailedBy {
    /// Returns true if this text in the field marks a failed request.
    #[must_use]
    pub fn fails(self, text: &str) -> bool {
        let text = text.trim().to_ascii_lowercase();
        let is_no = matches!(text.as_str(), "" | "0" | "false" | "no" | "null" | "none");
        match self {
            Self::Failed => !is_no && text != "ok",
            Self::Ok => is_no,
            Self::Status => !text
                .parse()
                .is_ok_and(|status: u32| (100..400).contains(&status)),
        }
    }
}

impl Rows {
    /// Splits the options off the field.
    pub(super) fn part_off(text: &str) -> Result<(&str, Self), String> {
        let mut rows = Self::default();
        let (before, mut rest) = next(text);
        while let Some((word, behind)) = rest {
            let (value, after) = next(behind);
            rows.take(text, word, value)?;
            rest = after;
        }
        Ok((before, rows))
    }

    fn take(&mut self, text: &str, word: &str, value: &str) -> Result<(), String> {
        if let Some((_, edge)) = EDGES.iter().find(|it| it.0 == word) {
            let stamp = Stamp::of(*edge, value, text)?;
            return once(&mut self.stamp, stamp, text);
        }
        if let Some((_, by)) = FAILED.iter().find(|it| it.0 == word) {
            let (field, by) = (named(value, text)?, *by);
            return once(&mut self.failed, Failed { field, by }, text);
        }
        let (field, value) = value
            .split_once('=')
            .ok_or_else(|| format!("`{text}`: write where=COLUMN=VALUE"))?;
        self.only.push(Only {
            field: named(field, text)?,
            value: value.to_owned(),
        });
        Ok(())
    }

    /// Returns true if there is no option.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Returns the text before the next word, the word, and the text after it.
fn next(text: &str) -> (&str, Option<(&'static str, &str)>) {
    let words = EDGES
        .iter()
        .map(|it| it.0)
        .chain(FAILED.iter().map(|it| it.0));
    let found = words
        .chain([ONLY])
        .filter_map(|word| Some((text.find(word)?, word)))
        .min();
    match found {
        None => (text, None),
        Some((at, word)) => (&text[..at], Some((word, &text[at + word.len()..]))),
    }
}

fn once<T>(slot: &mut Option<T>, value: T, text: &str) -> Result<(), String> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("`{text}` says one thing twice")),
    }
}

fn named(field: &str, text: &str) -> Result<String, String> {
    match field.is_empty() {
        true => Err(format!("`{text}` names no field behind a `,`")),
        false => Ok(field.to_owned()),
    }
}

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(stamp) = &self.stamp {
            write!(f, "{stamp}")?;
        }
        for Only { field, value } in &self.only {
            write!(f, "{ONLY}{field}={value}")?;
        }
        let Some(failed) = &self.failed else {
            return Ok(());
        };
        let word = FAILED.iter().find(|it| it.1 == failed.by);
        write!(f, "{}{}", word.map_or("", |it| it.0), failed.field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_tell_failures() {
        let cases = [
            (FailedBy::Failed, ["true", "1", "EOF"], ["", "false", "0"]),
            (FailedBy::Ok, ["false", "", "0"], ["true", "1", "yes"]),
            (
                FailedBy::Status,
                ["0", "404", "Non HTTP"],
                ["200", "304", " 101 "],
            ),
        ];
        for (by, failed, good) in cases {
            assert!(failed.iter().all(|text| by.fails(text)), "{by:?}");
            assert!(!good.iter().any(|text| by.fails(text)), "{by:?}");
        }
    }
}

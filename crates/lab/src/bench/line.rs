//! One line of JSON for each cell.

use std::fmt::Write as _;

use super::pages::Pages;
use crate::missing::{Reason, quoted};
use crate::tell;

/// The measurements of one cell.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    cell: &'a str,
    metrics: Vec<(&'static str, f64)>,
    pages: Vec<(&'static str, Result<Pages, Reason>)>,
}

impl<'a> Line<'a> {
    /// An empty line for a cell.
    pub(crate) fn of(cell: &'a str) -> Self {
        Self {
            cell,
            metrics: Vec::new(),
            pages: Vec::new(),
        }
    }

    /// Adds a number; its name is one of `hugewise_experiment::run::metric::cells`. A number that is not finite means
    /// "not measured" and is left out.
    pub(crate) fn metric(mut self, name: &'static str, value: f64) -> Self {
        if value.is_finite() {
            self.metrics.push((name, value));
        }
        self
    }

    /// Adds the pages of a buffer.
    pub(crate) fn pages(mut self, buffer: &'static str, pages: Result<Pages, Reason>) -> Self {
        self.pages.push((buffer, pages));
        self
    }

    /// Prints it immediately, so that a reader sees the progress of the bench.
    pub(crate) fn print(&self) {
        tell(self.json());
    }

    fn json(&self) -> String {
        let mut text = format!(r#"{{"cell":{}"#, quoted(self.cell));
        let metrics = self
            .metrics
            .iter()
            .map(|(name, value)| format!(r#""{name}":{value:e}"#));
        let pages = self.pages.iter().map(|(buffer, pages)| {
            let pages = match pages {
                Ok(pages) => pages.json(),
                Err(reason) => format!(r#"{{"missing":{}}}"#, reason.json()),
            };
            format!(r#""{buffer}":{pages}"#)
        });
        object(&mut text, "metrics", &metrics.collect::<Vec<_>>());
        object(&mut text, "pages", &pages.collect::<Vec<_>>());
        text.push('}');
        text
    }
}

/// Prints that a cell was not measured, with the reason.
pub(crate) fn print_missing(cell: &str, reason: &Reason) {
    let (cell, missing) = (quoted(cell), reason.json());
    tell(format_args!(r#"{{"cell":{cell},"missing":{missing}}}"#));
}

fn object(text: &mut String, name: &str, fields: &[String]) {
    if !fields.is_empty() {
        // Writing to a string does not fail.
        let _ = write!(text, r#","{name}":{{{}}}"#, fields.join(","));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_object() {
        let mut pages = Pages {
            huge: 2 << 20,
            ..Pages::default()
        };
        pages.folios.insert(65_536, 131_072);
        let line = Line::of("a/1")
            .metric("time_seconds", 1.5e-3)
            .metric("rate_bytes_per_second", f64::NAN)
            .pages("source", Ok(pages))
            .pages("destination", Err(Reason::NotPermitted("root".to_owned())));
        assert_eq!(
            line.json(),
            r#"{"cell":"a/1","metrics":{"time_seconds":1.5e-3},"pages":{"source":{"huge":2097152,"mthp_65536":131072},"destination":{"missing":{"why":"not_permitted","grant":"root"}}}}"#
        );
    }

    #[test]
    fn text_is_quoted() {
        assert_eq!(quoted("a\"b\\c\n"), r#""a\"b\\c\u000a""#);
    }
}

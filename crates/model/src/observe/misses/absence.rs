use std::fmt::{self, Write};

use serde::{Deserialize, Serialize};

use super::event::Means;
use super::summary::FORMAT;
use crate::base::missing::Missing;
use crate::text::wrap::{plain, wrapped};

/// Why it cannot be told where misses come from, and what would help.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Absence {
    /// [`FORMAT`].
    pub format: String,
    /// The means that this processor's family has, where the family is known.
    pub means: Option<Means>,
    /// Why it could not be used.
    pub missing: Missing,
    /// What would help, most likely first.
    pub helps: Vec<String>,
}

impl Absence {
    /// An absence with what would help.
    #[must_use]
    pub fn new(means: Option<Means>, missing: Missing, helps: Vec<String>) -> Self {
        Self {
            format: FORMAT.to_owned(),
            means,
            missing,
            helps,
        }
    }

    /// As text of at most `width` columns.
    ///
    /// # Errors
    /// Only those of `out`.
    pub fn render_text(&self, width: usize, out: &mut impl Write) -> fmt::Result {
        let mut said = vec![format!(
            "Cannot tell where misses come from: {}.",
            self.why()
        )];
        if !self.helps.is_empty() {
            said.push("What would help:".to_owned());
        }
        said.extend(self.helps.iter().map(|help| format!("* {help}")));
        for text in said {
            for line in wrapped(&plain(&text), width, 2) {
                writeln!(out, "{line}")?;
            }
        }
        Ok(())
    }

    fn why(&self) -> String {
        match (self.means, &self.missing) {
            (Some(means), Missing::NotPermitted { grant }) => {
                format!(
                    "sampling by {} is not permitted; it needs {grant}",
                    means.title()
                )
            }
            (_, missing) => missing.to_string(),
        }
    }

    /// As CSV, in the columns of [`render_csv`](super::render_csv).
    ///
    /// # Errors
    /// Only those of `out`.
    pub fn render_csv(&self, out: &mut impl Write) -> fmt::Result {
        writeln!(out, "{}", super::render::CSV_HEADING)?;
        let missing = crate::text::csv_field(&self.missing.to_string());
        writeln!(out, "misses,,,,,,,,,{missing}")
    }

    /// As one JSON document.
    ///
    /// # Errors
    /// Only those of `out`.
    pub fn render_json(&self, out: &mut impl Write) -> fmt::Result {
        let text = serde_json::to_string_pretty(self).map_err(|_| fmt::Error)?;
        writeln!(out, "{text}")
    }
}

//! What is said: one [`Report`], drawn as text, JSON, CSV or Markdown.

use crate::compare::Table;
use crate::findings::Finding;
use crate::record::Record;

/// Everything that a rendering may say. All renderings draw the same report.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// What was done and seen.
    pub record: &'a Record,
    /// What differs.
    pub table: Table,
    /// Why.
    pub findings: Vec<Finding>,
    /// Where the record lies, as it is shown to the user.
    pub record_path: Option<String>,
}

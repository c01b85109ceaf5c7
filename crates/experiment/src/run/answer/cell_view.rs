//! The cells of a bench, as an answer needs them.

use crate::text::document::Level;
use crate::text::figure::Figure;

/// The cells of a bench. This crate stores trials with cells; their meaning is defined in the crate `hugewise-bench`.
pub trait CellView: std::fmt::Debug {
    /// Returns the rows of the table.
    fn rows(&self) -> Vec<CellRow>;
    /// Returns true if a policy and the baseline have the same pages under a cell.
    fn has_same_pages(&self, metric: &str, policy: &str) -> bool;
    /// Returns the meaning of the numbers, and the cells that were left out.
    fn legend(&self) -> Vec<String>;
    /// Returns the curves, as lines of text.
    fn drawings(&self) -> Vec<Vec<String>>;
    /// Returns the curves, as pictures.
    fn figures(&self) -> Vec<Figure>;
    /// Returns a key and its value for JSON.
    fn json(&self) -> Option<(&'static str, serde_json::Value)>;
}

/// A row of a bench.
#[derive(Clone, Debug)]
pub struct CellRow {
    /// Name of the reading.
    pub metric: String,
    /// The label of the row.
    pub label: String,
    /// The level at which it is shown.
    pub level: Level,
}

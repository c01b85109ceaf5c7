//! Recordings of events: live and replayed events go through one analysis.

use super::jsonl::Line;

/// Accumulates the events of a recording.
pub trait Recorded: Sized {
    /// A line.
    type Event: Line;

    /// Starts the analysis from the first line of a recording; `None` for any other event.
    fn begin(event: &Self::Event) -> Option<Self>;

    /// Adds the next event.
    fn push(&mut self, event: &Self::Event);
}

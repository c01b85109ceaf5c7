//! Recordings of events: live and replayed events go through one analysis.

use super::jsonl::Line;

/// What adds up the events of a recording.
pub trait Recorded: Sized {
    /// A line.
    type Event: Line;

    /// The analysis that begins with the first line of a recording; `None` for any other event.
    fn begin(event: &Self::Event) -> Option<Self>;

    /// Takes the next event in.
    fn push(&mut self, event: &Self::Event);
}

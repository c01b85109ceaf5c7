//! Events while a screen is shown.

use std::time::Duration;

use hugewise_monitor::watch::{Key, Look, Sample};
use hugewise_text::document::Document;

/// How often signals are checked.
pub(super) const SOON: Duration = Duration::from_millis(200);

/// An event while the screen is shown.
#[derive(Debug)]
pub(super) enum Event {
    /// A key was pressed.
    Key(Key),
    /// The terminal has changed its size.
    Resized,
    /// The terminal is closed, so no more keys will come.
    KeysEnded,
    /// A new sample.
    Sample(Box<Sample>),
    /// New durations of kernel stalls.
    Stalls(Document),
    /// The new report of the newest record.
    Experiment(Document),
    /// An inspection of a process has ended after this time.
    Look(Box<Look>, Duration),
}

/// Whether the screen continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Going {
    On,
    Over,
}

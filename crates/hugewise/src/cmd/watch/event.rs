//! What happens while a screen is shown.

use std::time::Duration;

use hugewise_monitor::watch::{Key, Look, Sample};
use hugewise_text::document::Document;

/// How soon a signal is noticed.
pub(super) const SOON: Duration = Duration::from_millis(200);

/// What happens while the screen is shown.
#[derive(Debug)]
pub(super) enum Event {
    /// A key was pressed.
    Key(Key),
    /// The terminal has another size.
    Resized,
    /// No key will come any more: the terminal is gone.
    KeysEnded,
    /// A sample was taken.
    Sample(Box<Sample>),
    /// How long the kernel stalls.
    Stalls(Document),
    /// What the newest record says.
    Experiment(Document),
    /// A look into a process has ended, and took so long.
    Look(Box<Look>, Duration),
}

/// Whether the screen is still wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Going {
    On,
    Over,
}

//! What of a process may be read.

use serde::Serialize;

/// Whether the memory and the executable of a process may be read by who asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// They may.
    #[default]
    Open,
    /// They belong to another user.
    Closed,
}

impl Access {
    /// For serde, which writes down what is closed alone.
    pub(super) fn is_open(&self) -> bool {
        *self == Self::Open
    }
}

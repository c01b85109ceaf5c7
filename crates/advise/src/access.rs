//! Access to the data of a process.

use serde::Serialize;

/// Access of the caller to the memory and the executable of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Both can be read.
    #[default]
    Open,
    /// They belong to another user.
    Closed,
}

impl Access {
    /// Lets serde omit [`Open`](Self::Open), so only closed access is serialised.
    pub(super) fn is_open(&self) -> bool {
        *self == Self::Open
    }
}

//! Why something could not be measured, as JSON.

/// Why a cell, or the pages of a buffer, could not be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// This machine, kernel or processor lacks this.
    NotSupported(String),
    /// The least privilege that would help.
    NotPermitted(String),
    /// A kernel output that could not be parsed, or the operation that it refused.
    Unreadable(String),
}

impl Reason {
    pub(crate) fn json(&self) -> String {
        let (why, name, what) = match self {
            Self::NotSupported(what) => ("not_supported", "what", what),
            Self::NotPermitted(grant) => ("not_permitted", "grant", grant),
            Self::Unreadable(error) => ("unreadable", "error", error),
        };
        format!(r#"{{"why":"{why}","{name}":{}}}"#, quoted(what))
    }
}

/// A string of JSON.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

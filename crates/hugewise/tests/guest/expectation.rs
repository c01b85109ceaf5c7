//! Expectations for the running kernel: none, unless the matrix gives some.

use std::path::PathBuf;

/// The effect of a write on memory that was only read so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterRead {
    /// It splits the huge mapping, and every small page faults again (Linux 5.8 to 6.12).
    Splits,
    /// It takes one huge page (since 6.13, and before 5.8).
    Whole,
}

/// The matrix's expectations for this kernel.
#[derive(Clone, Debug, Default)]
pub struct Expectation {
    /// The effect of a write after a read; without an expectation both are accepted.
    pub after_read: Option<AfterRead>,
    /// The doctor's diagnosis of this kernel, for root and for the ordinary user, as
    /// `FOLDER/root.json` and `FOLDER/user.json`.
    pub golden: Option<PathBuf>,
}

impl Expectation {
    /// Parses the command line. Words from `cargo test` are skipped.
    pub fn parse(words: &[String]) -> Result<Self, String> {
        let mut found = Self::default();
        for word in words {
            match word.split_once('=') {
                Some(("after-read", "splits")) => found.after_read = Some(AfterRead::Splits),
                Some(("after-read", "whole")) => found.after_read = Some(AfterRead::Whole),
                Some(("golden", folder)) => found.golden = Some(folder.into()),
                Some((key, _)) if !key.starts_with('-') => {
                    return Err(format!(
                        "`{word}`: write after-read=splits|whole or golden=DIR"
                    ));
                }
                _ => {}
            }
        }
        Ok(found)
    }
}

//! `file=`: the pages of files in the page cache.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::parse::parse_word;
use super::words::{FileMode, Word};
use crate::text::wrap::plain;

/// `PATH:MODE`: before a trial, the files at PATH are evicted from the page cache and read again, into large or small
/// folios.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, Hash)]
#[serde(try_from = "String", into = "String")]
pub struct FilePages {
    path: String,
    mode: FileMode,
}

/// The values as shown to users.
pub(super) fn offered() -> String {
    format!("PATH:{}", FileMode::words().join("|"))
}

impl FilePages {
    /// The path of a file; `*` and `?` in its last part match any characters.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The size of the folios.
    #[must_use]
    pub fn mode(&self) -> FileMode {
        self.mode
    }

    /// How another program reaches the same, once the file is evicted.
    #[must_use]
    pub fn calls(&self) -> String {
        let path = &self.path;
        match self.mode {
            FileMode::Huge => {
                format!(
                    "posix_fadvise(DONTNEED) on {path}, then reads a mapping with MADV_HUGEPAGE"
                )
            }
            FileMode::Small => {
                format!(
                    "posix_fadvise(DONTNEED) on {path}, then POSIX_FADV_WILLNEED in small pieces"
                )
            }
        }
    }
}

impl fmt::Display for FilePages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path, self.mode.word())
    }
}

impl FromStr for FilePages {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault = |what: &str| format!("`file={text}`: {what}");
        let (path, mode) = text
            .rsplit_once(':')
            .ok_or_else(|| fault("expected PATH:MODE, as in file=model.gguf:huge"))?;
        let mode = parse_word("MODE", mode).map_err(|what| fault(&what))?;
        if path.is_empty() || plain(path) != path {
            return Err(fault(
                "expected the path of a file, without control characters",
            ));
        }
        Ok(Self {
            path: path.to_owned(),
            mode,
        })
    }
}

impl TryFrom<String> for FilePages {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<FilePages> for String {
    fn from(pages: FilePages) -> Self {
        pages.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_and_a_mode_are_kept() {
        for text in ["data.bin:huge", "/a:b/*.gguf:small"] {
            let pages: FilePages = text.parse().unwrap();
            assert_eq!(pages.to_string(), text);
        }
        for (text, word) in [
            ("data.bin", "expected PATH:MODE"),
            ("data.bin:large", "expected huge or small"),
            (":huge", "path of a file"),
            ("a\nb:huge", "control characters"),
        ] {
            let error = text.parse::<FilePages>().unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}

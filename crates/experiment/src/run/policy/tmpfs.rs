//! `tmpfs=`: a separate tmpfs for each trial.

use std::fmt;
use std::path::{Component, Path};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::parse::parse_word;
use super::words::{TmpfsMode, Word};
use crate::text::wrap::plain;

/// `PATH:MODE`: an empty tmpfs, mounted with `huge=MODE` over the tmpfs at PATH. Only the program of the trial sees it.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, Hash)]
#[serde(try_from = "String", into = "String")]
pub struct Tmpfs {
    path: String,
    mode: TmpfsMode,
}

/// The values as shown to users.
pub(super) fn offered() -> String {
    format!("PATH:{}", TmpfsMode::words().join("|"))
}

impl Tmpfs {
    /// The mount point: absolute, without `.`, `..` or a final slash.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The mount option `huge=`.
    #[must_use]
    pub fn mode(&self) -> TmpfsMode {
        self.mode
    }

    /// The mount option as a word: `always`.
    #[must_use]
    pub fn huge(&self) -> &'static str {
        self.mode.word()
    }

    /// Returns true if the program does not see the file at an absolute path, because its path is below the mount point.
    #[must_use]
    pub fn hides(&self, path: &Path) -> bool {
        path.starts_with(&self.path)
    }

    /// The command that gives the mount of the machine this mode, for all programs.
    #[must_use]
    pub fn remount(&self) -> String {
        let words = [
            "mount",
            "-o",
            &format!("remount,huge={}", self.huge()),
            &self.path,
        ];
        crate::text::wrap::quoted_words(&words.map(str::to_owned))
    }
}

impl fmt::Display for Tmpfs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path, self.huge())
    }
}

impl FromStr for Tmpfs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault = |what: &str| format!("`tmpfs={text}`: {what}");
        let (path, mode) = text
            .rsplit_once(':')
            .ok_or_else(|| fault("expected PATH:MODE, as in tmpfs=/dev/shm:always"))?;
        let mode = parse_word("MODE", mode).map_err(|what| fault(&what))?;
        if plain(path) != path {
            return Err(fault("a path may not hold control characters"));
        }
        let path = Path::new(path);
        let is_direct = |part| matches!(part, Component::RootDir | Component::Normal(_));
        if !path.is_absolute() || !path.components().all(is_direct) {
            return Err(fault("the path must be absolute, without `..`"));
        }
        // Without repeated and final slashes.
        let path: std::path::PathBuf = path.components().collect();
        match path.to_str() {
            None | Some("/") => Err(fault("the root of the file system cannot be replaced")),
            Some(path) => Ok(Self {
                path: path.to_owned(),
                mode,
            }),
        }
    }
}

impl TryFrom<String> for Tmpfs {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Tmpfs> for String {
    fn from(tmpfs: Tmpfs) -> Self {
        tmpfs.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_kept_in_its_shortest_form() {
        for (text, canonical) in [
            ("/dev/shm:always", "/dev/shm:always"),
            ("/dev//shm/:within_size", "/dev/shm:within_size"),
            ("/run/a:b:advise", "/run/a:b:advise"),
        ] {
            let tmpfs: Tmpfs = text.parse().unwrap();
            assert_eq!(tmpfs.to_string(), canonical);
            assert_eq!(canonical.parse(), Ok(tmpfs));
        }
    }

    #[test]
    fn what_is_no_mount_point_or_mode_is_refused() {
        for (text, word) in [
            ("/dev/shm", "expected PATH:MODE"),
            ("always", "expected PATH:MODE"),
            (
                "/dev/shm:on",
                "expected never, within_size, advise or always",
            ),
            ("/dev/shm:force", "expected never, within_size"),
            ("dev/shm:always", "must be absolute"),
            ("/dev/../tmp:always", "without `..`"),
            (":always", "must be absolute"),
            ("/:never", "cannot be replaced"),
            ("/a\nb:never", "control characters"),
        ] {
            let error = text.parse::<Tmpfs>().unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }

    #[test]
    fn files_below_the_mount_point_are_hidden() {
        let tmpfs: Tmpfs = "/dev/shm:never".parse().unwrap();
        assert!(tmpfs.hides(Path::new("/dev/shm/a/b")) && tmpfs.hides(Path::new("/dev/shm")));
        assert!(!tmpfs.hides(Path::new("/dev/shmem")) && !tmpfs.hides(Path::new("/dev")));
        assert_eq!(tmpfs.remount(), "mount -o remount,huge=never /dev/shm");
    }
}

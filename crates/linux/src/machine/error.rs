use std::path::{Path, PathBuf};
use std::{fmt, io};

use hugewise_base::missing::Missing;

use super::descriptors::hint;

/// The result of a contact with the kernel.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure of a contact with the kernel: its kind, the action and the path.
#[derive(Debug, thiserror::Error)]
pub struct Error {
    /// The kind, for callers that handle it.
    pub kind: Kind,
    /// What was being done, as a participle phrase: `reading`, `writing`, `locking`.
    pub doing: String,
    /// The file it was done to, where there is one.
    pub path: Option<PathBuf>,
    /// The kernel's error.
    #[source]
    pub source: Option<io::Error>,
}

/// The kind of a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The kernel refused for lack of privilege.
    NotPermitted,
    /// The file or the feature is not there.
    NotFound,
    /// The content could not be understood; the text says line and field.
    Malformed(String),
    /// Another experiment holds the machine.
    Busy {
        /// Its process, where it could be found out.
        holder: Option<u32>,
    },
    /// Anything else.
    Other(String),
}

impl Error {
    /// An error of a system call on a path.
    #[must_use]
    pub fn io(doing: &str, path: &Path, source: io::Error) -> Self {
        let kind = match source.kind() {
            io::ErrorKind::PermissionDenied => Kind::NotPermitted,
            io::ErrorKind::NotFound => Kind::NotFound,
            _ => Kind::Other(String::new()),
        };
        Self {
            kind,
            doing: doing.to_owned(),
            path: Some(path.to_owned()),
            source: Some(source),
        }
    }

    /// Content that could not be understood.
    #[must_use]
    pub fn malformed(path: &Path, what: impl Into<String>) -> Self {
        Self {
            kind: Kind::Malformed(what.into()),
            doing: "reading".to_owned(),
            path: Some(path.to_owned()),
            source: None,
        }
    }

    /// Whether it failed because the file, or the process that it is about, is not there.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        let source = self.source.as_ref();
        self.kind == Kind::NotFound
            || source.is_some_and(|source| source.raw_os_error() == Some(libc::ESRCH))
    }

    /// The failure as a missing reading. `grant` is the least privilege that would have helped.
    #[must_use]
    pub fn into_missing(self, grant: &str) -> Missing {
        match self.kind {
            Kind::NotPermitted => Missing::not_permitted(grant),
            Kind::NotFound => Missing::not_supported(
                self.path
                    .map_or(self.doing, |path| path.display().to_string()),
            ),
            _ => Missing::unreadable(self.to_string()),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.doing)?;
        if let Some(path) = &self.path {
            write!(f, " {}", path.display())?;
        }
        match (&self.kind, &self.source) {
            (Kind::Malformed(what), _) => write!(f, ": {what}"),
            (Kind::Busy { holder: Some(pid) }, _) => write!(f, ": held by process {pid}"),
            (Kind::Busy { holder: None }, _) => write!(f, ": held by another process"),
            (_, Some(source)) => write!(f, ": {source}{}", hint(source)),
            (Kind::Other(what), None) => write!(f, ": {what}"),
            (Kind::NotPermitted, None) => write!(f, ": permission denied"),
            (Kind::NotFound, None) => write!(f, ": not found"),
        }
    }
}

/// The name of an error number that madvise(2) can give; of others the number.
pub(crate) fn name_of_number(error: i32) -> String {
    let name = match error {
        libc::EAGAIN => "EAGAIN",
        libc::EBUSY => "EBUSY",
        libc::EFAULT => "EFAULT",
        libc::EINTR => "EINTR",
        libc::EINVAL => "EINVAL",
        libc::EIO => "EIO",
        libc::ENOMEM => "ENOMEM",
        other => return format!("error {other}"),
    };
    name.to_owned()
}

use std::path::{Path, PathBuf};
use std::{fmt, io};

use hugewise_base::missing::Missing;

use super::descriptors::hint;

/// The result of an operation on the kernel.
pub type Result<T> = std::result::Result<T, Error>;

/// A failed operation on the kernel: the kind of failure, the action and the path.
#[derive(Debug, thiserror::Error)]
pub struct Error {
    /// The kind, for callers that handle it.
    pub kind: Kind,
    /// The action, as a participle phrase: `reading`, `writing`, `locking`.
    pub doing: String,
    /// The affected file, if any.
    pub path: Option<PathBuf>,
    /// The kernel's error.
    #[source]
    pub source: Option<io::Error>,
}

/// The kind of a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The kernel refused because a privilege is missing.
    NotPermitted,
    /// The file or the feature does not exist.
    NotFound,
    /// The content could not be parsed; the text has the line and the field.
    Malformed(String),
    /// Another experiment holds the machine.
    Busy {
        /// Its PID, if known.
        holder: Option<u32>,
    },
    /// Anything else.
    Other(String),
}

impl Error {
    /// Creates an error for a system call on a path.
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

    /// Creates an error for content that could not be parsed.
    #[must_use]
    pub fn malformed(path: &Path, what: impl Into<String>) -> Self {
        Self {
            kind: Kind::Malformed(what.into()),
            doing: "reading".to_owned(),
            path: Some(path.to_owned()),
            source: None,
        }
    }

    /// Returns true if the file or the process does not exist.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        let source = self.source.as_ref();
        self.kind == Kind::NotFound
            || source.is_some_and(|source| source.raw_os_error() == Some(libc::ESRCH))
    }

    /// Converts the failure to a missing reading. `grant` is the smallest privilege that would have helped.
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

/// Returns the name of an error number of madvise(2), or the number.
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

use std::io;

use hugewise_model::fault::Modes;

use crate::machine::error::{Error, Kind, Result};

/// How much the kernel grants, found out by trying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grade {
    /// Faults in kernel mode and physical addresses, or faults in user mode alone.
    pub(super) modes: Modes,
    /// The size of the page that maps the address.
    pub(super) page_size: bool,
    /// The count of samples that found the ring full.
    pub(super) lost: bool,
}

impl Grade {
    const BEST: Self = Self {
        modes: Modes::All,
        page_size: true,
        lost: true,
    };

    /// The next lower one after this refusal.
    fn below(self, error: &io::Error) -> Option<Self> {
        match error.raw_os_error()? {
            libc::EACCES | libc::EPERM if self.modes == Modes::All => Some(Self {
                modes: Modes::User,
                ..self
            }),
            // Younger first: the count came with Linux 6.0, the page size with 5.11.
            libc::EINVAL if self.lost => Some(Self {
                lost: false,
                ..self
            }),
            libc::EINVAL if self.page_size => Some(Self {
                page_size: false,
                ..self
            }),
            _ => None,
        }
    }
}

/// The best grade that `attempt` accepts.
///
/// # Errors
/// None is accepted.
pub(super) fn negotiate(attempt: impl Fn(Grade) -> io::Result<()>) -> Result<Grade> {
    let mut grade = Grade::BEST;
    loop {
        let error = match attempt(grade) {
            Ok(()) => return Ok(grade),
            Err(error) => error,
        };
        grade = grade.below(&error).ok_or_else(|| refused(error))?;
    }
}

pub(super) fn refused(error: io::Error) -> Error {
    let kind = match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => Kind::NotPermitted,
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV | libc::ENOSYS) => Kind::NotFound,
        _ => Kind::Other(String::new()),
    };
    Error {
        kind,
        doing: "opening page fault events".to_owned(),
        path: None,
        source: Some(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(errno: i32, refuses: impl Fn(Grade) -> bool) -> Result<Grade> {
        negotiate(|grade| match refuses(grade) {
            true => Err(io::Error::from_raw_os_error(errno)),
            false => Ok(()),
        })
    }

    #[test]
    fn every_rung_is_tried() {
        let best = kernel(0, |_| false).unwrap();
        assert_eq!(best, Grade::BEST);
        let user = kernel(libc::EACCES, |grade| grade.modes == Modes::All).unwrap();
        assert_eq!(
            (user.modes, user.page_size, user.lost),
            (Modes::User, true, true)
        );
        let old = kernel(libc::EINVAL, |grade| grade.lost).unwrap();
        assert_eq!(
            (old.modes, old.page_size, old.lost),
            (Modes::All, true, false)
        );
        let older = kernel(libc::EINVAL, |grade| grade.lost || grade.page_size).unwrap();
        assert_eq!((older.page_size, older.lost), (false, false));
    }

    #[test]
    fn a_refusal_of_everything_says_what_kind_it_is() {
        let paranoid = kernel(libc::EACCES, |_| true).unwrap_err();
        assert_eq!(paranoid.kind, Kind::NotPermitted);
        let without_perf = kernel(libc::ENOSYS, |_| true).unwrap_err();
        assert_eq!(without_perf.kind, Kind::NotFound);
    }
}

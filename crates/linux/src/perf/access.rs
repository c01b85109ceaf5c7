use std::io;

use hugewise_observe::faults::Modes;

/// `PERF_SAMPLE_DATA_PAGE_SIZE` (Linux 5.11).
pub(crate) const SAMPLE_DATA_PAGE_SIZE: u64 = 1 << 22;
/// `PERF_FORMAT_LOST` (Linux 6.0).
pub(crate) const FORMAT_LOST: u64 = 1 << 4;

/// The data that the kernel allows in samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleAccess {
    /// All modes with physical addresses, or user mode only.
    pub modes: Modes,
    /// The size of the page that maps the address.
    pub page_size: bool,
    /// The number of samples lost because the ring was full.
    pub lost: bool,
}

impl SampleAccess {
    /// Everything.
    pub(crate) const FULL: Self = Self {
        modes: Modes::All,
        page_size: true,
        lost: true,
    };

    /// Returns the next smaller access after this refusal.
    fn below(self, error: &io::Error) -> Option<Self> {
        match error.raw_os_error()? {
            libc::EACCES | libc::EPERM if self.modes == Modes::All => Some(Self {
                modes: Modes::User,
                ..self
            }),
            // The newest feature first: the lost count came with Linux 6.0, the page size with 5.11.
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

    /// Returns the largest access, starting with this one, with which `attempt` succeeds.
    ///
    /// # Errors
    /// No access is granted: the smallest that was tried, and its refusal.
    pub(crate) fn negotiate(
        mut self,
        attempt: impl Fn(Self) -> io::Result<()>,
    ) -> Result<Self, (Self, io::Error)> {
        loop {
            let Err(error) = attempt(self) else {
                return Ok(self);
            };
            match self.below(&error) {
                Some(smaller) => self = smaller,
                None => return Err((self, error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(errno: i32, refuses: impl Fn(SampleAccess) -> bool) -> SampleAccess {
        let granted = SampleAccess::FULL.negotiate(|access| match refuses(access) {
            true => Err(io::Error::from_raw_os_error(errno)),
            false => Ok(()),
        });
        granted.unwrap()
    }

    #[test]
    fn each_part_is_given_up_alone() {
        assert_eq!(granted(0, |_| false), SampleAccess::FULL);
        let user = granted(libc::EACCES, |access| access.modes == Modes::All);
        let only_user = SampleAccess {
            modes: Modes::User,
            ..SampleAccess::FULL
        };
        assert_eq!(user, only_user);
        let old = granted(libc::EINVAL, |access| access.lost);
        assert_eq!(
            (old.modes, old.page_size, old.lost),
            (Modes::All, true, false)
        );
        let older = granted(libc::EINVAL, |access| access.lost || access.page_size);
        assert_eq!((older.page_size, older.lost), (false, false));
    }

    #[test]
    fn a_refusal_of_everything_is_handed_on() {
        let refused = SampleAccess::FULL
            .negotiate(|_| Err(io::Error::from_raw_os_error(libc::EACCES)))
            .unwrap_err();
        assert_eq!(refused.0.modes, Modes::User);
        assert_eq!(refused.1.raw_os_error(), Some(libc::EACCES));
    }
}

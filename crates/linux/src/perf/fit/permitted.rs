//! Determines the modes in which events may be counted, by trying.

use std::io;

use hugewise_base::missing::Missing;
use hugewise_observe::stat::Mode;

use crate::perf::open::{Code, CountFrom, CountTarget, GroupRequest, Guests, PerfOpen};
use crate::probe::Grants;

/// Modes in which events can be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permitted {
    /// The modes.
    pub mode: Mode,
    /// How guests are excluded.
    pub guests: Guests,
}

/// Determines which modes can be counted, by trying: the wanted one; otherwise user and kernel mode together if
/// permitted, or user mode only.
///
/// # Errors
/// There is no hardware counter, or counting is not permitted. A refusal of kernel mode may hide that there is no
/// counter: only the answer for user mode is conclusive.
pub fn permitted(
    opener: &dyn PerfOpen,
    code: Code,
    wanted: Option<Mode>,
    grants: &Grants,
) -> Result<Permitted, Missing> {
    let modes = match wanted {
        Some(mode) => vec![mode],
        None => vec![Mode::UserAndKernel, Mode::User],
    };
    let mut last = Missing::NoHardware;
    for mode in modes {
        match open_in(opener, code, mode) {
            Ok(guests) => return Ok(Permitted { mode, guests }),
            Err(error) => {
                last = missing(&error, mode, grants);
                if wanted.is_some()
                    && matches!(last, Missing::NotPermitted { .. })
                    && open_in(opener, code, Mode::User).is_err_and(|e| says_nothing_there(&e))
                {
                    return Err(Missing::NoHardware);
                }
            }
        }
    }
    Err(last)
}

fn open_in(opener: &dyn PerfOpen, code: Code, mode: Mode) -> io::Result<Guests> {
    let try_with = |guests| {
        let request = GroupRequest {
            events: &[code],
            observed: CountTarget::Caller,
            mode,
            guests,
            start: CountFrom::Switched,
        };
        opener
            .open(&request)
            .map(drop)
            .map_err(|refusal| refusal.error)
    };
    match try_with(Guests::Excluded) {
        Ok(()) => Ok(Guests::Excluded),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP)) => {
            try_with(Guests::Unasked).map(|()| Guests::Unasked)
        }
        Err(error) => Err(error),
    }
}

fn says_nothing_there(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV | libc::ENOSYS)
    )
}

/// Converts an error of opening to the reason.
#[must_use]
pub fn missing(error: &io::Error, mode: Mode, grants: &Grants) -> Missing {
    match error.raw_os_error() {
        _ if says_nothing_there(error) => Missing::NoHardware,
        Some(libc::EACCES | libc::EPERM) => Missing::not_permitted(match mode {
            Mode::User => grants.perf_user(),
            _ => grants.perf_kernel(),
        }),
        Some(libc::EMFILE | libc::ENFILE) => Missing::not_permitted("more open files (ulimit -n)"),
        _ => Missing::unreadable(format!("perf_event_open: {error}")),
    }
}

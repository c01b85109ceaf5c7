use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;

use hugewise_base::missing::Missing;

use super::{Advise, Covers, Life, Lives, MappingState, Reread};
use crate::machine::process::HeldProcess;
use crate::spawn::page_scan::{self, HUGE, PageFilter, ZERO};

/// A running process whose memory is to be collapsed. All descriptors refer to the process and the address space at the
/// time of opening, so neither a reused PID nor a newly executed program is mistaken for them.
#[derive(Debug)]
pub struct CollapseTarget {
    process: HeldProcess,
    /// `/proc/PID/maps` of that address space; empty once the address space is gone.
    maps: File,
    /// `/proc/PID/pagemap` of that address space.
    pagemap: File,
}

/// The reason why a process cannot be collapsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// No process has this PID, it has ended, or it is a kernel thread.
    #[error("no running program has process id {pid}")]
    NoProcess {
        /// The PID.
        pid: u32,
    },
    /// The kernel refuses.
    #[error("making another process's memory huge needs {grant}")]
    NotPermitted {
        /// The privilege to grant.
        grant: String,
    },
    /// This kernel does not support it.
    #[error("not on this machine: {what}")]
    NotSupported {
        /// The missing feature.
        what: String,
    },
}

/// Returns the privilege to grant after EPERM or EACCES. The kernel checks two privileges in this order
/// (process_madvise, mm/madvise.c): to read the process, and to affect its performance. Root in a container is not
/// enough, because the second must be held in the initial user namespace.
pub(super) fn grant(error: i32) -> &'static str {
    match error {
        libc::EPERM => "CAP_SYS_NICE (in the first user namespace)",
        _ => {
            "CAP_SYS_NICE and, for a process of another user, CAP_SYS_PTRACE and \
             CAP_DAC_READ_SEARCH (in the first user namespace)"
        }
    }
}

/// Only the owner of the process may open the page map (mode 0400), whatever other privileges exist. The page map
/// proves the outcome of each range.
const GRANT_OF_PAGE_MAP: &str =
    "CAP_DAC_READ_SEARCH, to read the page map of another user's process";

impl CollapseTarget {
    /// Opens a process, after checking with the kernel that its memory may be collapsed.
    ///
    /// # Errors
    /// See [`Unusable`].
    pub fn open(pid: u32) -> Result<Self, Unusable> {
        let gone = || Unusable::NoProcess { pid };
        let process = HeldProcess::open(pid).map_err(|_| gone())?;
        let asked = advise(&process, &[], Advice::Collapse).map(drop);
        match asked {
            Ok(()) => {}
            Err(error @ (libc::EPERM | libc::EACCES)) => {
                let grant = grant(error).to_owned();
                return Err(Unusable::NotPermitted { grant });
            }
            Err(libc::ESRCH) => return Err(gone()),
            Err(_) => {
                return Err(Unusable::NotSupported {
                    what: "process_madvise(MADV_COLLAPSE) (Linux 6.1)".to_owned(),
                });
            }
        }
        let open = |name: &str| {
            File::open(format!("/proc/{pid}/{name}")).map_err(|error| match error.raw_os_error() {
                Some(libc::EACCES | libc::EPERM) => Unusable::NotPermitted {
                    grant: GRANT_OF_PAGE_MAP.to_owned(),
                },
                _ => gone(),
            })
        };
        let target = Self {
            maps: open("maps")?,
            pagemap: open("pagemap")?,
            process,
        };
        // The PID may have been reused between the two calls: then the process behind the descriptor has ended.
        match target.life() {
            Life::Same => Ok(target),
            Life::Replaced | Life::Ended => Err(gone()),
        }
    }
}

#[cfg(feature = "live")]
impl CollapseTarget {
    /// The process itself.
    pub(crate) fn process(&self) -> &HeldProcess {
        &self.process
    }

    /// The page map of its address space.
    pub(crate) fn pagemap(&self) -> &File {
        &self.pagemap
    }
}

/// Reads all of a file from its beginning; stops at the first error.
fn read_again(file: &File) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 64 << 10];
    while let Ok(count @ 1..) = file.read_at(&mut chunk, bytes.len() as u64) {
        bytes.extend_from_slice(&chunk[..count]);
    }
    bytes
}

impl Advise for CollapseTarget {
    fn collapse(&self, stretch: Range<u64>) -> Result<(), i32> {
        let length = usize::try_from(stretch.end - stretch.start).map_err(|_| libc::EINVAL)?;
        let start = usize::try_from(stretch.start).map_err(|_| libc::EINVAL)?;
        let part = libc::iovec {
            iov_base: std::ptr::without_provenance_mut(start),
            iov_len: length,
        };
        advise(&self.process, &[part], Advice::Collapse).map(drop)
    }
}

/// The advice values for another process's memory. They change neither content nor access rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    /// `MADV_COLLAPSE`: replaces small pages by a huge page.
    Collapse,
    /// `MADV_COLD`: the kernel first splits a huge page if only part of it is advised.
    #[cfg(feature = "live")]
    Cold,
}

/// Calls `process_madvise`; returns the number of advised bytes, or the error number. An empty list only checks the
/// permission.
pub(crate) fn advise(
    process: &HeldProcess,
    parts: &[libc::iovec],
    advice: Advice,
) -> Result<usize, i32> {
    let advice = match advice {
        Advice::Collapse => libc::MADV_COLLAPSE,
        #[cfg(feature = "live")]
        Advice::Cold => libc::MADV_COLD,
    };
    // SAFETY: the kernel reads as many parts as the count says; their addresses are those of the other process, where
    // neither advice changes content or access.
    let result = unsafe {
        libc::syscall(
            libc::SYS_process_madvise,
            process.as_fd().as_raw_fd(),
            parts.as_ptr(),
            parts.len(),
            advice,
            0,
        )
    };
    if let Ok(bytes) = usize::try_from(result) {
        return Ok(bytes);
    }
    let error = std::io::Error::last_os_error();
    Err(error.raw_os_error().unwrap_or(libc::EIO))
}

impl Reread for CollapseTarget {
    fn state(&self, range: Range<u64>) -> MappingState {
        let wanted = PageFilter {
            with: HUGE,
            without: ZERO,
            returned: HUGE,
            ..PageFilter::default()
        };
        let mut huge = 0;
        let scanned = page_scan::scan_span(&self.pagemap, range.clone(), wanted, |region| {
            huge += region.end - region.start;
        });
        match scanned {
            Ok(()) if huge >= range.end - range.start => MappingState::Huge,
            Err(Missing::NotSupported { .. }) => MappingState::Unknown,
            _ => MappingState::Small,
        }
    }
}

impl Covers for CollapseTarget {
    fn is_mapped(&self, range: Range<u64>) -> bool {
        let bytes = read_again(&self.maps);
        let mut reached = range.start;
        for (_, line) in crate::proc::lines(&bytes) {
            let span = line.split_whitespace().next().and_then(|span| {
                let (start, end) = span.split_once('-')?;
                let address = |text| u64::from_str_radix(text, 16).ok();
                Some(address(start)?..address(end)?)
            });
            match span {
                Some(span) if span.contains(&reached) => reached = span.end,
                _ => {}
            }
        }
        reached >= range.end
    }
}

impl Lives for CollapseTarget {
    /// An address space without users lists no mappings: its process ended or executed another program. A parent that
    /// shares it (vfork) would keep it in use; the remaining mappings are then still the planned ones.
    fn life(&self) -> Life {
        if self.process.has_ended() {
            return Life::Ended;
        }
        let mut first = [0_u8; 1];
        match self.maps.read_at(&mut first, 0) {
            Ok(1) => Life::Same,
            // Between the exit of its last thread and its reaping it has no memory either.
            _ if self.process.has_ended() => Life::Ended,
            _ => Life::Replaced,
        }
    }
}

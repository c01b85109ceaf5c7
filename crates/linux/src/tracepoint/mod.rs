//! Records kernel trace events in the calling thread, with perf_event_open(2).
//!
//! An instance of tracefs would serve as well, but it is a directory that must be removed after a kill. A perf event
//! belongs to its descriptor, and ends with this process. Only the description of the event is read from tracefs; if
//! tracefs is not mounted, a private mount is made, which disappears with its descriptor.

use std::marker::PhantomData;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use hugewise_base::missing::Missing;
use perf_event::events::Tracepoint;
use perf_event::{Builder, SampleFlag, Sampler};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};

use crate::machine::error::{Error, Result};
use crate::machine::root::Root;

mod format;

pub use format::{Field, Format, parse_format};

/// The grant for users who may not see trace events.
const GRANT: &str = "root (tracefs and perf events)";

/// `PERF_RECORD_SAMPLE` (include/uapi/linux/perf_event.h).
const SAMPLE: u32 = 9;

/// The capacity for events between two readings, in bytes.
const BUFFER: usize = 64 << 10;

/// One event, recorded in the thread that opened it. It must stay in that thread.
pub struct Listener {
    format: Format,
    sampler: Sampler,
    of_this_thread: PhantomData<*const ()>,
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener")
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

impl Listener {
    /// Starts recording `group/name` in this thread.
    ///
    /// # Errors
    /// The reason why it cannot be recorded: this kernel has no such event, or this user may not see it.
    pub fn open(events: &TracepointFormats, event: &str) -> std::result::Result<Self, Missing> {
        let format = events.format(event)?;
        let sampler = sampler(&format).map_err(|error| {
            Error::io("listening to", Path::new(event), error).into_missing(GRANT)
        })?;
        Ok(Self {
            format,
            sampler,
            of_this_thread: PhantomData,
        })
    }

    /// Returns the value of a field in each event since the last reading, as a word if the event's format defines one.
    pub fn drain(&mut self, field: &str) -> Vec<String> {
        let mut values = Vec::new();
        while let Some(record) = self.sampler.next_record() {
            if record.ty() != SAMPLE {
                continue;
            }
            // The raw data is preceded by its length, in four bytes.
            let bytes = record.to_contiguous();
            let raw = bytes.get(4..).unwrap_or_default();
            values.extend(self.format.words(field, raw));
        }
        values
    }
}

fn sampler(format: &Format) -> std::io::Result<Sampler> {
    let mut builder = Builder::new(Tracepoint::with_id(format.id));
    builder
        .observe_self()
        .any_cpu()
        .include_kernel()
        .enabled(true)
        .sample(SampleFlag::RAW)
        .sample_period(1);
    builder.build()?.sampled(BUFFER)
}

/// The descriptions of events.
#[derive(Debug)]
pub struct TracepointFormats {
    folder: PathBuf,
    /// Keeps a private mount alive.
    _mount: Option<OwnedFd>,
}

impl TracepointFormats {
    /// Finds the descriptions in the mounted tracefs, or in a private mount.
    ///
    /// # Errors
    /// This kernel has no tracing, or this user may not see it.
    pub fn find(root: &Root) -> std::result::Result<Self, Missing> {
        let usual = ["sys/kernel/tracing", "sys/kernel/debug/tracing"];
        let mounted = usual
            .into_iter()
            .map(|folder| root.path(folder).join("events"))
            .find(|folder| folder.is_dir());
        if let Some(folder) = mounted {
            return Ok(Self {
                folder,
                _mount: None,
            });
        }
        if !root.is_real() {
            return Err(Missing::not_supported("tracefs"));
        }
        let mount = mount_for_us().map_err(|error| {
            Error::io("mounting", Path::new("tracefs"), error.into()).into_missing(GRANT)
        })?;
        let folder = PathBuf::from(format!("/proc/self/fd/{}/events", mount.as_raw_fd()));
        Ok(Self {
            folder,
            _mount: Some(mount),
        })
    }

    /// Returns the number of an event for perf_event_open(2).
    ///
    /// # Errors
    /// This kernel has no such event, or this user may not see it.
    pub fn id(&self, event: &str) -> std::result::Result<u64, Missing> {
        self.format(event).map(|format| format.id)
    }

    fn format(&self, event: &str) -> std::result::Result<Format, Missing> {
        let path = self.folder.join(event).join("format");
        read_format(&path).map_err(|error| error.into_missing(GRANT))
    }
}

fn read_format(path: &Path) -> Result<Format> {
    let bytes = std::fs::read(path).map_err(|error| Error::io("reading", path, error))?;
    parse_format(&bytes).map_err(|what| Error::malformed(path, what))
}

/// Makes a mount outside of all namespaces (fsmount(2), Linux 5.2): nobody else sees it, and closing the descriptor
/// removes it.
fn mount_for_us() -> rustix::io::Result<OwnedFd> {
    let tracefs = rustix::mount::fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_create(&tracefs)?;
    rustix::mount::fsmount(
        &tracefs,
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::MOUNT_ATTR_RDONLY,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A collapse in this process is recorded, with the word of the kernel's format: a range without pages and one with
    /// a page.
    #[test]
    fn our_own_collapse_is_heard_in_words() {
        let heard = TracepointFormats::find(&Root::real())
            .and_then(|events| Listener::open(&events, "huge_memory/mm_khugepaged_scan_pmd"));
        let Ok(mut listener) = heard else {
            return;
        };
        let huge = 2 << 20;
        if std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")
            .ok()
            .is_none_or(|text| text.trim() != "2097152")
        {
            return;
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a fresh mapping that holds two aligned huge pages; one byte is written in the
        // second, and all of it is unmapped at the end.
        unsafe {
            let base = libc::mmap(std::ptr::null_mut(), 3 * huge, access, flags, -1, 0);
            assert_ne!(base, libc::MAP_FAILED);
            let start = base.byte_add(base.align_offset(huge));
            libc::madvise(start, 2 * huge, libc::MADV_NOHUGEPAGE);
            start.byte_add(huge).cast::<u8>().write_volatile(1);
            libc::madvise(start, 2 * huge, libc::MADV_HUGEPAGE);
            libc::madvise(start, huge, libc::MADV_COLLAPSE);
            libc::madvise(start.byte_add(huge), huge, libc::MADV_COLLAPSE);
            libc::munmap(base, 3 * huge);
        }
        let words = listener.drain("status");
        assert_eq!(words.len(), 2, "{words:?}");
        // Linux 6.19 merged the two words for an empty range.
        assert!(matches!(
            words[0].as_str(),
            "pmd_none" | "pmd_null" | "no_pte_table"
        ));
        assert_eq!(words[1], "succeeded");
        assert!(listener.drain("status").is_empty());
    }
}

//! Counts of the acts of a process, by perf events on its threads.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use hugewise_base::missing::Missing;
use perf_event::events::{Event, Hardware, Raw, Tracepoint};
use perf_event::{Builder, Counter};

use super::file::{StaticProbe, function_offset, static_probes};
use crate::file::rights::Rights;
use crate::machine::error::Error;
use crate::machine::number;
use crate::machine::root::Root;
use crate::tracepoint::TracepointFormats;

/// The right for a counter that the kernel refuses.
const GRANT: &str = "CAP_PERFMON, or kernel.perf_event_paranoid at 1 or less and the same user";

/// Counters of one kind on the threads of processes, and on those that they will start.
#[derive(Debug)]
pub struct Counts(Vec<Counter>);

impl Counts {
    /// Reads the sum so far.
    ///
    /// # Errors
    /// A counter cannot be read.
    pub fn read(&mut self) -> Result<f64, Missing> {
        let read = |counter: &mut Counter| counter.read().map(|count| count as f64);
        let sum = self.0.iter_mut().map(read).sum::<std::io::Result<f64>>();
        sum.map_err(|error| Missing::unreadable(format!("counters: {error}")))
    }
}

/// Whose work an event counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// User mode alone.
    User,
    /// The kernel's too, where tracepoints are.
    All,
}

/// Opens an event on every thread; `set` adds what its kind cannot say.
fn open<E: Event + Clone>(
    event: &E,
    threads: &[u32],
    mode: Mode,
    set: impl Fn(&mut Builder<'_>),
) -> Result<Vec<Counter>, Missing> {
    let mut counters = Vec::with_capacity(threads.len());
    for thread in threads {
        let mut builder = Builder::new(event.clone());
        set(&mut builder);
        builder.inherit(true).enabled(true);
        builder.observe_pid(i32::try_from(*thread).unwrap_or(i32::MAX));
        if mode == Mode::All {
            builder.exclude_kernel(false).exclude_hv(false);
        }
        match builder.build() {
            Ok(counter) => counters.push(counter),
            // It has ended since it was listed.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            Err(error) => return Err(refused(error)),
        }
    }
    match counters.is_empty() {
        true => Err(Missing::unreadable("the process has ended")),
        false => Ok(counters),
    }
}

fn refused(error: std::io::Error) -> Missing {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => {
            Missing::not_supported("this event (no such counter on this machine)")
        }
        _ => Error::io("opening a counter on", Path::new("the process"), error).into_missing(GRANT),
    }
}

/// Counts instructions in user mode.
///
/// # Errors
/// There is no such counter, or we may not.
pub fn instructions(threads: &[u32]) -> Result<Counts, Missing> {
    open(&Hardware::INSTRUCTIONS, threads, Mode::User, |_| ()).map(Counts)
}

/// Counts system calls that ended, or began with these names.
///
/// # Errors
/// There is no such call, or we may not see them.
pub fn system_calls(root: &Root, names: &[String], threads: &[u32]) -> Result<Counts, Missing> {
    let events = TracepointFormats::find(root)?;
    let named = |name: &String| match events.id(&format!("syscalls/sys_enter_{name}")) {
        Err(Missing::NotSupported { .. }) => Err(Missing::not_supported(format!(
            "a tracepoint of a system call {name}"
        ))),
        found => found,
    };
    let ids: Vec<u64> = match names {
        [] => vec![events.id("raw_syscalls/sys_exit")?],
        names => names.iter().map(named).collect::<Result<_, _>>()?,
    };
    let mut counters = Vec::new();
    for id in ids {
        counters.extend(open(&Tracepoint::with_id(id), threads, Mode::All, |_| ())?);
    }
    Ok(Counts(counters))
}

/// Counts calls of a function of a file, which is opened with these rights.
///
/// # Errors
/// There is no such function, or we may not.
pub fn probe_hits(
    root: &Root,
    (file, rights): (&Path, &Rights),
    symbol: &str,
    threads: &[u32],
) -> Result<Counts, Missing> {
    let offset = function_offset(file, rights, symbol)?;
    let place = StaticProbe {
        offset,
        semaphore: 0,
    };
    Probe::new(root, file, place)?.open(threads).map(Counts)
}

/// Counts hits of a static probe of a file, at all its places. The file is opened with these rights.
///
/// # Errors
/// There is no such probe, or we may not.
pub fn static_hits(
    root: &Root,
    (file, rights): (&Path, &Rights),
    [provider, name]: [&str; 2],
    threads: &[u32],
) -> Result<Counts, Missing> {
    let mut counters = Vec::new();
    for place in static_probes(file, rights, provider, name)? {
        counters.extend(Probe::new(root, file, place)?.open(threads)?);
    }
    Ok(Counts(counters))
}

/// A place in a file whose hits are counted.
#[derive(Clone, Debug)]
struct Probe {
    source: u32,
    semaphore: u64,
    file: CString,
    offset: u64,
}

impl Probe {
    fn new(root: &Root, file: &Path, place: StaticProbe) -> Result<Self, Missing> {
        const SOURCE: &str = "sys/bus/event_source/devices/uprobe/type";
        let source = number::read(root, SOURCE)
            .ok()
            .and_then(|it| u32::try_from(it).ok());
        let source =
            source.ok_or_else(|| Missing::not_supported("probes of functions (uprobes)"))?;
        let file = CString::new(file.as_os_str().as_bytes());
        Ok(Self {
            source,
            semaphore: place.semaphore,
            file: file.map_err(|_| Missing::unreadable("a path may not hold a NUL"))?,
            offset: place.offset,
        })
    }
}

impl Probe {
    fn open(&self, threads: &[u32]) -> Result<Vec<Counter>, Missing> {
        open(&Raw::new(0), threads, Mode::All, |builder| {
            self.set(builder);
        })
    }

    /// Sets the event up; the file must live until it is open.
    fn set(&self, builder: &mut Builder<'_>) {
        /// The first bit of the offset of the semaphore (`REF_CTR_OFFSET_SHIFT`, kernel/events/core.c).
        const SEMAPHORE: u32 = 32;
        let attributes = builder.attrs_mut();
        attributes.type_ = self.source;
        attributes.config = self.semaphore << SEMAPHORE;
        attributes.__bindgen_anon_3.config1 = self.file.as_ptr().expose_provenance() as u64;
        attributes.__bindgen_anon_4.config2 = self.offset;
    }
}

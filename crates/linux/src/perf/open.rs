//! Opens groups of events: the only use of perf_event_open(2) for counting.

use std::fs::File;
use std::io;
use std::sync::Arc;

use hugewise_observe::stat::Mode;
use perf_event::events::Raw;
use perf_event::{Builder, Counter, ReadFormat};

use crate::machine::clock;

/// The code of an event for the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Code {
    /// `perf_event_attr.type`: the number of the event source.
    pub source: u32,
    /// `perf_event_attr.config`.
    pub config: u64,
}

/// `PERF_TYPE_HARDWARE`.
pub const HARDWARE: u32 = 0;
/// `PERF_TYPE_SOFTWARE`.
pub const SOFTWARE: u32 = 1;
/// `PERF_TYPE_RAW`.
pub const RAW: u32 = 4;

/// The target of a group.
#[derive(Clone, Debug)]
pub enum CountTarget {
    /// The calling thread.
    Caller,
    /// One thread, and all its future children.
    Task(u32),
    /// Everything on one processor.
    Cpu(u32),
    /// The processes of a cgroup on one processor.
    Cgroup(Arc<File>, u32),
}

/// When a group begins to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountFrom {
    /// When it is switched on.
    Switched,
    /// When the observed thread calls exec.
    AtExec,
}

/// Selects whether `exclude_guest` is set in a mode without guests. Some event sources do not support it; they never
/// count guests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guests {
    /// `exclude_guest` is set.
    Excluded,
    /// `exclude_guest` is not set.
    Unasked,
}

/// A group of events that are scheduled together or not at all.
#[derive(Clone, Debug)]
pub struct GroupRequest<'a> {
    /// The events; the first is the leader.
    pub events: &'a [Code],
    /// Its target.
    pub observed: CountTarget,
    /// The counted modes.
    pub mode: Mode,
    /// The handling of guests.
    pub guests: Guests,
    /// The start of counting.
    pub start: CountFrom,
}

/// A group that could not be opened.
#[derive(Debug)]
pub struct GroupRefusal {
    /// The index of the refused event.
    pub event: usize,
    /// The kernel's error.
    pub error: io::Error,
}

/// A counter's value with its times: the value is invalid if `running_ns` is 0, and covers only part of the time if
/// `running_ns` is less than `enabled_ns`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RawCount {
    /// The number of events since the group was opened.
    pub value: u64,
    /// Time enabled while the target ran, in nanoseconds.
    pub enabled_ns: u64,
    /// Time scheduled on the hardware, in nanoseconds.
    pub running_ns: u64,
}

/// An open group.
pub trait EventGroup {
    /// Enables or disables all events of the group at once.
    ///
    /// # Errors
    /// The kernel's error.
    fn switch(&mut self, to: Switch) -> io::Result<()>;

    /// Returns the count of each event, in the order of the request.
    ///
    /// # Errors
    /// The kernel's error.
    fn read(&mut self) -> io::Result<Vec<RawCount>>;
}

/// The two states of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

/// Opens groups.
pub trait PerfOpen {
    /// Opens one group, disabled.
    ///
    /// # Errors
    /// The refused event and the reason. No descriptor stays open.
    fn open(&self, request: &GroupRequest<'_>) -> Result<Box<dyn EventGroup>, GroupRefusal>;
}

/// The running kernel.
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelCounters;

impl PerfOpen for KernelCounters {
    fn open(&self, request: &GroupRequest<'_>) -> Result<Box<dyn EventGroup>, GroupRefusal> {
        let mut counters: Vec<Counter> = Vec::with_capacity(request.events.len());
        for (event, &code) in request.events.iter().enumerate() {
            let builder = builder(request, event, code);
            let opened = match counters.first_mut() {
                None => builder.build(),
                Some(leader) => builder.build_with_group(leader),
            };
            counters.push(opened.map_err(|error| GroupRefusal { event, error })?);
        }
        Ok(Box::new(Counters(counters)))
    }
}

/// Members are enabled from the start, and only the leader is switched: if a group is enabled member by member, the
/// kernel (Linux 6.12 and 6.18) loses most counts of page faults.
fn builder<'a>(request: &'a GroupRequest<'_>, event: usize, code: Code) -> Builder<'a> {
    let leads = event == 0;
    let mut builder = Builder::new(Raw::new(code.config));
    builder.attrs_mut().type_ = code.source;
    builder
        .read_format(ReadFormat::TOTAL_TIME_ENABLED | ReadFormat::TOTAL_TIME_RUNNING)
        .enabled(!leads)
        .enable_on_exec(leads && request.start == CountFrom::AtExec)
        .exclude_user(request.mode == Mode::Kernel)
        .exclude_kernel(request.mode == Mode::User)
        .exclude_hv(request.mode == Mode::User)
        .exclude_host(request.mode == Mode::Guest)
        .exclude_guest(request.mode != Mode::Guest && request.guests == Guests::Excluded);
    match &request.observed {
        CountTarget::Caller => {}
        CountTarget::Task(thread) => {
            builder.inherit(true);
            builder.observe_pid(i32::try_from(*thread).unwrap_or(i32::MAX));
        }
        CountTarget::Cpu(cpu) => {
            builder.any_pid().one_cpu(*cpu as usize);
        }
        CountTarget::Cgroup(folder, cpu) => {
            builder.observe_cgroup(folder).one_cpu(*cpu as usize);
        }
    }
    builder
}

/// Makes an event report mappings, execs, forks and exits in addition to its samples. One event per ring is enough; a
/// second one would duplicate the reports.
pub(crate) fn announce(builder: &mut Builder<'_>) {
    builder
        .mmap(true)
        .mmap_data(true)
        .mmap2(true)
        .comm(true)
        .comm_exec(true)
        .task(true);
}

/// Open counters, the leader first; each is read separately, because kernels before 6.13 refuse to read a whole
/// inherited group. They are dropped last to first.
#[derive(Debug)]
struct Counters(Vec<Counter>);

impl EventGroup for Counters {
    fn switch(&mut self, to: Switch) -> io::Result<()> {
        let leader = self.0.first_mut().ok_or(io::ErrorKind::InvalidInput)?;
        match to {
            Switch::On => leader.enable(),
            Switch::Off => leader.disable(),
        }
    }

    fn read(&mut self) -> io::Result<Vec<RawCount>> {
        let one = |counter: &mut Counter| {
            let data = counter.read_full()?;
            let ns = |time: Option<std::time::Duration>| time.map_or(0, clock::nanoseconds);
            Ok(RawCount {
                value: data.count(),
                enabled_ns: ns(data.time_enabled()),
                running_ns: ns(data.time_running()),
            })
        };
        self.0.iter_mut().map(one).collect()
    }
}

impl Drop for Counters {
    fn drop(&mut self) {
        while self.0.pop().is_some() {}
    }
}

//! One probe: a loaded object of BPF programs that measures one point.

use std::path::Path;
use std::time::Duration;
use std::{fmt, io};

use aya::maps::{Array, MapData, MapError, PerCpuArray, PerCpuValues, Queue};
use aya::{Btf, Ebpf, EbpfLoader, VerifierLogLevel};
use hugewise_base::histogram::durations::Durations;
use hugewise_observe::trace::points::{Edge, Who};
use hugewise_observe::trace::{Attachment, Losses};

use super::ladder::{AttachRefusal, Attempt, Open};

mod attach;
mod long;
mod raw;

use super::programs::CARETAKER;
pub use long::{LongStall, Totals};
use long::{RawStall, RawSums};
use raw::{RawExtremes, RawHistogram, RawLosses, Settings};

/// The compiled programs, provided by `build.rs`.
pub(super) static OBJECT: &[u8] =
    aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/latency.bpf.o"));

/// A point being traced. Dropping it detaches its programs; the kernel does the same when the process dies, because
/// nothing is pinned.
pub struct Probe {
    /// Holds the programs and their attachments.
    object: Ebpf,
    programs: Vec<&'static str>,
    settings: Array<MapData, Settings>,
    now: Settings,
    histograms: PerCpuArray<MapData, RawHistogram>,
    extremes: PerCpuArray<MapData, RawExtremes>,
    losses: PerCpuArray<MapData, RawLosses>,
    long: Queue<MapData, RawStall>,
    sums: PerCpuArray<MapData, RawSums>,
    keys: u32,
    /// The counts of each half at the last reading.
    earlier: Vec<Durations>,
    earlier_losses: Losses,
}

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probe")
            .field("programs", &self.programs)
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

/// The results of one probe in a window: a histogram for each value of its key, and the losses.
#[derive(Clone, Debug, Default)]
pub struct RawWindow {
    /// By key; the last one also counts all larger keys.
    pub histograms: Vec<Durations>,
    /// The number of events not counted.
    pub losses: Losses,
}

/// Opens probes on the running kernel.
#[derive(Debug)]
pub struct Kernel {
    /// The kernel's types in the loader's format.
    types: Btf,
    /// The process whose tree is watched; 0 for all processes.
    root: u32,
    processors: Vec<u32>,
    /// Durations of at least this length are also kept individually.
    long: Option<Duration>,
    /// Attach methods that this kernel refuses for every function, and how.
    refused: Vec<AttachRefusal>,
}

impl Kernel {
    /// Traces all processes, or only the process `root` and its descendants.
    ///
    /// # Errors
    /// The kernel does not expose its types or its processors.
    pub fn new(root: Option<u32>) -> io::Result<Self> {
        Ok(Self {
            types: Btf::from_sys_fs().map_err(io::Error::other)?,
            root: root.unwrap_or(0),
            processors: aya::util::online_cpus().map_err(|(_, error)| error)?,
            long: None,
            refused: Vec::new(),
        })
    }

    /// Also keeps each duration of at least `long`.
    pub(super) fn with_long_stalls(self, long: Option<Duration>) -> Self {
        Self { long, ..self }
    }

    fn load(&self, attempt: &Attempt) -> Result<Ebpf, aya::EbpfError> {
        let key = attempt.key.as_ref();
        let source: u32 = match key.map(|key| key.edge) {
            None => 0,
            Some(Edge::Begin) => 1,
            Some(Edge::End) => 2,
        };
        let offset = key.map_or(0, |key| key.offset);
        let mask = key.map_or(u32::MAX, |key| key.mask);
        let keys = keys(attempt);
        let who: u32 = match attempt.who {
            Who::Everyone => 0,
            Who::Programs => 1,
            Who::KernelThreads => 2,
            Who::AtOwnMmapLock => 3,
        };
        EbpfLoader::new()
            .btf(Some(&self.types))
            .verifier_log_level(VerifierLogLevel::DISABLE)
            .override_global("key_source", &source, true)
            .override_global("key_offset", &offset, true)
            .override_global("key_mask", &mask, true)
            .override_global("keys", &keys, true)
            .override_global("who", &who, true)
            .override_global("long_ns", &long::threshold(self.long), true)
            .map_max_entries("stalls", long::room(self.long))
            .map_max_entries("hists", keys * 2)
            .map_max_entries("extremes", keys * 2)
            .load(OBJECT)
    }

    fn try_open(&self, attempt: &Attempt) -> Result<Probe, Box<dyn std::error::Error>> {
        if attempt.attachment == Attachment::Kprobe && !has_kprobes() {
            // Otherwise the loader would use tracefs, with which a probe outlives this process.
            return Err("this kernel has no kprobes".into());
        }
        let mut probe = Probe::new(self.load(attempt)?, keys(attempt), self.root)?;
        probe.attach(attempt, &self.types, &self.processors)?;
        Ok(probe)
    }
}

/// Returns the number of histograms: one for each value of the key, and one for larger values.
fn keys(attempt: &Attempt) -> u32 {
    attempt.key.map_or(1, |key| key.decode.values())
}

fn has_kprobes() -> bool {
    Path::new("/sys/bus/event_source/devices/kprobe/type").exists()
}

impl Open for Kernel {
    type Probe = Probe;

    fn open(&mut self, attempt: &Attempt) -> Result<Probe, AttachRefusal> {
        let known = self
            .refused
            .iter()
            .find(|known| known.attachment == attempt.attachment);
        if let Some(known) = known {
            return Err(known.clone());
        }
        let refusal = match self.try_open(attempt) {
            Ok(probe) => return Ok(probe),
            Err(error) => AttachRefusal {
                attachment: attempt.attachment,
                errno: errno(&*error),
                error: error_text(&*error),
            },
        };
        // A missing permission affects every function equally; a function that cannot be traced returns EINVAL or
        // EBUSY.
        if matches!(refusal.errno, Some(libc::EPERM | libc::EACCES)) {
            self.refused.push(refusal.clone());
        }
        Err(refusal)
    }
}

/// Returns the error number in the chain of causes of an error.
fn errno(error: &(dyn std::error::Error + 'static)) -> Option<i32> {
    let own = error.downcast_ref::<io::Error>();
    own.and_then(io::Error::raw_os_error)
        .or_else(|| error.source().and_then(errno))
}

/// Returns only the kernel's error text if there is one; otherwise the loader's full message, on one line.
fn error_text(error: &(dyn std::error::Error + 'static)) -> String {
    match errno(error) {
        Some(number) => errno_text(number),
        None => {
            let mut text = error.to_string();
            let mut cause = error.source();
            while let Some(deeper) = cause {
                text = format!("{text}: {deeper}");
                cause = deeper.source();
            }
            text.lines().next().unwrap_or_default().to_owned()
        }
    }
}

/// Returns the text of an error number, such as `Operation not permitted`.
fn errno_text(number: i32) -> String {
    let text = io::Error::from_raw_os_error(number).to_string();
    let word = text
        .split_once(" (os error")
        .map(|(word, _)| word.to_owned());
    word.unwrap_or(text)
}

impl Probe {
    fn new(mut object: Ebpf, keys: u32, root: u32) -> Result<Self, Box<dyn std::error::Error>> {
        let mut take = |name: &str| {
            let map = object.take_map(name);
            map.ok_or_else(|| format!("the programs have no map {name}"))
        };
        let mut settings = Array::try_from(take("settings")?)?;
        let now = Settings { root, epoch: 0 };
        settings.set(0, now, 0)?;
        Ok(Self {
            settings,
            now,
            histograms: PerCpuArray::try_from(take("hists")?)?,
            extremes: PerCpuArray::try_from(take("extremes")?)?,
            losses: PerCpuArray::try_from(take("losses")?)?,
            long: Queue::try_from(take("stalls")?)?,
            sums: PerCpuArray::try_from(take("sums")?)?,
            object,
            programs: Vec::new(),
            keys,
            earlier: vec![Durations::default(); keys as usize * 2],
            earlier_losses: Losses::default(),
        })
    }

    /// Switches writing to the other half, so that the half of the ended window can be read without interference.
    pub(super) fn turn(&mut self) -> Result<(), MapError> {
        self.now.epoch ^= 1;
        self.settings.set(0, self.now, 0)
    }

    /// Switches to the tree of another process.
    pub(super) fn watch(&mut self, root: u32) -> Result<(), MapError> {
        self.now.root = root;
        self.settings.set(0, self.now, 0)
    }

    /// Returns the results of the window ended by [`turn`](Self::turn).
    pub(super) fn read(&mut self) -> Result<RawWindow, MapError> {
        let mut histograms = Vec::new();
        for key in 0..self.keys {
            // A half still being written could give a torn reading: a count without its bucket.
            let index = key * 2 + (self.now.epoch ^ 1);
            let counted = self.counted(index)?;
            let earlier = &mut self.earlier[index as usize];
            let earlier = std::mem::replace(earlier, counted.clone());
            let mut since = counted.since(&earlier);
            if since.count() > 0
                && let Some((min_ns, max_ns)) = self.take_extremes(index)?
            {
                since = since.with_extremes(min_ns, max_ns);
            }
            histograms.push(since);
        }
        let losses = self.all_losses()?;
        let window = RawWindow {
            histograms,
            losses: losses.since(self.earlier_losses),
        };
        self.earlier_losses = losses;
        Ok(window)
    }

    fn counted(&self, index: u32) -> Result<Durations, MapError> {
        let mut sum = Durations::default();
        for raw in self.histograms.get(&index, 0)?.iter() {
            if raw.count > 0 {
                sum.merge(&Durations::counted(raw.total_ns, &raw.fine, &raw.micro));
            }
        }
        Ok(sum)
    }

    /// Reads and clears the shortest and the longest duration of the half not being written, in nanoseconds.
    fn take_extremes(&mut self, index: u32) -> Result<Option<(u64, u64)>, MapError> {
        let values = self.extremes.get(&index, 0)?;
        let some = values.iter().filter(|raw| raw.min_complement > 0);
        let extremes = some
            .map(|raw| (!raw.min_complement, raw.max_ns))
            .reduce(|one, two| (one.0.min(two.0), one.1.max(two.1)));
        let nothing = vec![RawExtremes::default(); values.len()];
        let nothing = PerCpuValues::try_from(nothing)?;
        self.extremes.set(index, nothing, 0)?;
        Ok(extremes)
    }

    fn all_losses(&self) -> Result<Losses, MapError> {
        let mut losses = Losses::default();
        for raw in self.losses.get(&0, 0)?.iter() {
            losses.no_room += raw.no_room;
            losses.reentered += raw.reentered;
        }
        losses.missed = self.missed();
        Ok(losses)
    }

    /// Returns how often the kernel skipped a program because it was already running on that processor; the number is
    /// in the fdinfo of the program (since Linux 5.12).
    fn missed(&self) -> u64 {
        use std::os::fd::{AsFd, AsRawFd};
        let of = |name: &&str| {
            let program = self.object.program(name)?;
            let fd = program.fd().ok()?.as_fd().as_raw_fd();
            let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).ok()?;
            let line = text
                .lines()
                .find(|line| line.starts_with("recursion_misses"))?;
            line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()
        };
        let counting = self.programs.iter();
        counting
            .filter(|name| **name != CARETAKER)
            .filter_map(of)
            .sum()
    }
}

//! Tracing inside the kernel: BPF programs that time something from its begin to its end and
//! keep the durations as histograms, so that only sums leave the kernel.
//!
//! Nothing is pinned and no probe goes by way of tracefs: when this process dies, however it
//! dies, the kernel takes everything away.

use std::collections::BTreeMap;
use std::time::Duration;

use hugewise_model::latency::Histogram;
use hugewise_model::observation::Missing;
use hugewise_model::trace::points::{Decode, Point};
use hugewise_model::trace::{Kind, Latencies, Losses, Part, Rung, Seen, Traced, Untraced};

use crate::error::{Error, Kind as ErrorKind, Result};
use crate::root::Root;

/// Which means are tried, in which order.
pub mod ladder;
mod probe;
/// The kernel's own types.
pub mod types;

use ladder::{Attempt, Kernel, Refusal, attempts, climb};
pub use probe::{Long, Standing};
use probe::{Probe, Sight};

/// A fingerprint of the programs' sources (FNV-1a), by which a committed object that is older
/// than its source is recognised without a compiler.
#[must_use]
pub fn source_fingerprint() -> u64 {
    let sources = [
        include_bytes!("mini.h").as_slice(),
        include_bytes!("latency.bpf.c"),
    ];
    let bytes = sources.concat();
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// How long a program of ours may still be writing after it was told to write elsewhere; they
/// take less than a microsecond each.
const STRAGGLERS: Duration = Duration::from_millis(2);

/// Number of `CAP_PERFMON` (include/uapi/linux/capability.h).
const CAP_PERFMON: u64 = 38;

/// Points that are being traced. Dropping it ends the tracing.
#[derive(Debug)]
pub struct Tracer {
    live: Vec<Live>,
}

#[derive(Debug)]
struct Live {
    traced: Traced,
    decode: Option<Decode>,
    /// What the values of the key are called, where the kernel's types say it.
    names: BTreeMap<u32, String>,
    probe: Probe,
}

/// What a point has seen in a stretch of time, with its durations still sorted into buckets.
#[derive(Clone, Debug, Default)]
pub struct Sighting {
    /// Everything together.
    pub all: Histogram,
    /// By the value of the key; empty where there is none.
    pub parts: BTreeMap<u32, Histogram>,
    /// What was not counted.
    pub losses: Losses,
}

impl Sighting {
    /// Adds what came later.
    pub fn add(&mut self, later: &Self) {
        self.all.add(&later.all);
        for (key, histogram) in &later.parts {
            self.parts.entry(*key).or_default().add(histogram);
        }
        self.losses = self.losses.plus(later.losses);
    }
}

impl Tracer {
    /// Begins to trace what can be traced of `points`: on the whole machine, or in the process
    /// `pid` and its descendants. What cannot be traced is told, with the reason.
    ///
    /// # Errors
    /// What the kernel shows of itself was not understood.
    pub fn start(root: &Root, points: &[Point], pid: Option<u32>) -> Result<(Self, Vec<Untraced>)> {
        Self::start_by(root, points, pid, |_| true)
    }

    /// The same, and durations from `long` on are kept one by one until they are
    /// [taken](Self::take_long).
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_keeping(
        root: &Root,
        points: &[Point],
        pid: Option<u32>,
        long: Duration,
    ) -> Result<(Self, Vec<Untraced>)> {
        Self::open(root, points, pid, Some(long), |_| true)
    }

    /// The same with some of the means only, to compare them.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_by(
        root: &Root,
        points: &[Point],
        pid: Option<u32>,
        may: impl Fn(Rung) -> bool,
    ) -> Result<(Self, Vec<Untraced>)> {
        Self::open(root, points, pid, None, may)
    }

    fn open(
        root: &Root,
        points: &[Point],
        pid: Option<u32>,
        long: Option<Duration>,
        may: impl Fn(Rung) -> bool,
    ) -> Result<(Self, Vec<Untraced>)> {
        let none = Self { live: Vec::new() };
        let types = match types::read_types(root) {
            Ok(types) => types,
            Err(error) if error.kind == ErrorKind::NotFound => {
                let what = "the kernel's types, /sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF)";
                return Ok((none, untraced(points, &not_supported(what))));
            }
            Err(error) => return Err(error),
        };
        let kernel = Kernel {
            types,
            functions: crate::proc::kallsyms::read_kallsyms(root).unwrap_or_default(),
        };
        let mut opener = probe::Kernel::new(pid)
            .map_err(|error| Error::io("reading", &root.path("sys/kernel/btf/vmlinux"), error))?
            .keeping(long);
        let lacking = lacking(root);
        let mut tracer = none;
        let mut missing = Vec::new();
        for point in points {
            let (mut attempts, absent) = attempts(point, &kernel);
            attempts.retain(|attempt| may(attempt.rung));
            match climb(&attempts, &mut opener) {
                Ok((attempt, probe)) => {
                    tracer.live.push(Live::new(point, &attempt, probe, &kernel));
                }
                Err(refusals) => missing.push(refused(point, absent, &refusals, lacking.as_ref())),
            }
        }
        Ok((tracer, missing))
    }

    /// What is traced, and by which means.
    #[must_use]
    pub fn traced(&self) -> Vec<Traced> {
        self.live.iter().map(|live| live.traced.clone()).collect()
    }

    /// From here on the tree of another process counts.
    ///
    /// # Errors
    /// The kernel failed.
    pub fn watch(&mut self, pid: u32) -> Result<()> {
        for live in &mut self.live {
            live.probe.watch(pid).map_err(|error| failed(&error))?;
        }
        Ok(())
    }

    /// Ends a window and tells what came in it, in the order of [`traced`](Self::traced).
    ///
    /// # Errors
    /// The kernel failed.
    pub fn window(&mut self) -> Result<Vec<Sighting>> {
        for live in &mut self.live {
            live.probe.turn().map_err(|error| failed(&error))?;
        }
        std::thread::sleep(STRAGGLERS);
        let sights = self.live.iter_mut().map(|live| {
            let sight = live.probe.read().map_err(|error| failed(&error))?;
            Ok(live.sighting(sight))
        });
        sights.collect()
    }

    /// Takes the long durations that were kept since the last time, in the order of
    /// [`traced`](Self::traced).
    ///
    /// # Errors
    /// The kernel failed.
    pub fn take_long(&mut self) -> Result<Vec<Vec<Long>>> {
        let live = self.live.iter_mut();
        live.map(|live| live.probe.take_long().map_err(|error| failed(&error)))
            .collect()
    }

    /// What each point came to since tracing began, windows aside; nothing where no durations
    /// are kept.
    ///
    /// # Errors
    /// The kernel failed.
    pub fn standings(&self) -> Result<Vec<Standing>> {
        let live = self.live.iter();
        live.map(|live| live.probe.standing().map_err(|error| failed(&error)))
            .collect()
    }

    /// The same as numbers and names.
    #[must_use]
    pub fn told(&self, sightings: &[Sighting]) -> Vec<Seen> {
        let pairs = self.live.iter().zip(sightings);
        pairs.map(|(live, sighting)| live.told(sighting)).collect()
    }
}

fn failed(error: &aya::maps::MapError) -> Error {
    Error {
        kind: ErrorKind::Other(error.to_string()),
        doing: "reading what the BPF programs counted".to_owned(),
        path: None,
        source: None,
    }
}

impl Live {
    fn new(point: &Point, attempt: &Attempt, probe: Probe, kernel: &Kernel) -> Self {
        let decode = attempt.key.map(|key| key.decode);
        let names = decode.and_then(|decode| names(decode, kernel));
        let mut places = vec![attempt.begin.clone()];
        places.extend(attempt.end.clone());
        Self {
            traced: Traced {
                name: point.name.to_string(),
                title: point.title.to_string(),
                preset: point.preset,
                rung: attempt.rung,
                places,
                includes: attempt.includes.clone(),
                notes: attempt.notes.clone(),
                kind: attempt.kind,
                parts_by: decode.map(|decode| decode.head().to_owned()),
            },
            decode,
            names: names.unwrap_or_default(),
            probe,
        }
    }

    fn sighting(&self, sight: Sight) -> Sighting {
        let mut sighting = Sighting {
            losses: sight.losses,
            ..Sighting::default()
        };
        for (key, histogram) in (0..).zip(sight.histograms) {
            if histogram.count == 0 {
                continue;
            }
            sighting.all.add(&histogram);
            if self.decode.is_some() {
                sighting.parts.insert(key, histogram);
            }
        }
        sighting
    }

    fn told(&self, sighting: &Sighting) -> Seen {
        let latencies = |histogram: &Histogram| match self.traced.kind {
            Kind::Durations => Latencies::from(histogram),
            Kind::Events => Latencies::events(histogram.count),
        };
        let parts = sighting.parts.iter().map(|(key, histogram)| Part {
            key: self.name_of(*key),
            latencies: latencies(histogram),
        });
        Seen {
            name: self.traced.name.clone(),
            all: latencies(&sighting.all),
            parts: parts.collect(),
            losses: sighting.losses,
        }
    }

    fn name_of(&self, key: u32) -> String {
        if let Some(name) = self.names.get(&key) {
            return name.clone();
        }
        match self.decode {
            Some(decode) if key + 1 >= decode.values() => "beyond".to_owned(),
            _ => key.to_string(),
        }
    }
}

fn names(decode: Decode, kernel: &Kernel) -> Option<BTreeMap<u32, String>> {
    match decode {
        Decode::Order => None,
        Decode::Flag(words) => {
            let words = words.into_iter().map(str::to_owned);
            Some((0..).zip(words).collect())
        }
        Decode::Enumeration { name, prefix } => {
            let values = kernel.types.enumeration(name)?;
            let short = |name: String| {
                let rest = name.strip_prefix(prefix).unwrap_or(&name);
                rest.to_ascii_lowercase()
            };
            Some(
                values
                    .into_iter()
                    .map(|(key, name)| (key, short(name)))
                    .collect(),
            )
        }
    }
}

fn not_supported(what: &str) -> Missing {
    Missing::NotSupported {
        what: what.to_owned(),
    }
}

fn untraced(points: &[Point], why: &Missing) -> Vec<Untraced> {
    let of = |point: &Point| Untraced {
        name: point.name.to_string(),
        title: point.title.to_string(),
        why: why.clone(),
        tried: Vec::new(),
    };
    points.iter().map(of).collect()
}

/// A refusal is a lack of permission only where a capability is lacking: some kernels refuse
/// trampolines to everybody with the same number.
fn refused(
    point: &Point,
    absent: Vec<String>,
    refusals: &[Refusal],
    lacking: Option<&String>,
) -> Untraced {
    let forbidden = |refusal: &Refusal| matches!(refusal.errno, Some(libc::EPERM | libc::EACCES));
    let tried = refusals
        .iter()
        .map(|refusal| format!("{}: {}", refusal.rung.name(), refusal.error));
    let tried: Vec<String> = absent.into_iter().chain(tried).collect();
    let why = match lacking {
        Some(grant) if refusals.iter().any(forbidden) => Missing::NotPermitted {
            grant: grant.clone(),
        },
        _ => not_supported(&tried.join("; ")),
    };
    Untraced {
        name: point.name.to_string(),
        title: point.title.to_string(),
        why,
        tried,
    }
}

/// The capabilities that tracing needs and this process lacks. Kernels before 5.8 have neither
/// of the two and ask for the old one.
fn lacking(root: &Root) -> Option<String> {
    use rustix::thread::CapabilitySet;
    let has = rustix::thread::capabilities(None).ok()?.effective;
    if has.contains(CapabilitySet::SYS_ADMIN) {
        return None;
    }
    let last = crate::number::read(root, "proc/sys/kernel/cap_last_cap").unwrap_or(CAP_PERFMON);
    if last < CAP_PERFMON {
        return Some("CAP_SYS_ADMIN".to_owned());
    }
    let wanted = [
        (CapabilitySet::BPF, "CAP_BPF"),
        (CapabilitySet::PERFMON, "CAP_PERFMON"),
    ];
    let lacking = wanted.iter().filter(|(one, _)| !has.contains(*one));
    let names: Vec<&str> = lacking.map(|(_, name)| *name).collect();
    (!names.is_empty()).then(|| names.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_object_is_of_these_sources() {
        let origin = include_str!("prebuilt/ORIGIN");
        let line = format!("sources {:016x}", source_fingerprint());
        assert!(
            origin.contains(&line),
            "the sources have changed; run: cargo xtask bpf"
        );
    }

    #[test]
    fn a_refusal_is_a_lack_of_permission_only_where_one_is_lacking() {
        let point = &hugewise_model::trace::points::points()[0];
        let refusal = Refusal {
            rung: Rung::Fentry,
            errno: Some(libc::EPERM),
            error: "Operation not permitted".to_owned(),
        };
        let refusals = [refusal];
        let grant = "CAP_BPF".to_owned();
        let user = refused(point, Vec::new(), &refusals, Some(&grant));
        assert_eq!(user.why, Missing::NotPermitted { grant });
        let root = refused(point, vec!["no function x".to_owned()], &refusals, None);
        assert_eq!(
            root.why,
            not_supported("no function x; fentry: Operation not permitted")
        );
    }
}

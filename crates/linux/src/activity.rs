//! What a running process does, as rates: read twice, a window apart.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::proc::{Parsed, number, stat};
use crate::root::Root;

/// Counters of one process at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Activity {
    /// When they were read.
    pub at: Instant,
    /// Processor time of all its threads, ended ones included, in nanoseconds
    /// (clock_getcpuclockid(3)).
    pub processor_ns: u64,
    /// What stands in `/proc/PID/stat`.
    pub counters: Counters,
}

/// The counters of `/proc/PID/stat` (fs/proc/array.c, do_task_stat) that are of use here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// `minflt`: faults without I/O, over all threads.
    pub minor_faults: u64,
    /// `majflt`: faults with I/O.
    pub major_faults: u64,
    /// `stime`: time in the kernel, in clock ticks.
    pub system_ticks: u64,
    /// `rss`, in pages.
    pub resident_pages: u64,
}

/// What happened in a window, per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Processors in use: 1 is one processor all the time.
    pub processor: f64,
    /// Of these, in the kernel.
    pub system: f64,
    /// Faults without I/O, per second.
    pub minor_faults: f64,
    /// Faults with I/O, per second.
    pub major_faults: f64,
    /// Resident memory at its end, in bytes.
    pub resident_bytes: f64,
}

/// Parses `/proc/PID/stat`.
///
/// # Errors
/// The line has too few fields, or one is not a number.
pub fn parse_counters(bytes: &[u8]) -> Parsed<Counters> {
    let text = String::from_utf8_lossy(bytes);
    // The name in parentheses may hold anything, parentheses included: the last one ends it.
    let (_, rest) = text.rsplit_once(')').ok_or("line 1: no name")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // The first of them is field 3.
    let field = |place: usize, name: &str| {
        let text = fields
            .get(place - 3)
            .ok_or_else(|| format!("line 1: no {name}"))?;
        number(1, name, text)
    };
    Ok(Counters {
        minor_faults: field(10, "minflt")?,
        major_faults: field(12, "majflt")?,
        system_ticks: field(15, "stime")?,
        resident_pages: field(24, "rss")?,
    })
}

/// Reads what a process of this machine has done so far.
///
/// # Errors
/// It is gone, or its line could not be understood.
pub fn read_activity(root: &Root, pid: u32) -> Result<Activity> {
    let path = format!("proc/{pid}/stat");
    let bytes = root.read(&path)?;
    let counters =
        parse_counters(&bytes).map_err(|what| Error::malformed(&root.path(&path), what))?;
    let processor_ns = processor_time(pid)
        .map_err(|error| Error::io("reading the processor clock of", Path::new(&path), error))?;
    Ok(Activity {
        at: Instant::now(),
        processor_ns,
        counters,
    })
}

/// The clock of a process is the sum over its threads, to the nanosecond; `utime` and `stime`
/// are the same sum in ticks of 10 ms.
fn processor_time(pid: u32) -> std::io::Result<u64> {
    let number = i32::try_from(pid).unwrap_or(-1);
    let mut clock = 0;
    // SAFETY: `clock` is a place for the answer.
    let error = unsafe { libc::clock_getcpuclockid(number, &raw mut clock) };
    if error != 0 {
        return Err(std::io::Error::from_raw_os_error(error));
    }
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a place for the answer.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec).unwrap_or(0);
    Ok(seconds.saturating_mul(1_000_000_000).saturating_add(rest))
}

impl Activity {
    /// What happened since `before`; `None` if no time has passed.
    #[must_use]
    pub fn since(&self, before: &Self, page_bytes: u64) -> Option<Rates> {
        let window = self.at.duration_since(before.at);
        if window < Duration::from_millis(1) {
            return None;
        }
        let per_second =
            |now: u64, then: u64| now.saturating_sub(then) as f64 / window.as_secs_f64();
        let (now, then) = (&self.counters, &before.counters);
        let ticks = stat::ticks_per_second() as f64;
        Some(Rates {
            processor: per_second(self.processor_ns, before.processor_ns) / 1e9,
            system: per_second(now.system_ticks, then.system_ticks) / ticks,
            minor_faults: per_second(now.minor_faults, then.minor_faults),
            major_faults: per_second(now.major_faults, then.major_faults),
            resident_bytes: now.resident_pages.saturating_mul(page_bytes) as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const REAL: &[u8] =
        b"4711 (a (b) c) S 1 4711 4711 0 -1 4194560 23029 11 7 3 120 45 0 0 20 0 2 0 \
        5021 203456512 23040 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0\n";

    #[test]
    fn a_real_one() {
        let wanted = Counters {
            minor_faults: 23_029,
            major_faults: 7,
            system_ticks: 45,
            resident_pages: 23_040,
        };
        assert_eq!(parse_counters(REAL), Ok(wanted));
        assert_eq!(
            parse_counters(b"1 (x) S 1 2"),
            Err("line 1: no minflt".to_owned())
        );
    }

    #[test]
    fn rates_are_by_the_second() {
        let counters = parse_counters(REAL).expect("a real one");
        let then = Activity {
            at: Instant::now(),
            processor_ns: 5,
            counters,
        };
        let now = Activity {
            at: then.at + Duration::from_secs(2),
            processor_ns: 3_000_000_005,
            counters: Counters {
                minor_faults: counters.minor_faults + 10,
                ..counters
            },
        };
        let rates = now.since(&then, 4096).expect("two seconds");
        assert_eq!((rates.processor, rates.minor_faults), (1.5, 5.0));
        assert_eq!(rates.resident_bytes, 23_040.0 * 4096.0);
        assert!(then.since(&then, 4096).is_none());
    }

    #[test]
    fn our_own_activity_grows() {
        let before = read_activity(&Root::real(), std::process::id()).expect("ourselves");
        let spun = (0..3_000_000_u64).fold(1_u64, |a, b| std::hint::black_box(a ^ b));
        let after = read_activity(&Root::real(), std::process::id()).expect("ourselves");
        assert!(after.processor_ns > before.processor_ns, "{spun}");
        assert!(read_activity(&Root::real(), u32::MAX).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = parse_counters(&bytes);
        }
    }
}

//! What a running process does, as rates: read twice, a window apart.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::proc::pid_stat::{ResourceUsage, read_pid_stat};
use crate::proc::stat;
use crate::root::Root;

/// Counters of one process at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Activity {
    /// When they were read.
    pub at: Instant,
    /// Processor time of all its threads, ended ones included, in nanoseconds
    /// (clock_getcpuclockid(3)).
    pub processor_ns: u64,
    /// What it has used, without its children.
    pub usage: ResourceUsage,
    /// Resident memory, in pages.
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

/// Reads what a process of this machine has done so far.
///
/// # Errors
/// It is gone, or its line could not be understood.
pub fn read_activity(root: &Root, pid: u32) -> Result<Activity> {
    let stat = read_pid_stat(root, pid)?;
    let path = format!("proc/{pid}/stat");
    let processor_ns = processor_time(pid)
        .map_err(|error| Error::io("reading the processor clock of", Path::new(&path), error))?;
    Ok(Activity {
        at: Instant::now(),
        processor_ns,
        usage: stat.own,
        resident_pages: stat.resident_pages,
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
        let (now, then) = (&self.usage, &before.usage);
        let ticks = stat::ticks_per_second() as f64;
        Some(Rates {
            processor: per_second(self.processor_ns, before.processor_ns) / 1e9,
            system: per_second(now.system_ticks, then.system_ticks) / ticks,
            minor_faults: per_second(now.minor_faults, then.minor_faults),
            major_faults: per_second(now.major_faults, then.major_faults),
            resident_bytes: self.resident_pages.saturating_mul(page_bytes) as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_by_the_second() {
        let usage = ResourceUsage {
            minor_faults: 23_029,
            ..ResourceUsage::default()
        };
        let then = Activity {
            at: Instant::now(),
            processor_ns: 5,
            usage,
            resident_pages: 23_040,
        };
        let now = Activity {
            at: then.at + Duration::from_secs(2),
            processor_ns: 3_000_000_005,
            usage: ResourceUsage {
                minor_faults: usage.minor_faults + 10,
                ..usage
            },
            ..then
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
}

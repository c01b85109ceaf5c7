//! Rates of activity of one running process.

use std::path::Path;
use std::time::{Duration, Instant};

use super::usage::{UsageObserver, UsageScope};
use crate::machine::error::{Error, Result};
use crate::machine::root::Root;
use crate::proc::stat::seconds_of_ticks;
use crate::proc::statm::read_resident;

/// The activity of one process in an interval, without its children.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Processors in use: 1 is one processor all the time.
    pub processor: f64,
    /// The part of `processor` spent in the kernel.
    pub system: f64,
    /// Faults without I/O, per second.
    pub minor_faults: f64,
    /// Faults with I/O, per second.
    pub major_faults: f64,
    /// Resident memory at the end of the interval, in bytes.
    pub resident_bytes: f64,
}

/// Observes one process.
#[derive(Debug)]
pub struct ActivityObserver<'a> {
    root: &'a Root,
    pid: u32,
    page_bytes: u64,
    usage: UsageObserver<'a>,
    processor_ns: u64,
    begun: Instant,
}

impl<'a> ActivityObserver<'a> {
    /// Takes the first reading, on a machine whose base pages have `page_bytes`.
    ///
    /// # Errors
    /// There is no such process.
    pub fn begin(root: &'a Root, pid: u32, page_bytes: u64) -> Result<Self> {
        Ok(Self {
            root,
            pid,
            page_bytes,
            usage: UsageObserver::begin(root, UsageScope::Process(pid)),
            processor_ns: processor_time(pid)?,
            begun: Instant::now(),
        })
    }

    /// Returns the time since the interval began.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Ends an interval and begins the next.
    ///
    /// # Errors
    /// The process has ended.
    pub fn end_interval(&mut self) -> Result<Rates> {
        let gone = || Error::io("reading", &stat_path(self.pid), no_process());
        let used = self.usage.growth().ok_or_else(gone)?;
        let processor_ns = processor_time(self.pid)?;
        let resident = read_resident(self.root, &[self.pid].into(), self.page_bytes);
        let now = Instant::now();
        let seconds = now.duration_since(self.begun).as_secs_f64().max(1e-9);
        let rates = Rates {
            processor: processor_ns.saturating_sub(self.processor_ns) as f64 / 1e9 / seconds,
            system: seconds_of_ticks(used.system_ticks) / seconds,
            minor_faults: used.minor_faults as f64 / seconds,
            major_faults: used.major_faults as f64 / seconds,
            resident_bytes: resident.ok_or_else(gone)? as f64,
        };
        (self.processor_ns, self.begun) = (processor_ns, now);
        Ok(rates)
    }
}

fn stat_path(pid: u32) -> std::path::PathBuf {
    Path::new("/proc").join(pid.to_string()).join("stat")
}

fn no_process() -> std::io::Error {
    std::io::ErrorKind::NotFound.into()
}

/// Returns the processor time of all threads of a process, including ended ones, in nanoseconds: the clock of the
/// process (clock_getcpuclockid(3)). `utime` and `stime` are the same sum in ticks of 10 ms.
///
/// # Errors
/// The process has ended.
pub fn processor_time(pid: u32) -> Result<u64> {
    let failed = |error| Error::io("reading the processor clock of", &stat_path(pid), error);
    let number = i32::try_from(pid).map_err(|_| failed(no_process()))?;
    let mut clock = 0;
    // SAFETY: `clock` is a place for the answer.
    let error = unsafe { libc::clock_getcpuclockid(number, &raw mut clock) };
    if error != 0 {
        return Err(failed(std::io::Error::from_raw_os_error(error)));
    }
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a place for the answer.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return Err(failed(std::io::Error::last_os_error()));
    }
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec).unwrap_or(0);
    Ok(seconds.saturating_mul(1_000_000_000).saturating_add(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_activity_is_seen() {
        let root = Root::real();
        let page_bytes = rustix::param::page_size() as u64;
        let mut observer = ActivityObserver::begin(&root, std::process::id(), page_bytes).unwrap();
        let spun = (0..3_000_000_u64).fold(1_u64, |a, b| std::hint::black_box(a ^ b));
        let rates = observer.end_interval().unwrap();
        assert!(rates.processor > 0.0, "{spun}");
        assert!(rates.resident_bytes > page_bytes as f64);
        assert!(ActivityObserver::begin(&root, u32::MAX, page_bytes).is_err());
    }
}

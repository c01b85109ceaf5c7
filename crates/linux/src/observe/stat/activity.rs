//! Rates of activity of one running process.

use std::path::Path;

use crate::machine::error::{Error, Result};

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
    fn our_own_time_grows_and_a_process_that_is_not_there_has_none() {
        let before = processor_time(std::process::id()).expect("our own");
        let spun = (0..3_000_000_u64).fold(1_u64, |a, b| std::hint::black_box(a ^ b));
        let after = processor_time(std::process::id()).expect("our own");
        assert!(after > before, "{spun}");
        assert!(processor_time(u32::MAX).is_err());
    }
}

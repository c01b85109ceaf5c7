use super::{Parsed, lines, number};
use crate::machine::error::{Error, Result};
use crate::machine::root::Root;

/// Processor time of the whole machine since boot, over all processors (`/proc/stat`,
/// fs/proc/stat.c), in clock ticks of 1/[`ticks_per_second`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineTime {
    /// user + nice + system + irq + softirq. Guest time is part of user and nice.
    pub busy_ticks: u64,
    /// Time in which the hypervisor ran something else.
    pub steal_ticks: u64,
    /// idle + iowait.
    pub idle_ticks: u64,
}

impl MachineTime {
    /// The stolen share of all time since boot, 0 to 1; `None` before the first tick.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a share; 53 bits are enough")]
    pub fn steal_share(&self) -> Option<f64> {
        let all = self
            .busy_ticks
            .saturating_add(self.idle_ticks)
            .saturating_add(self.steal_ticks);
        (all > 0).then(|| self.steal_ticks as f64 / all as f64)
    }
}

/// Parses the first line of `/proc/stat`.
///
/// # Errors
/// There is no line `cpu` with at least four numbers.
pub fn parse_stat(bytes: &[u8]) -> Parsed<MachineTime> {
    let (at, line) = lines(bytes)
        .find(|(_, line)| line.starts_with("cpu "))
        .ok_or("no line `cpu`")?;
    let ticks: Vec<u64> = line
        .split_whitespace()
        .skip(1)
        .map(|field| number(at, "cpu", field))
        .collect::<Parsed<_>>()?;
    if ticks.len() < 4 {
        return Err(format!("line {at}: too few fields: `{line}`"));
    }
    let field = |index: usize| ticks.get(index).copied().unwrap_or(0);
    Ok(MachineTime {
        busy_ticks: [0, 1, 2, 5, 6]
            .into_iter()
            .map(field)
            .fold(0, u64::saturating_add),
        steal_ticks: field(7),
        idle_ticks: field(3).saturating_add(field(4)),
    })
}

/// Reads `/proc/stat`.
///
/// # Errors
/// It does not exist or could not be parsed.
pub fn read_stat(root: &Root) -> Result<MachineTime> {
    let bytes = root.read("proc/stat")?;
    parse_stat(&bytes).map_err(|what| Error::malformed(&root.path("proc/stat"), what))
}

/// Returns the clock ticks per second in `/proc/stat` (`_SC_CLK_TCK`; 100 on all Linux machines).
#[must_use]
pub fn ticks_per_second() -> u64 {
    // SAFETY: sysconf has no preconditions.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).ok().filter(|&n| n > 0).unwrap_or(100)
}

/// Clock ticks as seconds.
#[must_use]
pub fn seconds_of_ticks(ticks: u64) -> f64 {
    ticks as f64 / ticks_per_second() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_one() {
        let text = b"cpu  20455 2162 6375 432561 723 1 51 11 0 0\ncpu0 9311 1199\n";
        assert_eq!(
            parse_stat(text),
            Ok(MachineTime {
                busy_ticks: 20_455 + 2162 + 6375 + 1 + 51,
                steal_ticks: 11,
                idle_ticks: 432_561 + 723,
            })
        );
        let tenth = parse_stat(b"cpu 40 0 0 50 0 0 0 10\n").unwrap();
        assert_eq!(tenth.steal_share(), Some(0.1));
        assert_eq!(MachineTime::default().steal_share(), None);
        assert!(parse_stat(b"cpu 1 2\n").is_err());
        assert!(parse_stat(b"intr 5\n").is_err());
    }
}

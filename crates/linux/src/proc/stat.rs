use super::tree_usage::Used;
use super::{Parsed, lines, number};
use crate::error::{Error, Result};
use crate::root::Root;

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
/// It is not there or could not be understood.
pub fn read_stat(root: &Root) -> Result<MachineTime> {
    let bytes = root.read("proc/stat")?;
    parse_stat(&bytes).map_err(|what| Error::malformed(&root.path("proc/stat"), what))
}

/// Clock ticks in a second of `/proc/stat` (`_SC_CLK_TCK`; 100 wherever Linux runs).
#[must_use]
pub fn ticks_per_second() -> u64 {
    // SAFETY: sysconf has no preconditions.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).ok().filter(|&n| n > 0).unwrap_or(100)
}

/// What is of use of `/proc/PID/stat` (fs/proc/array.c).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessLine {
    /// `comm`.
    pub comm: String,
    /// `state`, one letter.
    pub state: char,
    /// `minflt`, `majflt`, `utime` and `stime`: all its threads, without children.
    pub own: Used,
    /// `cminflt`, `cmajflt`, `cutime` and `cstime`: the children it has waited for, and theirs.
    pub of_children: Used,
    /// `starttime`: when it began, in ticks since boot.
    pub born_ticks: u64,
}

impl ProcessLine {
    /// Whether it has ended and is only not yet waited for.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }
}

/// Parses `/proc/PID/stat`.
///
/// # Errors
/// The line has too few fields, or one is not a number.
pub fn parse_process(bytes: &[u8]) -> Parsed<ProcessLine> {
    let text = String::from_utf8_lossy(bytes);
    // The name in parentheses may hold anything, parentheses included: the last one ends it.
    let (head, rest) = text.rsplit_once(')').ok_or("line 1: no name")?;
    let (_, comm) = head.split_once('(').ok_or("line 1: no name")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let field = |index: usize| fields.get(index).copied().ok_or("line 1: too few fields");
    let state = field(0)?;
    let used = |places: [(&str, usize); 4]| -> Parsed<Used> {
        let [minor, major, user, system] = places;
        let value = |(name, index): (&str, usize)| number(1, name, field(index)?);
        Ok(Used {
            minor_faults: value(minor)?,
            major_faults: value(major)?,
            user_ticks: value(user)?,
            system_ticks: value(system)?,
        })
    };
    Ok(ProcessLine {
        comm: comm.to_owned(),
        state: state.chars().next().ok_or("line 1: no state")?,
        own: used([("minflt", 7), ("majflt", 9), ("utime", 11), ("stime", 12)])?,
        of_children: used([
            ("cminflt", 8),
            ("cmajflt", 10),
            ("cutime", 13),
            ("cstime", 14),
        ])?,
        born_ticks: number(1, "starttime", field(19)?)?,
    })
}

/// Whether a process has waited for children, by the minor faults they left with it
/// (`cminflt`, field 11 of `/proc/PID/stat`): a child that ran has always faulted.
///
/// # Errors
/// The line has too few fields.
pub fn parse_had_children(bytes: &[u8]) -> Parsed<bool> {
    let text = String::from_utf8_lossy(bytes);
    // The name in parentheses may hold anything, parentheses included: the last one ends it.
    let (_, rest) = text.rsplit_once(')').ok_or("line 1: no name")?;
    let field = rest
        .split_whitespace()
        .nth(8)
        .ok_or("line 1: too few fields")?;
    Ok(number(1, "cminflt", field)? > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    #[test]
    fn names_may_hold_parentheses() {
        let alone = b"13845 (a) (b) R 13814 13814 4542 0 -1 4194304 100 0 0 0 0 0\n";
        assert_eq!(parse_had_children(alone), Ok(false));
        let parent = b"13845 (a) R 13814 13814 4542 0 -1 4194304 100 77 0 0 0 0\n";
        assert_eq!(parse_had_children(parent), Ok(true));
        assert!(parse_had_children(b"1 (a) R 2").is_err());
    }

    #[test]
    fn a_process_line_is_read_by_its_fields() {
        let line = b"7 (a) b) S 1 7 7 0 -1 4194304 51 9 3 8 2 1 -0 0 20 0 1 0 8812 1 2\n";
        assert!(parse_process(line).unwrap_err().contains("cutime"));
        let line = b"7 (a) b) S 1 7 7 0 -1 4194304 51 9 3 8 2 1 5 6 20 0 1 0 8812 1 2\n";
        let parsed = parse_process(line).unwrap();
        let own = Used {
            minor_faults: 51,
            major_faults: 3,
            user_ticks: 2,
            system_ticks: 1,
        };
        let of_children = Used {
            minor_faults: 9,
            major_faults: 8,
            user_ticks: 5,
            system_ticks: 6,
        };
        assert_eq!((parsed.own, parsed.of_children), (own, of_children));
        assert_eq!((parsed.comm.as_str(), parsed.born_ticks), ("a) b", 8812));
        assert!(!parsed.is_dead());
        assert!(parse_process(b"7 (a) S 1 7").is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = parse_stat(&bytes);
            let _ = parse_had_children(&bytes);
            let _ = parse_process(&bytes);
        }
    }
}

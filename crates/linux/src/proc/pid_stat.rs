use std::time::Duration;

use super::stat::seconds_of_ticks;
use super::{Parsed, number};
use crate::machine::error::{Error, Result};
use crate::machine::root::Root;

/// `PF_FORKNOEXEC` of include/linux/sched.h.
const PF_FORKNOEXEC: u64 = 0x40;
/// `PF_KTHREAD` of include/linux/sched.h.
const PF_KTHREAD: u64 = 0x0020_0000;

/// `/proc/PID/stat` (proc_pid_stat(5); `do_task_stat`, fs/proc/array.c).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PidStat {
    /// `comm`: the name of the process.
    pub command: String,
    /// `state`, one letter.
    pub state: char,
    /// `ppid`: the parent's PID.
    pub parent: u32,
    /// `flags`: `PF_…` of include/linux/sched.h.
    pub flags: u64,
    /// Usage of all its threads, ended ones included, without children.
    pub own: ResourceUsage,
    /// Usage of the children it has waited for, and of theirs.
    pub children: ResourceUsage,
    /// `num_threads`.
    pub threads: u64,
    /// `starttime`: the start time, in clock ticks since boot.
    pub started_ticks: u64,
    /// `rss`: resident base pages without hugetlb, from counters only.
    pub resident_pages: u64,
    /// `startstack`: address of the first thread's stack; 0 without the privilege to read it.
    pub stack_address: u64,
    /// `start_brk`: address of the heap of brk(2); 0 without the privilege to read it.
    pub heap_address: u64,
}

/// Resource usage of a process or a process tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceUsage {
    /// Faults served without I/O.
    pub minor_faults: u64,
    /// Faults with I/O.
    pub major_faults: u64,
    /// User mode time, in clock ticks.
    pub user_ticks: u64,
    /// Kernel mode time, in clock ticks.
    pub system_ticks: u64,
}

impl PidStat {
    /// Returns true if it has ended and was not reaped yet.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }

    /// Returns true if it runs, is ready to run, or waits in the kernel (states R and D).
    #[must_use]
    pub fn is_active(&self) -> bool {
        matches!(self.state, 'R' | 'D')
    }

    /// Returns true if it is a kernel thread.
    #[must_use]
    pub fn is_kernel_thread(&self) -> bool {
        self.flags & PF_KTHREAD != 0
    }

    /// Returns true if it was forked and has not executed a program since.
    #[must_use]
    pub fn is_forked(&self) -> bool {
        self.flags & PF_FORKNOEXEC != 0
    }
}

/// Parses `/proc/PID/stat`.
///
/// # Errors
/// The line has too few fields, or one is not a number.
pub fn parse_pid_stat(bytes: &[u8]) -> Parsed<PidStat> {
    let text = String::from_utf8_lossy(bytes);
    // The name may contain blanks and parentheses: it ends at the last parenthesis.
    let (head, tail) = text.rsplit_once(')').ok_or("line 1: no comm")?;
    let (_, command) = head.split_once('(').ok_or("line 1: no comm")?;
    let fields: Vec<&str> = tail.split_ascii_whitespace().collect();
    // The first field after the name is number 3 in the manual.
    let field = |place: usize, name: &str| {
        let text = fields.get(place - 3).copied();
        number(1, name, text.ok_or_else(|| format!("line 1: no {name}"))?)
    };
    let state = fields.first().and_then(|state| state.chars().next());
    Ok(PidStat {
        command: command.to_owned(),
        state: state.ok_or("line 1: no state")?,
        parent: u32::try_from(field(4, "ppid")?).unwrap_or(0),
        flags: field(9, "flags")?,
        own: ResourceUsage {
            minor_faults: field(10, "minflt")?,
            major_faults: field(12, "majflt")?,
            user_ticks: field(14, "utime")?,
            system_ticks: field(15, "stime")?,
        },
        children: ResourceUsage {
            minor_faults: field(11, "cminflt")?,
            major_faults: field(13, "cmajflt")?,
            user_ticks: field(16, "cutime")?,
            system_ticks: field(17, "cstime")?,
        },
        threads: field(20, "num_threads")?,
        started_ticks: field(22, "starttime")?,
        resident_pages: field(24, "rss")?,
        stack_address: field(28, "startstack")?,
        heap_address: field(47, "start_brk")?,
    })
}

/// Reads `/proc/PID/stat`.
///
/// # Errors
/// The process has ended, or its line could not be parsed.
pub fn read_pid_stat(root: &Root, pid: u32) -> Result<PidStat> {
    read_from(root, &format!("proc/{pid}/stat"))
}

/// Reads `/proc/PID/task/TID/stat`.
///
/// # Errors
/// The thread has ended, or its line could not be parsed.
pub fn read_thread_stat(root: &Root, pid: u32, thread: u32) -> Result<PidStat> {
    read_from(root, &format!("proc/{pid}/task/{thread}/stat"))
}

fn read_from(root: &Root, path: &str) -> Result<PidStat> {
    parse_pid_stat(&root.read(path)?).map_err(|what| Error::malformed(&root.path(path), what))
}

/// Returns how long a process has existed; `None` if it has ended.
#[must_use]
pub fn read_age(root: &Root, pid: u32) -> Option<Duration> {
    let uptime = root.read_trimmed("proc/uptime").ok()?;
    let uptime: f64 = uptime.split(' ').next()?.parse().ok()?;
    let began = seconds_of_ticks(read_pid_stat(root, pid).ok()?.started_ticks);
    Duration::try_from_secs_f64(uptime - began).ok()
}

/// Builds the line of a process, with 0 in every field except these (by their number in the manual).
#[cfg(test)]
pub(crate) fn line_of(pid: u32, command: &str, state: char, values: &[(usize, u64)]) -> String {
    let value = |place: usize| values.iter().find(|(at, _)| *at == place);
    let fields = (4..=52).map(|place| value(place).map_or(0, |(_, value)| *value).to_string());
    let fields: Vec<String> = fields.collect();
    format!("{pid} ({command}) {state} {}\n", fields.join(" "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CAT: &[u8] =
        b"28195 (c (a) t) S 28146 28146 7800 0 -1 4194368 99 7 3 1 2 4 5 6 20 0 3 0 \
        107242 3133440 388 18446744073709551615 93915115147264 93915115167145 140731683780544 \
        0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 93915115147265 93915115147266 93915115147267 0 0 0 0 0\n";

    #[test]
    fn every_field_is_where_the_manual_says() {
        let wanted = PidStat {
            command: "c (a) t".to_owned(),
            state: 'S',
            parent: 28146,
            flags: 4_194_368,
            own: ResourceUsage {
                minor_faults: 99,
                major_faults: 3,
                user_ticks: 2,
                system_ticks: 4,
            },
            children: ResourceUsage {
                minor_faults: 7,
                major_faults: 1,
                user_ticks: 5,
                system_ticks: 6,
            },
            threads: 3,
            started_ticks: 107_242,
            resident_pages: 388,
            stack_address: 140_731_683_780_544,
            heap_address: 93_915_115_147_267,
        };
        assert!(wanted.is_forked() && !wanted.is_kernel_thread() && !wanted.is_dead());
        assert_eq!(parse_pid_stat(CAT), Ok(wanted));
    }

    #[test]
    fn kernel_threads_and_zombies_are_recognised() {
        let of = |state, flags| {
            let line = line_of(7, "x", state, &[(9, flags)]);
            parse_pid_stat(line.as_bytes()).unwrap()
        };
        assert!(of('I', 0x0020_0040).is_kernel_thread());
        assert!(of('Z', 0).is_dead() && of('X', 0).is_dead() && !of('R', 0).is_dead());
    }

    #[test]
    fn a_missing_or_negative_field_is_named() {
        let error = |bytes: &[u8]| parse_pid_stat(bytes).unwrap_err();
        assert_eq!(error(b"1 (a) S 2"), "line 1: no flags");
        assert_eq!(error(b"1 a S 2"), "line 1: no comm");
        assert_eq!(error(b"1 (a)"), "line 1: no state");
        let text = String::from_utf8_lossy(CAT).replace(" 99 ", " -99 ");
        assert!(error(text.as_bytes()).contains("minflt"));
    }

    #[test]
    fn our_own_heap_is_where_maps_shows_it() {
        let root = Root::real();
        let address = read_pid_stat(&root, std::process::id())
            .unwrap()
            .heap_address;
        let maps = root.read("proc/self/maps").unwrap();
        let maps = String::from_utf8_lossy(&maps);
        let heap = maps.lines().find(|line| line.ends_with("[heap]"));
        let start = heap.and_then(|line| line.split('-').next()).unwrap();
        assert_eq!(u64::from_str_radix(start, 16), Ok(address));
    }

    proptest! {
        #[test]
        fn any_name_and_any_numbers_are_read(
            name in "[^/\0]{0,15}",
            faults: u64,
            parent: u32,
            started_ticks: u64,
        ) {
            let places = [(4, parent.into()), (10, faults), (22, started_ticks)];
            let stat = parse_pid_stat(line_of(1, &name, 'R', &places).as_bytes()).unwrap();
            prop_assert_eq!(stat.command, name);
            prop_assert_eq!(stat.own.minor_faults, faults);
            prop_assert_eq!((stat.parent, stat.started_ticks), (parent, started_ticks));
        }
    }
}

use super::{Parsed, kib, lines, number};
use crate::machine::error::{Error, Result};
use crate::machine::root::Root;

/// Facts about one process (`/proc/PID/status`, proc_pid_status(5)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// `Tgid`: the process, if this is one of its threads.
    pub process: Option<u32>,
    /// `PPid`: the parent's PID.
    pub parent: Option<u32>,
    /// `Uid`: the effective user id.
    pub uid: u32,
    /// `Uid`: the real user id.
    pub real_uid: u32,
    /// `Threads`: the number of remaining threads.
    pub threads: u64,
    /// `VmHWM`: the largest resident set since exec, in bytes; absent without memory.
    pub peak_rss_bytes: Option<u64>,
    /// `VmPTE`: page tables, in bytes; absent without memory.
    pub page_table_bytes: Option<u64>,
    /// `VmRSS`: the resident set in bytes, without hugetlb. Absent without memory, like the next three, and may lag by
    /// some pages per processor.
    pub rss_bytes: Option<u64>,
    /// `RssAnon`: resident pages without a file, in bytes (Linux 4.5).
    pub anon_bytes: Option<u64>,
    /// `RssShmem`: resident shared memory, in bytes (Linux 4.5).
    pub shmem_bytes: Option<u64>,
    /// `HugetlbPages`: memory from the hugetlb pool, in bytes (Linux 4.4).
    pub hugetlb_bytes: Option<u64>,
    /// `THP_enabled`: whether prctl(2) allows huge pages; absent before Linux 5.0.
    pub thp_enabled: Option<bool>,
    /// `NoNewPrivs`: true if executing a file grants no privileges through its owner or capabilities.
    pub no_new_privileges: bool,
    /// `Seccomp_filters`: the number of filters applied to its calls; absent before Linux 5.9.
    pub seccomp_filters: Option<u64>,
}

/// Parses `/proc/PID/status`. `Uid` is required; kernel threads have no `VmHWM`.
///
/// # Errors
/// A field is not a number or `Uid` is missing.
pub fn parse_status(bytes: &[u8]) -> Parsed<Status> {
    let mut status = Status::default();
    let mut uid = None;
    for (at, line) in lines(bytes) {
        let Some((field, value)) = line.split_once(':') else {
            continue;
        };
        let value = value.trim();
        match field {
            "Uid" => {
                let mut ids = value.split_ascii_whitespace();
                let real = number(at, field, ids.next().unwrap_or(""))?;
                status.real_uid = u32::try_from(real).unwrap_or_default();
                let effective = ids.next().unwrap_or("");
                uid = u32::try_from(number(at, field, effective)?).ok();
            }
            "Tgid" => status.process = u32::try_from(number(at, field, value)?).ok(),
            "PPid" => status.parent = u32::try_from(number(at, field, value)?).ok(),
            "Threads" => status.threads = number(at, field, value)?,
            "VmHWM" => status.peak_rss_bytes = Some(kib(at, field, value)?),
            "VmPTE" => status.page_table_bytes = Some(kib(at, field, value)?),
            "VmRSS" => status.rss_bytes = Some(kib(at, field, value)?),
            "RssAnon" => status.anon_bytes = Some(kib(at, field, value)?),
            "RssShmem" => status.shmem_bytes = Some(kib(at, field, value)?),
            "HugetlbPages" => status.hugetlb_bytes = Some(kib(at, field, value)?),
            "THP_enabled" => status.thp_enabled = Some(number(at, field, value)? != 0),
            "NoNewPrivs" => status.no_new_privileges = number(at, field, value)? != 0,
            "Seccomp_filters" => status.seccomp_filters = Some(number(at, field, value)?),
            _ => {}
        }
    }
    status.uid = uid.ok_or("no line `Uid`")?;
    Ok(status)
}

/// Reads `/proc/PID/status`.
///
/// # Errors
/// The process has ended, or its file could not be parsed.
pub fn read_status(root: &Root, pid: u32) -> Result<Status> {
    let path = format!("proc/{pid}/status");
    parse_status(&root.read(&path)?).map_err(|what| Error::malformed(&root.path(&path), what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_one() {
        let text = b"Name:\tsort\nUmask:\t0022\nState:\tt (tracing stop)\nPid:\t77\nPPid:\t76\n\
            Uid:\t1000\t0\t0\t0\nVmPeak:\t  190000 kB\nVmHWM:\t   93516 kB\nVmPTE:\t    1012 kB\n\
            VmRSS:\t   90000 kB\nRssAnon:\t   80000 kB\nRssShmem:\t       8 kB\nHugetlbPages:\t 2048 kB\n\
            Threads:\t2\nSeccomp_filters:\t1\nTHP_enabled:\t0\nNoNewPrivs:\t1\n";
        let wanted = Status {
            process: None,
            parent: Some(76),
            uid: 0,
            real_uid: 1000,
            threads: 2,
            peak_rss_bytes: Some(93_516 << 10),
            page_table_bytes: Some(1012 << 10),
            rss_bytes: Some(90_000 << 10),
            anon_bytes: Some(80_000 << 10),
            shmem_bytes: Some(8 << 10),
            hugetlb_bytes: Some(2 << 20),
            thp_enabled: Some(false),
            no_new_privileges: true,
            seccomp_filters: Some(1),
        };
        assert_eq!(parse_status(text), Ok(wanted));
        let bare = parse_status(b"Uid:\t1\t2\t3\t4\n").unwrap();
        assert_eq!((bare.uid, bare.page_table_bytes), (2, None));
        assert!(parse_status(b"Name:\tx\n").is_err());
        assert!(parse_status(b"Uid:\t1\t99999999999\n").is_err());
        assert!(parse_status(b"Uid:\t1\t2\nVmPTE:\tmany kB\n").is_err());
    }
}

//! Who a process is: `/proc/PID/stat` and `/proc/PID/status`.

use std::fs::File;
use std::io::Read;

use hugewise_model::base::missing::Fact;
use hugewise_model::base::missing::Missing;
use hugewise_model::observe::address_space::{Process, Sort, WordSize};

use crate::error::{Error, Result};
use crate::proc::{Parsed, lines, number, tree};
use crate::root::Root;

/// `PF_FORKNOEXEC` and `PF_KTHREAD` of `include/linux/sched.h`.
const FORKED: u64 = 0x40;
const KERNEL_THREAD: u64 = 0x0020_0000;

/// What tells one program in one process from every other: as long as it is the same, the
/// process has neither ended nor executed another program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) started_ticks: u64,
    /// Where the stack of the first thread begins: chosen anew by every exec. 0 without the
    /// right to know it.
    stack: u64,
}

/// `/proc/PID/stat` (proc_pid_stat(5)), what is needed of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) command: String,
    pub(super) parent: u32,
    pub(super) threads: u64,
    pub(super) forked: bool,
    pub(super) sort: Sort,
    pub(super) identity: Identity,
}

/// Parses `/proc/PID/stat`. The name may hold blanks and parentheses; the last parenthesis
/// ends it.
pub(super) fn parse_pid_stat(bytes: &[u8]) -> Parsed<Stat> {
    let text = String::from_utf8_lossy(bytes);
    let (head, tail) = text.rsplit_once(')').ok_or("line 1: no name in brackets")?;
    let (_, command) = head.split_once('(').ok_or("line 1: no name in brackets")?;
    let fields: Vec<&str> = tail.split_ascii_whitespace().collect();
    // The first field behind the name is number 3 in the manual.
    let field = |place: usize, name: &str| {
        let text = fields.get(place - 3).copied().unwrap_or("");
        number(1, name, text)
    };
    let flags = field(9, "flags")?;
    let sort = match fields.first() {
        _ if flags & KERNEL_THREAD != 0 => Sort::KernelThread,
        Some(&("Z" | "X" | "x")) => Sort::Zombie,
        _ => Sort::Program,
    };
    Ok(Stat {
        command: command.to_owned(),
        parent: u32::try_from(field(4, "ppid")?).unwrap_or(0),
        threads: field(20, "num_threads")?,
        forked: flags & FORKED != 0,
        sort,
        identity: Identity {
            started_ticks: field(22, "starttime")?,
            stack: field(28, "startstack")?,
        },
    })
}

pub(super) fn read_pid_stat(root: &Root, pid: u32) -> Result<Stat> {
    let path = format!("proc/{pid}/stat");
    parse_pid_stat(&root.read(&path)?).map_err(|what| Error::malformed(&root.path(&path), what))
}

/// Reads who a process is.
///
/// # Errors
/// The process is gone, or its files could not be understood.
pub(super) fn read_process(root: &Root, pid: u32, stat: &Stat) -> Result<Process> {
    let path = format!("proc/{pid}/status");
    let status = parse_status(&root.read(&path)?)
        .map_err(|what| Error::malformed(&root.path(&path), what))?;
    Ok(Process {
        pid,
        parent: stat.parent,
        started_ticks: stat.identity.started_ticks,
        command: stat.command.clone(),
        uid: status.uid,
        threads: stat.threads,
        children: tree::read_children(root, pid).len() as u64,
        forked: stat.forked,
        sort: stat.sort,
        word_size: read_word_size(root, pid, stat.sort),
        thp_enabled: status.thp_enabled,
        parent_thp_enabled: parent_switch(root, stat.parent, status.thp_enabled),
        page_table_bytes: status.page_table_bytes,
    })
}

/// `THP_enabled` of the parent, which matters only where the process has it switched off.
fn parent_switch(root: &Root, parent: u32, own: Option<bool>) -> Option<bool> {
    own.filter(|enabled| !enabled)?;
    let bytes = root.read(format!("proc/{parent}/status")).ok()?;
    parse_status(&bytes).ok()?.thp_enabled
}

/// `VmPTE` of `/proc/PID/status`, in bytes; `None` where it cannot be read.
pub(super) fn read_page_table_bytes(root: &Root, pid: u32) -> Option<u64> {
    let bytes = root.read(format!("proc/{pid}/status")).ok()?;
    parse_status(&bytes).ok()?.page_table_bytes
}

/// `/proc/PID/status` (proc_pid_status(5)), what is needed of it.
#[derive(Debug, PartialEq, Eq)]
struct Status {
    /// The effective user id.
    uid: u32,
    thp_enabled: Option<bool>,
    page_table_bytes: Option<u64>,
}

fn parse_status(bytes: &[u8]) -> Parsed<Status> {
    let (mut uid, mut thp_enabled, mut page_table_bytes) = (None, None, None);
    for (at, line) in lines(bytes) {
        match line.split_once(':') {
            Some((field @ "Uid", value)) => {
                let effective = value.split_ascii_whitespace().nth(1).unwrap_or("");
                uid = u32::try_from(number(at, field, effective)?).ok();
            }
            Some((field @ "THP_enabled", value)) => {
                thp_enabled = Some(number(at, field, value.trim())? != 0);
            }
            Some((field @ "VmPTE", value)) => {
                let kib = number(at, field, value.trim_end_matches("kB").trim())?;
                page_table_bytes = kib.checked_mul(1024);
            }
            _ => {}
        }
    }
    Ok(Status {
        uid: uid.ok_or("no line `Uid`")?,
        thp_enabled,
        page_table_bytes,
    })
}

/// From the fifth byte of its program, which is an ELF file (binfmt_elf has no other).
fn read_word_size(root: &Root, pid: u32, sort: Sort) -> Fact<WordSize> {
    if sort != Sort::Program {
        return Err(Missing::NotSupported {
            what: "a process without a program".to_owned(),
        });
    }
    let path = root.path(format!("proc/{pid}/exe"));
    let mut head = [0; 5];
    File::open(&path)
        .and_then(|mut file| file.read_exact(&mut head))
        .map_err(|error| {
            Error::io("reading", &path, error).into_missing("the same user id, or CAP_SYS_PTRACE")
        })?;
    match head {
        [0x7f, b'E', b'L', b'F', 1] => Ok(WordSize::Bits32),
        [0x7f, b'E', b'L', b'F', 2] => Ok(WordSize::Bits64),
        _ => Err(Missing::Unreadable {
            error: format!("{} is no ELF file", path.display()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CAT: &[u8] = b"28195 (c (a) t) S 28146 28146 7800 0 -1 4194368 99 0 0 0 0 0 0 0 20 0 3 \
        0 107242 3133440 388 18446744073709551615 93915115147264 93915115167145 140731683780544 \
        0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0\n";

    #[test]
    fn a_real_one() {
        let stat = parse_pid_stat(CAT).unwrap();
        assert_eq!(stat.command, "c (a) t");
        assert_eq!((stat.parent, stat.threads), (28146, 3));
        assert!(stat.forked);
        assert_eq!(stat.sort, Sort::Program);
        assert_eq!(stat.identity.started_ticks, 107_242);
        assert_eq!(stat.identity.stack, 140_731_683_780_544);
    }

    #[test]
    fn threads_of_the_kernel_and_zombies_are_told() {
        let text = String::from_utf8_lossy(CAT);
        let kernel = text.replace("4194368", "2129984");
        let zombie = text.replace(") S", ") Z");
        let sort = |text: &str| parse_pid_stat(text.as_bytes()).unwrap().sort;
        assert_eq!(sort(&kernel), Sort::KernelThread);
        assert_eq!(sort(&zombie), Sort::Zombie);
        assert!(parse_pid_stat(b"1 (a) S 2").is_err());
    }

    #[test]
    fn owners_are_effective_and_tables_are_bytes() {
        let text = b"Name:\tx\nUid:\t1000\t0\t0\t0\nVmPTE:\t    1012 kB\nTHP_enabled:\t0\n";
        let status = Status {
            uid: 0,
            thp_enabled: Some(false),
            page_table_bytes: Some(1012 << 10),
        };
        assert_eq!(parse_status(text), Ok(status));
        let bare = parse_status(b"Uid:\t1\t2\t3\t4\n").unwrap();
        assert_eq!((bare.uid, bare.page_table_bytes), (2, None));
        assert!(parse_status(b"Name:\tx\n").is_err());
        assert!(parse_status(b"Uid:\t1\t2\nVmPTE:\tmany kB\n").is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = parse_pid_stat(&bytes);
            let _ = parse_status(&bytes);
        }
    }
}

//! Facts of a process: `/proc/PID/stat`, `/proc/PID/status` and its program.

use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::io::Read;

use hugewise_base::missing::{Fact, Missing};
use hugewise_experiment::run::trial::OFF_VARIABLES;
use hugewise_observe::address_space::{Process, Sort, WordSize};
use hugewise_observe::inspect::reasons::ADVICE_VARIABLES;

use crate::file::read::{CONFIGURATION, read_regular};
use crate::machine::error::{Error, Result};
use crate::machine::root::Root;
use crate::proc::pid_stat::PidStat;
use crate::proc::status::read_status;
use crate::proc::tree;
use crate::sys::tunables;

/// Distinguishes processes with memory from those without: kernel threads and zombies.
pub(super) fn sort(stat: &PidStat) -> Sort {
    match stat {
        stat if stat.is_kernel_thread() => Sort::KernelThread,
        stat if stat.is_dead() => Sort::Zombie,
        _ => Sort::Program,
    }
}

/// Reads the facts of a process.
///
/// # Errors
/// The process has ended, or its files could not be parsed.
pub(super) fn read_process(root: &Root, pid: u32, stat: &PidStat) -> Result<Process> {
    let status = read_status(root, pid)?;
    Ok(Process {
        pid,
        parent: stat.parent,
        started_ticks: stat.started_ticks,
        command: stat.command.clone(),
        uid: status.uid,
        threads: stat.threads,
        children: tree::read_children(root, pid).len() as u64,
        forked: stat.is_forked(),
        sort: sort(stat),
        word_size: read_word_size(root, pid, sort(stat)),
        thp_enabled: status.thp_enabled,
        parent_thp_enabled: parent_switch(root, stat.parent, status.thp_enabled),
        page_table_bytes: status.page_table_bytes,
        environment: read_environment(root, pid),
    })
}

/// Returns `THP_enabled` of the parent, which is needed only if the process has it disabled.
fn parent_switch(root: &Root, parent: u32, own: Option<bool>) -> Option<bool> {
    own.filter(|enabled| !enabled)?;
    read_status(root, parent).ok()?.thp_enabled
}

/// Returns the environment variables about memory advice with which the process was started, and the tunables of its
/// machine; empty if unreadable.
fn read_environment(root: &Root, pid: u32) -> BTreeMap<String, String> {
    let bytes = root.read(format!("proc/{pid}/environ")).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let pairs = text.split('\0').filter_map(|pair| pair.split_once('='));
    let mut environment = pairs
        .filter(|(name, _)| ADVICE_VARIABLES.contains(name) || OFF_VARIABLES.contains(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let cache = root.path(format!("proc/{pid}/root/{}", tunables::CACHE));
    let cache = read_regular(&cache, CONFIGURATION).unwrap_or_default();
    let program = fs::read_link(root.path(format!("proc/{pid}/exe"))).ok();
    let program = program.map(|path| path.display().to_string());
    tunables::add_file(&mut environment, &cache, program.as_deref());
    environment
}

/// Returns `VmPTE` of `/proc/PID/status`, in bytes; `None` if it cannot be read.
pub(super) fn read_page_table_bytes(root: &Root, pid: u32) -> Option<u64> {
    read_status(root, pid).ok()?.page_table_bytes
}

/// Reads the fifth byte of its program, an ELF file (binfmt_elf accepts no other format).
fn read_word_size(root: &Root, pid: u32, sort: Sort) -> Fact<WordSize> {
    if sort != Sort::Program {
        return Err(Missing::not_supported("a process without a program"));
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
        _ => Err(Missing::unreadable(format!(
            "{} is not an ELF file",
            path.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::root::machine_of;
    use std::os::unix::fs::symlink;

    /// Made by `ldconfig` of glibc 2.44; see `sys::tunables`.
    const CACHE: &[u8] = include_bytes!("../../../../../fixtures/ld.so.cache-2.44");

    #[test]
    fn tunables_of_the_machine_are_part_of_the_environment() {
        let (folder, root) = machine_of(&[
            ("proc/7/environ", "A=1\0MALLOC_CONF=thp:never\0"),
            ("proc/7/root/etc/passwd", ""),
            ("proc/8/environ", "GLIBC_TUNABLES=glibc.malloc.hugetlb=1\0"),
        ]);
        let place = folder.path().join("proc/7/root").join(tunables::CACHE);
        fs::write(place, CACHE).expect("a file");
        symlink("/usr/bin/redis-server", folder.path().join("proc/7/exe")).expect("a link");
        let with_file = read_environment(&root, 7);
        assert_eq!(with_file["MALLOC_CONF"], "thp:never");
        let tunables = &with_file["GLIBC_TUNABLES"];
        assert!(tunables.contains("glibc.malloc.hugetlb=2"), "{tunables}");
        let without = read_environment(&root, 8);
        assert_eq!(without["GLIBC_TUNABLES"], "glibc.malloc.hugetlb=1");
    }
}

//! The machine and its capabilities, as facts without decisions.
//!
//! All system calls come first, and their results are kept as plain data ([`Answers`](crate::probe::Answers));
//! everything else is derived from those results and from files below a [`Root`](crate::machine::root::Root). So a
//! frozen machine is a directory of files and a `host.toml` with the results, and does not differ from the real one
//! otherwise.

use std::collections::BTreeMap;

use hugewise_base::host::{Cgroup, Host, ThpDisable, User};
use hugewise_base::tunables::ELF_THP;
use hugewise_observe::doctor::{Examination, Facts, TmpfsMount};

use crate::machine::error::{Kind, Result};
use crate::machine::root::Root;
use crate::proc::buddyinfo::read_buddyinfo;
use crate::proc::mounts::{Mount, parse_mounts};
use crate::proc::stat::read_stat;
use crate::proc::status::read_status;
use crate::proc::{cpuinfo, loadavg, meminfo};
use crate::sys::tunables::read_tunables;
use crate::sys::{balloon, cgroup, cpu, hugetlb, hypervisor, thp};

pub mod answers;
pub mod ask;
pub mod frozen;
pub mod libraries;

mod ladder;

pub use answers::{Answer, Answers, Environment, PerfAnswers};
pub use ladder::Grants;

/// Returns the answers of a machine: probed on the running one, otherwise read from its `host.toml`.
///
/// # Errors
/// A frozen machine has no `host.toml`, or it could not be parsed.
pub fn answers(root: &Root, environment: Environment) -> Result<Answers> {
    if root.is_real() {
        return Ok(ask::ask(root, environment));
    }
    answers::read_answers(root)
}

/// Does the same without the probes of kernel tracing, which take longer than all others together and matter only to
/// `doctor`.
///
/// # Errors
/// The same as for [`answers()`].
pub fn answers_without_tracing(root: &Root, environment: Environment) -> Result<Answers> {
    if root.is_real() {
        return Ok(ask::ask_without_tracing(root, environment));
    }
    answers::read_answers(root)
}

/// Reads the facts of the machine.
///
/// # Errors
/// A file present on every Linux could not be read or parsed: kernel release, memory, load, processors, cgroup
/// membership. Data missing on some machines is a reason inside the [`Host`].
pub fn host(root: &Root, answers: &Answers) -> Result<Host> {
    let memory = meminfo::read_meminfo(root)?;
    let processor = cpuinfo::read_cpuinfo(root)?;
    let signature = answers.hypervisor_signature.as_deref();
    let thp = thp::read_thp(root).map_err(|error| error.into_missing("root"));
    let block_bytes = thp
        .as_ref()
        .map_or(thp::USUAL_PMD_BYTES, |thp| thp.pmd_bytes);
    Ok(Host {
        kernel: root.read_trimmed("proc/sys/kernel/osrelease")?,
        arch: answers.arch.clone(),
        boot_line: root.read_trimmed("proc/cmdline")?,
        boot_id: root.read_trimmed("proc/sys/kernel/random/boot_id")?,
        cpus: cpu::read_online(root)?.unwrap_or(processor.processors),
        numa_nodes: cpu::read_memory_nodes(root)?,
        memory_bytes: meminfo::require(root, &memory, "MemTotal")?,
        swap_bytes: memory.get("SwapTotal").unwrap_or(0),
        page_bytes: answers.page_bytes,
        hypervisor: hypervisor::read_hypervisor(root, &processor, signature),
        governor: cpu::read_governor(root),
        hugetlb: hugetlb::read_pools(root)?,
        thp_disable: thp_disable(answers),
        except_advised: answers.except_advised.is_ok(),
        can_trace: answers.trace.is_ok(),
        library: answers.library.clone().filter(|path| !path.is_empty()),
        can_collapse: thp.is_ok() && answers.collapse.is_ok(),
        cgroup: Cgroup {
            can_make: answers.cgroup_write.is_ok(),
            ..cgroup::read_memory_group(root)?.cgroup
        },
        user: user(answers),
        glibc: libraries::find_glibc(root, &answers.arch),
        glibc_elf_thp: libraries::loader_has_tunable(root, &answers.arch, ELF_THP),
        tunables: read_tunables(root, answers.environment.glibc_tunables.as_deref()),
        allocators: libraries::find_allocators(root, &answers.arch),
        load_1min: loadavg::read_loadavg(root)?,
        free_blocks: free_blocks(root)?,
        balloon: balloon::read_balloon(root, answers.page_bytes, block_bytes),
        cpu_model: processor.model,
        thp,
    })
}

/// Returns the size of a base page of the machine, in bytes.
///
/// # Errors
/// A frozen machine has no readable `host.toml`.
pub fn read_page_bytes(root: &Root) -> Result<u64> {
    if root.is_real() {
        return Ok(ask::page_bytes());
    }
    Ok(answers::read_answers(root)?.page_bytes)
}

/// Reads all data that `doctor` evaluates.
///
/// # Errors
/// The same as for [`host`].
pub fn examine(root: &Root, answers: &Answers) -> Result<Examination> {
    let host = host(root, answers)?;
    Ok(Examination {
        ladder: ladder::climb(root, answers, &host),
        facts: facts(root, answers)?,
        host,
    })
}

fn facts(root: &Root, answers: &Answers) -> Result<Facts> {
    let memory = meminfo::read_meminfo(root)?;
    let group = cgroup::read_memory_group(root)?;
    let swap = memory.get("SwapTotal").zip(memory.get("SwapFree"));
    Ok(Facts {
        swap_used_bytes: swap.map(|(total, free)| total.saturating_sub(free)),
        available_bytes: memory.get("MemAvailable"),
        cgroup_used_bytes: group.used_bytes,
        cgroup_folder: Some(group.folder).filter(|folder| !folder.is_empty()),
        steal_share: read_stat(root).ok().and_then(|time| time.steal_share()),
        shrink_underused: thp::read_shrink_underused(root).ok().flatten(),
        vmemmap_optimised: hugetlb::read_vmemmap_optimised(root),
        shmem_sizes: thp::read_shmem_sizes(root).unwrap_or_default(),
        tmpfs: tmpfs_mounts(root),
        thp_read_only: Some(answers.thp_write == Answer::Refused(libc::EROFS)),
        perf_event_paranoid: ladder::read_paranoid(root),
        program: answers.environment.program.clone(),
        no_new_privileges: read_status(root, std::process::id())
            .is_ok_and(|status| status.no_new_privileges),
    })
}

/// Returns the writable tmpfs mounts; of several at one point only the last can be reached.
fn tmpfs_mounts(root: &Root) -> Vec<TmpfsMount> {
    let table = root.read("proc/self/mountinfo").unwrap_or_default();
    let mut mounts: Vec<Mount> = parse_mounts(&table);
    let last: BTreeMap<String, usize> = mounts.iter().map(|it| it.point.clone()).zip(0..).collect();
    let mut at = 0..;
    mounts.retain(|it| at.next() == last.get(&it.point).copied());
    let tmpfs = mounts
        .into_iter()
        .filter(|it| it.kind == "tmpfs" && !it.has_option("ro"));
    let mounts = tmpfs.map(|it| TmpfsMount {
        huge: it.option("huge").unwrap_or("never").to_owned(),
        point: it.point,
    });
    mounts.collect()
}

/// An unknown value counts as "off": newer kernels may add flags, but none can restrict huge pages more than 1 does.
fn thp_disable(answers: &Answers) -> ThpDisable {
    match answers.thp_disable {
        Some(1) => ThpDisable::Disabled,
        Some(3) => ThpDisable::ExceptAdvised,
        _ => ThpDisable::Off,
    }
}

/// Under sudo the workload belongs to the invoking user.
fn user(answers: &Answers) -> User {
    let uid = answers.euid;
    let caller = answers.environment.sudo_uid.as_deref();
    User {
        uid,
        workload_uid: caller
            .filter(|_| uid == 0)
            .and_then(|text| text.parse().ok())
            .unwrap_or(uid),
        can_write_thp: answers.thp_write.is_ok(),
    }
}

/// Returns free blocks by order; fails if the kernel does not show them, or not to this user.
fn free_blocks(root: &Root) -> Result<Vec<u64>> {
    match read_buddyinfo(root) {
        Err(error) if matches!(error.kind, Kind::NotFound | Kind::NotPermitted) => Ok(Vec::new()),
        other => other,
    }
}

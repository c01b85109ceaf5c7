//! Derives capabilities from answers: the meaning of each error number.

use std::collections::BTreeMap;

use hugewise_base::host::Host;
use hugewise_base::missing::Missing;
use hugewise_observe::doctor::{Feature, Support};

use super::answers::{Answer, Answers, PerfAnswers};
use crate::machine::error::Kind;
use crate::machine::number;
use crate::machine::root::Root;

/// Number of `CAP_PERFMON` (include/uapi/linux/capability.h); `CAP_BPF` is one more. Kernels whose last capability is
/// smaller (before 5.8) require `CAP_SYS_ADMIN` instead.
const CAP_PERFMON: u64 = 38;

/// The result for a capability: a detail, or the reason for its absence.
type Said = Support<String>;

/// Derives every capability from the answers.
pub(super) fn climb(root: &Root, answers: &Answers, host: &Host) -> BTreeMap<Feature, Said> {
    let grants = Grants::read(root);
    Feature::ALL
        .iter()
        .map(|&feature| (feature, judge(feature, root, answers, host, &grants)))
        .collect()
}

fn judge(feature: Feature, root: &Root, answers: &Answers, host: &Host, grants: &Grants) -> Said {
    match feature {
        Feature::WallTime => yes(""),
        Feature::ProcFiles => proc_files(root),
        Feature::PageScan => simple(
            answers.pagemap_scan,
            "ioctl PAGEMAP_SCAN (Linux 6.7)",
            "ptrace access",
        ),
        Feature::ProcessPolicy => process_policy(answers),
        Feature::ExceptAdvised => simple(
            answers.except_advised,
            "PR_THP_DISABLE_EXCEPT_ADVISED (Linux 6.18)",
            "a container that allows prctl",
        ),
        Feature::Collapse => simple(
            answers.collapse,
            "MADV_COLLAPSE (Linux 6.1)",
            "a container that allows madvise",
        ),
        Feature::CollapseRemote => simple(
            answers.collapse_remote,
            "process_madvise(MADV_COLLAPSE) (Linux 6.1)",
            "CAP_SYS_NICE",
        ),
        Feature::Switchback => switchback(answers),
        Feature::Tracing => simple(answers.trace, "seccomp filters", &grant_of_ptrace(root)),
        Feature::Preload => preload(answers),
        Feature::FaultsUser => faults_user(answers.page_faults, grants),
        Feature::FaultsKernel => perf(answers.page_faults.kernel, &grants.perf_kernel()),
        Feature::Cycles => hardware(answers.cycles, grants),
        Feature::TlbMisses => tlb_misses(answers, grants),
        Feature::CounterGroup => counter_group(answers, grants),
        Feature::SystemPolicy => system_policy(answers, host),
        Feature::OwnCgroup => own_cgroup(answers, host),
        Feature::FrameNumbers => frame_numbers(answers.frame_number),
        Feature::PageFlags => simple(answers.page_flags, "/proc/kpageflags", "root"),
        Feature::Bpf => bpf(answers, grants),
        Feature::Btf => simple(answers.btf, "/sys/kernel/btf/vmlinux", "root"),
        // Regardless of perf_event_paranoid (kernel/events/core.c, perf_kprobe_event_init).
        Feature::Kprobe => simple(answers.kprobe, "kprobes", grants.perf),
        Feature::Fentry => fentry(answers, grants),
    }
}

/// The grants, as named on this machine.
#[derive(Clone, Copy, Debug)]
pub struct Grants {
    perf: &'static str,
    bpf: &'static str,
    paranoid: Option<i64>,
}

impl Grants {
    /// Reads the capabilities known to the kernel, and its restrictions, on which the grants depend.
    #[must_use]
    pub fn read(root: &Root) -> Self {
        let last = number::read(root, "proc/sys/kernel/cap_last_cap").unwrap_or(CAP_PERFMON + 1);
        let (perf, bpf) = if last > CAP_PERFMON {
            ("CAP_PERFMON", "CAP_BPF and CAP_PERFMON")
        } else {
            ("CAP_SYS_ADMIN", "CAP_SYS_ADMIN")
        };
        Self {
            perf,
            bpf,
            paranoid: read_paranoid(root),
        }
    }

    /// Returns the grants for an unknown kernel.
    #[cfg(test)]
    pub(crate) fn unknown() -> Self {
        Self {
            perf: "CAP_PERFMON",
            bpf: "CAP_BPF and CAP_PERFMON",
            paranoid: None,
        }
    }

    /// Returns the grant for user mode of the user's own processes. At 3 and more, a patch of some distributions
    /// refuses even that.
    #[must_use]
    pub fn perf_user(&self) -> String {
        match self.paranoid {
            Some(level) if level > 2 => {
                format!(
                    "{}, or perf_event_paranoid at most 2 (now {level})",
                    self.perf
                )
            }
            _ => format!("{}, and in a container perf_event_open allowed", self.perf),
        }
    }

    /// Returns the grant for kernel mode of the user's own processes.
    #[must_use]
    pub fn perf_kernel(&self) -> String {
        match self.paranoid {
            Some(level) if level > 1 => {
                format!(
                    "{}, or perf_event_paranoid at most 1 (now {level})",
                    self.perf
                )
            }
            _ => self.perf_user(),
        }
    }

    /// Returns the grant for all processes of a machine or a cgroup.
    #[must_use]
    pub fn perf_machine(&self) -> String {
        match self.paranoid {
            Some(level) if level > 0 => {
                format!(
                    "{}, or perf_event_paranoid at most 0 (now {level})",
                    self.perf
                )
            }
            _ => self.perf_user(),
        }
    }
}

/// Reads `/proc/sys/kernel/perf_event_paranoid`, −1 to 4; `None` without perf.
pub(super) fn read_paranoid(root: &Root) -> Option<i64> {
    root.read_trimmed("proc/sys/kernel/perf_event_paranoid")
        .ok()?
        .parse()
        .ok()
}

fn yes(found: impl Into<String>) -> Said {
    Support::Yes {
        found: found.into(),
    }
}

fn no(missing: Missing) -> Said {
    Support::No { missing }
}

fn not_permitted(grant: impl Into<String>) -> Said {
    no(Missing::not_permitted(grant))
}

fn not_supported(what: impl Into<String>) -> Said {
    no(Missing::NotSupported { what: what.into() })
}

fn unknown(answer: Answer, what: &str) -> Said {
    Support::Unknown {
        error: format!("{what}: {answer}"),
    }
}

/// Evaluates a call that the kernel either supports or not, and permits or not. EINVAL means that the request is
/// unknown, because all these calls pass arguments that would be valid for a known request.
fn simple(answer: Answer, what: &str, grant: &str) -> Said {
    match answer {
        Answer::Accepted => yes(""),
        Answer::Refused(libc::EPERM | libc::EACCES) => not_permitted(grant),
        Answer::Refused(libc::ENOENT | libc::EINVAL | libc::ENOTTY | libc::ENOSYS) => {
            not_supported(what)
        }
        _ => unknown(answer, what),
    }
}

/// Evaluates both directions of a switch, and the scan required to restore the state.
fn switchback(answers: &Answers) -> Said {
    if answers.collapse_remote != Answer::Accepted {
        return simple(
            answers.collapse_remote,
            "process_madvise(MADV_COLLAPSE) (Linux 6.1)",
            "CAP_SYS_NICE",
        );
    }
    let has_frames = answers.frame_number.is_ok() && answers.page_flags.is_ok();
    if answers.pagemap_scan.is_ok() || has_frames {
        return match answers.split {
            Answer::Empty => not_supported("splitting a huge page by MADV_COLD"),
            split => simple(
                split,
                "MADV_COLLAPSE and MADV_COLD",
                "a container that allows madvise",
            ),
        };
    }
    match answers.pagemap_scan {
        Answer::Refused(libc::EPERM | libc::EACCES) => not_permitted("ptrace access"),
        _ => not_permitted("CAP_SYS_ADMIN, to see page frames (Linux before 6.7)"),
    }
}

/// Returns what forbids ptrace of child processes: `yama` at 2 and above, otherwise a system call filter.
fn grant_of_ptrace(root: &Root) -> String {
    match number::read(root, "proc/sys/kernel/yama/ptrace_scope") {
        Ok(scope) if scope > 1 => format!("kernel.yama.ptrace_scope below 2 (now {scope})"),
        _ => "a container or sandbox that allows ptrace and seccomp".to_owned(),
    }
}

fn preload(answers: &Answers) -> Said {
    match answers.library.as_deref() {
        None => unknown(Answer::NotTried, "a library to preload"),
        Some("") => {
            not_permitted("/tmp, /var/tmp or /dev/shm writable, and mounted without noexec")
        }
        Some(_) => yes(""),
    }
}

fn proc_files(root: &Root) -> Said {
    match root.read("proc/vmstat") {
        Ok(content) if content.is_empty() => Support::Unknown {
            error: format!("{} is empty", root.path("proc/vmstat").display()),
        },
        Ok(_) => yes(""),
        Err(error) if error.kind == Kind::NotFound => not_supported("/proc/vmstat"),
        Err(error) if error.kind == Kind::NotPermitted => not_permitted("root"),
        Err(error) => Support::Unknown {
            error: error.to_string(),
        },
    }
}

fn process_policy(answers: &Answers) -> Said {
    match answers.thp_disable {
        Some(0) => yes(""),
        Some(value) => yes(format!("inherited as {value}")),
        None => not_supported("PR_GET_THP_DISABLE"),
    }
}

/// An event without hardware needs only permission.
fn perf(answer: Answer, grant: &str) -> Said {
    match answer {
        Answer::Accepted => yes(""),
        Answer::Refused(libc::EPERM | libc::EACCES) => not_permitted(grant),
        Answer::Refused(libc::ENOSYS | libc::ENOENT) => not_supported("perf_event_open"),
        _ => unknown(answer, "perf_event_open"),
    }
}

/// A kernel that permits both modes also permits user mode.
fn faults_user(answers: PerfAnswers, grants: &Grants) -> Said {
    let answer = if answers.kernel.is_ok() {
        answers.kernel
    } else {
        answers.user
    };
    perf(answer, &grants.perf_user())
}

/// EACCES with kernel mode does not show whether the hardware exists: the kernel checks permission before it looks for
/// the event. Only the answer for user mode shows it, unless that is refused too.
fn hardware(answers: PerfAnswers, grants: &Grants) -> Said {
    if answers.kernel.is_ok() {
        return yes("");
    }
    match answers.user {
        Answer::Accepted => yes("user mode only"),
        Answer::Refused(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV | libc::ENOSYS) => {
            no(Missing::NoHardware)
        }
        Answer::Refused(libc::EPERM | libc::EACCES) => not_permitted(grants.perf_user()),
        // The kernel has the event, but this processor cannot count it.
        Answer::Refused(libc::EINVAL) => not_supported("this event on this processor"),
        other => unknown(other, "perf_event_open"),
    }
}

/// ENOENT means that no event has this name; the answer for cycles shows whether there is a PMU.
fn tlb_misses(answers: &Answers, grants: &Grants) -> Said {
    let said = hardware(answers.tlb_misses, grants);
    let has_pmu = hardware(answers.cycles, grants).is_yes();
    match said {
        Support::No {
            missing: Missing::NoHardware,
        } if has_pmu => not_supported("the kernel's generic dTLB event on this processor"),
        other => other,
    }
}

fn counter_group(answers: &Answers, grants: &Grants) -> Said {
    match answers.counter_group {
        Answer::Accepted => yes(""),
        Answer::Empty => not_supported("three free counters: the group was never scheduled"),
        other => hardware(
            PerfAnswers {
                kernel: other,
                user: other,
            },
            grants,
        ),
    }
}

fn system_policy(answers: &Answers, host: &Host) -> Said {
    if host.thp.is_err() && answers.thp_write == Answer::Refused(libc::ENOENT) {
        return not_supported("transparent huge pages");
    }
    match answers.thp_write {
        Answer::Refused(libc::EROFS) => {
            not_permitted("root, outside of a container: /sys is read-only here")
        }
        other => simple(other, "transparent huge pages", "root"),
    }
}

fn own_cgroup(answers: &Answers, host: &Host) -> Said {
    match answers.cgroup_write {
        Answer::Accepted => yes(format!("version {}", host.cgroup.version)),
        Answer::NotTried => not_supported("a memory cgroup"),
        Answer::Refused(libc::EROFS) => not_supported("a writable cgroup file system"),
        other => simple(other, "a memory cgroup", "a delegated cgroup, or root"),
    }
}

fn frame_numbers(answer: Answer) -> Said {
    match answer {
        Answer::Empty => not_permitted("CAP_SYS_ADMIN"),
        other => simple(other, "/proc/self/pagemap", "CAP_SYS_ADMIN"),
    }
}

/// EINVAL for the map would be an error of this program; for the program it means that the kernel does not support the
/// type.
fn bpf(answers: &Answers, grants: &Grants) -> Said {
    let both = [answers.bpf_map, answers.bpf_program];
    match both.into_iter().find(|answer| !answer.is_ok()) {
        None => yes(""),
        Some(refused) => simple(refused, "bpf(2) with raw tracepoints", grants.bpf),
    }
}

/// The kernel's internal "not supported" (include/linux/errno.h): the C library does not define it, and an architecture
/// that cannot attach such a program returns it.
const ENOTSUPP: i32 = 524;

/// If other programs load, EPERM here means a locked-down kernel, which no capability unlocks; if none loads, it shows
/// nothing about this one.
fn fentry(answers: &Answers, grants: &Grants) -> Said {
    let what = "BPF programs at functions (fentry)";
    match answers.fentry {
        Answer::NotTried if !answers.btf.is_ok() => not_supported("the kernel's types (BTF)"),
        Answer::Refused(ENOTSUPP) => not_supported(what),
        Answer::Refused(libc::EPERM) if answers.bpf_program.is_ok() => {
            not_supported(format!("{what}: this kernel refuses them to everybody"))
        }
        Answer::Refused(libc::EPERM | libc::EACCES) => Support::Unknown {
            error: format!("it can be tried only with {}", grants.bpf),
        },
        other => simple(other, what, grants.bpf),
    }
}

#[cfg(test)]
mod tests;

//! The results of system calls, as data, which complete a frozen machine.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::machine::error::{Error, Result};
use crate::machine::root::Root;

/// The file of a frozen machine with the results of system calls.
pub const HOST_TOML: &str = "host.toml";

/// The result of a system call: accepted, or the kernel's error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Answer {
    /// It worked.
    Accepted,
    /// It failed with this error number.
    Refused(i32),
    /// It succeeded without a result: a frame number of zero, or a counter that never ran.
    Empty,
    /// It was not tried, because a precondition is missing.
    NotTried,
}

impl Answer {
    /// Returns true if it succeeded.
    #[must_use]
    pub fn is_ok(self) -> bool {
        self == Self::Accepted
    }
}

/// The error numbers that probes may encounter, by name. The numbers differ by architecture, but the names do not.
const ERRORS: &[(&str, i32)] = &[
    ("EPERM", libc::EPERM),
    ("ENOENT", libc::ENOENT),
    ("ESRCH", libc::ESRCH),
    ("EIO", libc::EIO),
    ("E2BIG", libc::E2BIG),
    ("EBADF", libc::EBADF),
    ("EAGAIN", libc::EAGAIN),
    ("ENOMEM", libc::ENOMEM),
    ("EACCES", libc::EACCES),
    ("EFAULT", libc::EFAULT),
    ("EBUSY", libc::EBUSY),
    ("ENODEV", libc::ENODEV),
    ("EINVAL", libc::EINVAL),
    ("EMFILE", libc::EMFILE),
    ("ENOTTY", libc::ENOTTY),
    ("ENOSPC", libc::ENOSPC),
    ("EROFS", libc::EROFS),
    ("ENOSYS", libc::ENOSYS),
    ("EOPNOTSUPP", libc::EOPNOTSUPP),
];

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted => f.write_str("ok"),
            Self::Empty => f.write_str("empty"),
            Self::NotTried => f.write_str("not tried"),
            Self::Refused(number) => match ERRORS.iter().find(|(_, known)| known == number) {
                Some((name, _)) => f.write_str(name),
                None => write!(f, "error {number}"),
            },
        }
    }
}

impl FromStr for Answer {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "ok" => return Ok(Self::Accepted),
            "empty" => return Ok(Self::Empty),
            "not tried" => return Ok(Self::NotTried),
            _ => {}
        }
        if let Some((_, number)) = ERRORS.iter().find(|(name, _)| *name == text) {
            return Ok(Self::Refused(*number));
        }
        text.strip_prefix("error ")
            .and_then(|number| number.parse().ok())
            .map(Self::Refused)
            .ok_or_else(|| {
                format!("`{text}` is not an answer; write ok, empty, not tried or EPERM")
            })
    }
}

impl From<Answer> for String {
    fn from(answer: Answer) -> Self {
        answer.to_string()
    }
}

impl TryFrom<String> for Answer {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<Self, String> {
        text.parse()
    }
}

impl From<std::io::Result<()>> for Answer {
    fn from(result: std::io::Result<()>) -> Self {
        match result {
            Ok(()) => Self::Accepted,
            Err(error) => Self::Refused(error.raw_os_error().unwrap_or(libc::EIO)),
        }
    }
}

/// The relevant parts of the environment inherited by the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Environment {
    /// `SUDO_UID`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sudo_uid: Option<String>,
    /// `GLIBC_TUNABLES`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub glibc_tunables: Option<String>,
    /// Path of the running program; a frozen machine has none.
    #[serde(skip)]
    pub program: Option<String>,
}

/// The same event requested twice: with kernel mode, and for user mode only. Without privilege the first returns EACCES
/// before the kernel has checked whether the event exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PerfAnswers {
    /// User and kernel mode.
    pub kernel: Answer,
    /// User mode only.
    pub user: Answer,
}

/// All answers of one machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answers {
    /// The origin of a frozen machine; empty on the real one.
    #[serde(default)]
    pub note: String,
    /// `uname -m`.
    pub arch: String,
    /// Size of a base page, in bytes.
    pub page_bytes: u64,
    /// Effective user id.
    pub euid: u32,
    /// CPUID leaf `0x4000_0000`, if the processor reports a hypervisor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypervisor_signature: Option<String>,
    /// `PR_GET_THP_DISABLE` of this process; `None` if the kernel refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thp_disable: Option<i32>,
    /// `PR_SET_THP_DISABLE` with `PR_THP_DISABLE_EXCEPT_ADVISED`, in a child.
    pub except_advised: Answer,
    /// Opening `transparent_hugepage/enabled` for writing.
    pub thp_write: Answer,
    /// Write access to the directory of the memory cgroup.
    pub cgroup_write: Answer,
    /// `PAGEMAP_SCAN` on this process.
    pub pagemap_scan: Answer,
    /// A frame number in `/proc/self/pagemap`: empty if the kernel shows zero.
    pub frame_number: Answer,
    /// One word of `/proc/kpageflags`.
    pub page_flags: Answer,
    /// `madvise(MADV_COLLAPSE)` on an empty range.
    pub collapse: Answer,
    /// `process_madvise(MADV_COLLAPSE)` on an empty range, in a child.
    pub collapse_remote: Answer,
    /// A huge page of this process, split by `MADV_COLD` on part of it: empty if it stays whole.
    #[serde(default = "not_tried")]
    pub split: Answer,
    /// A seccomp filter and `PTRACE_TRACEME`, in a child.
    #[serde(default = "not_tried")]
    pub trace: Answer,
    /// The path at which a preload library can be installed; empty if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// `bpf(BPF_MAP_CREATE)`.
    pub bpf_map: Answer,
    /// `bpf(BPF_PROG_LOAD)` of the smallest tracing program.
    pub bpf_program: Answer,
    /// `/sys/kernel/btf/vmlinux` can be opened.
    pub btf: Answer,
    /// A breakpoint at the entry of a kernel function.
    #[serde(default = "not_tried")]
    pub kprobe: Answer,
    /// A BPF program at the entry of a kernel function, loaded and attached.
    #[serde(default = "not_tried")]
    pub fentry: Answer,
    /// Cycles, instructions and TLB misses in one group: empty if it was never scheduled.
    pub counter_group: Answer,
    /// Software event: page faults.
    pub page_faults: PerfAnswers,
    /// Hardware event: cycles.
    pub cycles: PerfAnswers,
    /// Hardware cache event: data TLB misses of loads.
    pub tlb_misses: PerfAnswers,
    /// The inherited environment.
    #[serde(default)]
    pub environment: Environment,
}

/// The default for machines frozen before a probe existed.
fn not_tried() -> Answer {
    Answer::NotTried
}

/// Reads the answers of a frozen machine.
///
/// # Errors
/// `host.toml` does not exist, or could not be parsed.
pub fn read_answers(root: &Root) -> Result<Answers> {
    let content = root.read(HOST_TOML)?;
    let text = String::from_utf8_lossy(&content);
    let answers: Answers = toml::from_str(&text)
        .map_err(|error| Error::malformed(&root.path(HOST_TOML), error.to_string()))?;
    if answers.page_bytes.is_power_of_two() {
        return Ok(answers);
    }
    let what = format!("page_bytes: {} is not a page size", answers.page_bytes);
    Err(Error::malformed(&root.path(HOST_TOML), what))
}

/// Renders the text of a `host.toml`.
///
/// # Errors
/// The answers cannot be written as TOML.
pub fn render_answers(answers: &Answers) -> Result<String> {
    toml::to_string(answers)
        .map_err(|error| Error::malformed(HOST_TOML.as_ref(), error.to_string()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn answers_have_names_that_are_the_same_everywhere() {
        for (text, answer) in [
            ("ok", Answer::Accepted),
            ("empty", Answer::Empty),
            ("not tried", Answer::NotTried),
            ("EACCES", Answer::Refused(libc::EACCES)),
            ("error 4095", Answer::Refused(4095)),
        ] {
            assert_eq!(text.parse(), Ok(answer));
            assert_eq!(answer.to_string(), text);
        }
        assert!("yes".parse::<Answer>().is_err());
    }

    proptest! {
        #[test]
        fn every_answer_survives_its_text(number: i32) {
            let answer = Answer::Refused(number);
            prop_assert_eq!(answer.to_string().parse(), Ok(answer));
        }
    }
}

//! Probes the running kernel. Every probe makes the real system call and leaves nothing behind. Each takes
//! microseconds, except those of tracing, which read the kernel's types and attach a program.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

use hugewise_base::host::THP_DIR;

use super::answers::{Answer, Answers, Environment};
use crate::apply::preload;
use crate::machine::root::Root;
use crate::sys::cgroup;

mod bpf;
mod memory;
mod perf;
mod process;

/// Runs all probes.
#[must_use]
pub fn ask(root: &Root, environment: Environment) -> Answers {
    Answers {
        bpf_map: bpf::map_create(),
        bpf_program: bpf::program_load(),
        kprobe: perf::kprobe(root),
        fentry: bpf::fentry(root),
        ..ask_without_tracing(root, environment)
    }
}

/// Runs all probes except those of kernel tracing, for callers that do not trace.
#[must_use]
pub fn ask_without_tracing(root: &Root, environment: Environment) -> Answers {
    let (frame, frame_number) = memory::frame_number(root);
    Answers {
        note: String::new(),
        arch: rustix::system::uname()
            .machine()
            .to_string_lossy()
            .into_owned(),
        page_bytes: page_bytes(),
        euid: rustix::process::geteuid().as_raw(),
        hypervisor_signature: hypervisor_signature(),
        thp_disable: process::thp_disable(),
        except_advised: process::except_advised(),
        thp_write: open_for_writing(root, &format!("{THP_DIR}/enabled")),
        cgroup_write: cgroup_write(root),
        pagemap_scan: memory::pagemap_scan(root),
        frame_number,
        page_flags: page_flags(root, frame),
        collapse: memory::collapse(),
        collapse_remote: process::collapse_remote(),
        split: memory::split(root),
        trace: crate::spawn::try_tracing().into(),
        library: Some(library()),
        bpf_map: Answer::NotTried,
        bpf_program: Answer::NotTried,
        btf: File::open(root.path("sys/kernel/btf/vmlinux"))
            .map(drop)
            .into(),
        kprobe: Answer::NotTried,
        fentry: Answer::NotTried,
        page_faults: perf::page_faults(),
        cycles: perf::cycles(),
        tlb_misses: perf::tlb_misses(),
        counter_group: perf::counter_group(),
        environment,
    }
}

/// Returns the path at which the preload library is or would be installed: nothing is written.
fn library() -> String {
    preload::place().map_or_else(String::new, |path| path.display().to_string())
}

/// Returns the size of a base page of the running kernel, in bytes.
#[must_use]
pub(super) fn page_bytes() -> u64 {
    u64::try_from(rustix::param::page_size()).expect("a page has fewer bytes than 2^64")
}

/// Opens without writing and without truncating: the kernel checks permission at open.
fn open_for_writing(root: &Root, path: &str) -> Answer {
    OpenOptions::new()
        .write(true)
        .open(root.path(path))
        .map(drop)
        .into()
}

/// Tests whether a child group could be created, from the permissions of the directory; nothing is created.
fn cgroup_write(root: &Root) -> Answer {
    let Ok(Some(place)) = cgroup::read_place(root) else {
        return Answer::NotTried;
    };
    let folder = root.path(place.folder());
    let wanted = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    let flags = rustix::fs::AtFlags::EACCESS;
    rustix::fs::accessat(rustix::fs::CWD, folder, wanted, flags)
        .map_err(io::Error::from)
        .into()
}

/// Reads the word of one frame; only root can open the file.
fn page_flags(root: &Root, frame: Option<u64>) -> Answer {
    let offset = frame.unwrap_or(0).saturating_mul(8);
    File::open(root.path("proc/kpageflags"))
        .and_then(|file| file.read_exact_at(&mut [0; 8], offset))
        .into()
}

/// Returns the hypervisor's signature, if the processor has one.
#[cfg(target_arch = "x86_64")]
fn hypervisor_signature() -> Option<String> {
    use std::arch::x86_64::__cpuid;
    const GUEST: u32 = 1 << 31;
    if __cpuid(1).ecx & GUEST == 0 {
        return None;
    }
    let leaf = __cpuid(0x4000_0000);
    let bytes = [leaf.ebx, leaf.ecx, leaf.edx]
        .map(u32::to_le_bytes)
        .concat();
    let text = String::from_utf8_lossy(&bytes);
    Some(text.trim_end_matches('\0').to_owned())
}

/// Other architectures have no such instruction; firmware identifies the hypervisor there.
#[cfg(not(target_arch = "x86_64"))]
fn hypervisor_signature() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bound is large because other tests share the processors.
    #[test]
    fn asking_is_quick_and_leaves_the_switch_alone() {
        let root = Root::real();
        let before = process::thp_disable();
        let started = std::time::Instant::now();
        let answers = ask(&root, Environment::default());
        let took = started.elapsed();
        assert!(took.as_millis() < 1000, "{took:?}");
        assert_eq!(process::thp_disable(), before);
        assert!(answers.page_bytes.is_power_of_two());
        assert_ne!(answers.except_advised, Answer::NotTried);
    }
}

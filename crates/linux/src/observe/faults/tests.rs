//! Tests both ways to record every fault on the running kernel: paired by programs, and as samples if programs are
//! refused.

use std::collections::BTreeSet;
use std::thread;

use hugewise_observe::faults::Weight;
use rustix::thread::{CapabilitySet, capabilities, gettid, set_capabilities};

use super::*;
use crate::machine::fresh_memory::FreshMemory;
use crate::machine::root::Root;
use crate::probe;

const PAGES: usize = 1009;

#[expect(clippy::disallowed_macros, reason = "a test says why it was skipped")]
fn skip(name: &str, reason: &str) {
    eprintln!("SKIP {name}: {reason}");
}

/// The faults of this thread while it writes to fresh pages.
struct Seen {
    paired: bool,
    counted: Counted,
    /// Begins and ends of all faults.
    begins: usize,
    ends: usize,
    /// The pages of this test with a recorded size and memory.
    whole: BTreeSet<u64>,
}

fn write_pages() -> Result<Seen> {
    let root = Root::real();
    let answers = probe::answers_without_tracing(&root, probe::Environment::default())?;
    let host = probe::host(&root, &answers)?;
    let mut tasks = TaskSet::of(&root, std::process::id())?;
    tasks.tids = BTreeSet::from([gettid().as_raw_pid().cast_unsigned()]);
    let cpus: Vec<u32> = (0..host.cpus).collect();
    let mut faults = Faults::open(&FaultTarget::Running(tasks), &cpus, 1, &host)?;
    let page = usize::try_from(host.page_bytes).unwrap();
    let memory = FreshMemory::new((PAGES + 1) * page).unwrap();
    let places: Vec<*mut u8> = (0..PAGES)
        .map(|index| memory.aligned(page).wrapping_add(index * page))
        .collect();
    // SAFETY: the pages are within the mapping; the advice changes no content.
    unsafe { libc::madvise(places[0].cast(), PAGES * page, libc::MADV_NOHUGEPAGE) };
    for place in &places {
        // SAFETY: the place is mapped, writable, and nobody else's.
        unsafe { place.write_volatile(1) };
    }
    let mut seen = Seen {
        paired: faults.programs.is_some(),
        counted: Counted::default(),
        begins: 0,
        ends: 0,
        whole: BTreeSet::new(),
    };
    let ours: BTreeSet<u64> = places.iter().map(|&place| place as u64).collect();
    seen.counted = faults.finish(|event| match event {
        Event::Start { .. } => seen.begins += 1,
        Event::End(served) => {
            seen.ends += 1;
            let is_small = served.page_bytes == Some(host.page_bytes);
            let has_memory = served.physical.is_none_or(|address| address > 0);
            if served.weight == Weight::Minor && is_small && has_memory {
                seen.whole.extend(ours.get(&served.address));
            }
        }
        _ => {}
    });
    Ok(seen)
}

/// Asserts that every page of this test was served, and that the total matches the counters.
fn assert_exact(seen: &Seen) {
    assert_eq!(seen.whole.len(), PAGES);
    assert_eq!(seen.ends as u64, seen.counted.served());
    assert_eq!(seen.counted.lost, Some(0));
    assert!(seen.begins >= PAGES && seen.ends.abs_diff(seen.begins) <= 1);
}

/// Returns true if this thread may load programs, on a kernel that looks up pages before they run.
fn can_pair() -> bool {
    let release = Root::real().read_trimmed("proc/sys/kernel/osrelease");
    let release = release.unwrap_or_default();
    let mut numbers = release
        .split('.')
        .map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let may = capabilities(None).is_ok_and(|sets| {
        let needed = CapabilitySet::BPF | CapabilitySet::PERFMON;
        sets.effective.contains(needed)
    });
    let has_types = Root::real().path("sys/kernel/btf/vmlinux").exists();
    cfg!(target_arch = "x86_64") && may && has_types && version >= (6, 3)
}

/// One after the other: kernel support is probed once per process, and with all rights.
#[test]
fn every_fault_is_told_by_programs_and_without_them_by_samples() {
    const NAME: &str = "every_fault_is_told_by_programs";
    if !can_pair() {
        return skip(NAME, "needs CAP_BPF and CAP_PERFMON, x86 and Linux 6.3");
    }
    // Each in a separate thread: the others keep their rights.
    let seen_after = |first: fn()| {
        let seen = thread::spawn(move || {
            first();
            write_pages()
        });
        seen.join().unwrap().unwrap()
    };
    let by_programs = seen_after(|| {});
    assert!(by_programs.paired);
    assert_exact(&by_programs);
    for refuse in [give_up_bpf, forbid_bpf] {
        let by_samples = seen_after(refuse);
        assert!(!by_samples.paired);
        assert_exact(&by_samples);
    }
}

fn give_up_bpf() {
    let mut sets = capabilities(None).unwrap();
    for set in [
        &mut sets.effective,
        &mut sets.permitted,
        &mut sets.inheritable,
    ] {
        set.remove(CapabilitySet::BPF | CapabilitySet::SYS_ADMIN);
    }
    set_capabilities(None, sets).unwrap();
}

/// Blocks bpf(2) in this thread, as a container's filter does.
fn forbid_bpf() {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const IS: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const ANSWER: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    let bpf = u32::try_from(libc::SYS_bpf).unwrap();
    let refuse = libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned();
    // The system call number is the first word of the filter's input.
    let mut steps = [
        step(LOAD, 0, 0, 0),
        step(IS, bpf, 0, 1),
        step(ANSWER, refuse, 0, 0),
        step(ANSWER, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    let filter = libc::sock_fprog {
        len: 4,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: the filter and its steps live until the call is over, and the kernel copies them.
    let done = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            0,
            &raw const filter,
        )
    };
    assert_eq!(done, 0, "{}", io::Error::last_os_error());
}

#[test]
fn nothing_is_paired_of_user_mode_alone() {
    let user = SampleAccess {
        modes: Modes::User,
        ..SampleAccess::FULL
    };
    assert!(paired::load(user).is_none());
}

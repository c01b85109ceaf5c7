//! Address spaces with known content, read from the running kernel.

#![expect(clippy::unwrap_used, reason = "a test ends where something fails")]
#![expect(unsafe_code, reason = "the memory under test is made by hand")]

mod skipping;

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hugewise_linux::machine::identity::is_root;
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::address_space::{
    Depth, ReadError, Thoroughness, read_settings, read_space,
};
use hugewise_observe::address_space::{Mapping, Pages, Sort, Source, Space};
use hugewise_observe::inspect::reasons::{Code, Wording, judge};
use skipping::skip;

const ALL: Depth = Depth::Frames(Duration::from_secs(10), Thoroughness::All);

/// Private anonymous memory at an aligned address, between guards.
struct Ground {
    start: usize,
    bytes: usize,
    reserved: (usize, usize),
}

impl Ground {
    /// Maps `ranges` huge pages of readable, writable and unused memory.
    fn new(ranges: usize, huge: usize) -> Self {
        let length = (ranges + 3) * huge;
        let bytes = ranges * huge;
        // SAFETY: a fresh reservation; a part of it inside is made usable.
        let reserved = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            let none = libc::PROT_NONE;
            libc::mmap(std::ptr::null_mut(), length, none, flags, -1, 0)
        };
        assert_ne!(reserved, libc::MAP_FAILED);
        let start = (reserved as usize).next_multiple_of(huge) + huge;
        let ground = Self {
            start,
            bytes,
            reserved: (reserved as usize, length),
        };
        ground.protect(0, bytes, libc::PROT_READ | libc::PROT_WRITE);
        ground
    }

    fn protect(&self, from: usize, bytes: usize, protection: i32) {
        // SAFETY: the range is within this reservation.
        let done = unsafe { libc::mprotect((self.start + from) as *mut _, bytes, protection) };
        assert_eq!(done, 0);
    }

    /// Advises the range; returns false if the kernel does not support the advice.
    fn advise(&self, from: usize, bytes: usize, advice: i32) -> bool {
        // SAFETY: the range is within this reservation; no advice used here loses data of others.
        unsafe { libc::madvise((self.start + from) as *mut _, bytes, advice) == 0 }
    }

    fn write(&self, from: usize, bytes: usize, step: usize) {
        for offset in (from..from + bytes).step_by(step) {
            // SAFETY: the address is writable memory of this reservation.
            unsafe { ((self.start + offset) as *mut u8).write_volatile(1) };
        }
    }

    fn read(&self, from: usize, bytes: usize, step: usize) {
        for offset in (from..from + bytes).step_by(step) {
            // SAFETY: the address is readable memory of this reservation.
            let zero = unsafe { ((self.start + offset) as *const u8).read_volatile() };
            assert_eq!(zero, 0);
        }
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // SAFETY: this value owns the reservation, and nobody uses it any more.
        unsafe { libc::munmap(self.reserved.0 as *mut _, self.reserved.1) };
    }
}

/// Returns the huge page size, or the reason to skip.
fn huge_bytes() -> Result<usize, &'static str> {
    let folder = "/sys/kernel/mm/transparent_hugepage";
    let size = std::fs::read_to_string(format!("{folder}/hpage_pmd_size"));
    let Some(size) = size.ok().and_then(|text| text.trim().parse().ok()) else {
        return Err("no transparent huge pages");
    };
    let enabled = std::fs::read_to_string(format!("{folder}/enabled")).unwrap_or_default();
    if enabled.contains("[never]") {
        return Err("transparent huge pages are off");
    }
    Ok(size)
}

fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

fn own(depth: Depth) -> Space {
    let huge = huge_bytes().ok().map(|bytes| bytes as u64);
    read_space(&Root::real(), std::process::id(), page_bytes(), huge, depth).unwrap()
}

fn at(space: &Space, address: usize) -> &Mapping {
    let inside = |mapping: &&Mapping| (mapping.start..mapping.end).contains(&(address as u64));
    space.mappings.iter().find(inside).unwrap()
}

/// Returns the pages of the range at an address.
fn pages(space: &Space, address: usize) -> Pages {
    let runs = &at(space, address).runs;
    let inside = |run: &&hugewise_observe::address_space::Run| {
        (run.start..run.end).contains(&(address as u64))
    };
    runs.iter()
        .find(inside)
        .map(|run| run.pages.clone())
        .unwrap_or_default()
}

fn code_at(space: &Space, address: usize) -> Code {
    let settings = read_settings(&Root::real(), std::process::id()).unwrap();
    let judgements = judge(space, &settings, &Wording::All);
    let inside = |one: &&hugewise_observe::inspect::reasons::Judgement| {
        (one.start..one.end).contains(&(address as u64))
    };
    judgements.iter().find(inside).unwrap().code
}

#[test]
fn each_page_is_counted_as_what_it_is() {
    let huge = match huge_bytes() {
        Ok(huge) => huge,
        Err(reason) => return skip("each_page_is_counted_as_what_it_is", reason),
    };
    let page = rustix::param::page_size();
    let ground = Ground::new(5, huge);
    ground.advise(0, 3 * huge, libc::MADV_HUGEPAGE);
    ground.advise(3 * huge, 2 * huge, libc::MADV_NOHUGEPAGE);
    ground.write(0, 1, 1);
    ground.read(huge, huge, page);
    // Range 2 stays empty; in range 3 seven pages are written and five read, in two islands.
    ground.write(3 * huge, 7 * page, page);
    ground.read(3 * huge + 20 * page, 5 * page, page);
    let space = own(ALL);
    if !space.read_with.page_scan.is_read() {
        return skip("each_page_is_counted_as_what_it_is", "no PAGEMAP_SCAN");
    }
    let per_range = u32::try_from(huge / page).unwrap();

    let first = pages(&space, ground.start);
    if first.huge == Some(0) {
        return skip(
            "each_page_is_counted_as_what_it_is",
            "no huge page was free",
        );
    }
    assert_eq!((first.present, first.huge), (per_range, Some(per_range)));
    assert_eq!(code_at(&space, ground.start), Code::AlreadyPmd);

    let second = pages(&space, ground.start + huge);
    assert_eq!(
        (second.huge, second.zero),
        (Some(per_range), Some(per_range))
    );
    assert_eq!((second.small(), second.file), (0, 0));
    assert_eq!(code_at(&space, ground.start + huge), Code::HugeZero);

    assert_eq!(pages(&space, ground.start + 2 * huge), Pages::default());
    assert_eq!(code_at(&space, ground.start + 2 * huge), Code::Untouched);

    let fourth = pages(&space, ground.start + 3 * huge);
    assert_eq!(
        (fourth.present, fourth.zero, fourth.huge),
        (12, Some(5), Some(0))
    );
    assert_eq!(
        (fourth.small(), fourth.islands, fourth.from_start),
        (7, 2, true)
    );
    assert_eq!(
        code_at(&space, ground.start + 3 * huge),
        Code::MadvNohugepage
    );
    if space.read_with.frames.is_read() {
        assert_eq!(fourth.frames.unwrap().single, 7);
    }
    drop(ground);
}

/// smaps and the scan count the same memory, for every mapping.
#[test]
fn the_scan_agrees_with_the_totals_of_smaps() {
    let page = rustix::param::page_size() as u64;
    let space = own(Depth::Pages);
    if !space.read_with.page_scan.is_read() {
        return skip(
            "the_scan_agrees_with_the_totals_of_smaps",
            "no PAGEMAP_SCAN",
        );
    }
    // Other tests use memory at the same time: only unwritten mappings give exact numbers.
    let still = |mapping: &&Mapping| !mapping.permissions.write() && mapping.inode != 0;
    let mut compared = 0;
    for mapping in space.mappings.iter().filter(still) {
        let runs = mapping.runs.iter();
        let present: u64 = runs
            .map(|run| u64::from(run.pages.present) * run.ranges(space.huge_bytes))
            .sum();
        let resident = mapping.memory.as_ref().unwrap().resident;
        assert!(present * page >= resident, "{mapping:?}");
        compared += u64::from(present * page == resident);
    }
    assert!(compared > 0, "no mapping was compared");
}

#[test]
fn split_mappings_are_proved_by_their_frames() {
    let name = "split_mappings_are_proved_by_their_frames";
    let huge = match huge_bytes() {
        Ok(huge) => huge,
        Err(reason) => return skip(name, reason),
    };
    let page = rustix::param::page_size();
    let ground = Ground::new(1, huge);
    ground.advise(0, huge, libc::MADV_HUGEPAGE);
    ground.write(0, huge, page);
    let whole = own(ALL);
    if pages(&whole, ground.start).huge == Some(0) {
        return skip(name, "no huge page was free");
    }
    // Split and merged again: the mapping is whole, but not its PMD.
    ground.protect(page, page, libc::PROT_READ);
    ground.protect(page, page, libc::PROT_READ | libc::PROT_WRITE);
    let space = own(ALL);
    let found = pages(&space, ground.start);
    assert_eq!(found.huge, Some(0));
    if !space.read_with.frames.is_read() {
        return skip(name, "frames need CAP_SYS_ADMIN");
    }
    assert!(found.frames.unwrap().one_huge_folio);
    assert_eq!(code_at(&space, ground.start), Code::PmdSplit);
}

#[test]
fn guard_pages_are_seen() {
    const MADV_GUARD_INSTALL: i32 = 102;
    let name = "guard_pages_are_seen";
    let Ok(huge) = huge_bytes() else {
        return skip(name, "no transparent huge pages");
    };
    let page = rustix::param::page_size();
    let ground = Ground::new(1, huge);
    ground.advise(0, huge, libc::MADV_HUGEPAGE);
    if !ground.advise(4 * page, 2 * page, MADV_GUARD_INSTALL) {
        return skip(name, "no MADV_GUARD_INSTALL (Linux 6.13)");
    }
    ground.write(0, page, page);
    let space = own(ALL);
    match pages(&space, ground.start).guard {
        None => skip(name, "the scan tells no guard pages (Linux 6.15)"),
        guard => {
            assert_eq!(guard, Some(2));
            assert_eq!(pages(&space, ground.start).swapped, 0);
            assert_eq!(code_at(&space, ground.start), Code::GuardPages);
        }
    }
}

/// 60,000 mappings and a reservation of terabytes are not walked page by page.
#[test]
fn many_mappings_and_empty_terabytes_are_few_runs() {
    let name = "many_mappings_and_empty_terabytes_are_few_runs";
    let most = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap_or_default();
    if most.trim().parse().unwrap_or(0) < 65_000 {
        return skip(name, "vm.max_map_count is below 65000");
    }
    let page = rustix::param::page_size();
    // Every second page is writable, so no two neighbours are equal.
    let ground = Ground::new(1, 60_000 * page);
    for offset in (0..ground.bytes).step_by(2 * page) {
        ground.protect(offset, page, libc::PROT_READ);
    }
    let reserved = Ground::new(1, 1 << 40);
    let space = own(Depth::Pages);
    assert!(space.mappings.len() >= 60_000, "{}", space.mappings.len());
    let runs: usize = space
        .mappings
        .iter()
        .map(|mapping| mapping.runs.len())
        .sum();
    assert!(runs < 70_000, "{runs} runs");
    assert!(at(&space, reserved.start).bytes() >= 1 << 40);
}

// ---- processes that have no memory, or not for long -------------------------------------------

fn read(pid: u32) -> Result<Space, ReadError> {
    read_space(
        &Root::real(),
        pid,
        page_bytes(),
        Some(2 << 20),
        Depth::Pages,
    )
}

fn quiet(command: &mut Command) -> Child {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn the_dead_and_the_kernel_are_told_apart() {
    let mut child = quiet(&mut Command::new("true"));
    let pid = child.id();
    let stat = format!("/proc/{pid}/stat");
    while !std::fs::read_to_string(&stat).unwrap().contains(") Z") {
        std::thread::yield_now();
    }
    let zombie = read(pid).unwrap();
    assert_eq!(zombie.process.sort, Sort::Zombie);
    assert!(zombie.mappings.is_empty() && !zombie.read_with.smaps.is_read());
    child.wait().unwrap();
    assert!(matches!(read(pid), Err(ReadError::Gone)));
    assert!(matches!(read(u32::MAX), Err(ReadError::Gone)));

    let kthreadd = std::fs::read_to_string("/proc/2/comm").unwrap_or_default();
    if kthreadd.trim() != "kthreadd" {
        return skip("the_dead_and_the_kernel_are_told_apart", "no kthreadd here");
    }
    let kernel = read(2).unwrap();
    assert_eq!(kernel.process.sort, Sort::KernelThread);
    assert!(kernel.mappings.is_empty());
}

/// A process that executes itself in a loop: the result is one consistent address space or an error, never a mixture of
/// two.
#[test]
fn an_exec_while_reading_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("again");
    std::fs::write(&script, "#!/bin/sh\nexec \"$0\"\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    let mut child = quiet(&mut Command::new(&script));
    let (mut whole, mut noticed) = (0, 0);
    for _ in 0..300 {
        match read(child.id()) {
            Ok(space) => {
                whole += 1;
                let stacks = space.mappings.iter().filter(|one| &*one.name == "[stack]");
                assert_eq!(stacks.count(), 1);
            }
            Err(ReadError::Replaced | ReadError::Ended | ReadError::Restless) => noticed += 1,
            Err(other) => panic!("{other}"),
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(whole + noticed, 300);
}

#[test]
fn processes_that_end_while_they_are_read_are_no_trouble() {
    for _ in 0..200 {
        let mut child = quiet(&mut Command::new("true"));
        match read(child.id()) {
            Ok(space) => assert!(
                space.process.sort == Sort::Zombie || !space.mappings.is_empty(),
                "{space:?}"
            ),
            Err(ReadError::Gone | ReadError::Ended | ReadError::Replaced | ReadError::Restless) => {
            }
            Err(other) => panic!("{other}"),
        }
        child.wait().unwrap();
    }
}

#[test]
fn other_users_processes_need_a_right_with_a_name() {
    let name = "other_users_processes_need_a_right_with_a_name";
    if is_root() {
        return skip(
            name,
            "root may read all; the program's tests try it as another user",
        );
    }
    match read(1) {
        Err(refused @ ReadError::NotPermitted) => {
            assert!(refused.to_string().contains("CAP_SYS_PTRACE"));
        }
        other => panic!("{other:?}"),
    }
}

/// The number of ranges with one resident page each, enough for sampling.
const LONG: usize = 300;

fn sampled() -> Space {
    own(Depth::Frames(Duration::from_secs(10), Thoroughness::Sample))
}

/// One test, because the child of the second part shares all memory of this process.
#[test]
fn a_long_stretch_is_sampled_where_it_looks_alike() {
    let huge = match huge_bytes() {
        Ok(huge) if is_root() => huge,
        Ok(_) => return skip("a_long_stretch…", "needs root to read page frames"),
        Err(reason) => return skip("a_long_stretch…", reason),
    };
    let ground = Ground::new(LONG, huge);
    ground.advise(0, ground.bytes, libc::MADV_NOHUGEPAGE);
    ground.write(0, ground.bytes, huge);
    let runs = |space: &Space| at(space, ground.start).runs.clone();
    let (space, whole) = (sampled(), own(ALL));
    let Source::Sampled(sample) = space.read_with.frames else {
        panic!("{:?}", space.read_with.frames);
    };
    assert!(sample.ranges >= LONG as u64 && sample.looked_at * 4 < sample.ranges * 3);
    assert_eq!(whole.read_with.frames, Source::Read);
    assert_eq!(runs(&space), runs(&whole));

    // SAFETY: the child does nothing but wait for its end.
    let child = unsafe { libc::fork() };
    if child == 0 {
        loop {
            // SAFETY: waits for a signal.
            unsafe { libc::pause() };
        }
    }
    // Half of the ranges are shared with it: the sample sees both kinds, so all are read.
    ground.write(0, ground.bytes, 2 * huge);
    let (space, whole) = (sampled(), own(ALL));
    // SAFETY: the child is this test's own.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, std::ptr::null_mut(), 0);
    }
    assert_eq!(runs(&space), runs(&whole));
    assert!(runs(&whole).len() >= LONG, "{}", runs(&whole).len());
}

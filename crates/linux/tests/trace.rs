//! Traces the running kernel, and compares the counts with known numbers.

#![expect(
    clippy::unwrap_used,
    reason = "a test may fail by panicking, in its helpers too"
)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hugewise_base::histogram::buckets::{fine_floor, fine_slot, micro_floor, micro_slot};
use hugewise_base::missing::Missing;
use hugewise_linux::bpf::{PointWindow, Tracer};
use hugewise_linux::machine::root::Root;
use hugewise_observe::trace::Attachment;
use hugewise_observe::trace::points::{Point, points};

mod skipping;
use skipping::skip;

/// Set in the process that traces until it is killed.
const VICTIM: &str = "HUGEWISE_TEST_TRACES";

const PAGES: usize = 4_099;

fn named(name: &str) -> Vec<Point> {
    let all = points().into_iter();
    all.filter(|point| point.name == name).collect()
}

/// Serializes the tests: faults of all threads of this process are counted.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Traces one point in the tree of `pid`, or reports why this machine cannot.
fn traced(test: &str, point: &str, pid: u32) -> Option<Tracer> {
    let (tracer, missing) = Tracer::start(&Root::real(), &named(point), Some(pid)).unwrap();
    if let Some(missing) = missing.first() {
        skip(test, &missing.why.to_string());
        return None;
    }
    Some(tracer)
}

/// Writes to this many fresh small pages; returns the duration.
fn touch(pages: usize) -> Duration {
    for_each_fresh_page(pages, |page| {
        // SAFETY: the page is writable and nobody else's.
        unsafe { page.write_volatile(1) };
    })
}

/// Calls `act` for each of this many fresh small pages; returns the duration.
fn for_each_fresh_page(pages: usize, act: impl Fn(*mut u8)) -> Duration {
    let page = rustix::param::page_size();
    let bytes = pages * page;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a fresh private mapping, used below within its bounds and unmapped once.
    unsafe {
        let start = libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0);
        assert_ne!(start, libc::MAP_FAILED);
        assert_eq!(libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE), 0);
        let began = Instant::now();
        for offset in (0..bytes).step_by(page) {
            act(start.cast::<u8>().add(offset));
        }
        let took = began.elapsed();
        libc::munmap(start, bytes);
        took
    }
}

fn one(mut windows: Vec<PointWindow>) -> PointWindow {
    assert_eq!(windows.len(), 1);
    windows.remove(0)
}

#[test]
fn faults_are_counted_and_lie_within_the_time_they_were_taken_in() {
    let _turn = alone();
    let test = "faults_are_counted_and_lie_within_the_time_they_were_taken_in";
    let Some(mut tracer) = traced(test, "fault", std::process::id()) else {
        return;
    };
    // An upper bound for the unknown small number of faults in the windows themselves.
    const OURS: u64 = 200;
    touch(PAGES);
    tracer.window().unwrap();
    let took = touch(PAGES);
    let seen = one(tracer.window().unwrap());
    let pages = PAGES as u64;
    assert!(
        (pages..pages + OURS).contains(&seen.all.count()),
        "{seen:?}"
    );
    let slack = Duration::from_millis(200);
    assert!(Duration::from_nanos(seen.all.total_ns) <= took + slack);
    let parts: u64 = seen.parts.values().map(|part| part.count()).sum();
    assert!(seen.parts.is_empty() || parts == seen.all.count());

    let nothing = one(tracer.window().unwrap());
    assert!(
        nothing.all.count() < OURS,
        "a window begins where the last ended"
    );
}

/// A private futex is first read with faults disabled, which has no end, and then with a fault.
#[test]
fn faults_in_kernel_mode_are_timed_and_forbidden_ones_do_not_begin() {
    let _turn = alone();
    let test = "faults_in_kernel_mode_are_timed_and_forbidden_ones_do_not_begin";
    let Some(mut tracer) = traced(test, "fault", std::process::id()) else {
        return;
    };
    tracer.window().unwrap();
    // For a shared futex the page would be prepared first.
    let wait = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    for_each_fresh_page(PAGES, |page| {
        // SAFETY: the page is readable, and another value than 1 makes the call return at once.
        let waited = unsafe { libc::syscall(libc::SYS_futex, page, wait, 1, 0) };
        assert_eq!(waited, -1);
    });
    let seen = one(tracer.window().unwrap());
    assert!(seen.all.count() >= PAGES as u64, "{seen:?}");
    assert_eq!(seen.losses.reentered, 0);
}

#[test]
fn the_kernel_side_sorts_as_the_model_does() {
    let _turn = alone();
    let test = "the_kernel_side_sorts_as_the_model_does";
    let Some(mut tracer) = traced(test, "fault", std::process::id()) else {
        return;
    };
    touch(PAGES);
    let all = one(tracer.window().unwrap()).all;
    let (min, max) = (all.min_ns.unwrap(), all.histogram.max_ns().unwrap());
    let fine = || all.histogram.buckets();
    assert_eq!(fine().next().unwrap().floor_ns, fine_floor(fine_slot(min)));
    assert_eq!(fine().last().unwrap().floor_ns, fine_floor(fine_slot(max)));
    let micro = all.micro_rows();
    assert_eq!(micro.iter().map(|row| row.count).sum::<u64>(), all.count());
    assert_eq!(micro.first().unwrap().from, micro_floor(micro_slot(min)));
    assert_eq!(micro.last().unwrap().from, micro_floor(micro_slot(max)));
    assert!(min <= all.total_ns / all.count() && all.total_ns / all.count() <= max);
}

#[test]
fn only_the_tree_of_the_process_counts() {
    let _turn = alone();
    let mut stranger = Command::new("sleep").arg("60").spawn().unwrap();
    let test = "only_the_tree_of_the_process_counts";
    let tracer = traced(test, "fault", stranger.id());
    if let Some(mut tracer) = tracer {
        // It may still be starting.
        std::thread::sleep(Duration::from_millis(200));
        tracer.window().unwrap();
        touch(PAGES);
        assert_eq!(one(tracer.window().unwrap()).all.count(), 0);
        // A grandchild of this process counts once this tree is traced.
        tracer.watch(std::process::id()).unwrap();
        let line = "a=x; i=0; while [ $i -lt 14 ]; do a=$a$a; i=$((i+1)); done; true";
        let mut child = Command::new("sh").args(["-c", line]).spawn().unwrap();
        child.wait().unwrap();
        assert!(
            one(tracer.window().unwrap()).all.count() > 50,
            "a program's start"
        );
    }
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

/// More threads than the capacity, one after the other.
#[test]
fn threads_that_are_gone_leave_their_place_to_others() {
    const THREADS: usize = 20_000;
    let _turn = alone();
    let test = "threads_that_are_gone_leave_their_place_to_others";
    let Some(mut tracer) = traced(test, "fault", std::process::id()) else {
        return;
    };
    tracer.window().unwrap();
    for _ in 0..THREADS {
        // Each writes to a stack page freed by its predecessor.
        std::thread::spawn(|| touch(1)).join().unwrap();
    }
    let seen = one(tracer.window().unwrap());
    assert!(seen.all.count() >= THREADS as u64, "{}", seen.all.count());
    assert_eq!(seen.losses.no_room, 0);
}

#[test]
fn compaction_on_request_is_seen_with_its_results() {
    const REQUEST: &str = "/proc/sys/vm/compact_memory";
    let _turn = alone();
    let test = "compaction_on_request_is_seen_with_its_results";
    let Some(mut tracer) = traced(test, "direct_compaction", std::process::id()) else {
        return;
    };
    if tracer.traced()[0].attachment < Attachment::TpBtf {
        return skip(
            test,
            "the function that is traced here is not called on request",
        );
    }
    tracer.window().unwrap();
    let began = Instant::now();
    if std::fs::write(REQUEST, "1").is_err() {
        return skip(test, "vm.compact_memory may not be written");
    }
    let took = began.elapsed();
    let seen = one(tracer.window().unwrap());
    assert!(seen.all.count() > 0);
    assert!(Duration::from_nanos(seen.all.total_ns) <= took);
    let told = tracer.summaries(&[seen]);
    let results: Vec<&str> = told[0].parts.iter().map(|part| &*part.key).collect();
    assert!(
        results.iter().all(|result| result.parse::<u32>().is_err()),
        "results have names: {results:?}"
    );
    assert!(!results.is_empty());
}

#[test]
fn a_kernel_without_types_says_so() {
    let empty = tempfile::tempdir().unwrap();
    let (tracer, missing) = Tracer::start(&Root::at(empty.path()), &points(), None).unwrap();
    assert_eq!(tracer.traced(), []);
    assert_eq!(missing.len(), points().len());
    let Missing::NotSupported { what } = &missing[0].why else {
        panic!("{:?}", missing[0].why);
    };
    assert!(what.contains("CONFIG_DEBUG_INFO_BTF"), "{what}");
}

#[test]
fn types_that_are_not_understood_are_an_error_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sys/kernel/btf");
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join("vmlinux"), [0; 64]).unwrap();
    let error = Tracer::start(&Root::at(folder.path()), &points(), None).unwrap_err();
    assert!(error.to_string().contains("magic number is 0x0"), "{error}");
}

/// Prefixes of the names of hugewise's programs and maps.
const PROGRAMS: [&[u8]; 11] = [
    b"fentry_begin",
    b"fexit_end",
    b"kprobe_begin",
    b"kretprobe_end",
    b"tp_btf_",
    b"raw_tp_",
    b"tracepoint_",
    b"fault_begin",
    b"minor_fault",
    b"major_fault",
    b"thread_gone",
];
const MAPS: [&[u8]; 5] = [b"settings", b"starts", b"hists", b"extremes", b"losses"];

/// Returns the number of hugewise's programs and maps in the kernel; `None` if the kernel does not report it.
fn left() -> Option<(usize, usize)> {
    let is = |name: &[u8], known: &[&[u8]]| known.iter().any(|begin| name.starts_with(begin));
    let mut left = (0, 0);
    for program in aya::programs::loaded_programs() {
        match program {
            Ok(program) => left.0 += usize::from(is(program.name(), &PROGRAMS)),
            // It disappeared between the listing and the query.
            Err(error) if is_gone(&error) => {}
            Err(_) => return None,
        }
    }
    for map in aya::maps::loaded_maps() {
        match map {
            Ok(map) => left.1 += usize::from(is(map.name(), &MAPS)),
            Err(error) if is_gone(&error) => {}
            Err(_) => return None,
        }
    }
    Some(left)
}

fn is_gone(error: &(dyn std::error::Error + 'static)) -> bool {
    let number = error.downcast_ref::<std::io::Error>();
    number.and_then(std::io::Error::raw_os_error) == Some(libc::ENOENT)
        || error.source().is_some_and(is_gone)
}

/// The points that the victim traces: with perf events, and with typed tracepoints.
const TRACED: [&str; 3] = ["fault", "mmap_lock", "direct_compaction"];

/// Not a test: traces until killed, if requested.
#[test]
fn victim() {
    if std::env::var_os(VICTIM).is_some() {
        let points: Vec<Point> = TRACED.into_iter().flat_map(named).collect();
        let (tracer, _) = Tracer::start(&Root::real(), &points, None).unwrap();
        #[expect(clippy::disallowed_macros, reason = "the other process reads it")]
        {
            println!("traces {}", tracer.traced().len());
        }
        std::thread::sleep(Duration::from_secs(60));
    }
}

fn spawn_victim() -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "victim", "--nocapture"])
        .env(VICTIM, "1")
        .stdout(Stdio::piped());
    command.spawn().unwrap()
}

/// Waits until the victim traces; returns the number of its points.
fn begun(child: &mut Child) -> String {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut lines = lines.map(Result::unwrap);
    lines.find(|line| line.contains("traces")).unwrap()
}

/// The kernel frees programs and maps a moment after their last user.
fn assert_nothing_is_left(before: (usize, usize), when: &str) {
    let begun = Instant::now();
    while left() != Some(before) {
        let patience = Duration::from_secs(60);
        assert!(begun.elapsed() < patience, "{when}: {:?} stay", left());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_tracing_that_is_killed_at_any_moment_leaves_nothing_in_the_kernel() {
    const TIMES: u32 = 8;
    let _turn = alone();
    let test = "a_tracing_that_is_killed_at_any_moment_leaves_nothing_in_the_kernel";
    let Some(before) = left() else {
        return skip(
            test,
            "the kernel does not list its programs; needs CAP_SYS_ADMIN",
        );
    };
    let started = Instant::now();
    let mut child = spawn_victim();
    let said = begun(&mut child);
    let took = started.elapsed();
    let during = left();
    child.kill().unwrap();
    child.wait().unwrap();
    if said.contains("traces 0") {
        return skip(test, "nothing can be traced here");
    }
    assert!(during > Some(before), "{during:?}: what is there is seen");
    assert_nothing_is_left(before, "after it had begun");
    let mut caught_halfway = 0;
    for time in 0..TIMES {
        let mut child = spawn_victim();
        // Somewhere between its first step and its last.
        std::thread::sleep(took * (2 * time + 1) / (2 * TIMES));
        caught_halfway += u32::from(left() > Some(before));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_nothing_is_left(before, &format!("{time} of {TIMES}"));
    }
    assert!(caught_halfway > 0, "it was never killed while it loaded");
}

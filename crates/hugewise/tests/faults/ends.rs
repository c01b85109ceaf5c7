//! Unexpected ends: whatever a watcher was doing when it was killed, nothing of it stays.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::super::harness::{Case, one_at_a_time, wait_until};
use super::{can_watch, signal};

const MARK: &str = "HUGEWISE_TEST_MARK";
const MOMENTS: u32 = 20;
/// Not SIGINT, which shells ignore for tests in the background.
const SIGTERM: i32 = 15;

/// The number of running processes with a mark; a zombie has no environment any more.
fn marked(mark: &str) -> usize {
    let wanted = format!("{MARK}={mark}");
    let entries = std::fs::read_dir("/proc").expect("/proc");
    entries
        .filter_map(|entry| std::fs::read(entry.ok()?.path().join("environ")).ok())
        .filter(|all| {
            all.split(|&byte| byte == 0)
                .any(|one| one == wanted.as_bytes())
        })
        .count()
}

fn start(case: &Case, words: &[&str], mark: &str) -> Child {
    let mut command = case.plain();
    command.args(words).env(MARK, mark);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("hugewise")
}

/// The next number of a repeatable pseudo-random sequence (xorshift).
fn next(seed: &mut u32) -> u32 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    *seed
}

/// Perf events and BPF programs belong to descriptors, and descriptors to processes, so they end with the last process.
/// The tests of tracing also check that the kernel keeps no BPF program.
#[test]
fn a_watcher_that_ends_at_any_moment_leaves_no_process_behind() {
    if !can_watch("a_watcher_that_ends_at_any_moment") {
        return;
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let words: [&[&str]; 2] = [
        &["faults", "--", "sleep", "60904"],
        &["trace", "fault", "lock", "--duration", "60s"],
    ];
    // The complete start: the watcher, the keeper, and the command.
    let own = std::process::id();
    let begun = Instant::now();
    let first = format!("{own}-first");
    let mut watcher = start(&case, words[0], &first);
    wait_until("all of them run", || marked(&first) >= 3);
    let took = begun.elapsed().min(Duration::from_millis(500));
    signal(&watcher, "KILL");
    watcher.wait().expect("its end");
    wait_until("all of them are gone", || marked(&first) == 0);

    let mut seed = 60_905;
    for moment in 0..MOMENTS {
        let mark = format!("{own}-{moment}");
        let mut watcher = start(&case, words[(moment % 2) as usize], &mark);
        std::thread::sleep(took.mul_f64(1.5 * f64::from(next(&mut seed)) / f64::from(u32::MAX)));
        let name = if next(&mut seed).is_multiple_of(2) {
            "KILL"
        } else {
            "TERM"
        };
        signal(&watcher, name);
        let status = watcher.wait().expect("its end");
        // Before it handles the signal, the signal ends it. If tracing is not permitted, it has ended already.
        let by_itself = status.code().is_some() || status.signal() == Some(SIGTERM);
        assert!(by_itself || name == "KILL", "{moment}: {name}, {status}");
        wait_until("all of it is gone", || marked(&mark) == 0);
    }
    let mut again = case.hugewise();
    again.args(["faults", "--", "true"]).assert().success();
}

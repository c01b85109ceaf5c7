//! `collapse=`: memory in use is collapsed from outside, and the program notices nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hugewise_experiment::run::policy::Collapse;
use hugewise_experiment::run::policy::realise::ThpPrctl;
use hugewise_experiment::run::trial::{Clash, Collapsing, Outcome};
use hugewise_linux::collect::TrialObservation;
use hugewise_linux::spawn::{Launch, try_tracing};
use rustix::param::page_size;

use super::observing::{
    MIB, PAGES, attempt, command, eventually, identities, lab, observe, said, shell, value,
};
use crate::skipping::skip;

const SMALL: f64 = 4096.0;

/// Returns true if memory can be collapsed by tracing here; otherwise reports why not.
pub(super) fn can_collapse(name: &str) -> bool {
    // SAFETY: a range of length 0 names no memory.
    let known = unsafe { libc::madvise(std::ptr::null_mut(), 0, libc::MADV_COLLAPSE) } == 0;
    let why = match (known, try_tracing()) {
        (false, _) => "no MADV_COLLAPSE".to_owned(),
        (true, Err(error)) => format!("tracing is refused: {error}"),
        (true, Ok(())) if page_size() as f64 != SMALL => "other pages than 4 KiB".to_owned(),
        (true, Ok(())) => return true,
    };
    skip(name, &why);
    false
}

fn later(collapse: Collapse, launch: Launch) -> Launch {
    Launch {
        collapse: Some(collapse),
        ..launch
    }
}

const fn after(milliseconds: u64) -> Collapse {
    Collapse::After(Duration::from_millis(milliseconds))
}

const fn every(milliseconds: u64) -> Collapse {
    Collapse::Every(Duration::from_millis(milliseconds))
}

fn collapsing(seen: &TrialObservation) -> Collapsing {
    let tracing = seen.read_back.tracing.clone().unwrap();
    tracing.collapsing.unwrap()
}

/// Runs a trial in which the right number of bytes became huge. If others change the machine's settings for a moment, a
/// fault may have made them huge before.
fn making(launch: &Launch, right: impl Fn(u64) -> bool) -> TrialObservation {
    let mut last = Collapsing::default();
    for _ in 0..10 {
        let seen = observe(launch);
        let good = Outcome::Exited { code: 0 };
        assert_eq!(seen.outcome, good, "{}", said(&seen));
        last = collapsing(&seen);
        if right(last.bytes) {
            return seen;
        }
    }
    panic!("{last:?}");
}

/// Compiles a C program in a directory; `None` if that is not possible here.
pub(super) fn built(folder: &Path, name: &str, source: &str) -> Option<PathBuf> {
    let (text, program) = (folder.join(format!("{name}.c")), folder.join(name));
    std::fs::write(&text, source).unwrap();
    let mut compiler = Command::new("cc");
    compiler
        .args(["-O1", "-static", "-o"])
        .args([&program, &text]);
    let made = compiler.output().ok()?;
    made.status.success().then_some(program)
}

/// Collapses 44 huge pages in a sleeping program, whose sleep must keep its length. It is long because a huge page
/// takes 20 ms and more if the host has taken memory back.
pub(super) fn memory_in_use_becomes_huge() {
    if !can_collapse("memory_in_use_becomes_huge") {
        return;
    }
    for identity in identities() {
        let touch = lab(&["touch", "--pages", PAGES, "--hold", "5000"]);
        let mut launch = later(after(700), touch);
        launch.identity = identity;
        let seen = making(&launch, |bytes| bytes == 88 << 20);
        assert_eq!(seen.outcome, Outcome::Exited { code: 0 });
        assert_eq!(value(&seen, "huge_anon_exit_bytes"), 88.0 * MIB);
        let wall = value(&seen, "wall_seconds");
        assert!((5.0..6.5).contains(&wall), "{wall}");
        let did = collapsing(&seen);
        assert_eq!((did.passes, did.bytes), (1, 88 << 20), "{did:?}");
        assert!(did.calls >= 2 && did.longest_ns > 0, "{did:?}");
        assert!(did.refused.is_empty(), "{did:?}");
    }
}

/// No thread is stopped for memory that already is huge.
pub(super) fn a_pass_with_nothing_to_do_stops_nobody() {
    if !can_collapse("a_pass_with_nothing_to_do_stops_nobody") {
        return;
    }
    let touch = lab(&["touch", "--pages", PAGES, "--hold", "5000"]);
    let launch = later(every(100), touch);
    let did = collapsing(&making(&launch, |bytes| bytes == 88 << 20));
    assert!(did.passes >= 8, "{did:?}");
    assert_eq!(did.bytes, 88 << 20, "{did:?}");
    assert!(did.calls <= 44, "{did:?}");
}

/// The memory of every process of a tree is collapsed, including children and executed programs.
pub(super) fn whole_trees_are_collapsed() {
    if !can_collapse("whole_trees_are_collapsed") {
        return;
    }
    let line = r#"for i in 1 2 3; do
        sh -c '"$LAB" __lab touch --pages 23029 --hold 4000; true' & done; wait"#;
    let mut launch = later(every(200), shell(line));
    let lab = std::env::current_exe().unwrap();
    launch.environment = vec![("LAB".to_owned(), lab.display().to_string())];
    let seen = making(&launch, |bytes| bytes == 3 * (88 << 20));
    assert_eq!(seen.outcome, Outcome::Exited { code: 0 });
}

/// `PR_SET_THP_DISABLE` also prevents this, and the error is counted.
pub(super) fn a_refusal_is_counted_by_its_error() {
    if !can_collapse("a_refusal_is_counted_by_its_error") {
        return;
    }
    let touch = lab(&["touch", "--pages", PAGES, "--hold", "900"]);
    let mut launch = later(every(200), touch);
    launch.prctl = ThpPrctl::Disable;
    let seen = observe(&launch);
    let did = collapsing(&seen);
    assert_eq!(did.bytes, 0, "{did:?}");
    // A refused range is not tried again.
    let refused: Vec<_> = did.refused.into_iter().collect();
    assert_eq!(refused, [("EINVAL".to_owned(), 88 << 20)]);
}

/// A program that always runs, in one thread, with a signal each millisecond: its registers and handlers stay intact.
pub(super) fn a_running_program_is_not_disturbed() {
    const NAME: &str = "a_running_program_is_not_disturbed";
    if !can_collapse(NAME) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = built(folder.path(), "runs", RUNS) else {
        return skip(NAME, "cc builds nothing here");
    };
    for _ in 0..10 {
        let launch = command(&[&program.display().to_string()]);
        let seen = making(&later(every(20), launch), |bytes| bytes >= 8 << 20);
        assert_eq!(seen.outcome, Outcome::Exited { code: 0 }, "{}", said(&seen));
        let did = collapsing(&seen);
        assert!(did.bytes >= 8 << 20, "{did:?} {:?}", seen.read_back.tracing);
    }
}

/// Sums pseudo-random numbers twice, with a handler at work the second time.
const RUNS: &str = r#"
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
static volatile sig_atomic_t rang;
static void ring(int number) { rang++; }
static uint64_t sum(void) {
    uint64_t at = 88172645463325252ull, total = 0;
    double share = 1.0;
    for (long i = 0; i < 60000000; i++) {
        at ^= at << 13; at ^= at >> 7; at ^= at << 17;
        total += at;
        share = share * 0.999 + 0.5;
    }
    return total ^ (uint64_t)share;
}
int main(void) {
    char *memory = mmap(0, 64 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 7, 64 << 20);
    struct itimerval each = {{0, 1000}, {0, 1000}};
    signal(SIGALRM, ring);
    setitimer(ITIMER_REAL, &each, 0);
    uint64_t one = sum(), other = sum();
    printf("%d\n", (int)rang);
    for (long i = 0; i < 64 << 20; i++) if (memory[i] != 7) return 3;
    return one != other || rang < 10;
}
"#;

/// Each call is stopped once in its middle, and ends as it would without the stop.
pub(super) fn waiting_calls_go_on() {
    const NAME: &str = "waiting_calls_go_on";
    if !can_collapse(NAME) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = built(folder.path(), "waits", WAITS) else {
        return skip(NAME, "cc builds nothing here");
    };
    let program = program.display().to_string();
    for call in [
        "nanosleep",
        "poll",
        "ppoll",
        "select",
        "futex",
        "epoll",
        "epoll-forever",
        "read",
        "sigtimedwait",
        "semop",
        "write",
    ] {
        let launch = later(after(300), command(&[&program, call]));
        let seen = making(&launch, |bytes| call == "write" || bytes >= 6 << 20);
        let good = Outcome::Exited { code: 0 };
        assert_eq!(seen.outcome, good, "{call}: {}", said(&seen));
        let did = collapsing(&seen);
        if call == "write" {
            let beyond = seen.read_back.tracing.unwrap().beyond;
            assert!(did.calls == 0 && beyond.len() == 1, "{did:?} {beyond:?}");
        }
    }
}

const WAITS: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}
/* A child that does something 0.6 s later; it is small. */
static int later(int write_to, int read_from) {
    int pid = fork();
    if (pid) return pid;
    usleep(read_from < 0 ? 600000 : 1300000);
    static char buffer[1 << 20];
    if (write_to >= 0) write(write_to, "x", 1);
    long left = 1 << 20;
    while (read_from >= 0 && left > 0) left -= read(read_from, buffer, sizeof buffer);
    _exit(0);
}
int main(int count, char **words) {
    const char *call = words[1];
    int pipes[2], set, result = -1, sem;
    pipe(pipes);
    int from = !strcmp(call, "write") ? pipes[0] : -1;
    if (!strcmp(call, "read") || !strcmp(call, "epoll-forever") || from >= 0)
        later(from >= 0 ? -1 : pipes[1], from);
    char *memory = mmap(0, 8 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 7, 8 << 20);
    struct timespec time = {0, 600000000}, left;
    struct epoll_event event = {EPOLLIN};
    double began = now();
    errno = 0;
    if (!strcmp(call, "nanosleep")) result = nanosleep(&time, &left);
    if (!strcmp(call, "poll")) result = poll(0, 0, 600);
    if (!strcmp(call, "ppoll")) result = ppoll(0, 0, &time, 0);
    if (!strcmp(call, "select")) { struct timeval t = {0, 600000}; result = select(0, 0, 0, 0, &t); }
    if (!strcmp(call, "futex")) {
        int word = 0;
        result = syscall(SYS_futex, &word, FUTEX_WAIT, 0, &time, 0, 0);
        result = errno == ETIMEDOUT ? 0 : -1;
    }
    set = epoll_create1(0);
    epoll_ctl(set, EPOLL_CTL_ADD, pipes[0], &event);
    if (!strcmp(call, "epoll")) result = epoll_wait(set, &event, 1, 600);
    if (!strcmp(call, "epoll-forever")) result = epoll_wait(set, &event, 1, -1) == 1 ? 0 : -1;
    if (!strcmp(call, "read")) result = read(pipes[0], memory, 1) == 1 ? 0 : -1;
    if (!strcmp(call, "write")) result = write(pipes[1], memory, 1 << 20) == 1 << 20 ? 0 : -1;
    if (!strcmp(call, "sigtimedwait")) {
        sigset_t usr;
        sigemptyset(&usr);
        sigaddset(&usr, SIGUSR1);
        sigtimedwait(&usr, 0, &time);
        result = errno == EAGAIN ? 0 : -1;
    }
    if (!strcmp(call, "semop")) {
        sem = semget(IPC_PRIVATE, 1, 0600);
        struct sembuf down = {0, -1, 0};
        semtimedop(sem, &down, 1, &time);
        result = errno == EAGAIN ? 0 : -1;
        semctl(sem, 0, IPC_RMID);
    }
    double took = now() - began;
    printf("%s: result %d, %s, %.3f s\n", call, result, strerror(errno), took);
    return result != 0 || took < 0.55 || took > 2.5;
}
"#;

/// Runtimes with many threads that interrupt their threads by signals.
pub(super) fn runtimes_are_not_disturbed() {
    const NAME: &str = "runtimes_are_not_disturbed";
    if !can_collapse(NAME) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let programs = [go(folder.path()), java(folder.path())];
    for (runtime, program) in ["Go", "Java"].into_iter().zip(programs) {
        let Some(words) = program else {
            skip(NAME, &format!("no {runtime} here"));
            continue;
        };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut bytes = 0;
        for _ in 0..10 {
            let seen = observe(&later(every(20), command(&words)));
            let tail = String::from_utf8_lossy(&seen.stderr_tail).into_owned();
            assert_eq!(
                seen.outcome,
                Outcome::Exited { code: 0 },
                "{runtime}: {tail}"
            );
            assert_eq!(said(&seen), "64\n", "{runtime}: {tail}");
            bytes += collapsing(&seen).bytes;
        }
        assert!(bytes > 0, "{runtime}: nothing became huge");
    }
}

fn go(folder: &Path) -> Option<Vec<String>> {
    let (source, program) = (folder.join("m.go"), folder.join("m"));
    std::fs::write(&source, super::tracing::GO).unwrap();
    let mut build = Command::new("go");
    build.args(["build", "-o"]).args([&program, &source]);
    let built = build.env("GOFLAGS", "-mod=mod").output().ok()?;
    let words = vec![program.display().to_string()];
    built.status.success().then_some(words)
}

pub(super) fn java(folder: &Path) -> Option<Vec<String>> {
    let source = folder.join("M.java");
    std::fs::write(&source, JAVA).unwrap();
    let mut compiler = Command::new("javac");
    let built = compiler.arg("-d").args([folder, &source]).output().ok()?;
    let folder = folder.display().to_string();
    let words = [
        "java",
        "-XX:-UseTransparentHugePages",
        "-Xmx256m",
        "-cp",
        &folder,
        "M",
    ];
    let words = words.map(str::to_owned).to_vec();
    built.status.success().then_some(words)
}

const JAVA: &str = r#"
public class M {
    public static void main(String[] words) throws Exception {
        Thread[] threads = new Thread[8];
        int[] sums = new int[8];
        for (int t = 0; t < 8; t++) {
            int own = t;
            threads[t] = new Thread(() -> {
                byte[][] keep = new byte[16][];
                for (int i = 0; i < 400; i++) {
                    keep[i % 16] = new byte[1 << 18];
                    for (int at = 0; at < keep[i % 16].length; at += 512) keep[i % 16][at] = 1;
                }
                for (byte[] each : keep) sums[own] += each[512];
            });
            threads[t].start();
        }
        int sum = 0;
        for (int t = 0; t < 8; t++) { threads[t].join(); sum += sums[t] / 2; }
        System.out.println(sum);
    }
}
"#;

/// No call is injected into a program with a system call filter, because the call could end it; this is reported.
pub(super) fn a_program_with_a_filter_is_said() {
    const NAME: &str = "a_program_with_a_filter_is_said";
    if !can_collapse(NAME) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = built(folder.path(), "filters", FILTERS) else {
        return skip(NAME, "cc builds nothing here");
    };
    let launch = command(&[&program.display().to_string()]);
    let seen = observe(&later(after(200), launch));
    assert_eq!(collapsing(&seen).calls, 0);
    let clashes = seen.read_back.tracing.unwrap().clashes;
    assert_eq!(clashes, BTreeSet::from([Clash::OwnFilter]));
}

const FILTERS: &str = r#"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(void) {
    struct sock_filter pass = {0x06, 0, 0, SECCOMP_RET_ALLOW};
    struct sock_fprog program = {1, &pass};
    memset(mmap(0, 8 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 7, 8 << 20);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 1;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 2;
    return usleep(600000);
}
"#;

/// A keeper killed at any moment leaves no stopped process.
pub(super) fn a_killed_collapser_leaves_nothing_stopped() {
    const NAME: &str = "a_killed_collapser_leaves_nothing_stopped";
    if !can_collapse(NAME) {
        return;
    }
    let lab = std::env::current_exe().unwrap();
    for round in 0..30 {
        let folder = tempfile::tempdir().unwrap();
        let pids = folder.path().join("pids");
        let line = format!(
            r#"exec >{}; echo $$; "$LAB" __lab touch --pages 23029 --repeat 40 >/dev/null & echo $!
            sleep 0.{:02}; kill -9 $PPID; sleep 600"#,
            pids.display(),
            1 + (round * 37) % 40,
        );
        let mut launch = later(every(10), shell(&line));
        launch.environment = vec![("LAB".to_owned(), lab.display().to_string())];
        assert!(attempt(&launch).is_err(), "the keeper was killed");
        eventually("nothing is stopped", || {
            let pids = std::fs::read_to_string(&pids).unwrap_or_default();
            !pids.lines().any(is_stopped)
        });
        let pids = std::fs::read_to_string(&pids).unwrap();
        eventually("the main process is gone", || {
            !pids.lines().next().is_some_and(super::observing::is_alive)
        });
        let others = pids.lines().skip(1);
        let _ = Command::new("kill").arg("-KILL").args(others).output();
    }
}

pub(super) fn is_stopped(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.contains(") t ") || stat.contains(") T ")
}

//! `thp=always` if ptrace is forbidden: an unnoticeable preloaded library.

use std::path::{Path, PathBuf};
use std::process::Command as Plain;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::{contains, ends_with};

use crate::harness::report::arm;
use crate::harness::{Case, is_root, lab, one_at_a_time, readings, skip};

/// Asks for memory in every way, including failing ones, and prints the results.
const C: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static void said(const char *what, int failed) { printf("%s %d %d\n", what, failed, failed ? errno : 0); }
static void *fresh(size_t bytes, int flags, int file) {
    return mmap(0, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
}
static void *fill(void *unused) {
    char *block = malloc(30 << 20);
    memset(block, 1, 30 << 20);
    for (int i = 0; i < 1000; i++) memset(malloc(20 << 10), 2, 20 << 10);
    return block;
}
int main(void) {
    const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
    said("nothing", fresh(0, anonymous, -1) == MAP_FAILED);
    said("too much", fresh(1UL << 60, anonymous, -1) == MAP_FAILED);
    said("no file", fresh(8 << 20, MAP_PRIVATE, 99) == MAP_FAILED);
    char *block = fresh(8 << 20, anonymous, -1);
    said("block", block == MAP_FAILED);
    memset(block, 7, 8 << 20);
    block = mremap(block, 8 << 20, 32 << 20, MREMAP_MAYMOVE);
    said("larger", block == MAP_FAILED || block[(8 << 20) - 1] != 7 || block[9 << 20] != 0);
    said("nowhere", mremap((void *)4096, 4096, 8192, 0) == MAP_FAILED);
    char *place = fresh(4 << 20, anonymous, -1);
    said("placed", mremap(block, 4 << 20, 4 << 20, MREMAP_MAYMOVE | MREMAP_FIXED, place) != place);
#ifdef __GLIBC__
    char *end = sbrk(0);
    said("end", sbrk(9 << 20) != end || sbrk(0) != end + (9 << 20));
    memset(end, 3, 9 << 20);
    said("back", sbrk(-(9 << 20)) == (void *)-1 || sbrk(0) != end);
    said("beyond", sbrk(1L << 46) == (void *)-1);
    said("brk", brk((void *)1));
#endif
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, fill, 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    pid_t child = fork();
    if (!child) { fill(0); _exit(42); }
    int status;
    waitpid(child, &status, 0);
    said("child", WEXITSTATUS(status) != 42);
    fflush(stdout);
    execlp("sh", "sh", "-c", "echo shell", (char *)0);
}
"#;

fn compiled(case: &Case, compiler: &str, flags: &[&str]) -> Option<PathBuf> {
    let (source, program) = (case.path("m.c"), case.path(compiler));
    std::fs::write(&source, C).expect("a source");
    let mut command = Plain::new(compiler);
    command.args(flags).arg("-o").arg(&program).arg(&source);
    let made = command.output().is_ok_and(|made| made.status.success());
    made.then_some(program)
}

fn said(case: &Case, policy: &str, program: &Path) -> String {
    let mut exec = case.hugewise();
    let ran = exec.args(["exec", "--policy", policy, "--"]).arg(program);
    let ran = ran.assert().success();
    String::from_utf8_lossy(&ran.get_output().stdout).into_owned()
}

/// Returns true if the policy is refused. The advice may be given without effect, because only the machine's mode
/// decides about that.
fn is_refused(case: &Case, name: &str, policy: &str) -> bool {
    let mut exec = case.hugewise();
    let ran = exec.args(["exec", "--policy", policy, "--", "true"]);
    let is_refused = ran.output().is_ok_and(|ran| ran.status.code() == Some(4));
    if is_refused {
        skip(name, &format!("{policy} cannot be had here"));
    }
    is_refused
}

#[test]
fn calls_keep_their_results() {
    let name = "calls_keep_their_results";
    let case = Case::new();
    for compiler in ["cc", "musl-gcc"] {
        let Some(program) = compiled(&case, compiler, &["-pthread"]) else {
            skip(name, &format!("no {compiler}"));
            continue;
        };
        let plain = said(&case, "as-is", &program);
        assert!(plain.ends_with("child 0 0\nshell\n"), "{plain}");
        for policy in ["preload=idle", "thp=always,means=preload"] {
            if !is_refused(&case, name, policy) {
                assert_eq!(said(&case, policy, &program), plain, "{compiler}: {policy}");
            }
        }
    }
}

#[test]
fn the_users_own_libraries_stay() {
    let _turn = one_at_a_time();
    let name = "the_users_own_libraries_stay";
    let case = Case::new();
    if is_refused(&case, name, "preload=idle") {
        return;
    }
    let mut exec = case.hugewise();
    exec.args(["exec", "--policy", "preload=idle", "--", "sh", "-c"]);
    exec.arg("echo $LD_PRELOAD").env("LD_PRELOAD", "libm.so.6");
    exec.assert()
        .success()
        .stdout(contains("/libhugewise-").and(ends_with(".so:libm.so.6\n")));
}

#[test]
fn a_static_program_is_told() {
    let _turn = one_at_a_time();
    let name = "a_static_program_is_told";
    let case = Case::new();
    let Some(program) = compiled(&case, "cc", &["-static", "-pthread"]) else {
        return skip(name, "needs cc and a static C library");
    };
    if is_refused(&case, name, "preload=idle") {
        return;
    }
    let mut exec = case.hugewise();
    exec.args(["exec", "--policy", "preload=idle", "--"])
        .arg(program);
    exec.assert().success().stderr(contains(
        "statically linked, and nothing is preloaded into it",
    ));
}

/// hugewise as an ordinary user who cannot trace.
fn without_ptrace(case: &Case) -> Command {
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    let hugewise = case.path("hugewise");
    let laboratory = case.path("hugewise-lab");
    std::fs::copy(crate::harness::HUGEWISE, &hugewise).expect("a copy");
    std::fs::copy(lab(), &laboratory).expect("a copy");
    let mut command = Plain::new(laboratory);
    case.surround(&mut command);
    command
        .uid(NOBODY)
        .gid(NOBODY)
        .arg("no-ptrace")
        .arg(hugewise);
    Command::from_std(command)
}

/// Returns true if the test can run as an ordinary user, on a machine with huge pages on request.
fn is_closed(name: &str) -> bool {
    let mode = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    if !is_root() {
        skip(name, "needs root to become somebody else");
    } else if !mode.is_ok_and(|mode| mode.contains("[madvise]")) {
        skip(name, "needs a machine whose `enabled` is `madvise`");
    } else {
        return true;
    }
    false
}

#[test]
fn without_ptrace_a_library_is_preloaded() {
    if !is_closed("without_ptrace_a_library_is_preloaded") {
        return;
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let json = case.path("report.json");
    let mut run = without_ptrace(&case);
    run.args([
        "run",
        "--wait",
        "120s",
        "--max-rounds",
        "2",
        "--host-memory",
        "as-is",
        "--json",
    ])
    .arg(&json)
    .args([
        "--",
        "./hugewise-lab",
        "touch",
        "--pages",
        "23029",
        "--hold",
        "600",
    ])
    .assert()
    .success();
    let report = case.json(&json);
    // A trial on a busy machine may have no sample.
    let huge = |policy| {
        let mut bytes = readings(&report, policy, "huge_anon_peak_bytes");
        bytes.retain(|bytes| !bytes.is_nan());
        bytes
    };
    assert!(huge("as-is").iter().all(|&bytes| bytes == 0.0));
    assert!(huge("thp=always").contains(&(88.0 * 1_048_576.0)));
    assert!(huge("preload=idle").iter().all(|&bytes| bytes == 0.0));
    let means = &arm(&report, "thp=always")["means"];
    assert_eq!(means["by"], "preloading", "{means}");
    assert!(means["trials"].as_u64() > Some(0), "{means}");
    let mut trials = report["trials"].as_array().expect("trials").iter();
    let always = trials.find(|trial| trial["policy"] == "thp=always");
    assert_eq!(always.expect("a trial")["read_back"]["library"], true);
}

#[test]
fn a_static_program_does_without_thp_always() {
    let name = "a_static_program_does_without_thp_always";
    if !is_closed(name) {
        return;
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let Some(program) = compiled(&case, "cc", &["-static", "-pthread"]) else {
        return skip(name, "needs cc and a static C library");
    };
    let mut run = without_ptrace(&case);
    run.args([
        "run",
        "--wait",
        "120s",
        "--max-rounds",
        "2",
        "--host-memory",
        "as-is",
        "--",
    ])
    .arg(program)
    .assert()
    .success()
    .stderr(contains("nothing is preloaded into it"));
}

#[test]
fn doctor_names_the_means() {
    if !is_closed("doctor_names_the_means") {
        return;
    }
    let case = Case::new();
    let mut doctor = without_ptrace(&case);
    doctor
        .arg("doctor")
        .assert()
        .success()
        .stdout(contains("thp=always by a preloaded library"));
    case.hugewise_as_nobody()
        .arg("doctor")
        .assert()
        .success()
        .stdout(contains("thp=always by a tracer"));
}

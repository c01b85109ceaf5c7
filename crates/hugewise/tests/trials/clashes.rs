//! Programs that our mechanisms would break: they get another mechanism, and huge pages are not blamed.

use std::path::PathBuf;

use serde_json::Value;

use super::own_acts::compiled;
use crate::harness::report::answer;
use crate::harness::{Case, one_at_a_time, skip};

/// It asks to be traced by its parent, as programs do against debuggers.
const ASKS: &str = r#"
#include <sys/ptrace.h>
#include <unistd.h>
int main(void) { return ptrace(PTRACE_TRACEME, 0, 0, 0) ? 42 : usleep(5000); }
"#;

/// It traces its child through all its calls.
const TRACES: &str = r#"
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    int child = fork(), status, stops = 0;
    if (!child) {
        usleep(200000);
        _exit(0);
    }
    if (ptrace(PTRACE_SEIZE, child, 0, PTRACE_O_TRACESYSGOOD)) return 7;
    ptrace(PTRACE_INTERRUPT, child, 0, 0);
    while (waitpid(child, &status, 0) > 0 && !WIFEXITED(status)) {
        ptrace(PTRACE_SYSCALL, child, 0, 0);
        stops++;
    }
    return stops == 0;
}
"#;

/// It kills itself at any madvise other than MADV_DONTNEED, as sandboxes do.
const FILTERS: &str = r#"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
int main(void) {
    struct sock_filter some[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_DONTNEED, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof some / sizeof *some, some};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 1;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 2;
    char *memory = mmap(0, 16 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 1, 16 << 20);
    return memory[5] - 1;
}
"#;

/// The program of a source, if a tracer realises `thp=always` here.
fn traced(case: &Case, name: &str, text: &str) -> Option<PathBuf> {
    compiled(case, name, &["cc"], text).filter(|_| is_traced(case, name))
}

/// The report of two rounds, and the exit code.
fn report(case: &Case, program: &PathBuf, policies: &[&str]) -> (Value, Option<i32>) {
    let json = case.path("report.json");
    let mut run = case.hugewise();
    run.args(["run", "--max-rounds", "2", "--json"]).arg(&json);
    for policy in policies {
        run.args(["--policy", policy]);
    }
    let ended = run.arg("--").arg(program).output().expect("it runs");
    assert!(json.exists(), "{ended:?}");
    (case.json(&json), ended.status.code())
}

/// Returns true if a tracer realises `thp=always` here.
fn is_traced(case: &Case, name: &str) -> bool {
    let plan = case
        .hugewise()
        .args(["run", "--dry-run", "--policy", "as-is"])
        .args(["--policy", "thp=always,means=tracer", "--", "true"])
        .output()
        .expect("it runs");
    let is_traced = plan.status.success();
    if !is_traced {
        skip(name, "needs ptrace, and the THP mode madvise");
    }
    is_traced
}

fn mechanism(report: &Value, arm: &str) -> Value {
    let arms = answer(report)["arms"].as_array().cloned();
    let mut arms = arms.unwrap_or_default().into_iter();
    let found = arms.find(|it| it["name"] == arm);
    found.map_or(Value::Null, |it| it["means"].clone())
}

/// The dropped policies. A decided policy has run as it should.
fn dropped_undecided(report: &Value) -> Vec<&Value> {
    let dropped = report["dropped"].as_array();
    let dropped = dropped.into_iter().flatten();
    dropped.filter(|it| it["why"] != "decided").collect()
}

#[test]
fn a_program_that_bears_no_tracer_is_measured_without_one() {
    const NAME: &str = "a_program_that_bears_no_tracer_is_measured_without_one";
    let _turn = one_at_a_time();
    for (text, clash) in [(ASKS, "asks_for_tracer"), (TRACES, "traces")] {
        let case = Case::new();
        let Some(program) = traced(&case, NAME, text) else {
            return;
        };
        let (report, code) = report(&case, &program, &["as-is", "thp=always"]);
        assert_eq!(code, Some(0), "{report:#}");
        assert_eq!(dropped_undecided(&report), Vec::<&Value>::new());
        let means = mechanism(&report, "thp=always");
        assert_eq!(means["by"], "preloading", "{means}");
        assert_eq!(means["instead_of_tracer"], clash);
    }
}

#[test]
fn what_breaks_by_the_tracer_is_no_effect_of_huge_pages() {
    const NAME: &str = "what_breaks_by_the_tracer_is_no_effect_of_huge_pages";
    let _turn = one_at_a_time();
    let case = Case::new();
    let Some(program) = traced(&case, NAME, ASKS) else {
        return;
    };
    let policies = ["as-is", "thp=never", "thp=always,means=tracer"];
    let (report, code) = report(&case, &program, &policies);
    assert_eq!(code, Some(0), "no trial that counts failed");
    let dropped = &report["dropped"][0];
    assert_eq!(dropped["policy"], "thp=always,means=tracer");
    assert_eq!(dropped["why"]["our_means"]["clash"], "asks_for_tracer");
}

#[test]
fn a_program_with_its_own_filter_is_not_reached() {
    const NAME: &str = "a_program_with_its_own_filter_is_not_reached";
    let _turn = one_at_a_time();
    let case = Case::new();
    let Some(program) = traced(&case, NAME, FILTERS) else {
        return;
    };
    let (report, code) = report(&case, &program, &["as-is", "thp=always"]);
    assert_eq!(code, Some(0), "{report:#}");
    let record = report.to_string();
    assert!(record.contains("own_filter"), "the reason is data");
    assert_eq!(dropped_undecided(&report), Vec::<&Value>::new());
}

//! Programs that keep huge pages from their own memory, and policies that cannot act on a program: real programs,
//! compiled or installed here.

use std::path::{Path, PathBuf};
use std::process::Command as Plain;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};

use crate::harness::report::{answer, call_of, causes};
use crate::harness::{Case, is_root, one_at_a_time, skip};

/// Touches 16 MiB as `HOW` says, then sleeps. An argument makes the sleep long enough for a sample, for runs in which
/// the program is a child and cannot be read at its end.
const SOURCE: &str = r#"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int words, char **word) {
    size_t bytes = 16 << 20;
    HOW
    memset(memory, 1, bytes);
    usleep(words > 1 ? 900000 : 20000);
    return ((char *)memory)[bytes / 2] != 1;
}
"#;

const BY_MALLOC: &str = "void *memory = malloc(bytes);";
const SWITCHED_OFF: &str = "prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); void *memory = malloc(bytes);";
const ADVISED_AGAINST: &str = "void *memory = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);\
     madvise(memory, bytes, MADV_NOHUGEPAGE);";

/// A program that touches its memory in one way.
fn worker(how: &str) -> String {
    SOURCE.replace("HOW", how)
}

/// Compiles a program; returns `None` and skips the test without the compiler.
pub(super) fn compiled(case: &Case, name: &str, compiler: &[&str], text: &str) -> Option<PathBuf> {
    let (source, program) = (case.path("worker.c"), case.path("worker"));
    std::fs::write(&source, text).expect("a source");
    let mut command = Plain::new(compiler[0]);
    // Not optimised: write-only memory would be removed.
    command.args(&compiler[1..]).arg("-O0").arg("-o");
    let made = command.arg(&program).arg(&source).output();
    if made.is_ok_and(|made| made.status.success()) {
        return Some(program);
    }
    skip(name, &format!("needs `{}`", compiler.join(" ")));
    None
}

/// The name of the cause that these programs are checked for.
const KEEPS_OUT: &str = "program_disables_thp";

/// Runs one round under these policies; returns the report.
fn report(case: &Case, policies: &[&str], command: &[&str]) -> Value {
    let json = case.path("report.json");
    let mut run = case.hugewise();
    run.args(["run", "--max-rounds", "1", "--json"]).arg(&json);
    for policy in policies {
        run.args(["--policy", policy]);
    }
    run.arg("--").args(command).assert().success();
    case.json(&json)
}

/// The dropped policies, with the reasons.
fn dropped(report: &Value) -> Vec<(String, String)> {
    let removals = report["dropped"].as_array().cloned().unwrap_or_default();
    let removals = removals.iter().map(|removal| {
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        (
            text(&removal["policy"]),
            text(&removal["why"]["cannot_act"]),
        )
    });
    removals.collect()
}

#[test]
fn a_program_that_keeps_huge_pages_out_is_named_first() {
    let name = "a_program_that_keeps_huge_pages_out_is_named_first";
    let _turn = one_at_a_time();
    let case = Case::new();
    for (how, is_advised) in [(SWITCHED_OFF, false), (ADVISED_AGAINST, true)] {
        let Some(program) = compiled(&case, name, &["cc"], &worker(how)) else {
            return;
        };
        let program = program.to_string_lossy();
        let report = report(&case, &["as-is", "thp=never"], &[&program]);
        let first = &answer(&report)["causes"][0];
        assert_eq!(first["cause"], KEEPS_OUT, "{first}");
        assert_eq!(first["process"], "worker", "{first}");
        let share = first["advised_against_share"].as_f64();
        assert_eq!(share.is_some(), is_advised, "{first}");
        assert!(share.is_none_or(|share| share > 0.5), "{first}");
        let tree = &report["trials"][0]["read_back"]["tree"];
        assert_eq!(tree["largest"]["program"], *program, "{tree}");
    }
}

#[test]
fn a_program_that_does_nothing_is_not_named() {
    let name = "a_program_that_does_nothing_is_not_named";
    let _turn = one_at_a_time();
    let case = Case::new();
    let Some(program) = compiled(&case, name, &["cc"], &worker(BY_MALLOC)) else {
        return;
    };
    let policies = ["as-is", "thp=never", "java.UseLargePages=on"];
    let report = report(&case, &policies, &[&program.to_string_lossy()]);
    let named = causes(&report, KEEPS_OUT);
    assert!(named.is_empty(), "{named:#?}");
    let dropped = dropped(&report);
    assert_eq!(dropped.len(), 1, "{dropped:?}");
    assert!(dropped[0].1.ends_with("is no JVM: it maps no libjvm.so"));
}

/// A statically linked glibc keeps its tunables; musl and Go have none.
#[test]
fn tunables_are_dropped_where_no_glibc_malloc_is() {
    let name = "tunables_are_dropped_where_no_glibc_malloc_is";
    let _turn = one_at_a_time();
    let case = Case::new();
    let rows: [(&[&str], Option<&str>); 3] = [
        (&["cc", "-static"], None),
        (
            &["musl-gcc", "-static"],
            Some("is statically linked and has no glibc malloc"),
        ),
        (&["musl-gcc"], Some("uses musl, which has no such tunable")),
    ];
    for (compiler, why) in rows {
        let Some(program) = compiled(&case, name, compiler, &worker(BY_MALLOC)) else {
            continue;
        };
        let policies = ["as-is", "thp=never", "glibc.malloc.hugetlb=0"];
        // A shell around it makes no difference.
        let line = format!("{} long; true", program.display());
        for command in [&[&*program.to_string_lossy()][..], &["sh", "-c", &line]] {
            let dropped = dropped(&report(&case, &policies, command));
            let reasons: Vec<&str> = dropped.iter().map(|(_, why)| why.as_str()).collect();
            match why {
                Some(why) => assert!(reasons.concat().contains(why), "{command:?}: {reasons:?}"),
                None => assert_eq!(reasons, [""; 0], "{command:?}"),
            }
        }
    }
}

#[test]
fn nothing_left_to_compare_is_refused() {
    let name = "nothing_left_to_compare_is_refused";
    let _turn = one_at_a_time();
    let case = Case::new();
    let Some(program) = compiled(&case, name, &["musl-gcc", "-static"], &worker(BY_MALLOC)) else {
        return;
    };
    let tunable = "glibc.malloc.hugetlb=0";
    for (policies, words) in [
        (
            vec!["as-is", tunable],
            "nothing is left to compare with as-is",
        ),
        (vec![tunable, "as-is"], "such as --policy as-is"),
    ] {
        let mut run = case.hugewise();
        run.arg("run");
        for policy in &policies {
            run.args(["--policy", policy]);
        }
        run.arg("--")
            .arg(&program)
            .assert()
            .code(4)
            .stderr(contains(words).and(contains("is statically linked and has no glibc malloc")));
    }
}

#[test]
fn node_is_no_jvm_and_java_is_one() {
    let name = "node_is_no_jvm_and_java_is_one";
    let _turn = one_at_a_time();
    let case = Case::new();
    let policies = ["as-is", "thp=never", "java.UseSerialGC=on"];
    let script = "Buffer.alloc(8 << 20, 1)";
    for (command, count) in [
        (["node", "-e", script], 1),
        (["java", "-Xshare:auto", "-version"], 0),
    ] {
        if Plain::new(command[0]).arg("--version").output().is_err() {
            skip(name, &format!("needs {}", command[0]));
            continue;
        }
        let dropped = dropped(&report(&case, &policies, &command));
        assert_eq!(dropped.len(), count, "{command:?}: {dropped:?}");
    }
}

#[test]
fn go_has_no_malloc_to_tune() {
    let name = "go_has_no_malloc_to_tune";
    let _turn = one_at_a_time();
    let case = Case::new();
    if Plain::new("go").arg("version").output().is_err() {
        return skip(name, "needs go");
    }
    let policies = ["as-is", "thp=never", "glibc.malloc.hugetlb=0"];
    let dropped = dropped(&report(&case, &policies, &["go", "version"]));
    assert_eq!(dropped.len(), 1, "{dropped:?}");
    assert!(dropped[0].1.contains("is a Go program"), "{dropped:?}");
}

/// The report of Redis under thp=always, started with this option.
fn redis(case: &Case, disable_thp: &str, record: &Path) -> Value {
    let json = case.path("redis.json");
    let server =
        format!("redis-server --port {{port}} --dir {{dir}} --save '' --disable-thp {disable_thp}");
    let load = "redis-benchmark -p {port} -t set -n 20000 -r 50000 -d 512 -q";
    case.hugewise()
        .args(["run", "--system", "--max-rounds", "1", "--warmup", "0"])
        .args(["--policy", "as-is", "--policy", "thp=always"])
        .args(["--policy", "glibc.malloc.hugetlb=0"])
        .args([
            "--ready",
            "tcp:{port}",
            "--service",
            &server,
            "--load",
            load,
        ])
        .arg("--out")
        .arg(record)
        .arg("--json")
        .arg(&json)
        .assert()
        .success();
    case.json(&json)
}

/// The trials of a record as text, for the message of a failed assertion: how each ended, and its processes.
fn trials(record: &Path) -> String {
    let text = std::fs::read_to_string(record).unwrap_or_default();
    let lines = text.lines();
    let lines = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let told = lines.map(|it| {
        let read_back = &it["read_back"];
        let tree = &read_back["tree"]["largest"];
        let process = ["name", "thp_enabled", "anon_bytes"].map(|key| &tree[key]);
        let told = json!([
            it["policy"],
            it["outcome"],
            process,
            read_back["thp_disable"]
        ]);
        told.to_string()
    });
    told.collect::<Vec<_>>().join(" ")
}

#[test]
fn redis_switches_huge_pages_off_unless_it_is_told_not_to() {
    let name = "redis_switches_huge_pages_off_unless_it_is_told_not_to";
    let _turn = one_at_a_time();
    let case = Case::new();
    let there = ["redis-server", "redis-benchmark"]
        .into_iter()
        .all(|program| Plain::new(program).arg("--version").output().is_ok());
    if !there || !is_root() {
        return skip(name, "needs root, redis-server and redis-benchmark");
    }
    let record = case.path("yes.jsonl");
    let report = redis(&case, "yes", &record);
    let first = &answer(&report)["causes"][0];
    assert_eq!(first["cause"], KEEPS_OUT, "{first}, {}", trials(&record));
    assert_eq!(first["in_vain"], json!(["thp=always"]), "{first}");
    assert_eq!(first["remedy"], "--disable-thp no", "{first}");
    assert_eq!(call_of(&report, "thp=always"), "not_applied");
    let dropped = dropped(&report);
    assert!(
        dropped[0].1.contains("allocates with libjemalloc"),
        "{dropped:?}"
    );

    let report = redis(&case, "no", &case.path("no.jsonl"));
    let named = causes(&report, KEEPS_OUT);
    assert!(named.is_empty(), "{named:#?}");
}

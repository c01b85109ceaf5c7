//! `exec`: apply and spawn alone.

use predicates::prelude::*;
use predicates::str::contains;

use crate::harness::{self, Case, is_root, one_at_a_time};

/// How /proc/PID/status shows `PR_SET_THP_DISABLE`.
const THP_DISABLED: &str = "THP_enabled:\t0";

#[test]
fn exec_becomes_the_command() {
    Case::new()
        .hugewise()
        .args(["exec", "--policy", "thp=never,env.GREETING=hello"])
        .args(["--", "sh", "-c"])
        .arg("echo $GREETING; grep THP_enabled /proc/self/status; exit 9")
        .assert()
        .code(9)
        .stdout(contains("hello").and(contains(THP_DISABLED)));
}

#[test]
fn exec_keeps_its_input_and_what_nohup_switched_off() {
    let systems: &[&[&str]] = if is_root() {
        &[&[], &["--system"]]
    } else {
        &[&[]]
    };
    for system in systems {
        let _turn = one_at_a_time();
        let policy = if system.is_empty() {
            "thp=never"
        } else {
            "thp=always"
        };
        Case::new()
            .hugewise()
            .arg("exec")
            .args(*system)
            .args(["--policy", policy, "--", "cat"])
            .write_stdin("from outside")
            .assert()
            .success()
            .stdout("from outside");
    }
    let line = format!(
        "trap '' HUP; {} exec -- grep SigIgn /proc/self/status",
        harness::HUGEWISE
    );
    let ignored = std::process::Command::new("sh")
        .args(["-c", &line])
        .output();
    let ignored = String::from_utf8(ignored.expect("sh").stdout).expect("text");
    let set = ignored.rsplit('\t').next().map(str::trim).expect("a set");
    let set = u64::from_str_radix(set, 16).expect("a set of signals");
    let (hup, pipe) = (1 << 0, 1 << 12);
    assert!(set & hup != 0 && set & pipe == 0, "{ignored}");
}

#[test]
fn exec_tells_absence_from_refusal_as_env_does() {
    for (command, code) in [("no-such-program", 127), ("/etc/passwd", 126)] {
        Case::new()
            .hugewise()
            .args(["exec", "--", command])
            .assert()
            .code(code)
            .stderr(contains(command));
    }
}

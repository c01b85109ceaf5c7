//! Locks, libraries and processes.

use super::*;

#[test]
fn an_ordinary_user_does_not_keep_root_from_measuring() {
    let nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups";
    let lock = "/run/lock/hugewise.lock";
    for planted in [
        // A program of root holds a lock through a link.
        format!(
            "touch /run/hugewise/other; flock -F /run/hugewise/other sleep 20 & P=$!; sleep 0.3; {nobody} ln -s /run/hugewise/other {lock}"
        ),
        // A set-user-ID program holds it; its real user is different.
        format!("setpriv --ruid 65534 flock -F {lock} sleep 20 & P=$!; sleep 0.3"),
        format!("{nobody} flock -F {lock} sleep 20 & P=$!; sleep 0.3"),
        format!("{nobody} mkfifo {lock}"),
        format!("{nobody} mkdir {lock}"),
        format!("{nobody} ln -s /dev/zero {lock}"),
    ] {
        let case = Case::new();
        let line = format!(
            "{planted}\ntimeout 60 $H run --wait no --warmup 0 --max-rounds 1 --policy as-is --baseline as-is \
             --out r.jsonl -- true; C=$?; [ -z \"$P\" ] || kill $P; exit $C"
        );
        let Some(mut command) = apart(&case, &line) else {
            return skip("an_ordinary_user…", "needs root and a mount namespace");
        };
        let ended = command.stdin(Stdio::null()).output().expect("a shell");
        let text = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(0), "{planted}: {text}");
    }
}

#[test]
fn ordinary_users_see_roots_turn_and_one_anothers() {
    let nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups";
    for held in [
        "flock -F /run/hugewise/measuring.lock sleep 20".to_owned(),
        format!("{nobody} flock -F /run/lock/hugewise.lock sleep 20"),
    ] {
        let case = Case::new();
        fs::copy(HUGEWISE, case.path("hugewise")).expect("a copy");
        let line = format!(
            "touch /run/hugewise/measuring.lock; chmod 600 /run/hugewise/measuring.lock\n{held} & P=$!; sleep 0.3\n\
             timeout 60 {nobody} ./hugewise run --wait no --max-rounds 1 --policy as-is --out r.jsonl -- true; C=$?; kill $P; exit $C"
        );
        let Some(mut command) = apart(&case, &line) else {
            return skip("ordinary_users…", "needs root and a mount namespace");
        };
        let ended = command.stdin(Stdio::null()).output().expect("a shell");
        let text = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(6), "{held}: {text}");
    }
}

#[test]
fn a_planted_name_does_not_keep_the_library_from_being_preloaded() {
    let nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups";
    let name = concat!("libhugewise-", env!("CARGO_PKG_VERSION"), "-0.so");
    let case = Case::new();
    let line = format!(
        "for d in /tmp /var/tmp /dev/shm; do mount -t tmpfs -o mode=1777 tmpfs $d; {nobody} mkdir $d/{name}; done\n\
         cd /; timeout 60 $H exec --policy thp=always,means=preload -- cat /proc/self/maps"
    );
    let Some(mut command) = apart(&case, &line) else {
        return skip("a_planted_name…", "needs root and a mount namespace");
    };
    let ended = command.stdin(Stdio::null()).output().expect("a shell");
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    let told = String::from_utf8_lossy(&ended.stderr).into_owned();
    if ended.status.code() == Some(4) && told.contains("no library") {
        return skip("a_planted_name…", "there is no library for this processor");
    }
    assert_eq!(ended.status.code(), Some(0), "{told}");
    let mapped = text.lines().find(|line| line.ends_with(name));
    assert!(
        mapped.is_some_and(|line| line.contains(" /var/lib/hugewise/")),
        "{text}"
    );
}

#[test]
fn a_process_that_is_not_there_is_an_error_of_watch_too() {
    let case = Case::new();
    case.hugewise()
        .args(["watch", "--once", "-p", "4194303"])
        .assert()
        .code(2);
}

/// A program that starts another one under a filter that refuses a system call.
const DENY: &str = r#"
#include <stdlib.h>
#include <stddef.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <linux/seccomp.h>
#include <linux/filter.h>
#include <sys/syscall.h>
int main(int c, char **v) {
  int nr = v[1][0] == 'w' ? SYS_waitid : SYS_socketpair;
  struct sock_filter f[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog p = {4, f};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, 2, &p);
  execvp(v[2], v + 2);
  return 99;
}
"#;

#[test]
fn a_refused_call_is_named_and_nothing_waits_for_ever() {
    let case = Case::new();
    fs::write(case.path("deny.c"), DENY).expect("a source");
    let mut compiler = Command::new("cc");
    compiler
        .arg("-o")
        .args([case.path("deny"), case.path("deny.c")]);
    if !compiler.status().is_ok_and(|status| status.success()) {
        return skip("a_refused_call…", "needs a C compiler");
    }
    for call in ["waitid", "socketpair"] {
        let mut command = Command::new(case.path("deny"));
        case.surround(&mut command);
        command.arg(call).arg(HUGEWISE);
        command.args(["exec", "--policy", "thp=always,means=tracer", "--", "true"]);
        let mut command = assert_cmd::Command::from_std(command);
        let ended = command
            .timeout(Duration::from_secs(20))
            .output()
            .expect("it ends");
        let told = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(126), "{call}: {told}");
        assert!(told.contains(call), "{told}");
    }
}

//! `thp=always` without any privilege: the tree is traced, and its memory advised from outside.

use std::collections::BTreeSet;
use std::process::Command;

use hugewise_experiment::run::policy::realise::TreeTracer;
use hugewise_experiment::run::trial::{Clash, Outcome, Tracing};
use hugewise_linux::spawn::{Launch, try_tracing};

use super::collapsing::built;
use super::observing::{
    MIB, PAGES, all_huge, attempt, command, eventually, identities, is_alive, lab, nobody, observe,
    said, shell, value,
};
use crate::room::make_room;
use crate::skipping::skip;

/// Returns the mode of the machine; huge pages by advice need one of the two.
fn mode() -> String {
    let path = "/sys/kernel/mm/transparent_hugepage/enabled";
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mode = text
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    mode.map_or_else(String::new, |(mode, _)| mode.to_owned())
}

/// Returns true if memory can be advised by tracing here; otherwise reports why not.
fn can_advise(name: &str) -> bool {
    let why = match (try_tracing(), mode().as_str()) {
        (Err(error), _) => format!("tracing is refused: {error}"),
        (Ok(()), "madvise" | "always") => {
            make_room();
            return true;
        }
        (Ok(()), mode) => format!("/sys/kernel/mm/transparent_hugepage/enabled is `{mode}`"),
    };
    skip(name, &why);
    false
}

fn traced(tracer: TreeTracer, launch: Launch) -> Launch {
    Launch { tracer, ..launch }
}

/// The laboratory counts 44 huge faults and 501 small ones if all eligible memory is huge.
pub(super) fn untold_memory_becomes_huge() {
    if !can_advise("untold_memory_becomes_huge") {
        return;
    }
    for identity in identities() {
        let mut launch = traced(TreeTracer::Huge, lab(&["touch", "--pages", PAGES]));
        launch.identity = identity;
        let seen = all_huge(&launch);
        assert_eq!(said(&seen), "pages 23029 faults 545\n");
        assert_eq!(value(&seen, "huge_anon_peak_bytes"), 88.0 * MIB);
        let did = seen.read_back.tracing.clone().unwrap();
        assert!(did.ranges >= 1 && did.bytes >= 23_029 * 4096, "{did:?}");
        assert_eq!((did.refused, did.beyond), (0, Vec::new()));
    }
}

/// The tracer without its advice stops equally often and changes nothing.
pub(super) fn an_idle_tracer_changes_nothing() {
    if !can_advise("an_idle_tracer_changes_nothing") {
        return;
    }
    let tracing = |tracer| {
        let seen = observe(&traced(tracer, lab(&["touch", "--pages", PAGES])));
        (said(&seen), seen.read_back.tracing)
    };
    let (without, none) = tracing(TreeTracer::None);
    assert_eq!(none, None);
    let (idle, did) = tracing(TreeTracer::Idle);
    assert_eq!(idle, without);
    let stops = |tracing: Option<Tracing>| tracing.map(|did| (did.stops, did.ranges));
    assert_eq!(stops(did), stops(tracing(TreeTracer::Huge).1));
}

/// Children, threads and executed programs: the memory of each is advised, and its usage is counted once.
pub(super) fn whole_trees_are_advised() {
    if !can_advise("whole_trees_are_advised") {
        return;
    }
    let line = r#"for i in 1 2 3; do sh -c '"$LAB" __lab touch --pages 23029; true' & done; wait"#;
    let lab = std::env::current_exe().unwrap();
    let environment = vec![("LAB".to_owned(), lab.display().to_string())];
    let of = |tracer| {
        let mut launch = traced(tracer, shell(line));
        launch.environment.clone_from(&environment);
        observe(&launch)
    };
    let seen = of(TreeTracer::Huge);
    assert_eq!(seen.outcome, Outcome::Exited { code: 0 });
    assert_eq!(
        said(&seen).matches("faults 545\n").count(),
        3,
        "{}",
        said(&seen)
    );
    let faults = value(&seen, "minor_faults_total");
    let plain = value(&of(TreeTracer::None), "minor_faults_total");
    let (saved, each) = (plain - faults, 44.0 * 511.0);
    let all_small = mode() == "madvise";
    assert!(
        !all_small || (saved - 3.0 * each).abs() < 300.0,
        "{plain} {faults}"
    );
}

/// Signals at any moment: none is lost, and no thread sees foreign registers.
pub(super) fn signals_do_not_disturb_the_advice() {
    if !can_advise("signals_do_not_disturb_the_advice") {
        return;
    }
    // The runtime of Go interrupts its threads by signals all the time.
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("m.go"), folder.path().join("m"));
    std::fs::write(&source, GO).unwrap();
    let built = Command::new("go")
        .args(["build", "-o"])
        .args([&program, &source])
        .env("GOFLAGS", "-mod=mod")
        .status();
    if !built.is_ok_and(|status| status.success()) {
        return skip(
            "signals_do_not_disturb_the_advice",
            "go builds nothing here",
        );
    }
    for _ in 0..20 {
        let launch = command(&[&program.display().to_string()]);
        let seen = observe(&traced(TreeTracer::Huge, launch));
        let tail = String::from_utf8_lossy(&seen.stderr_tail).into_owned();
        assert_eq!(seen.outcome, Outcome::Exited { code: 0 }, "{tail}");
        assert_eq!(said(&seen), "64\n");
    }
}

pub(super) const GO: &str = r#"package main

import "fmt"

func main() {
	done := make(chan int)
	for t := 0; t < 8; t++ {
		go func() {
			var keep [][]byte
			for i := 0; i < 64; i++ {
				b := make([]byte, 1<<18)
				for j := range b {
					b[j] = byte(j)
				}
				keep = append(keep, b)
			}
			done <- len(keep) / 8
		}()
	}
	sum := 0
	for t := 0; t < 8; t++ {
		sum += <-done
	}
	fmt.Println(sum)
}
"#;

/// A killed keeper leaves no process behind, and no stopped one.
pub(super) fn a_killed_tracer_leaves_nothing() {
    if !can_advise("a_killed_tracer_leaves_nothing") {
        return;
    }
    let line = "echo $$; sh -c 'echo $$; sleep 600' & kill -9 $PPID; sleep 600";
    for _ in 0..10 {
        let folder = tempfile::tempdir().unwrap();
        let pids = folder.path().join("pids");
        let script = format!("exec >{}; {line}", pids.display());
        let seen = attempt(&traced(TreeTracer::Huge, shell(&script)));
        assert!(seen.is_err(), "the keeper was killed: {seen:?}");
        eventually("the tree is gone", || {
            let pids = std::fs::read_to_string(&pids).unwrap_or_default();
            !pids.lines().any(is_alive)
        });
    }
}

/// The program's own filter would kill it for an injected call: the program is reported, and no call is injected.
pub(super) fn a_program_with_its_own_filter_runs_on() {
    const NAME: &str = "a_program_with_its_own_filter_runs_on";
    if !can_advise(NAME) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = built(folder.path(), "refuses", REFUSES) else {
        return skip(NAME, "cc builds nothing here");
    };
    for (before, ranges) in [("0", 0), ("1", 1)] {
        let words = [&program.display().to_string(), before];
        let seen = observe(&traced(TreeTracer::Huge, command(&words)));
        assert_eq!(seen.outcome, Outcome::Exited { code: 0 });
        let did = seen.read_back.tracing.unwrap();
        assert_eq!(did.ranges, ranges, "memory before the filter is advised");
        assert_eq!(did.clashes, BTreeSet::from([Clash::OwnFilter]));
    }
}

/// It is killed for all system calls except a few; it can map memory before.
const REFUSES: &str = r#"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define ALLOW(n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, n, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define BYTES (64 << 20)
static void use_memory(void) {
    memset(mmap(0, BYTES, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 7, BYTES);
}
int main(int count, char **words) {
    struct sock_filter some[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_mmap), ALLOW(SYS_exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
    struct sock_fprog program = {sizeof some / sizeof *some, some};
    if (count > 1 && words[1][0] == '1') use_memory();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 1;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 2;
    use_memory();
    _exit(0);
}
"#;

/// The privileges unavailable to a traced tree are reported.
pub(super) fn what_tracing_takes_is_said() {
    if !can_advise("what_tracing_takes_is_said") {
        return;
    }
    let beyond = |launch: &Launch| observe(launch).read_back.tracing.unwrap().beyond;
    let mut launch = traced(TreeTracer::Huge, command(&["/bin/su", "--version"]));
    if hugewise_linux::machine::identity::is_root() {
        assert_eq!(beyond(&launch), Vec::<String>::new(), "root loses nothing");
        launch.identity = Some(nobody());
    }
    let said = beyond(&launch);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].contains("su is set-user-ID and ran without its"),
        "{said:?}"
    );
}

//! `collapse=`: makes used memory huge in any mode of the machine, also for an ordinary user.

use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command as Plain, Stdio};
use std::time::Duration;

use hugewise_linux::spawn::try_tracing;
use predicates::str::contains;

use crate::harness::report::arm;
use crate::harness::{Case, is_root, lab, one_at_a_time, readings, skip, wait_until};

const MIB: f64 = 1_048_576.0;

pub(super) fn can_collapse(name: &str) -> bool {
    let pages = Plain::new("getconf").arg("PAGESIZE").output();
    let small = pages.is_ok_and(|said| said.stdout == b"4096\n");
    let allowed = try_tracing().is_ok();
    if !small || !allowed {
        skip(
            name,
            "needs pages of 4 KiB, and children that may be traced",
        );
    }
    small && allowed
}

/// A copy of the laboratory that everybody can run.
fn open_lab(case: &Case) -> String {
    let copy = case.path("lab");
    std::fs::copy(lab(), &copy).expect("a copy");
    copy.display().to_string()
}

#[test]
fn memory_is_made_huge_where_the_machine_gives_none() {
    const NAME: &str = "memory_is_made_huge_where_the_machine_gives_none";
    if !can_collapse(NAME) {
        return;
    }
    if !is_root() {
        return skip(NAME, "needs root for `thp=never` of the machine");
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let json = case.path("report.json");
    // The files say `never` throughout: each policy sets them.
    let never = "mthp=2M:never";
    case.hugewise()
        .args(["run", "--system", "--max-rounds", "2", "--wait", "60s"])
        .args([
            "--policy",
            never,
            "--policy",
            "collapse=after:300ms,mthp=2M:never",
        ])
        .args(["--warmup", "0", "--host-memory", "as-is", "--json"])
        .arg(&json)
        .arg("--")
        .arg(lab())
        .args(["touch", "--pages", "23029", "--hold", "4000"])
        .assert()
        .success();
    let report = case.json(&json);
    let huge = |policy| readings(&report, policy, "huge_anon_exit_bytes");
    assert!(huge(never).iter().all(|&bytes| bytes == 0.0));
    let policy = "mthp=2M:never,collapse=after:300ms";
    let later = huge(policy);
    assert!(later.contains(&(88.0 * MIB)), "{later:?}");
    let made = &arm(&report, policy)["made_huge"];
    assert!(made["bytes"].as_f64() >= Some(88.0 * MIB), "{made}");
    assert!(made["nothing"].is_null(), "{made}");
}

#[test]
fn exec_makes_memory_huge_for_an_ordinary_user() {
    const NAME: &str = "exec_makes_memory_huge_for_an_ordinary_user";
    let _turn = one_at_a_time();
    if !can_collapse(NAME) {
        return;
    }
    let case = Case::new();
    let lab = open_lab(&case);
    // Everything is touched long before 2 s, even on a busy machine.
    let line = format!(
        "{lab} touch --pages 23029 --hold 5000 & sleep 4; grep AnonHuge /proc/$!/smaps_rollup; wait"
    );
    let mut exec = match is_root() {
        true => case.hugewise_as_nobody(),
        false => case.hugewise(),
    };
    exec.args(["exec", "--policy", "collapse=after:2s", "--"])
        .args(["sh", "-c", &line])
        .assert()
        .success()
        .stdout(contains(" 90112 kB"));
}

#[test]
fn exec_names_what_it_may_not_trace() {
    const NAME: &str = "exec_names_what_it_may_not_trace";
    if !can_collapse(NAME) {
        return;
    }
    if !is_root() {
        return skip(NAME, "needs root, to make a set-user-ID program");
    }
    let case = Case::new();
    let lab = open_lab(&case);
    let mode = std::fs::Permissions::from_mode(0o4755);
    std::fs::set_permissions(&lab, mode).expect("permissions");
    case.hugewise_as_nobody()
        .args(["exec", "--policy", "collapse=after:200ms", "--", &lab])
        .args(["touch", "--pages", "23029", "--hold", "700"])
        .assert()
        .success()
        .stderr(contains("may not be traced"));
}

/// A process that ends with its test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn state(pid: &str) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Kills `exec` at some moment; returns true if its program continues. Nothing is left stopped.
fn survives(case: &Case, policy: &str, moment: Duration) -> bool {
    let pids = case.path("pid");
    let _ = std::fs::remove_file(&pids);
    let line = format!(
        "echo $$ > {0}.new; mv {0}.new {0}; exec {1} touch --pages 23029 --repeat 60",
        pids.display(),
        lab().display()
    );
    let mut exec = Ended(
        case.plain()
            .args(["exec", "--policy", policy, "--", "sh", "-c", &line])
            .stdout(Stdio::null())
            .spawn()
            .expect("hugewise"),
    );
    wait_until("it starts", || pids.exists());
    std::thread::sleep(moment);
    exec.0.kill().expect("a process of ours");
    let _ = exec.0.wait();
    let pid = std::fs::read_to_string(&pids).expect("a number");
    let pid = pid.trim();
    wait_until("nothing is stopped", || {
        !matches!(state(pid), Some('t' | 'T'))
    });
    // A killed process ends within a moment.
    std::thread::sleep(Duration::from_millis(300));
    let lives = matches!(state(pid), Some('R' | 'S' | 'D'));
    if lives {
        let _ = Plain::new("kill").args(["-KILL", pid]).status();
    }
    wait_until("it is gone", || matches!(state(pid), None | Some('Z')));
    lives
}

#[test]
fn a_killed_exec_leaves_nothing_stopped() {
    const NAME: &str = "a_killed_exec_leaves_nothing_stopped";
    if !can_collapse(NAME) {
        return;
    }
    let case = Case::new();
    let moment = |round: u64| Duration::from_millis(5 + (round * 97) % 200);
    let survived = (0..30).filter(|&round| survives(&case, "collapse=every:10ms", moment(round)));
    let survived = survived.count();
    assert!(
        survived > 0,
        "the program needs no tracer between two calls"
    );
    let enabled = "/sys/kernel/mm/transparent_hugepage/enabled";
    let enabled = std::fs::read_to_string(enabled).unwrap_or_default();
    if is_root() && enabled.contains("[madvise]") {
        // Without its tracer the filtered calls of a program would fail.
        let lost = (0..30).all(|round| !survives(&case, "tracer=idle", moment(round)));
        assert!(lost, "it was killed with its tracer");
    }
}

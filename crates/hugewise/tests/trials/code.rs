//! `text=huge` and `text=file`: the code of a program in huge pages, also for an ordinary user.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Plain, Stdio};
use std::time::Duration;

use predicates::str::contains;

use super::collapsed::can_collapse;
use crate::harness::report::arm;
use crate::harness::{Case, HUGEWISE, NOBODY, is_root, one_at_a_time, readings, skip};

/// Whole blocks of its code: it begins at 4 MiB, and has more than 8 MiB.
const HUGE_BYTES: f64 = 6_291_456.0;

/// A static program with 2,000 functions, which everybody can run.
fn large(case: &Case) -> Option<PathBuf> {
    linked(case, &["-static", "-no-pie"])
}

fn linked(case: &Case, flags: &[&str]) -> Option<PathBuf> {
    let (source, program) = (case.path("large.c"), case.path("large"));
    let text = include_str!("../../../linux/tests/trial/large_code.c");
    std::fs::write(&source, text).expect("a file");
    let mut compiler = Plain::new("cc");
    compiler.args(["-O1", "-pthread"]).args(flags).arg("-o");
    let made = compiler.args([&program, &source]).output();
    made.ok().filter(|it| it.status.success())?;
    // Page by page, so that no large folio of the page cache makes it huge.
    let small = case.path("small");
    let copied = Plain::new("dd")
        .arg(format!("if={}", program.display()))
        .arg(format!("of={}", small.display()))
        .args(["bs=4096", "status=none"])
        .status();
    copied.ok().filter(|status| status.success())?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&small, mode).expect("permissions");
    Some(small)
}

#[test]
fn code_in_huge_pages_is_proved_and_told() {
    const NAME: &str = "code_in_huge_pages_is_proved_and_told";
    if !can_collapse(NAME) {
        return;
    }
    let case = Case::new();
    let Some(program) = large(&case) else {
        return skip(NAME, "cc builds nothing here");
    };
    let _turn = one_at_a_time();
    let json = case.path("report.json");
    case.hugewise()
        .args(["run", "--max-rounds", "2", "--wait", "60s"])
        .args(["--policy", "as-is", "--policy", "text=huge"])
        .args(["--warmup", "0", "--host-memory", "as-is", "--json"])
        .arg(&json)
        .arg("--")
        .arg(&program)
        .args(["plain", "0.7"])
        .assert()
        .success();
    let report = case.json(&json);
    let huge = readings(&report, "text=huge", "huge_anon_exit_bytes");
    assert!(huge.iter().any(|&bytes| bytes >= HUGE_BYTES), "{huge:?}");
    let code = &arm(&report, "text=huge")["huge_code"];
    assert!(code["bytes"].as_f64() >= Some(HUGE_BYTES), "{code}");
}

#[test]
fn exec_puts_code_into_huge_pages_for_an_ordinary_user() {
    const NAME: &str = "exec_puts_code_into_huge_pages_for_an_ordinary_user";
    let _turn = one_at_a_time();
    if !can_collapse(NAME) {
        return;
    }
    let case = Case::new();
    let Some(program) = large(&case) else {
        return skip(NAME, "cc builds nothing here");
    };
    let line = format!(
        "{} plain 4 & sleep 3; grep AnonHuge /proc/$!/smaps_rollup; wait $!",
        program.display()
    );
    let mut exec = match is_root() {
        true => case.hugewise_as_nobody(),
        false => case.hugewise(),
    };
    exec.args(["exec", "--policy", "text=huge", "--"])
        .args(["sh", "-c", &line])
        .assert()
        .success()
        .stdout(contains(" 6144 kB"))
        .stdout(contains("the same"));
}

/// Both kinds of huge code in one run: each arm has its own kind, and the machine as it is has neither.
#[test]
fn no_arm_inherits_huge_code_of_files() {
    const NAME: &str = "no_arm_inherits_huge_code_of_files";
    if !can_collapse(NAME) {
        return;
    }
    let case = Case::new();
    let Some(program) = large(&case) else {
        return skip(NAME, "cc builds nothing here");
    };
    let _turn = one_at_a_time();
    let json = case.path("report.json");
    let mut run = case.plain();
    run.args(["run", "--max-rounds", "2", "--wait", "60s"])
        .args(["--policy", "as-is", "--policy", "text=file"])
        .args(["--policy", "text=huge", "--warmup", "0"])
        .args(["--host-memory", "as-is", "--json"])
        .arg(&json)
        .arg("--")
        .arg(&program)
        .args(["plain", "0.7"]);
    let said = run.output().expect("it starts");
    if said.status.code() == Some(4) {
        return skip(NAME, &String::from_utf8_lossy(&said.stderr));
    }
    assert!(said.status.success(), "{said:?}");
    let report = case.json(&json);
    let of = |policy: &str| {
        ["huge_code_exit_bytes", "huge_file_exit_bytes"].map(|it| readings(&report, policy, it))
    };
    let is_all = |bytes: &f64| *bytes >= HUGE_BYTES;
    let [code, file] = of("as-is");
    assert!(code.iter().chain(&file).all(|&it| it == 0.0), "{code:?}");
    let [code, file] = of("text=file");
    assert!(
        code.iter().all(is_all) && file.iter().all(is_all),
        "{file:?}"
    );
    let [code, file] = of("text=huge");
    assert!(code.iter().any(is_all), "{code:?}");
    assert!(file.iter().all(|&it| it == 0.0), "{file:?}");
    // Nothing stays behind.
    let left = start(&program);
    assert_eq!(mapped(&left, &program), (0, true));
}

/// A running program; killed on drop.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(program: &Path) -> Running {
    let mut command = Plain::new(program);
    started(command.args(["plain", "20"]))
}

fn started(command: &mut Plain) -> Running {
    let running = command.stdout(Stdio::null()).spawn();
    let running = Running(running.expect("it starts"));
    std::thread::sleep(Duration::from_secs(2));
    running
}

/// The PMD-mapped bytes of the code of a running program, and whether its file is named there.
fn mapped(running: &Running, program: &Path) -> (u64, bool) {
    let smaps = std::fs::read_to_string(format!("/proc/{}/smaps", running.0.id()));
    let smaps = smaps.expect("it runs");
    let (mut is_code, mut is_named, mut huge) = (false, false, 0);
    for line in smaps.lines() {
        if line.contains("-p ") || line.contains("xp ") {
            is_code = line.contains("r-xp") && line.ends_with(&program.display().to_string());
            is_named |= is_code;
        } else if let Some(size) = line.strip_prefix("FilePmdMapped:").filter(|_| is_code) {
            let kib: u64 = size.trim().trim_end_matches(" kB").parse().expect("a size");
            huge += kib << 10;
        }
    }
    (huge, is_named)
}

#[test]
fn exec_puts_code_of_files_into_huge_pages_for_an_ordinary_user() {
    const NAME: &str = "exec_puts_code_of_files_into_huge_pages_for_an_ordinary_user";
    let _turn = one_at_a_time();
    let case = Case::new();
    let Some(program) = large(&case) else {
        return skip(NAME, "cc builds nothing here");
    };
    let mut exec = case.plain();
    if is_root() {
        let copy = case.path("hugewise");
        std::fs::copy(HUGEWISE, &copy).expect("a copy");
        exec = Plain::new(copy);
        case.surround(exec.uid(NOBODY).gid(NOBODY));
    }
    exec.args(["exec", "--policy", "text=file", "--"])
        .arg(&program)
        .args(["plain", "60"]);
    let mut running = started(&mut exec);
    // The program starts after its code was read, which takes long on a busy machine.
    for _ in 0..30 {
        if let Ok(Some(status)) = running.0.try_wait() {
            assert_eq!(status.code(), Some(4), "{status}");
            return skip(NAME, "files have no huge pages here");
        }
        let (huge, is_named) = mapped(&running, &program);
        if is_named && huge >= HUGE_BYTES as u64 {
            return;
        }
        std::thread::sleep(Duration::from_secs(1));
    }
    panic!("no huge code: {:?}", mapped(&running, &program));
}

#[test]
fn code_that_cannot_be_aligned_is_refused_with_the_fix() {
    const NAME: &str = "code_that_cannot_be_aligned_is_refused_with_the_fix";
    let _turn = one_at_a_time();
    let case = Case::new();
    let Some(program) = linked(&case, &["-pie", "-fPIE"]) else {
        return skip(NAME, "cc builds nothing here");
    };
    let run = |words: &[&str]| {
        case.hugewise()
            .args(words)
            .args(["--policy", "text=file", "--"])
            .arg(&program)
            .args(["plain", "0.1"])
            .assert()
            .code(4)
            .stderr(contains("-Wl,-z,max-page-size="));
    };
    run(&["exec"]);
    run(&["run", "--policy", "as-is"]);
}

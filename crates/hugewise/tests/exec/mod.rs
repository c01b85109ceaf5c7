//! `exec`: only applies a policy and starts the command.

use predicates::prelude::*;
use predicates::str::contains;

use crate::harness::{self, Case, is_root, one_at_a_time};

/// How /proc/PID/status shows `PR_SET_THP_DISABLE`.
const THP_DISABLED: &str = "THP_enabled:\t0";

#[test]
fn exec_becomes_the_command() {
    let _turn = one_at_a_time();
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
fn arguments_stand_behind_the_program_or_in_their_place() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let said = |policy: &str, command: &[&str]| {
        let mut exec = case.hugewise();
        exec.args(["exec", "--policy", policy, "--"])
            .args(command)
            .assert()
    };
    let show = ["printf", "%s|", "end"];
    said("args=-- '<%s>'", &["printf", "a", "b"])
        .success()
        .stdout("<a><b>");
    said("args=a 'b c'", &[&show[..2], &["{args}", "end"]].concat())
        .success()
        .stdout("a|b c|end|");
    // Without arguments the braces belong to the command.
    said("thp=never", &[&show[..2], &["{args}"]].concat())
        .success()
        .stdout("{args}|");
    said("args=end", &show)
        .code(2)
        .stderr(contains("the command has end already"));
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
    let _turn = one_at_a_time();
    for (command, code) in [("no-such-program", 127), ("/etc/passwd", 126)] {
        Case::new()
            .hugewise()
            .args(["exec", "--", command])
            .assert()
            .code(code)
            .stderr(contains(command));
    }
}

#[test]
fn exec_says_when_a_policy_does_nothing_for_a_program() {
    let _turn = one_at_a_time();
    let case = Case::new();
    let (source, program) = (case.path("x.c"), case.path("x"));
    std::fs::write(&source, OWN_MALLOC).expect("a file");
    let made = std::process::Command::new("cc")
        .args(["-rdynamic", "-fno-builtin", "-o"])
        .args([&program, &source])
        .status();
    assert!(made.expect("a compiler").success());
    case.hugewise()
        .args(["exec", "--policy", "malloc=thp", "--"])
        .arg(&program)
        .assert()
        .success()
        .stderr(contains("malloc=thp does nothing here: ").and(contains("its own malloc")));
}

/// A program with its own allocator.
const OWN_MALLOC: &str = "#include <stddef.h>\nstatic char room[64];\nvoid *malloc(size_t n) \
                          { return n < 64 ? room : 0; }\nint main(void) { return malloc(1) == 0; }\n";

#[test]
fn the_heap_is_asked_in_the_words_of_who_makes_it() {
    const NAME: &str = "the_heap_is_asked_in_the_words_of_who_makes_it";
    let _turn = one_at_a_time();
    let case = Case::new();
    if !host_advises() {
        return harness::skip(NAME, "needs the mode madvise");
    }
    let launcher = naming(&case, "libjli.so");
    let dry = |program: &std::path::Path| {
        let mut command = case.hugewise();
        command
            .args(["run", "--dry-run", "--"])
            .arg(program)
            .assert()
            .success()
    };
    dry(&launcher)
        .stdout(contains("java.UseTransparentHugePages=+").and(contains("malloc=thp").not()));
    dry("/bin/true".as_ref()).stdout(contains("malloc=thp"));

    // A service is a shell line.
    let server = naming(&case, "libjemalloc.so.2");
    let line = format!("{} --port {{port}}", server.display());
    let service = [
        "run",
        "--dry-run",
        "--ready",
        "tcp:{port}",
        "--load",
        "true",
    ];
    let mut command = case.hugewise();
    let said = command.args(service).args(["--service", &line]).assert();
    let own = contains("jemalloc.thp=always").and(contains("malloc=thp").not());
    said.success().stdout(own);
}

/// A program whose file names a library, as if it were linked against it; the library need not be installed.
fn naming(case: &Case, library: &str) -> std::path::PathBuf {
    let path = case.path(library);
    std::fs::copy("/bin/true", &path).expect("a program");
    let mut bytes = std::fs::read(&path).expect("a program");
    bytes.extend(format!("\0{library}\0").as_bytes());
    std::fs::write(&path, bytes).expect("a program");
    path
}

fn host_advises() -> bool {
    let enabled = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    enabled.is_ok_and(|text| text.contains("[madvise]"))
}

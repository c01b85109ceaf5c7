//! A workload runs as it would without hugewise, and its end is reported correctly.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use hugewise_base::missing::Missing;
use hugewise_experiment::run::policy::realise::ThpPrctl;
use hugewise_experiment::run::trial::{Outcome, Reading};
use hugewise_linux::machine::identity::is_root;
use hugewise_linux::spawn::{self, Launch};

use super::observing::{all_huge, command, lab, missing, nobody, observe, said, shell, value};
use crate::skipping::skip;

pub(super) fn outcomes_are_told_apart() {
    let of = |launch: &Launch| observe(launch).outcome;
    assert_eq!(
        of(&lab(&["fail", "--code", "41"])),
        Outcome::Exited { code: 41 }
    );
    assert_eq!(
        of(&lab(&["fail", "--signal", "9"])),
        Outcome::Signalled { signal: 9 }
    );
    assert_eq!(
        of(&lab(&["fail", "--signal", "15"])),
        Outcome::Signalled { signal: 15 }
    );
    let not_started = |launch: &Launch| match of(launch) {
        Outcome::NotStarted { error } => error,
        other => panic!("{other:?}"),
    };
    let error = not_started(&command(&["no-such-program-anywhere"]));
    assert!(
        error.contains("`no-such-program-anywhere`: No such file"),
        "{error}"
    );
    let error = not_started(&command(&["/etc/passwd"]));
    assert!(
        error.contains("`/etc/passwd`: Permission denied"),
        "{error}"
    );
    let mut nowhere = command(&["true"]);
    nowhere.directory = Some(PathBuf::from("/no/such/folder"));
    let error = not_started(&nowhere);
    assert!(
        error.contains("changing to /no/such/folder: No such file"),
        "{error}"
    );
    let mut no_input = command(&["true"]);
    no_input.stdin = Some(PathBuf::from("/no/such/file"));
    let error = not_started(&no_input);
    assert!(error.contains("/no/such/file"), "{error}");
    let seen = observe(&command(&["no-such-program-anywhere"]));
    assert_eq!(missing(&seen, "wall_seconds"), Missing::TrialFailed);
    let seen = observe(&shell("echo trouble >&2; exit 3"));
    assert_eq!(seen.stderr_tail, b"trouble\n");
}

pub(super) fn scripts_run_without_a_first_line() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    std::fs::write(&script, "echo \"$0 $1 $WORD\"\n").unwrap();
    make_executable(&script);
    let mut launch = command(&["script", "one"]);
    let path = format!("/no/such:{}", folder.path().display());
    launch.environment = vec![
        ("PATH".to_owned(), path),
        ("WORD".to_owned(), "two".to_owned()),
    ];
    let seen = observe(&launch);
    assert_eq!(said(&seen), format!("{} one two\n", script.display()));
}

fn make_executable(path: &Path) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

pub(super) fn signals_arrive_under_the_hold() {
    let seen = observe(&shell(
        "trap 'echo usr1' USR1; trap 'echo tstp' TSTP; trap 'echo child' CHLD
         kill -USR1 $$; kill -TSTP $$; /bin/true; trap - CHLD
         (sleep 0.2; kill -CONT $$) & kill -STOP $$; echo resumed; wait",
    ));
    let words = said(&seen);
    for word in ["usr1", "tstp", "child", "resumed"] {
        assert!(words.contains(word), "{words}");
    }
    assert_eq!(seen.outcome, Outcome::Exited { code: 0 });
    assert!(value(&seen, "wall_seconds") >= 0.2, "it was stopped");
    assert!(matches!(
        seen.readings["huge_anon_exit_bytes"],
        Reading::Value { .. }
    ));
}

pub(super) fn ends_from_other_threads() {
    let of = |end| observe(&lab(&["threads", "--end", end]));
    let all = all_huge(&lab(&["threads", "--end", "exit"]));
    assert_eq!(all.outcome, Outcome::Exited { code: 7 });
    for early in ["leave", "exec"] {
        let seen = of(early);
        assert_eq!(seen.outcome, Outcome::Exited { code: 7 }, "{early}");
        let why = missing(&seen, "huge_anon_exit_bytes").to_string();
        assert!(why.contains("first thread"), "{early}: {why}");
    }
}

pub(super) fn identities_are_taken_on() {
    if !is_root() {
        return skip(
            "identities_are_taken_on",
            "needs root to become somebody else",
        );
    }
    let mut launch = shell("id -u; id -g; id -G; echo $HOME $USER; pwd; cat");
    launch.identity = Some(nobody());
    launch.directory = Some(PathBuf::from("/usr"));
    let input = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(input.path(), "input\n").unwrap();
    // The file is opened with the rights of the workload's user.
    let readable = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(input.path(), readable).unwrap();
    launch.stdin = Some(input.path().to_owned());
    let expected = "65534\n65534\n65534\n/ nobody\n/usr\ninput\n";
    assert_eq!(said(&observe(&launch)), expected);
    launch = shell("taskset -p $$ | sed 's/.*: //'");
    launch.cpus = Some([0].into());
    assert_eq!(said(&observe(&launch)), "1\n");
}

pub(super) fn become_program(words: &[String]) -> ExitCode {
    let mut launch = Launch::new(words.iter().map(OsString::from).collect());
    launch.environment = vec![("WORD".to_owned(), "set".to_owned())];
    launch.prctl = ThpPrctl::Disable;
    println!("{}", spawn::exec(&launch));
    ExitCode::from(9)
}

pub(super) fn exec_becomes_the_program() {
    let run = |words: &[&str]| {
        let mut command = Command::new("/proc/self/exe");
        let output = command.arg("__exec").args(words).output().unwrap();
        (
            String::from_utf8(output.stdout).unwrap(),
            output.status.code(),
        )
    };
    let line = "echo $WORD; grep THP_enabled /proc/self/status; exit 4";
    assert_eq!(
        run(&["sh", "-c", line]),
        ("set\nTHP_enabled:\t0\n".to_owned(), Some(4))
    );
    let (error, code) = run(&["no-such-program"]);
    assert!(error.contains("No such file"), "{error}");
    assert_eq!(code, Some(9));
}

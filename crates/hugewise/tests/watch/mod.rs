//! `hugewise watch` on a real terminal: its output, and that the terminal is restored at any end.

use std::io::Write;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const HUGEWISE: &str = env!("CARGO_BIN_EXE_hugewise");
/// The sequences that enter and leave the alternate screen of a terminal.
const ENTERS: &str = "\x1b[?1049h";
const LEAVES: &str = "\x1b[?1049l";

/// A terminal of 80 columns and 24 rows, with a shell that prints its settings afterwards.
struct Terminal(Child);

impl Terminal {
    /// `None` without script(1).
    fn start(flags: &str) -> Option<Self> {
        let command = format!(
            "stty rows 24 cols 80; {HUGEWISE} watch -I 100ms {flags}; echo ended $?; stty -a"
        );
        let child = Command::new("script")
            .args([
                "--quiet",
                "--flush",
                "--return",
                "--command",
                &command,
                "/dev/null",
            ])
            .env("TERM", "xterm-256color")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        if child.is_err() {
            eprintln!("SKIP: needs script, of util-linux");
        }
        child.ok().map(Self)
    }

    fn press(&mut self, keys: &str) {
        let stdin = self.0.stdin.as_mut().expect("a terminal");
        stdin.write_all(keys.as_bytes()).expect("a terminal");
        stdin.flush().expect("a terminal");
    }

    /// Waits until the program runs in the terminal and has had time to draw; returns its PID.
    fn program(&self) -> u32 {
        let began = Instant::now();
        loop {
            if let Some(pid) = below(self.0.id()) {
                std::thread::sleep(Duration::from_millis(500));
                return pid;
            }
            assert!(began.elapsed() < Duration::from_secs(20), "it never ran");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// All output until the end.
    fn end(self) -> String {
        let Output { stdout, .. } = self.0.wait_with_output().expect("a terminal");
        String::from_utf8_lossy(&stdout).into_owned()
    }
}

/// The program among the descendants of a process.
fn below(pid: u32) -> Option<u32> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    let children = children
        .split_whitespace()
        .filter_map(|word| word.parse().ok());
    children.into_iter().find_map(|child| {
        let name = std::fs::read_to_string(format!("/proc/{child}/comm")).ok()?;
        if name.trim() == "hugewise" {
            Some(child)
        } else {
            below(child)
        }
    })
}

fn signal(name: &str, pid: u32) {
    let sent = Command::new("kill").args([name, &pid.to_string()]).status();
    assert!(sent.expect("kill").success());
}

/// The terminal is restored: its main screen, line mode, echo, and a cursor.
fn is_put_back(printed: &str) {
    let entered = printed.find(ENTERS).expect(printed);
    let left = printed.rfind(LEAVES).expect(printed);
    assert!(entered < left, "{printed}");
    let after = &printed[left..];
    assert!(after.contains("ended 0"), "{after}");
    assert!(
        after.contains(" icanon") && after.contains(" echo "),
        "{after}"
    );
    assert!(!after.contains("-icanon"), "{after}");
    assert!(
        printed.rfind("\x1b[?25h") > printed.rfind("\x1b[?25l"),
        "no cursor"
    );
}

#[test]
fn keys_are_taken_and_quitting_puts_the_terminal_back() {
    let Some(mut terminal) = Terminal::start("") else {
        return;
    };
    terminal.program();
    terminal.press("3");
    std::thread::sleep(Duration::from_millis(400));
    terminal.press("?");
    std::thread::sleep(Duration::from_millis(400));
    terminal.press("q");
    let printed = terminal.end();
    is_put_back(&printed);
    assert!(printed.contains("hugewise watch"), "{printed}");
    for words in ["block size", "next row"] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
}

#[test]
fn signals_put_the_terminal_back() {
    // In raw mode Ctrl-C is a key, not a signal.
    for way in ["-TERM", "-INT", "\x03"] {
        let Some(mut terminal) = Terminal::start("") else {
            return;
        };
        let pid = terminal.program();
        match way {
            "\x03" => terminal.press(way),
            name => signal(name, pid),
        }
        is_put_back(&terminal.end());
    }
}

#[test]
fn it_ends_with_its_terminal() {
    let Some(mut terminal) = Terminal::start("") else {
        return;
    };
    let pid = terminal.program();
    terminal.0.kill().expect("a terminal");
    terminal.0.wait().expect("a terminal");
    let began = Instant::now();
    while std::path::Path::new(&format!("/proc/{pid}")).exists() {
        assert!(began.elapsed() < Duration::from_secs(10), "it goes on");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn without_a_terminal_there_is_text() {
    let run = |flags: &[&str]| {
        let output = Command::new(HUGEWISE).arg("watch").args(flags).output();
        let output = output.expect("the program");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.code(),
            text(&output.stdout),
            text(&output.stderr),
        )
    };
    let (code, _, stderr) = run(&[]);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("hugewise watch --once"), "{stderr}");

    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("watch.jsonl");
    let file = file.to_str().expect("a path");
    let (code, live, stderr) = run(&["--once", "-I", "100ms", "--record", file]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        live.contains("page faults") && live.contains("PID"),
        "{live}"
    );
    let (_, replayed, _) = run(&["--replay", file, "--once"]);
    assert_eq!(live, replayed);

    let (code, _, stderr) = run(&["--once", "--record", file]);
    assert_eq!(code, Some(2), "{stderr}");
    let (code, _, stderr) = run(&["--replay", "/dev/null", "--once"]);
    assert_eq!(code, Some(2), "{stderr}");
}

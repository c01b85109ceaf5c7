//! `thp=always` by a tracer and by a preloaded library, compared with the system setting: the same number of bytes is
//! huge, for any kind of program and also for an ordinary user.

use std::path::{Path, PathBuf};
use std::process::Command as Plain;

use crate::harness::{Case, is_root, lab, one_at_a_time, readings, skip};

/// Touches memory of every kind: its own data, large and small blocks of the heap.
const C: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char data[20 << 20];
int main(void) {
    memset(data, 1, sizeof data);
    char *block = malloc(64 << 20);
    memset(block, 1, 64 << 20);
    for (int i = 0; i < 100; i++) memset(malloc(100 << 10), 2, 100 << 10);
    char line[256];
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (fgets(line, sizeof line, file))
        if (!strncmp(line, "AnonHugePages", 13)) printf("%s", line);
    return block[5] - 1;
}
"#;

const GO: &str = r#"package main

import (
	"fmt"
	"os"
	"strings"
)

func main() {
	var keep [][]byte
	for i := 0; i < 128; i++ {
		block := make([]byte, 1<<20)
		for at := 0; at < len(block); at += 4096 {
			block[at] = 1
		}
		keep = append(keep, block)
	}
	text, _ := os.ReadFile("/proc/self/smaps_rollup")
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "AnonHugePages") {
			fmt.Println(line)
		}
	}
	_ = keep[0]
}
"#;

const JAVA: &str = r#"
import java.nio.file.*;
public class M {
    public static void main(String[] words) throws Exception {
        byte[][] keep = new byte[100][];
        for (int i = 0; i < 100; i++) {
            keep[i] = new byte[1 << 20];
            for (int at = 0; at < keep[i].length; at += 4096) keep[i][at] = 1;
        }
        for (String line : Files.readAllLines(Path.of("/proc/self/smaps_rollup")))
            if (line.startsWith("AnonHugePages")) System.out.println(line);
        System.exit(keep[7][0] - 1);
    }
}
"#;

const NODE: &str = "const keep = Buffer.alloc(60 << 20, 1);
const text = require('fs').readFileSync('/proc/self/smaps_rollup', 'utf8');
console.log(text.split('\\n').find(line => line.startsWith('AnonHugePages')));";

const PYTHON: &str = "keep = bytearray(50 << 20); table = {i: i for i in range(1000000)}
print([line for line in open('/proc/self/smaps_rollup') if line.startswith('AnonHuge')][0])";

fn mode() -> String {
    let path = "/sys/kernel/mm/transparent_hugepage/enabled";
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Returns true if the two ways can be distinguished here.
fn is_comparable(name: &str) -> bool {
    if !is_root() {
        skip(name, "needs root for the machine's own setting");
    } else if !mode().contains("[madvise]") {
        skip(name, "needs a machine whose `enabled` is `madvise`");
    } else {
        return true;
    }
    false
}

fn built(compiler: &str, words: &[&str], program: &Path) -> bool {
    let made = Plain::new(compiler).args(words).arg(program).output();
    made.is_ok_and(|made| made.status.success())
}

/// A program of one kind.
struct Program {
    name: &'static str,
    command: Vec<String>,
    /// True if libraries can be preloaded into it.
    is_dynamic: bool,
}

/// The programs that can run here; prints the others.
fn programs(case: &Case) -> Vec<Program> {
    let file = |name: &str, text: &str| {
        let path = case.path(name);
        std::fs::write(&path, text).expect("a source");
        path.display().to_string()
    };
    let (c, go, java) = (file("m.c", C), file("m.go", GO), file("M.java", JAVA));
    let text = |path: PathBuf| path.display().to_string();
    let (dynamic, fixed) = (case.path("dynamic"), case.path("static"));
    let (go_program, folder) = (case.path("go"), case.path("."));
    let classes = text(folder.clone());
    let (dynamic_word, static_word) = (text(dynamic.clone()), text(fixed.clone()));
    let (go_word, lab, node) = (text(go_program.clone()), text(lab()), file("m.js", NODE));
    let python = file("m.py", PYTHON);
    let has_python = runs("/usr/bin/python3");
    let rows: [(&'static str, bool, bool, &[&str]); 7] = [
        (
            "dynamic C",
            built("cc", &[&c, "-o"], &dynamic),
            true,
            &[&dynamic_word],
        ),
        (
            "static C",
            built("cc", &["-static", &c, "-o"], &fixed),
            false,
            &[&static_word],
        ),
        ("Rust", true, true, &[&lab, "touch", "--pages", "23029"]),
        ("Go", go_builds(&go, &go_program), false, &[&go_word]),
        (
            "Java",
            built("javac", &[&java, "-d"], &folder),
            true,
            &["java", "-XX:+UseSerialGC", "-Xmx512m", "-cp", &classes, "M"],
        ),
        ("Node", runs("node"), true, &["node", &node]),
        ("Python", has_python, true, &["/usr/bin/python3", &python]),
    ];
    let mut programs = Vec::new();
    for (name, is_here, is_dynamic, words) in rows {
        if !is_here {
            skip(
                "advice_gives_what_the_machine_gives",
                &format!("no {name} here"),
            );
            continue;
        }
        programs.push(Program {
            name,
            is_dynamic,
            command: words.iter().map(|&word| word.to_owned()).collect(),
        });
    }
    programs
}

fn go_builds(source: &str, program: &Path) -> bool {
    let mut go = Plain::new("go");
    go.args(["build", "-o"]).arg(program).arg(source);
    go.env("GOFLAGS", "-mod=mod");
    go.output().is_ok_and(|made| made.status.success())
}

fn runs(program: &str) -> bool {
    Plain::new(program).arg("--version").output().is_ok()
}

/// The number that a program prints under `exec`: of KiB, or of faults.
fn said(case: &Case, as_user: bool, flags: &[&str], command: &[String]) -> f64 {
    let mut exec = if as_user {
        case.hugewise_as_nobody()
    } else {
        case.hugewise()
    };
    let ran = exec
        .arg("exec")
        .args(flags)
        .arg("--")
        .args(command)
        .assert()
        .success();
    let text = String::from_utf8_lossy(&ran.get_output().stdout).into_owned();
    let digits = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    let number = text.split_ascii_whitespace().rfind(digits);
    let number = number.and_then(|word| word.parse().ok());
    number.unwrap_or_else(|| panic!("{command:?} said {text:?}"))
}

#[test]
fn advice_gives_what_the_machine_gives() {
    if !is_comparable("advice_gives_what_the_machine_gives") {
        return;
    }
    const HUGE_PAGE_KIB: f64 = 2048.0;
    let _turn = one_at_a_time();
    let case = Case::new();
    for Program {
        name,
        command,
        is_dynamic,
    } in programs(&case)
    {
        let under = |is_user, flags: &[&str]| said(&case, is_user, flags, &command);
        let plain = under(true, &["--policy", "as-is"]);
        for means in ["tracer", "preload"] {
            let policy = format!("thp=always,means={means}");
            let advised = || under(true, &["--policy", &policy]);
            if means == "preload" && !is_dynamic {
                let advised = advised();
                assert!(
                    (plain - advised).abs() <= HUGE_PAGE_KIB,
                    "{name}: {advised}"
                );
                continue;
            }
            // The position of a program differs by a page from run to run under either.
            let mut seen = Vec::new();
            let near = (0..5).any(|_| {
                let system = under(
                    false,
                    &["--system", "--wait", "120s", "--policy", "thp=always"],
                );
                seen.push((system, advised()));
                seen.last()
                    .is_some_and(|(system, advised)| (system - advised).abs() <= HUGE_PAGE_KIB)
            });
            assert!(near, "{name} by {means}: {seen:?}");
            let far = seen
                .iter()
                .all(|(_, advised)| (plain - advised).abs() > 10.0 * HUGE_PAGE_KIB);
            assert!(far, "{name} by {means}: {plain} without, {seen:?}");
        }
    }
}

#[test]
fn an_ordinary_user_compares_thp_always_without_flags() {
    if !is_comparable("an_ordinary_user_compares_thp_always_without_flags") {
        return;
    }
    let _turn = one_at_a_time();
    let case = Case::new();
    let json = case.path("report.json");
    let workload = case.path("lab").display().to_string();
    std::fs::copy(lab(), &workload).expect("a copy");
    case.hugewise_as_nobody()
        .args([
            "run",
            "--wait",
            "120s",
            "--max-rounds",
            "1",
            "--host-memory",
            "as-is",
            "--json",
        ])
        .arg(&json)
        .args(["--", &workload, "touch", "--pages", "23029"])
        .assert()
        .success();
    let report = case.json(&json);
    let huge = |policy| readings(&report, policy, "huge_anon_exit_bytes");
    assert!(huge("as-is").iter().all(|&bytes| bytes == 0.0));
    assert!(huge("thp=always").contains(&(88.0 * 1_048_576.0)));
    assert!(huge("tracer=idle").iter().all(|&bytes| bytes == 0.0));
}

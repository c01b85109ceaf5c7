//! Repeated starts of programs whose runtimes interrupt their own threads by signals, under each mechanism that injects
//! calls: each must end as it does without it.

use std::process::{Command as Plain, Output};
use std::time::{Duration, Instant};

use crate::harness::{Case, skip};

/// A program and what it prints.
struct Runtime {
    name: &'static str,
    words: Vec<String>,
}

const POLICIES: [&str; 3] = [
    "thp=always,means=tracer",
    "collapse=every:10ms",
    "text=huge",
];

/// The number of starts of each.
fn starts() -> u32 {
    let number = std::env::var("STARTS").ok();
    number.and_then(|text| text.parse().ok()).unwrap_or(1000)
}

#[test]
#[ignore = "takes half an hour: cargo xtask test-starts"]
fn every_start_ends_well() {
    let case = Case::new();
    let runtimes: Vec<Runtime> = [go(&case), java(&case)].into_iter().flatten().collect();
    let mut failures = Vec::new();
    for policy in POLICIES {
        for runtime in &runtimes {
            failures.extend(of_kind(&case, policy, runtime));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Starts a program under a policy repeatedly; returns the errors.
fn of_kind(case: &Case, policy: &str, runtime: &Runtime) -> Vec<String> {
    const REFUSED: Option<i32> = Some(4);
    let mut failures = Vec::new();
    let began = Instant::now();
    for start in 0..starts() {
        let ended = ended(case, policy, runtime);
        if ended.status.code() == REFUSED {
            skip(
                "every_start_ends_well",
                &format!("{policy} is not possible here"),
            );
            return failures;
        }
        if !ended.status.success() || ended.stdout != b"64\n" {
            failures.push(format!(
                "{policy}, {}, start {start}: {ended:?}",
                runtime.name
            ));
        }
    }
    let each = began.elapsed() / starts();
    let good = starts() as usize - failures.len();
    println!(
        "{policy}: {good} of {} starts of {} ended well, {} ms each",
        starts(),
        runtime.name,
        each.as_millis()
    );
    failures
}

/// A hanging program is killed after a minute, which is no success.
fn ended(case: &Case, policy: &str, runtime: &Runtime) -> Output {
    let mut exec = case.hugewise();
    exec.timeout(Duration::from_secs(60));
    exec.args(["exec", "--policy", policy, "--"])
        .args(&runtime.words);
    exec.output().expect("hugewise")
}

fn go(case: &Case) -> Option<Runtime> {
    let (source, program) = (case.path("m.go"), case.path("m"));
    std::fs::write(&source, GO).expect("a file");
    let mut build = Plain::new("go");
    build.args(["build", "-o"]).args([&program, &source]);
    let built = build.env("GOFLAGS", "-mod=mod").output();
    if !built.is_ok_and(|it| it.status.success()) {
        skip("every_start_ends_well", "go builds nothing here");
        return None;
    }
    Some(Runtime {
        name: "Go",
        words: vec![program.display().to_string()],
    })
}

fn java(case: &Case) -> Option<Runtime> {
    let source = case.path("M.java");
    std::fs::write(&source, JAVA).expect("a file");
    let folder = source.parent().expect("a folder").display().to_string();
    let built = Plain::new("javac")
        .args(["-d", &folder])
        .arg(&source)
        .output();
    if !built.is_ok_and(|it| it.status.success()) {
        skip("every_start_ends_well", "javac builds nothing here");
        return None;
    }
    let words = ["java", "-Xmx128m", "-cp", &folder, "M"];
    Some(Runtime {
        name: "Java",
        words: words.map(str::to_owned).to_vec(),
    })
}

const GO: &str = r#"package main

import "fmt"

func main() {
	done := make(chan int)
	for t := 0; t < 8; t++ {
		go func() {
			var keep [][]byte
			for i := 0; i < 8; i++ {
				b := make([]byte, 1<<19)
				for j := 0; j < len(b); j += 512 {
					b[j] = byte(j)
				}
				keep = append(keep, b)
			}
			done <- len(keep)
		}()
	}
	sum := 0
	for t := 0; t < 8; t++ {
		sum += <-done
	}
	fmt.Println(sum)
}
"#;

const JAVA: &str = r#"
public class M {
    public static void main(String[] words) throws Exception {
        Thread[] threads = new Thread[8];
        int[] sums = new int[8];
        for (int t = 0; t < 8; t++) {
            int own = t;
            threads[t] = new Thread(() -> {
                byte[][] keep = new byte[8][];
                for (int i = 0; i < 64; i++) {
                    keep[i % 8] = new byte[1 << 18];
                    for (int at = 0; at < keep[i % 8].length; at += 512) keep[i % 8][at] = 1;
                }
                for (byte[] each : keep) sums[own] += each[512];
            });
            threads[t].start();
        }
        int sum = 0;
        for (int t = 0; t < 8; t++) { threads[t].join(); sum += sums[t]; }
        System.out.println(sum);
    }
}
"#;

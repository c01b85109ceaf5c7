//! `hugewise live` on programs whose work and memory are known.

#[path = "../harness/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    clippy::allow_attributes,
    reason = "each test binary uses a part of it"
)]
mod harness;
mod program;
mod servers;

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

use harness::{Case, is_root, lab};

mod latency;
mod pages;
mod planted;
mod sites;
mod sources;

/// Why pages cannot be switched here.
fn obstacle() -> Option<&'static str> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut parts = release.split('.').filter_map(|it| it.parse::<u32>().ok());
    let version = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    match std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled") {
        _ if !is_root() => Some("needs root"),
        _ if version < (6, 1) => Some("no MADV_COLLAPSE before Linux 6.1"),
        Err(_) => Some("no transparent huge pages"),
        Ok(text) if text.contains("[always]") => Some("enabled is `always`"),
        Ok(_) => None,
    }
}

/// A process that works on memory that stays.
struct Steady {
    child: Child,
    count: PathBuf,
}

impl Steady {
    /// Begins one with 64 MiB.
    fn begin(case: &Case, order: &str, flags: &[&str]) -> Self {
        Self::of_size(case, 64, order, flags)
    }

    fn of_size(case: &Case, mib: u32, order: &str, flags: &[&str]) -> Self {
        let count = case.path("count");
        let mut child = Command::new(lab())
            .args([
                "steady",
                "--order",
                order,
                "--mib",
                &mib.to_string(),
                "--out",
            ])
            .arg(&count)
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the laboratory");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("a pipe");
        BufReader::with_capacity(1, stdout)
            .read_line(&mut line)
            .expect("a line");
        assert_eq!(line.trim(), format!("steady {}", child.id()));
        Self { child, count }
    }

    /// Begins one with 64 MiB, all of it huge. Nothing advises it, so khugepaged leaves it alone.
    fn huge_without_advice(case: &Case, order: &str) -> Self {
        let steady = Self::begin(case, order, &[]);
        let pid = steady.child.id().to_string();
        let mut collapse = case.hugewise();
        collapse.args(["collapse", &pid]).assert().success();
        steady
    }

    fn work(&self) -> String {
        format!("cmd:cat {}", self.count.display())
    }

    /// Bytes of its memory that a PMD maps.
    fn huge(&self) -> u64 {
        let path = format!("/proc/{}/smaps_rollup", self.child.id());
        let text = std::fs::read_to_string(path).expect("it runs");
        let line = text
            .lines()
            .find_map(|it| it.strip_prefix("AnonHugePages:"));
        let kib = line.expect("a line").trim().trim_end_matches(" kB");
        kib.parse::<u64>().expect("a number") * 1024
    }

    /// Ends it: whether its memory is as it was written.
    fn end(mut self) -> (ExitStatus, String) {
        drop(self.child.stdin.take());
        let mut text = String::new();
        let mut stdout = self.child.stdout.take().expect("a pipe");
        stdout.read_to_string(&mut text).expect("text");
        (self.child.wait().expect("an end"), text)
    }
}

fn assert_unchanged(steady: Steady) {
    let (status, text) = steady.end();
    assert!(status.success() && text.trim().ends_with(" same"), "{text}");
}

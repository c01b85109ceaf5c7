//! Makes memory of another process huge.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use hugewise_linux::probe::answers::Answer;
use serde_json::Value;

use super::capability::Capability;
use super::ground::Ground;

const PAGES: u64 = 23_029;
const ENABLED: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// Every whole range becomes huge, proved by the page scan if available, and smaps agrees. A kernel without support
/// reports that.
pub fn proved(ground: &Ground) {
    let _small = OnlyAdvised::set();
    let held = Held::begin(ground, &["touch", "--pages", &PAGES.to_string()]);
    let pid = held.child.id().to_string();
    if ground.answers.collapse_remote != Answer::Accepted {
        let output = ground.hugewise(&["collapse", &pid]);
        assert_eq!(output.status.code(), Some(4), "{output:?}");
        return;
    }
    let report = ground.hugewise_json(&["collapse", &pid, "--format", "json"]);
    let number = |field: &Value| field.as_u64().unwrap();
    let ranges = PAGES / ground.pages_each();
    let (made, claimed) = (&report["made"]["ranges"], &report["made"]["claimed_ranges"]);
    let huge = ground.pages_each() * ground.answers.page_bytes;
    assert_eq!(number(&report["planned_ranges"]), ranges, "{report}");
    // Of huge pages of 512 MiB there may be too few.
    if huge <= 32 << 20 {
        assert_eq!(number(made) + number(claimed), ranges, "{report}");
    }
    if Capability::PageScan.here(&ground.answers).is_ok() {
        assert_eq!(number(claimed), 0, "{report}");
    }
    let seen = anon_huge_bytes(held.child.id());
    assert_eq!(seen, (number(made) + number(claimed)) * huge, "{report}");
}

/// Pinned pages are refused with the kernel's own error name, whatever its number is in this kernel.
pub fn refused_in_words(ground: &Ground) {
    if ground.answers.collapse_remote != Answer::Accepted {
        return;
    }
    let _small = OnlyAdvised::set();
    let held = Held::begin(ground, &["plant", "PINNED"]);
    let pid = held.line.split_whitespace().nth(2).unwrap_or_default();
    let report = ground.hugewise_json(&["collapse", pid, "--format", "json"]);
    let refusal = &report["refused"][0]["refusal"];
    assert_eq!(refusal["error"], "EAGAIN", "{report}");
    assert_eq!(refusal["status"], "not_suitable_page_count", "{report}");
}

/// A workload that holds its memory until it is dropped.
struct Held {
    child: Child,
    /// Its output line once the memory was ready.
    line: String,
}

impl Held {
    fn begin(ground: &Ground, words: &[&str]) -> Self {
        let mut child = Command::new(ground.lab())
            .args(words)
            .args(["--hold", "600000"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        Self { child, line }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Memory that nobody advises stays small while this lives.
pub(super) struct OnlyAdvised {
    was: String,
}

impl OnlyAdvised {
    pub(super) fn set() -> Self {
        let text = fs::read_to_string(ENABLED).unwrap();
        let chosen = text
            .split('[')
            .nth(1)
            .and_then(|rest| rest.split(']').next());
        let was = chosen.unwrap().to_owned();
        fs::write(ENABLED, "madvise").unwrap();
        Self { was }
    }
}

impl Drop for OnlyAdvised {
    fn drop(&mut self) {
        fs::write(ENABLED, &self.was).unwrap();
    }
}

/// Bytes of anonymous memory of a process that a PMD maps.
pub(super) fn anon_huge_bytes(pid: u32) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
    let line = rollup
        .lines()
        .find_map(|line| line.strip_prefix("AnonHugePages:"));
    let kib = line.unwrap().trim().trim_end_matches(" kB");
    kib.parse::<u64>().unwrap() * 1024
}

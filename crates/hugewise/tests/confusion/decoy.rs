//! Keeps khugepaged away from the plants.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long khugepaged may take after it was woken; it runs at the lowest priority.
const ASLEEP_WITHIN: Duration = Duration::from_secs(60);

/// A process registered with khugepaged. Without any registered process khugepaged sleeps until the first one arrives,
/// and scans that at once, whatever its sleep setting is. So this one comes before the plant. A huge fault registers a
/// process; advice for memory without a page does not.
pub struct Decoy(Child);

impl Decoy {
    /// Waits until khugepaged has scanned it and sleeps for its configured time. If khugepaged cannot be observed, does
    /// not wait; a plant that it spoils is made again.
    pub fn stand(lab: &Path) -> Self {
        let mut child = Command::new(lab)
            .args(["plant", "ALREADY_PMD", "--hold-until-stdin-closes"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the laboratory");
        let stdout = child.stdout.take().expect("its output");
        let _ = BufReader::new(stdout).read_line(&mut String::new());
        let began = Instant::now();
        while khugepaged_is_awake() && began.elapsed() < ASLEEP_WITHIN {
            std::thread::sleep(Duration::from_millis(1));
        }
        Self(child)
    }
}

impl Drop for Decoy {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Returns true if khugepaged runs or is runnable. Any wake-up makes it runnable at once.
fn khugepaged_is_awake() -> bool {
    let Some(folder) = khugepaged() else {
        return false;
    };
    let stat = fs::read_to_string(folder.join("stat")).unwrap_or_default();
    stat.contains("(khugepaged) R") || stat.contains("(khugepaged) D")
}

fn khugepaged() -> Option<PathBuf> {
    let folders = fs::read_dir("/proc").ok()?;
    folders
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .find(|folder| {
            fs::read_to_string(folder.join("comm")).is_ok_and(|name| name == "khugepaged\n")
        })
}

//! khugepaged, kept from the plants.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long khugepaged may take for what it was woken for; it runs at the lowest priority.
const ASLEEP_WITHIN: Duration = Duration::from_secs(60);

/// A process that khugepaged knows. While it knows none, it sleeps until the first comes and
/// looks through it at once, however long it is set to sleep; so another comes before the
/// plant. A huge fault makes a process known; advice for memory without a page does not.
pub struct Decoy(Child);

impl Decoy {
    /// Waits until khugepaged has been through it and sleeps for as long as it is set to. Where
    /// it cannot be seen it is not waited for; a plant that it spoils is made again.
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

/// Whether it runs, or waits for its turn. Whatever wakes it makes it runnable at once.
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

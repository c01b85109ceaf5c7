//! An agent as a process, and the rows that it writes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::harness::{Case, wait_until};

/// An agent that runs, and its folder of rows.
pub struct Agent {
    pub child: Child,
    said: PathBuf,
    pub out: PathBuf,
}

impl Agent {
    pub fn start(case: &Case, plan: &Path) -> Self {
        let (said, out) = (case.path("said"), case.path("rows"));
        let stderr = fs::File::create(&said).expect("a file");
        let mut command = case.plain();
        command.args(["fleet", "agent"]).arg(plan);
        command.args(["--unit", "web-1", "--out"]).arg(&out);
        let child = command.stdin(Stdio::null()).stderr(stderr).spawn();
        Self {
            child: child.expect("an agent"),
            said,
            out,
        }
    }

    pub fn said(&self) -> String {
        fs::read_to_string(&self.said).expect("its messages")
    }

    pub fn wait_for(&self, words: &str) {
        wait_until(words, || self.said().contains(words));
    }

    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(sent.expect("kill").success());
    }

    /// Whatever a test found, no agent stays.
    pub fn end(mut self) -> String {
        self.signal("TERM");
        assert!(self.child.wait().expect("its end").success());
        self.said()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All rows below a folder.
pub fn rows(out: &Path) -> Vec<Value> {
    let mut all = Vec::new();
    let Ok(entries) = fs::read_dir(out) else {
        return all;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            all.extend(rows(&path));
        } else if path.extension().is_some_and(|end| end == "jsonl") {
            let text = fs::read_to_string(&path).expect("rows");
            all.extend(
                text.lines()
                    .map(|line| serde_json::from_str::<Value>(line).expect("a row")),
            );
        }
    }
    all
}

//! The pages of a running process, switched there and back.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use hugewise_linux::probe::answers::Answer;

use super::collapse::{OnlyAdvised, anon_huge_bytes};
use super::ground::Ground;

/// The blocks of the process.
const BLOCKS: u64 = 4;

/// Each period has the pages of its policy, and afterwards all is as it was found. A kernel without a way to split is refused.
pub fn switched_and_put_back(ground: &Ground) {
    let huge = ground.pages_each() * ground.answers.page_bytes;
    // With huge pages of 32 MiB and more, the reserve of free blocks is larger than a guest.
    if huge > 2 << 20 {
        return;
    }
    let _small = OnlyAdvised::set();
    for (flags, found) in [(&["--huge"][..], BLOCKS), (&[], 0)] {
        let steady = Steady::begin(ground, (BLOCKS * huge) >> 20, flags);
        let pid = steady.child.id();
        let before = anon_huge_bytes(pid);
        assert_eq!(before, found * huge);
        let words = pid.to_string();
        let words = ["live", &words, "--work", "io", "--period", "200ms"];
        let words = [&words[..], &["--max-rounds", "1", "--format", "json"]].concat();
        if ground.answers.split != Answer::Accepted {
            let output = ground.hugewise(&words);
            assert_eq!(output.status.code(), Some(4), "{output:?}");
            return;
        }
        let report = ground.hugewise_json(&words);
        assert_eq!(anon_huge_bytes(pid), before, "{report}");
        let live = &report["plan"]["live"];
        assert_eq!(live["blocks"].as_u64(), Some(BLOCKS), "{live}");
        assert_eq!(live["found_huge"].as_u64(), Some(found), "{live}");
        let trials = report["trials"].as_array().unwrap();
        assert_eq!(trials.len(), 6, "{report}");
        for trial in trials {
            let wanted = if trial["policy"] == "huge" {
                BLOCKS * huge
            } else {
                0
            };
            for end in ["huge_anon_begin_bytes", "huge_anon_end_bytes"] {
                let read = &trial["readings"][end]["value"];
                assert_eq!(read.as_f64(), Some(wanted as f64), "{trial}");
            }
        }
        steady.end();
    }
}

/// A process that reads its memory until it is ended.
struct Steady {
    child: Child,
}

impl Steady {
    fn begin(ground: &Ground, mib: u64, flags: &[&str]) -> Self {
        let mut child = Command::new(ground.lab())
            .args(["steady", "--order", "stream", "--mib", &mib.to_string()])
            .arg("--out")
            .arg(ground.path("count"))
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.as_mut().unwrap();
        BufReader::with_capacity(1, stdout)
            .read_line(&mut line)
            .unwrap();
        Self { child }
    }

    /// Ends it; its memory must be as it was written.
    fn end(mut self) {
        drop(self.child.stdin.take());
        let mut text = String::new();
        let mut stdout = self.child.stdout.take().unwrap();
        stdout.read_to_string(&mut text).unwrap();
        assert!(text.trim().ends_with(" same"), "{text}");
    }
}

impl Drop for Steady {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

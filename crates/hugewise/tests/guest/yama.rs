//! The effect of `yama` on tracing by an ordinary user. Level 3 is left out: it lasts until a reboot, and gives the
//! same answer as 2.

use std::fs;
use std::os::unix::process::CommandExt;

use serde_json::Value;

use super::ground::Ground;

/// The file with yama's level.
pub const SCOPE: &str = "/proc/sys/kernel/yama/ptrace_scope";
const NOBODY: u32 = 65_534;

/// The old value, restored in any case.
struct Scope(String);

impl Scope {
    fn read() -> Self {
        Self(fs::read_to_string(SCOPE).unwrap())
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        let _ = fs::write(SCOPE, &self.0);
    }
}

/// Up to level 1 a process can trace its own children. From level 2 `doctor` names the missing privilege, and lists no
/// policy that needs a tracer.
pub fn own_children(ground: &Ground) {
    let _before = Scope::read();
    for (scope, answer) in [("0", "yes"), ("1", "yes"), ("2", "no")] {
        fs::write(SCOPE, scope).unwrap();
        let said = doctor(ground);
        let tracing = find(&said["rungs"], "rung", "tracing");
        assert_eq!(tracing["support"]["answer"], answer, "{scope}: {tracing}");
        let always = find(&said["policies"], "policy", "thp=always");
        let by_tracer = always["means"] == "a tracer";
        assert!(answer == "yes" || !by_tracer, "{scope}: {always}");
        let remedy = tracing["remedy"].as_str().unwrap_or_default();
        assert_eq!(remedy.contains("ptrace_scope"), answer == "no", "{tracing}");
    }
}

fn doctor(ground: &Ground) -> Value {
    let mut doctor = ground.start(&["doctor", "--format", "json"]);
    let output = doctor.uid(NOBODY).gid(NOBODY).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", output.status);
    serde_json::from_slice(&output.stdout).unwrap()
}

fn find<'a>(entries: &'a Value, key: &str, name: &str) -> &'a Value {
    let mut entries = entries.as_array().unwrap().iter();
    entries.find(|entry| entry[key] == name).unwrap()
}

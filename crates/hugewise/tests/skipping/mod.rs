//! Reports tests that cannot run here.

use std::fs::File;
use std::io::Write;

/// Reports that a test cannot run here; `make test` names the file in which skips are counted.
pub fn skip(name: &str, reason: &str) {
    println!("SKIP {name}: {reason}");
    if let Some(path) = std::env::var_os("HUGEWISE_SKIPPED") {
        let mut file = File::options()
            .append(true)
            .create(true)
            .open(path)
            .expect("the list of skips");
        writeln!(file, "SKIP {name}: {reason}").expect("the list of skips");
    }
}

pub fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("status");
    status.lines().any(|line| line.starts_with("Uid:\t0\t0"))
}

//! Reports tests that cannot run on this machine.

use std::fs;
use std::io::Write;

/// Reports a skipped test; `make test` passes the name of the file in which skips are counted.
#[expect(clippy::disallowed_macros, reason = "a test that does not run says so")]
pub fn skip(name: &str, reason: &str) {
    println!("SKIP {name}: {reason}");
    if let Some(path) = std::env::var_os("HUGEWISE_SKIPPED") {
        let mut file = fs::File::options()
            .append(true)
            .create(true)
            .open(path)
            .unwrap();
        writeln!(file, "SKIP {name}: {reason}").unwrap();
    }
}

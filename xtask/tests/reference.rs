//! `docs/reference/` matches the tables of the program.

use std::process::Command;

#[test]
fn the_pages_are_what_the_tables_say() {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["docs", "--check"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .output()
        .expect("xtask is built with its tests");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
}

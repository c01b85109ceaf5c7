//! The modules of every crate are in order: no cycle, no import against the layers.

use std::process::Command;

#[test]
fn the_rooms_are_in_order() {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("rooms")
        .output()
        .expect("xtask is built with its tests");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
}

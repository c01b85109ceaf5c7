//! After the program is killed, nothing is left.

use std::time::Duration;

use super::{asking, nothing_is_left, processes, server};
use crate::harness::{Case, is_root, lab, one_at_a_time, settings, skip, wait_until};

#[test]
fn death_at_any_moment_leaves_no_server_no_port_and_no_setting() {
    let _turn = one_at_a_time();
    let before = settings();
    let policies: &[&str] = match is_root() {
        true => &[
            "--system",
            "--policy",
            "thp=never",
            "--policy",
            "thp=always,defrag=defer",
        ],
        false => {
            skip(
                "death_at_any_moment…, settings",
                "needs root to write the machine's settings",
            );
            &["--policy", "as-is", "--policy", "thp=never"]
        }
    };
    let mut met = 0;
    let moments = [0, 20, 60, 110, 170, 240, 320, 420, 550, 700];
    for (index, delay_ms) in moments.into_iter().enumerate() {
        let case = Case::new();
        std::fs::create_dir_all(case.path("scratch")).expect("a folder");
        let (server, load) = (server(&case, ""), asking(600));
        let service = ["--warmup", "0", "--service", &server, "--load", &load];
        let words = [&["run", "--ready", "tcp:{port}"], &service[..], policies].concat();
        let mut program = case.plain();
        program.env("TMPDIR", case.path("scratch"));
        let mut running = case.spawn_of(program, &words);
        // The first two kills come before there is a server, or while it starts.
        if index > 1 {
            let ports = case.path("ports");
            wait_until("the first server", || ports.exists() || running.is_over());
            assert!(ports.exists(), "{}", running.end(Duration::ZERO).stderr);
        }
        std::thread::sleep(Duration::from_millis(delay_ms));
        met += usize::from(processes(&lab(), &case.path("scratch")) > 0);
        let signal = if index % 2 == 0 { "KILL" } else { "TERM" };
        running.signal(signal);
        running.end(Duration::from_secs(60));
        nothing_is_left(&case);
        if signal == "KILL" {
            let undo = ["doctor", "--undo"];
            case.hugewise().args(undo).assert().success();
        }
        assert_eq!(settings(), before, "{signal} after {delay_ms} ms");
    }
    assert!(met >= 4, "only {met} servers were met alive");
}

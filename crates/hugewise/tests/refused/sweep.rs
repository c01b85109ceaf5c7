//! Every place of a use at which a call can fail, its first and its last call: `cargo xtask test-faults`.

use super::*;

/// The errors that a call may give, of those that happen.
fn errors(place: &str) -> &'static [&'static str] {
    match place.split(' ').nth(1).unwrap_or_default() {
        "openat" => &["EPERM"],
        "read" | "pread64" => &["EIO", "EINTR"],
        "write" | "pwrite64" => &["ENOSPC", "EINTR"],
        "ftruncate" | "fsync" | "fdatasync" | "getdents64" => &["EIO"],
        "rename" | "renameat" | "renameat2" | "unlink" | "unlinkat" | "rmdir" => &["EIO"],
        "mkdir" | "mkdirat" => &["ENOSPC"],
        // With nobody to wait for, no signal can interrupt it.
        "wait4" | "waitid" => &[],
        "flock" => &["EINTR"],
        "ppoll" | "sendmsg" | "recvmsg" => &["EINTR", "ENOMEM"],
        "perf_event_open" | "bpf" => &["EPERM", "ENOMEM"],
        "mmap" | "clone" | "clone3" | "execve" | "pipe2" | "socketpair" | "pidfd_open" => {
            &["ENOMEM"]
        }
        _ => &["EPERM"],
    }
}

/// All refusals of a use: at each place the first call and the last.
fn refusals(verb: Use) -> Vec<Refusal> {
    let ending = verb.ground().run(verb, None);
    assert_eq!(ending.code, Some(0), "{ending:?}");
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for place in ending.log {
        *counts.entry(place).or_default() += 1;
    }
    let mut all = Vec::new();
    for (place, count) in counts {
        for &error in errors(&place) {
            let turns = if count > 1 { vec![1, count] } else { vec![1] };
            all.extend(turns.into_iter().map(|turn| Refusal {
                place: place.clone(),
                turn,
                error,
            }));
        }
    }
    all
}

/// Tries all refusals of a use, and fails with a list of what is wrong.
fn sweep(verb: Use) {
    if !is_root() {
        return skip(
            "refused::sweep",
            "needs root to write the machine's settings",
        );
    }
    let _turn = one_at_a_time();
    let mut found = Vec::new();
    let mut unmet = 0;
    let all = refusals(verb);
    for refusal in &all {
        match try_refusal(verb, refusal) {
            None => unmet += 1,
            Some(defects) => {
                found.extend(defects.into_iter().map(|it| format!("{refusal:?}: {it}")));
            }
        }
    }
    println!(
        "{verb:?}: {} refusals, {unmet} of calls that did not come",
        all.len()
    );
    assert!(found.is_empty(), "{}", found.join("\n"));
}

macro_rules! sweeps {
    ($($name:ident of $verb:ident),* $(,)?) => {$(
        #[test]
        #[ignore = "takes minutes: cargo xtask test-faults"]
        fn $name() {
            sweep(Use::$verb);
        }
    )*};
}

sweeps! {
    run of Run,
    report of Report,
    exec of Exec,
    inspect of Inspect,
    faults of Faults,
    stat of Stat,
    collapse of Collapse,
    doctor of Doctor,
}

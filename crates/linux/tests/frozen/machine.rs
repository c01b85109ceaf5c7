//! Applies and restores policies on a frozen machine, with all possible interruptions.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::ground::{Ground, MIN_FREE, path_of, writes};
use hugewise_linux::apply::Machine;
use hugewise_linux::machine::error::Kind;
use hugewise_linux::machine::lock;
use hugewise_linux::undo::{JOURNAL_FILE, JournalFound, Steps, Why, undo};

#[test]
fn each_policy_sees_the_originals_of_the_others() {
    let ground = Ground::new();
    let a = writes(&[("enabled", "always"), ("defrag", "never")]);
    let b = writes(&[("khugepaged/max_ptes_none", "0")]);
    let mut machine = Machine::begin(ground.lock(), ground.place(), &[&a, &b]).unwrap();
    assert!(ground.state().join(JOURNAL_FILE).exists());

    let applied = machine.apply(&a).unwrap();
    assert_eq!(ground.value(&path_of("enabled")), "always");
    assert_eq!(ground.value(&path_of("defrag")), "never");
    drop(applied);
    assert_eq!(machine.drift().unwrap(), []);

    let applied = machine.apply(&b).unwrap();
    assert_eq!(ground.value(&path_of("enabled")), "madvise");
    assert_eq!(ground.value(&path_of("khugepaged/max_ptes_none")), "0");
    assert_eq!(ground.value(&path_of("defrag")), "madvise");
    drop(applied);

    assert_eq!(machine.finish().unwrap(), []);
    ground.assert_untouched("at the end");
}

#[test]
fn where_nothing_is_written_there_is_no_journal() {
    let ground = Ground::new();
    let nothing = writes(&[]);
    let mut machine = Machine::begin(ground.lock(), ground.place(), &[&nothing]).unwrap();
    drop(machine.apply(&nothing).unwrap());
    assert!(!ground.state().exists());
    assert_eq!(machine.finish().unwrap(), []);
}

#[test]
fn a_panic_unwinds_through_the_guards() {
    let ground = Ground::new();
    let a = writes(&[("enabled", "always"), ("defrag", "never")]);
    let panicked = std::panic::catch_unwind(|| {
        let mut machine = Machine::begin(ground.lock(), ground.place(), &[&a]).unwrap();
        let _applied = machine.apply(&a).unwrap();
        std::panic::resume_unwind(Box::new("a trial went wrong"));
    });
    assert!(panicked.is_err());
    ground.assert_untouched("after a panic");
}

#[test]
fn what_others_changed_is_told_and_left_alone() {
    let ground = Ground::new();
    let a = writes(&[("enabled", "always"), ("defrag", "never")]);
    let mut machine = Machine::begin(ground.lock(), ground.place(), &[&a]).unwrap();
    let applied = machine.apply(&a).unwrap();
    ground.write(&path_of("defrag"), "defer");
    drop(applied);
    let left = machine.drift().unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].path, path_of("defrag"));
    assert_eq!(left[0].found.as_deref(), Some("defer"));
    assert_eq!(left[0].original, "madvise");
    assert_eq!(left[0].why, Why::ChangedByOthers);
    assert_eq!(machine.drift().unwrap(), left);
    let refused = machine.apply(&a).unwrap_err().to_string();
    assert!(refused.contains("another program"), "{refused}");
    assert_eq!(machine.finish().unwrap(), left);
    assert_eq!(ground.value(&path_of("defrag")), "defer");
    assert_eq!(ground.value(&path_of("enabled")), "madvise");
    assert!(!ground.state().join(JOURNAL_FILE).exists());
}

/// Simulates the kernel: after a write of `enabled` it changes `min_free_kbytes`.
#[derive(Debug)]
struct Kernel {
    min_free: PathBuf,
    /// The value that it computes with huge pages enabled; never less than the administrator's.
    recommended: u64,
}

impl Steps for Kernel {
    fn step(&self, doing: &str, path: &Path) {
        if doing == "writing" && path.ends_with("transparent_hugepage/enabled") {
            let now: u64 = fs::read_to_string(&self.min_free).unwrap().parse().unwrap();
            fs::write(&self.min_free, now.max(self.recommended).to_string()).unwrap();
        }
    }
}

#[test]
fn what_the_kernel_moved_is_put_back() {
    let ground = Ground::new();
    let min_free = ground.path(MIN_FREE);
    let kernel = Kernel {
        min_free,
        recommended: 90_000,
    };
    let a = writes(&[("enabled", "always")]);
    let place = ground.place().watched_by(kernel);
    let mut machine = Machine::begin(ground.lock(), place, &[&a]).unwrap();
    let applied = machine.apply(&a).unwrap();
    assert_eq!(ground.value(MIN_FREE), "90000");
    drop(applied);
    assert_eq!(machine.drift().unwrap(), []);
    assert_eq!(ground.value(MIN_FREE), "67584");
    assert_eq!(machine.finish().unwrap(), []);
    ground.assert_untouched("after the kernel moved a value");
}

#[test]
fn what_others_did_to_a_follower_is_told_and_left_alone() {
    let ground = Ground::new();
    let a = writes(&[("enabled", "always")]);
    let mut machine = Machine::begin(ground.lock(), ground.place(), &[&a]).unwrap();
    let applied = machine.apply(&a).unwrap();
    ground.write(MIN_FREE, "1");
    drop(applied);
    let left = machine.drift().unwrap();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(left[0].path, MIN_FREE);
    drop(machine.apply(&a).unwrap());
    assert_eq!(machine.finish().unwrap(), left);
    assert_eq!(ground.value(MIN_FREE), "1");
}

/// Replaces a file by a directory just before it is written.
#[derive(Debug)]
struct Saboteur {
    file: PathBuf,
}

impl Steps for Saboteur {
    fn step(&self, _: &str, path: &Path) {
        if path == self.file && path.is_file() {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        }
    }
}

#[test]
fn a_write_that_fails_undoes_those_before_it() {
    let ground = Ground::new();
    let file = ground.path(&path_of("khugepaged/max_ptes_none"));
    let place = ground.place().watched_by(Saboteur { file: file.clone() });
    let a = writes(&[("defrag", "never"), ("khugepaged/max_ptes_none", "0")]);
    let mut machine = Machine::begin(ground.lock(), place, &[&a]).unwrap();
    let error = machine.apply(&a).unwrap_err();
    assert_eq!(error.path.as_ref(), Some(&file), "{error}");
    assert_eq!(ground.value(&path_of("defrag")), "madvise");
    let left = machine.finish().unwrap();
    assert_eq!(left.len(), 1);
    assert!(matches!(left[0].why, Why::Refused(_)));
    assert!(ground.state().join(JOURNAL_FILE).exists());
}

#[test]
fn a_value_that_the_kernel_does_not_take_is_an_error_and_undone() {
    let ground = Ground::new();
    let deaf = ground.path(&path_of("use_zero_page"));
    symlink("/dev/null", deaf).unwrap();
    let a = writes(&[("defrag", "never"), ("use_zero_page", "1")]);
    let mut machine = Machine::begin(ground.lock(), ground.place(), &[&a]).unwrap();
    let error = machine.apply(&a).unwrap_err().to_string();
    assert!(
        error.contains("`1` was written, but it reads ``"),
        "{error}"
    );
    assert_eq!(machine.finish().unwrap(), []);
    ground.assert_untouched("after a refusal");
}

#[test]
fn a_file_that_was_not_named_at_the_beginning_is_not_written() {
    let ground = Ground::new();
    let named = writes(&[("defrag", "never")]);
    let more = writes(&[("defrag", "never"), ("enabled", "always")]);
    let mut machine = Machine::begin(ground.lock(), ground.place(), &[&named]).unwrap();
    let error = machine.apply(&more).unwrap_err().to_string();
    assert!(error.contains("is not among the files"), "{error}");
    drop(machine);
    ground.assert_untouched("after a refusal");
}

#[test]
fn only_settings_of_huge_pages_are_written() {
    let ground = Ground::new();
    let mut a = writes(&[("defrag", "never")]);
    a.files[0].path = "proc/sys/kernel/random/boot_id".to_owned();
    let error = Machine::begin(ground.lock(), ground.place(), &[&a]).unwrap_err();
    assert!(error.to_string().contains("not a setting"), "{error}");
}

#[test]
fn without_a_journal_nothing_is_changed() {
    let ground = Ground::new();
    // A file in place of the state directory: no privilege gets past it.
    ground.write("var/lib/hugewise", "in the way");
    let a = writes(&[("enabled", "always")]);
    let error = Machine::begin(ground.lock(), ground.place(), &[&a]).unwrap_err();
    assert_eq!(
        error.path,
        Some(ground.state().join(JOURNAL_FILE)),
        "{error}"
    );
    assert_eq!(ground.value(&path_of("enabled")), "madvise");
}

/// Interrupts an experiment by forgetting its guards, as a kill does.
fn cut_short(ground: &Ground) {
    let a = writes(&[("enabled", "always"), ("defrag", "never")]);
    let mut machine = Machine::begin(ground.lock(), ground.place(), &[&a]).unwrap();
    std::mem::forget(machine.apply(&a).unwrap());
    let journal = fs::read(ground.state().join(JOURNAL_FILE)).unwrap();
    drop(machine);
    // The machine restored the settings; this is the journal that a kill would have left.
    fs::write(ground.state().join(JOURNAL_FILE), journal).unwrap();
    ground.write(&path_of("enabled"), "always");
    ground.write(&path_of("defrag"), "never");
}

#[test]
fn undo_tells_what_it_did_and_can_be_repeated() {
    let ground = Ground::new();
    cut_short(&ground);
    ground.write(MIN_FREE, "19832");
    let lock = ground.lock();
    let report = undo(&lock, &ground.place()).unwrap();
    let pid = std::process::id();
    assert_eq!(report.found, JournalFound::ThisBoot { pid });
    let restored: Vec<&str> = report.restored.iter().map(|it| it.from.as_str()).collect();
    assert_eq!(restored, ["never", "always", "19832"]);
    assert_eq!(report.left_behind, []);
    ground.assert_untouched("after undo");
    assert_eq!(
        undo(&lock, &ground.place()).unwrap().found,
        JournalFound::Nothing
    );
}

#[test]
fn the_next_start_undoes_and_says_so() {
    let ground = Ground::new();
    cut_short(&ground);
    let machine = Machine::begin(ground.lock(), ground.place(), &[&writes(&[])]).unwrap();
    assert_eq!(machine.recovered().restored.len(), 2);
    ground.assert_untouched("after the next start");
}

#[test]
fn undo_leaves_alone_what_others_changed() {
    let ground = Ground::new();
    cut_short(&ground);
    ground.write(&path_of("enabled"), "always madvise [never]\n");
    let report = undo(&ground.lock(), &ground.place()).unwrap();
    assert_eq!(report.left_behind.len(), 1);
    assert_eq!(report.left_behind[0].why, Why::ChangedByOthers);
    assert_eq!(ground.value(&path_of("enabled")), "never");
    assert_eq!(ground.value(&path_of("defrag")), "madvise");
    assert!(!ground.state().join(JOURNAL_FILE).exists());
}

#[test]
fn a_refused_restore_keeps_the_journal() {
    let ground = Ground::new();
    cut_short(&ground);
    let enabled = ground.path(&path_of("enabled"));
    fs::remove_file(&enabled).unwrap();
    let lock = ground.lock();
    let report = undo(&lock, &ground.place()).unwrap();
    assert!(matches!(report.left_behind[0].why, Why::Refused(_)));
    assert_eq!(ground.value(&path_of("defrag")), "madvise");
    assert!(ground.state().join(JOURNAL_FILE).exists());
    ground.write(&path_of("enabled"), "always");
    assert_eq!(undo(&lock, &ground.place()).unwrap().left_behind, []);
    ground.assert_untouched("once it can be restored");
}

#[test]
fn a_journal_of_another_boot_is_removed_unread() {
    let ground = Ground::new();
    cut_short(&ground);
    ground.write("proc/sys/kernel/random/boot_id", "another-boot\n");
    let report = undo(&ground.lock(), &ground.place()).unwrap();
    assert!(matches!(report.found, JournalFound::AnotherBoot { .. }));
    assert_eq!(
        ground.value(&path_of("enabled")),
        "always",
        "set in this boot by somebody"
    );
    assert!(!ground.state().join(JOURNAL_FILE).exists());
}

#[test]
fn a_torn_journal_is_kept_and_explained() {
    let ground = Ground::new();
    cut_short(&ground);
    let path = ground.state().join(JOURNAL_FILE);
    let torn = fs::read(&path).unwrap()[..40].to_vec();
    fs::write(&path, &torn).unwrap();
    let error = undo(&ground.lock(), &ground.place()).unwrap_err();
    assert!(matches!(error.kind, Kind::Malformed(_)));
    let text = error.to_string();
    assert!(
        text.contains("undo.json") && text.contains("then remove this one"),
        "{text}"
    );
    assert_eq!(fs::read(&path).unwrap(), torn);
}

#[test]
fn a_linked_journal_is_not_followed() {
    let ground = Ground::new();
    cut_short(&ground);
    let path = ground.state().join(JOURNAL_FILE);
    fs::rename(&path, ground.path("elsewhere")).unwrap();
    symlink(ground.path("elsewhere"), &path).unwrap();
    assert!(undo(&ground.lock(), &ground.place()).is_err());
    assert_eq!(ground.value(&path_of("enabled")), "always");
}

#[test]
fn one_experiment_at_a_time() {
    let ground = Ground::new();
    let folder = ground.path("");
    let held = lock::hold(&folder).unwrap();
    let busy = lock::hold(&folder).unwrap_err();
    let holder = Some(std::process::id());
    assert_eq!(busy.kind, Kind::Busy { holder });
    let mode = fs::metadata(held.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
    drop(held);
    drop(lock::hold(&folder).unwrap());
}

#[test]
fn what_is_planted_under_the_name_of_the_lock_is_refused() {
    let ground = Ground::new();
    let name = ground.path(lock::LOCK_FILE);
    symlink(ground.path("target"), &name).unwrap();
    let link = lock::hold(&ground.path("")).unwrap_err().to_string();
    assert!(link.contains("symbolic link"), "{link}");
    assert!(!ground.path("target").exists());
    fs::remove_file(&name).unwrap();
    fs::create_dir(&name).unwrap();
    let folder = lock::hold(&ground.path("")).unwrap_err().to_string();
    assert!(folder.contains("not a regular file"), "{folder}");
}

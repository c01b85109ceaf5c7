//! `text=huge`: code in use is moved into huge pages from outside, and the program notices nothing.

use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use hugewise_experiment::run::policy::Text;
use hugewise_experiment::run::trial::{Collapsing, Outcome};
use hugewise_linux::collect::TrialObservation;
use hugewise_linux::spawn::Launch;
use object::elf::PF_X;
use object::{Object, ObjectSegment, SegmentFlags};

use super::collapsing::{can_collapse, is_stopped, java};
use super::observing::{
    attempt, command, eventually, identities, is_alive, observe, said, shell, value,
};
use crate::skipping::skip;

pub(super) const BLOCK: u64 = 2 << 20;
pub(super) const GOOD: Outcome = Outcome::Exited { code: 0 };

fn in_huge_pages(launch: Launch) -> Launch {
    Launch {
        text: Some(Text::Huge),
        ..launch
    }
}

/// Compiles the program with large code; reports and returns `None` if that fails.
pub(super) fn built(name: &str, folder: &Path, flags: &[&str]) -> Option<PathBuf> {
    let (source, program) = (folder.join("large.c"), folder.join("large"));
    std::fs::write(&source, include_str!("large_code.c")).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-pthread"]).args(flags).arg("-o");
    let made = compiler.args([&program, &source]).output();
    if made.is_ok_and(|it| it.status.success()) {
        rewrite(&program);
        return Some(program);
    }
    skip(name, "cc builds nothing here");
    None
}

/// Rewrites a file page by page. A file written in large pieces may be in huge pages of the page cache, on file systems
/// with large folios, and is then huge at once when executed.
fn rewrite(program: &Path) {
    let bytes = std::fs::read(program).unwrap();
    let anew = program.with_extension("new");
    std::fs::copy(program, &anew).unwrap();
    let mut file = std::fs::File::create(&anew).unwrap();
    for page in bytes.chunks(4096) {
        file.write_all(page).unwrap();
    }
    std::fs::rename(anew, program).unwrap();
}

/// Returns the number of whole blocks of code in a program mapped as its file says.
pub(super) fn blocks(program: &Path) -> u64 {
    let bytes = std::fs::read(program).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let runs = |flags| matches!(flags, SegmentFlags::Elf { p_flags } if p_flags & PF_X != 0);
    let code = file.segments().filter(|it| runs(it.flags()));
    let whole = |code: Range<u64>| (code.end / BLOCK).saturating_sub(code.start.div_ceil(BLOCK));
    code.map(|it| whole(it.address()..(it.address() + it.size()).next_multiple_of(4096)))
        .sum()
}

fn copied(seen: &TrialObservation) -> Collapsing {
    seen.read_back.tracing.clone().unwrap().text.unwrap()
}

/// Runs a trial in which this many blocks became huge; repeats it, because sometimes no huge page is free.
fn making(launch: &Launch, blocks: u64) -> TrialObservation {
    let mut last = Collapsing::default();
    for _ in 0..10 {
        let seen = observe(launch);
        assert_eq!(seen.outcome, GOOD, "{}", said(&seen));
        assert_eq!(said(&seen), "the same\n");
        last = copied(&seen);
        if last.bytes == blocks * BLOCK {
            return seen;
        }
    }
    panic!("{blocks} blocks: {last:?}");
}

/// By smaps, every whole block of the code is huge at the end, and the program works as usual.
pub(super) fn code_becomes_huge() {
    const NAME: &str = "code_becomes_huge";
    if !can_collapse(NAME) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    open(folder.path());
    let Some(program) = built(NAME, folder.path(), &["-static"]) else {
        return;
    };
    let blocks = blocks(&program);
    assert!(blocks >= 3, "{blocks}");
    for identity in identities() {
        let mut launch = in_huge_pages(command(&[&program.display().to_string()]));
        launch.identity = identity;
        let seen = making(&launch, blocks);
        let huge = value(&seen, "huge_anon_exit_bytes");
        assert!(huge >= (blocks * BLOCK) as f64, "{huge}");
        let did = copied(&seen);
        assert!(did.passes >= 3 && did.longest_ns > 0, "{did:?}");
        let beyond = seen.read_back.tracing.unwrap().beyond;
        assert_eq!(beyond, Vec::<String>::new());
    }
}

/// Lets other users enter a directory.
pub(super) fn open(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder, mode).unwrap();
}

/// A written page of code is a breakpoint or a probe: its block is not changed.
pub(super) fn written_code_stays() {
    const NAME: &str = "written_code_stays";
    if !can_collapse(NAME) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = built(NAME, folder.path(), &["-static"]) else {
        return;
    };
    let launch = command(&[&program.display().to_string(), "patch"]);
    making(&in_huge_pages(launch), blocks(&program) - 1);
}

/// A program at a random address, and its child, with code of libraries.
pub(super) fn code_of_trees_becomes_huge() {
    const NAME: &str = "code_of_trees_becomes_huge";
    if !can_collapse(NAME) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = built(NAME, folder.path(), &["-pie", "-fPIE"]) else {
        return;
    };
    let launch = in_huge_pages(command(&[&program.display().to_string(), "fork"]));
    let mut bytes = 0;
    for _ in 0..5 {
        let seen = observe(&launch);
        assert_eq!(seen.outcome, GOOD, "{}", said(&seen));
        assert_eq!(said(&seen), "the same\n");
        bytes += copied(&seen).bytes;
    }
    assert!(bytes >= 5 * 2 * BLOCK, "{bytes}");
}

/// No thread is stopped for code smaller than a huge page.
pub(super) fn small_code_is_left_alone() {
    if !can_collapse("small_code_is_left_alone") {
        return;
    }
    let seen = observe(&in_huge_pages(shell("sleep 0.5")));
    let did = copied(&seen);
    assert!(did.passes >= 3, "{did:?}");
    assert_eq!((did.calls, did.bytes), (0, 0), "{did:?}");
}

/// A runtime with generated code and many threads.
pub(super) fn runtimes_run_on_huge_code() {
    const NAME: &str = "runtimes_run_on_huge_code";
    if !can_collapse(NAME) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(words) = java(folder.path()) else {
        return skip(NAME, "no Java here");
    };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut bytes = 0;
    for _ in 0..5 {
        let seen = observe(&in_huge_pages(command(&words)));
        let tail = String::from_utf8_lossy(&seen.stderr_tail).into_owned();
        assert_eq!(seen.outcome, GOOD, "{tail}");
        assert_eq!(said(&seen), "64\n", "{tail}");
        bytes += copied(&seen).bytes;
    }
    assert!(bytes > 0, "nothing became huge");
}

/// A keeper killed at any moment leaves no stopped process.
pub(super) fn a_killed_copier_leaves_nothing_stopped() {
    const NAME: &str = "a_killed_copier_leaves_nothing_stopped";
    if !can_collapse(NAME) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = built(NAME, folder.path(), &["-static"]) else {
        return;
    };
    for round in 0..30 {
        let pids = folder.path().join("pids");
        let line = format!(
            "exec >{}; echo $$; {} plain 20 >/dev/null & echo $!; sleep 0.{:03}; kill -9 $PPID; sleep 600",
            pids.display(),
            program.display(),
            1 + (round * 7) % 60,
        );
        let launch = in_huge_pages(shell(&line));
        assert!(attempt(&launch).is_err(), "the keeper was killed");
        let read = || std::fs::read_to_string(&pids).unwrap_or_default();
        eventually("nothing is stopped", || !read().lines().any(is_stopped));
        eventually("the main process is gone", || {
            !read().lines().next().is_some_and(is_alive)
        });
        let others = read();
        let _ = Command::new("kill")
            .arg("-KILL")
            .args(others.lines().skip(1))
            .output();
    }
}

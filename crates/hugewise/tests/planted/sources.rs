//! Files that other users can replace are opened only in the two ways of `hugewise_linux::file`.

use super::*;

/// Calls that open a file by its path, whatever is there.
const OPENS: [&str; 8] = [
    "fs::write(",
    "fs::read(",
    "fs::read_to_string(",
    "File::open(",
    "File::create(",
    "File::create_new(",
    "File::options(",
    "OpenOptions::new(",
];

/// Files that may use them, because the path belongs to the kernel or root, so that nobody else can put anything there.
const MAY: [&str; 30] = [
    // Files of /proc and /sys, and all files read below the root of a machine.
    "linux/src/machine/root.rs",
    "linux/src/live/own.rs",
    "linux/src/apply/first_touch/toucher.rs",
    "linux/src/apply/fragment.rs",
    "linux/src/bpf/probe.rs",
    "linux/src/observe/accessed_bits.rs",
    "linux/src/observe/address_space/frames.rs",
    "linux/src/observe/address_space/mod.rs",
    "linux/src/observe/address_space/process.rs",
    "linux/src/observe/collapse/target.rs",
    "linux/src/observe/faults/folio.rs",
    "linux/src/observe/memory_trace/mod.rs",
    "linux/src/observe/stat/subject.rs",
    "linux/src/observe/tlb_misses/page_now.rs",
    "linux/src/probe/ask.rs",
    "linux/src/probe/ask/memory.rs",
    "linux/src/spawn/cgroup.rs",
    "linux/src/spawn/folios.rs",
    "linux/src/spawn/huge_blocks.rs",
    "linux/src/spawn/page_scan.rs",
    "linux/src/spawn/oom_score.rs",
    "linux/src/spawn/tracee.rs",
    "linux/src/spawn/tracer/chain.rs",
    "linux/src/tracepoint/mod.rs",
    // Our devices: /dev/null and /dev/tty.
    "linux/src/machine/descriptors.rs",
    "linux/src/machine/signal.rs",
    "linux/src/spawn/entry.rs",
    // The journal, in a folder of root.
    "linux/src/undo/journal.rs",
    "linux/src/undo/place.rs",
    // The input of a workload, with its user's permissions.
    "linux/src/spawn/child.rs",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

/// The lines of a file that open another one, without those of its tests.
fn opening(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).expect("a source");
    let own = text.split("#[cfg(test)]\nmod tests").next();
    let own = own.and_then(|text| text.split("#[cfg(all(test").next());
    let lines = own.unwrap_or_default().lines().map(str::trim);
    lines
        .filter(|line| !line.starts_with("//") && OPENS.iter().any(|call| line.contains(call)))
        .map(str::to_owned)
        .collect()
}

#[test]
fn files_are_opened_in_one_place() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for name in ["hugewise/src", "linux/src"] {
        sources(&crates.join(name), &mut files);
    }
    assert!(files.len() > 200, "{} sources", files.len());
    for path in files {
        let name = path
            .strip_prefix(&crates)
            .expect("a source")
            .display()
            .to_string();
        let lines = opening(&path);
        let may = MAY.contains(&&*name);
        assert!(
            may || lines.is_empty(),
            "{name} opens files by their paths; use hugewise_linux::file: {lines:?}"
        );
    }
}

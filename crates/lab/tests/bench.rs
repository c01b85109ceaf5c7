//! Cells of the benches with known results.

#![expect(
    clippy::unwrap_used,
    reason = "a test may fail by panicking, in its helpers too"
)]
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use assert_cmd::Command;

const MIB: u64 = 1 << 20;

/// The lines for the cells of one suite with this request for pages.
fn bench(suite: &str, pages: &str, cells: &[String]) -> Vec<String> {
    let output = Command::cargo_bin("hugewise-lab")
        .unwrap()
        .env("HUGEWISE_LAB_PAGES", pages)
        .args(["bench", suite, "--cells", &cells.join(",")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), cells.len(), "{text}");
    for (line, cell) in lines.iter().zip(cells) {
        assert!(
            line.starts_with(&format!(r#"{{"cell":"{cell}","#)),
            "{line}"
        );
    }
    lines
}

/// A number of a line.
fn number(line: &str, name: &str) -> Option<f64> {
    let (_, rest) = line.split_once(&format!(r#""{name}":"#))?;
    rest.split([',', '}']).next()?.parse().ok()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn page_bytes() -> u64 {
    let smaps = read("/proc/self/smaps");
    let kib = smaps
        .lines()
        .find_map(|line| line.strip_prefix("KernelPageSize:"));
    let kib = kib.and_then(|rest| rest.trim().strip_suffix(" kB"));
    kib.unwrap().trim().parse::<u64>().unwrap() * 1024
}

/// The size of a huge page, if advice gives one.
fn advised_huge_bytes() -> Option<u64> {
    let folder = "/sys/kernel/mm/transparent_hugepage";
    if read(&format!("{folder}/enabled")).contains("[never]") {
        return None;
    }
    read(&format!("{folder}/hpage_pmd_size"))
        .trim()
        .parse()
        .ok()
}

#[test]
fn a_heap_is_huge_where_each_step_is_a_whole_huge_page() {
    let Some(huge) = advised_huge_bytes() else {
        return println!("SKIP heaps of huge pages: advice brings none");
    };
    let heap = 16 * huge;
    let mut cells = Vec::new();
    let mut shares = Vec::new();
    for means in ["brk", "mmap", "mprotect"] {
        for (step, start, touch, share) in [
            (huge, "aligned", "at-once", 1.0),
            (2 * huge, "aligned", "at-once", 1.0),
            (huge / 2, "aligned", "at-once", 0.0),
            (huge / 2, "aligned", "later", 1.0),
            (huge, "between", "at-once", 0.0),
            (huge, "between", "later", 15.0 / 16.0),
        ] {
            cells.push(format!("{means}/{step}/{start}/{touch}/{heap}"));
            shares.push(share);
        }
    }
    let lines = bench("growth", "advised", &cells);
    if lines[0].contains(r#""heap":{"missing""#) {
        return println!("SKIP heaps of huge pages: no page scan");
    }
    for (line, share) in lines.iter().zip(shares) {
        assert_eq!(number(line, "huge_ratio"), Some(share), "{line}");
    }
}

/// If the break was moved far before the first object, the heap is below its initial position.
#[test]
fn a_heap_that_was_padded_is_still_one_of_the_break() {
    let cells = ["glibc", "glibc-top-pad-64m"].map(|program| format!("{program}/{}", 8 * MIB));
    for line in bench("heap", "small", &cells) {
        let faults = number(&line, "faults_total");
        // Other C libraries place their memory elsewhere.
        if line.contains("by the program break") && !line.contains("top-pad") {
            return println!("SKIP heaps of malloc: {line}");
        }
        assert!(
            faults.is_some_and(|it| it >= (8 * MIB / page_bytes()) as f64),
            "{line}"
        );
    }
}

#[test]
fn a_heap_of_small_pages_faults_once_a_page() {
    let heap = 16 * MIB;
    let cells = [
        format!("mmap/{}/aligned/at-once/{heap}", 2 * MIB),
        format!("brk/{MIB}/aligned/later/{heap}"),
    ];
    for line in bench("growth", "small", &cells) {
        let more = number(&line, "faults_total").unwrap() - (heap / page_bytes()) as f64;
        assert!((0.0..16.0).contains(&more), "{line}");
    }
}

#[test]
fn steps_that_are_no_pages_are_a_missing_cell() {
    let lines = bench(
        "growth",
        "small",
        &["mmap/1000/aligned/at-once/65536".to_owned()],
    );
    assert!(
        lines[0].contains(r#""missing":{"why":"not_supported""#),
        "{lines:?}"
    );
}

/// The pages under the objects are read, and not the growth: an allocator may have had them before.
#[test]
fn objects_of_malloc_say_what_lies_under_them() {
    let line = &bench("slab", "plain", &["malloc/200/2000".to_owned()])[0];
    let Some((_, objects)) = line.split_once(r#""objects":{"#) else {
        panic!("{line}");
    };
    if objects.starts_with(r#""missing""#) {
        return println!("SKIP what lies under objects: {line}");
    }
    let share = number(line, "huge_ratio").unwrap();
    let kinds = objects
        .split(['}', ','])
        .filter_map(|kind| kind.split_once(':'));
    let bytes = |wanted: &str| {
        let of_kind = kinds
            .clone()
            .filter(|(name, _)| name.trim_matches('"').starts_with(wanted));
        of_kind
            .map(|(_, bytes)| bytes.parse::<f64>().unwrap())
            .sum::<f64>()
    };
    assert!(bytes("") >= page_bytes() as f64, "{line}");
    assert!((share - bytes("huge") / bytes("")).abs() < 1e-6, "{line}");
}

/// Times per GiB refer to the allocated memory, which is whole pages whatever the requested size.
#[test]
fn what_is_brought_in_is_whole_huge_pages() {
    let line = &bench("prefault", "small", &["store/65536/1".to_owned()])[0];
    let faults = number(line, "faults_total").unwrap();
    let Some((_, brought)) = line.split_once(r#""brought":{"small":"#) else {
        return println!("SKIP what was brought in: {line}");
    };
    let bytes = brought.split(['}', ',']).next().unwrap();
    let bytes: f64 = bytes.parse().unwrap();
    assert!(bytes > 65_536.0, "{line}");
    assert!(
        (bytes / page_bytes() as f64 - faults).abs() < 16.0,
        "{line}"
    );
}

#[test]
fn a_fork_copies_what_is_written_and_nothing_else() {
    let bytes = 16 * MIB;
    let cells = [
        format!("alone/{bytes}/2000"),
        format!("forked/{bytes}/2000"),
    ];
    let lines = bench("fork", "small", &cells);
    let [alone, forked] = [&lines[0], &lines[1]];
    // On a machine short of memory a page of the program itself may fault again.
    assert!(number(alone, "faults_total").unwrap() <= 3.0, "{alone}");
    assert_eq!(number(alone, "fork_seconds"), None, "{alone}");
    let faults = number(forked, "faults_total").unwrap();
    let added = number(forked, "added_bytes").unwrap();
    let page = page_bytes() as f64;
    assert!(faults > 0.0 && faults <= 2000.0, "{forked}");
    // In addition to the copies there are a stack and some data of the program; fewer by the program's own pages that
    // had to fault again.
    assert!((-3.0..100.0).contains(&(added / page - faults)), "{forked}");
    assert!(number(forked, "fork_seconds").unwrap() > 0.0, "{forked}");
}

#[test]
fn slabs_that_are_prefaulted_are_there_whole() {
    let cells = ["slab", "slab-populate", "slab-touch", "malloc"];
    let cells = cells.map(|source| format!("{source}/20000/200000"));
    let lines = bench("slab", "small", &cells);
    if lines[0].contains(r#""slabs":{"missing""#) {
        return println!("SKIP what lies under slabs: no page scan");
    }
    let faults = |line: &str| number(line, "faults_total").unwrap();
    assert!(number(&lines[0], "absent").unwrap() > 0.0, "{}", lines[0]);
    for line in &lines[1..3] {
        assert_eq!(number(line, "absent"), None, "{line}");
        assert!(faults(line) > faults(&lines[0]), "{line}");
    }
    assert!(faults(&lines[3]) > 0.0, "{}", lines[3]);
}

#[test]
fn slabs_say_what_came_out_huge_and_what_clearing_takes() {
    let cells = [
        "slab/20000/200000".to_owned(),
        "malloc/20000/200000".to_owned(),
    ];
    let shares = |pages: &str| {
        let lines = bench("slab", pages, &cells);
        let share = |line: &String| number(line, "huge_ratio").unwrap();
        for line in &lines {
            let zeroing = number(line, "zeroing_ratio").unwrap();
            assert!(zeroing > 0.0 && zeroing < 1.0, "{line}");
            assert!(number(line, "kernel_ratio").unwrap() < 1.0, "{line}");
        }
        lines.iter().map(share).collect::<Vec<f64>>()
    };
    assert_eq!(shares("small")[0], 0.0);
    if advised_huge_bytes().is_some() {
        // Some places of the process itself are small.
        assert!(shares("advised")[0] > 0.9);
    }
}

#[test]
fn a_state_of_free_memory_is_reached_told_and_let_go() {
    let mut holder = std::process::Command::new(assert_cmd::cargo::cargo_bin("hugewise-lab"))
        .args(["fragmented", "--to", "5"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(holder.stdout.take().unwrap());
    let mut share = || {
        let mut line = String::new();
        told.read_line(&mut line).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(
            (words[0], words[2], words[4]),
            ("fragmented", "free", "kept")
        );
        words[1].parse::<f64>().unwrap()
    };
    assert!(share() >= 0.04);
    let mut ask = holder.stdin.take().unwrap();
    ask.write_all(b"\n").unwrap();
    assert!(share() >= 0.04);
    drop(ask);
    assert!(holder.wait().unwrap().success());
}

#[test]
fn a_cell_of_a_state_says_how_it_was() {
    let cell = format!("0/{}", 8 * MIB);
    let line = &bench("fragment", "small", &[cell])[0];
    let share = number(line, "fragmented_ratio").unwrap();
    assert!((0.0..=1.0).contains(&share), "{line}");
    assert_eq!(number(line, "kept_bytes"), Some(0.0), "{line}");
    assert_eq!(number(line, "huge_ratio"), Some(0.0), "{line}");
}

/// If the reader of stderr is gone, the exit status does not change.
#[test]
fn a_broken_stderr_is_no_panic() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut lab = std::process::Command::new(assert_cmd::cargo::cargo_bin("hugewise-lab"));
    let status = lab.arg("none").stderr(writer).status().unwrap();
    assert_eq!(status.code(), Some(2));
}

#[test]
fn a_wrong_word_is_an_error_of_the_command_line() {
    for (suite, cell) in [
        ("growth", "brk/4096/aligned/4096"),
        ("heap", "none/4096"),
        ("fork", "alone/4096/1/1"),
        ("slab", "slab/0/1"),
        ("fragment", "100/4096"),
        ("none", "a"),
    ] {
        let mut lab = Command::cargo_bin("hugewise-lab").unwrap();
        let output = lab
            .args(["bench", suite, "--cells", cell])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{suite} {cell}");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(text.matches("usage:").count(), 1, "{text}");
    }
}

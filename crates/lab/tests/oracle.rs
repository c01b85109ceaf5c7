//! Checks the laboratory's known results.

#![expect(
    clippy::unwrap_used,
    reason = "a test may fail by panicking, in its helpers too"
)]
use assert_cmd::Command;

fn lab(arguments: &[&str]) -> (String, Option<i32>) {
    let output = Command::cargo_bin("hugewise-lab")
        .unwrap()
        .args(arguments)
        .output()
        .unwrap();
    (
        String::from_utf8(output.stdout).unwrap(),
        output.status.code(),
    )
}

/// Base pages in a huge page.
fn pages_each() -> usize {
    let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let kib = smaps
        .lines()
        .find_map(|line| line.strip_prefix("KernelPageSize:"))
        .and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<usize>().ok())
        .unwrap();
    let huge = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
    huge.unwrap().trim().parse::<usize>().unwrap() / 1024 / kib
}

#[test]
fn small_pages_fault_once_each() {
    for pages in [0, 1, 2, 511, 512, 513, 23_029] {
        let answer = lab(&["touch", "--pages", &pages.to_string(), "--small"]);
        assert_eq!(answer, (format!("pages {pages} faults {pages}\n"), Some(0)));
    }
}

#[test]
fn a_pace_faults_once_a_page_each_time_and_takes_the_time_of_its_work() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("pace").to_str().unwrap().to_owned();
    let took = |work: &str| {
        let words = ["pace", "--pages", "1009", "--repeat", "3", "--out", &out];
        let answer = lab(&[&words[..], &["--work", work]].concat());
        assert_eq!(answer, (String::new(), Some(0)));
        let said = std::fs::read_to_string(&out).unwrap();
        let words: Vec<&str> = said.split_whitespace().collect();
        let [faults, took] = [words[1], words[3]].map(|word| word.parse::<u64>().unwrap());
        assert_eq!([words[0], words[2]], ["faults", "wall_ns"], "{said}");
        // On a machine short of memory a page of the program itself may fault again.
        assert!((3027..=3030).contains(&faults), "{said}");
        took
    };
    // No processor multiplies in less than a tenth of a nanosecond.
    assert!(took("10000") >= 3027 * 10_000 / 10);
    assert!(took("0") > 0);
}

#[test]
fn huge_pages_fault_once_and_the_tail_stays_small() {
    let never = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled")
        .map_or(true, |text| text.contains("[never]"));
    if never {
        return;
    }
    let pages = 44 * pages_each() + 501;
    assert_faults(pages, "huge", 44 + 501);
    // One page after the boundary: the first huge page is lost, and the tail is longer.
    assert_faults(pages, "page", (pages_each() - 1) + 43 + 502);
}

/// Repeats the run if no huge page was available, on a machine that others use too.
fn assert_faults(pages: usize, align: &str, faults: usize) {
    let pages = pages.to_string();
    let words = ["touch", "--huge", "--pages", &pages, "--align", align];
    let expected = format!("pages {pages} faults {faults}\n");
    let mut said = String::new();
    for _ in 0..20 {
        said = lab(&words).0;
        if said == expected {
            return;
        }
    }
    panic!("{said} instead of {expected}");
}

#[test]
fn pressure_reads_what_it_was_told_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (data, out) = (path("data"), path("out"));
    std::fs::create_dir(&data).unwrap();
    let words = ["pressure", "--pages", "1009", "--repeat", "3"];
    let answer = lab(&[&words[..], &["--folder", &data, "--out", &out]].concat());
    assert_eq!(answer, (String::new(), Some(0)));
    let said = std::fs::read_to_string(&out).unwrap();
    let words: Vec<&str> = said.split_whitespace().collect();
    assert_eq!(words[..3], ["pages", "3027", "wall_ns"], "{said}");
    assert_eq!(std::fs::read_dir(&data).unwrap().count(), 0);

    let nowhere = path("nowhere");
    let words = ["pressure", "--pages", "1", "--folder"];
    for (wrong, code) in [
        (&[][..], 2),
        (&[&nowhere, "--out", &out][..], 1),
        (&[&data, "--out", &nowhere, "--group", &nowhere], 1),
    ] {
        let words = if wrong.is_empty() {
            &words[..3]
        } else {
            &words[..]
        };
        assert_eq!(lab(&[words, wrong].concat()).1, Some(code), "{wrong:?}");
    }
}

#[test]
fn repeats_are_lines() {
    let (said, _) = lab(&["touch", "--pages", "3", "--small", "--repeat", "2"]);
    assert_eq!(said, "pages 3 faults 3\npages 3 faults 3\n");
}

#[test]
fn failures_are_as_ordered() {
    assert_eq!(lab(&["fail", "--code", "41"]).1, Some(41));
    assert_eq!(lab(&["fail", "--signal", "9"]).1, None);
}

#[test]
fn wrong_words_are_usage_errors() {
    for wrong in [
        &[][..],
        &["dance"],
        &["touch"],
        &["touch", "--pages"],
        &["touch", "--pages", "many"],
        &["touch", "--pages", "1", "--huge", "--small"],
        &["touch", "--pages", "1", "--faster"],
        &["touch", "--pages", "99999999999999999"],
        &["fail"],
    ] {
        assert_eq!(lab(wrong), (String::new(), Some(2)), "{wrong:?}");
    }
}

/// It holds the requested memory until its stdin closes, and its reads can be repeated.
#[test]
fn mappings_are_held_and_can_be_read() {
    let mut held = std::process::Command::new(env!("CARGO_BIN_EXE_hugewise-lab"))
        .args([
            "mappings", "--count", "600", "--pages", "100", "--touch", "40",
        ])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let stdout = held.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).unwrap();
    assert_eq!(line, format!("mappings {}\n", held.id()));
    let smaps = std::fs::read_to_string(format!("/proc/{}/smaps", held.id())).unwrap();
    let with = |text: &str| smaps.lines().filter(|line| line.starts_with(text)).count();
    assert!((600..700).contains(&with("Size:")), "{}", with("Size:"));
    let one = format!("Rss:            {:8} kB", 4);
    let kib = page_kib();
    if kib == 4 {
        assert!(with(&one) >= 300, "{}", with(&one));
    }
    drop(held.stdin.take());
    assert!(held.wait().unwrap().success());
    assert_eq!(
        lab(&["mappings", "--count", "2", "--touch", "1"]).1,
        Some(2)
    );
}

fn page_kib() -> usize {
    // SAFETY: sysconf has no preconditions.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap() / 1024
}

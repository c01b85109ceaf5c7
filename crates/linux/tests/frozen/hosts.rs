//! Runs every reader and the doctor on every frozen machine.

use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use hugewise_base::host::Host;
use hugewise_base::missing::Missing;
use hugewise_linux::machine::error::{Error, Kind};
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::address_space::{Depth, read_space};
use hugewise_linux::observe::watch::{Focus, Groups, Watcher};
use hugewise_linux::probe::frozen::{FROZEN, FROZEN_CGROUP, expand};
use hugewise_linux::probe::{self, Environment};
use hugewise_linux::proc::statm::read_resident;
use hugewise_linux::sys::cgroup;
use hugewise_monitor::watch::State;
use hugewise_observe::doctor::{Diagnosis, diagnose};
use hugewise_text::{Style, Verbosity, to_markdown, to_text};

/// Relative to the package, the working directory of tests: errors contain the path, and golden files must not depend
/// on the location of the sources.
fn fixtures() -> PathBuf {
    PathBuf::from("../../fixtures")
}

fn golden(name: &str, form: &str) -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
    sources
        .join(fixtures())
        .join(format!("golden/doctor-{name}.{form}"))
}

fn machines() -> Vec<(String, PathBuf)> {
    let folder = fixtures().join("hosts");
    let names = Root::at(&folder).list(".").unwrap();
    assert!(names.len() >= 5, "{names:?}");
    let path = |name: &String| (name.clone(), folder.join(name));
    names.iter().map(path).collect()
}

fn examine(path: &Path) -> Result<Diagnosis, Error> {
    let root = Root::at(path);
    let answers = probe::answers(&root, Environment::default())?;
    Ok(diagnose(&probe::examine(&root, &answers)?))
}

fn host(name: &str) -> Host {
    let root = Root::at(fixtures().join("hosts").join(name));
    let answers = probe::answers(&root, Environment::default()).unwrap();
    probe::host(&root, &answers).unwrap()
}

fn text(diagnosis: &Diagnosis, verbose: Verbosity) -> String {
    let style = Style {
        verbose,
        ..Style::default()
    };
    to_text(&diagnosis.document(), &style)
}

/// Machines with golden screens: a usual one, an old kernel, other page sizes, and one with unusual files only.
const SCREENS: [(&str, Verbosity); 5] = [
    ("debian12-6.18-vm-user", Verbosity::Normal),
    ("guest-x86_64-6.1-root", Verbosity::Normal),
    ("guest-aarch64-6.12-16k-root", Verbosity::Verbose),
    ("hostile", Verbosity::Normal),
    ("hostile", Verbosity::Verbose),
];

#[test]
fn the_doctor_decides_the_same_as_ever() {
    for (name, path) in machines() {
        let json = serde_json::to_string_pretty(&examine(&path).unwrap()).unwrap() + "\n";
        expect_file![golden(&name, "json")].assert_eq(&json);
    }
}

#[test]
fn the_doctor_says_the_same_as_ever() {
    for (name, verbose) in SCREENS {
        let (_, path) = machines().into_iter().find(|it| it.0 == name).unwrap();
        let end = match verbose {
            Verbosity::Verbose => "-verbose",
            _ => "",
        };
        let text = text(&examine(&path).unwrap(), verbose);
        expect_file![golden(&format!("{name}{end}"), "txt")].assert_eq(&text);
    }
}

#[test]
fn text_fits_80_columns() {
    for (name, path) in machines() {
        let diagnosis = examine(&path).unwrap();
        for verbose in [Verbosity::Normal, Verbosity::Verbose] {
            for line in text(&diagnosis, verbose).lines() {
                assert!(line.chars().count() <= 80, "{name}: {line}");
            }
        }
    }
}

#[test]
fn the_first_screen_of_a_usual_machine_has_24_lines() {
    for (name, path) in machines() {
        if name.contains("hostile") || name.contains("like") {
            continue;
        }
        let text = text(&examine(&path).unwrap(), Verbosity::Normal);
        let lines = text.lines().count();
        assert!(lines <= 24, "{name}: {lines} lines");
    }
}

#[test]
fn tables_are_as_wide_in_every_row() {
    for (name, path) in machines() {
        let diagnosis = examine(&path).unwrap();
        let markdown = to_markdown(&diagnosis.document(), Verbosity::Verbose);
        let mut width = None;
        for line in markdown.lines() {
            let bars = line.replace("\\|", "").matches('|').count();
            match line.starts_with('|') {
                true => assert_eq!(*width.get_or_insert(bars), bars, "{name}: {line}"),
                false => width = None,
            }
        }
        let csv = diagnosis.csv();
        let remarks = diagnosis.hazards.len() + diagnosis.settings.len();
        let rows = diagnosis.features.len() + diagnosis.shared_memory.len() + remarks;
        assert_eq!(csv.lines().count(), rows + 1, "{name}");
    }
}

#[test]
fn a_diagnosis_and_a_host_survive_json() {
    for (name, path) in machines() {
        let diagnosis = examine(&path).unwrap();
        let json = serde_json::to_string(&diagnosis).unwrap();
        assert_eq!(
            serde_json::from_str::<Diagnosis>(&json).unwrap(),
            diagnosis,
            "{name}"
        );
        let host = host(&name);
        let json = serde_json::to_string(&host).unwrap();
        assert_eq!(serde_json::from_str::<Host>(&json).unwrap(), host, "{name}");
    }
}

#[test]
fn facts_of_the_virtual_machine() {
    let (root, user) = (host("debian12-6.18-vm-root"), host("debian12-6.18-vm-user"));
    // Root and ordinary users see the same name.
    assert_eq!(root.hypervisor.as_deref(), Some("KVM"));
    assert_eq!(user.hypervisor, root.hypervisor);
    assert_eq!(root.glibc, Some((2, 36)));
    assert_eq!((root.cpus, root.numa_nodes, root.page_bytes), (2, 1, 4096));
    assert_eq!((root.cgroup.version, root.cgroup.limit_bytes), (1, None));
    assert!(root.user.can_write_thp && !user.user.can_write_thp);
    let thp = root.thp.unwrap();
    assert_eq!(
        thp.sizes.keys().copied().collect::<Vec<_>>(),
        [16, 32, 64, 128, 256, 512, 1024, 2048]
    );
    assert!(thp.khugepaged.contains_key("max_ptes_none"));
    assert!(!thp.khugepaged.contains_key("full_scans"));
}

#[test]
fn facts_of_an_old_kernel() {
    let host = host("rhel8-4.18-like");
    assert_eq!(host.hypervisor, None);
    assert_eq!(host.cgroup.limit_bytes, Some(1 << 30));
    assert_eq!(host.allocators["jemalloc"], "/usr/lib64/libjemalloc.so.2");
    let thp = host.thp.unwrap();
    assert!(thp.sizes.is_empty());
    assert_eq!(thp.effective_pmd_mode(), "always");
}

#[test]
fn what_is_torn_is_named_with_its_path() {
    match host("hostile").thp {
        Err(Missing::Unreadable { error }) => {
            assert!(error.contains("transparent_hugepage/enabled"), "{error}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(host("hostile-64k").pmd_bytes(), Some(512 << 20));
}

/// Possible content of a file on a kernel under stress, in a container's overlay or behind a filter.
const TORN: [&[u8]; 8] = [
    b"",
    b"\n",
    b"\xff\xfe\x00\x80",
    b"-1",
    b"18446744073709551615",
    b"99999999999999999999999 kB\n",
    b"[]: cpu  zone 1-0 0::/ - cgroup2 \\7",
    b"MemTotal: kB\nNode 0, zone X 1 -1\n",
];

/// Replaces each file of a machine in turn by each sort of nonsense, and truncates it in the middle.
fn torn(name: &str) {
    let frozen = fixtures().join("hosts").join(name);
    let copy = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    copy_tree(&frozen, copy.path(), &mut files);
    for file in files {
        let whole = fs::read(&file).unwrap();
        let half = whole[..whole.len() / 2].to_vec();
        for content in TORN.iter().copied().chain([half.as_slice()]) {
            fs::write(&file, content).unwrap();
            check(copy.path(), &file);
        }
        fs::remove_file(&file).unwrap();
        check(copy.path(), &file);
        fs::write(&file, whole).unwrap();
    }
}

/// Either the doctor prints its report, or an error names the damaged file.
fn check(machine: &Path, file: &Path) {
    match examine(machine) {
        Ok(diagnosis) => {
            let _ = text(&diagnosis, Verbosity::Verbose);
        }
        Err(error) => {
            assert!(
                matches!(error.kind, Kind::Malformed(_) | Kind::NotFound),
                "{error}"
            );
            assert_eq!(error.path.as_deref(), Some(file), "{error}");
        }
    }
}

fn copy_tree(from: &Path, to: &Path, files: &mut Vec<PathBuf>) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &target, files);
        } else {
            fs::copy(entry.path(), &target).unwrap();
            files.push(target);
        }
    }
}

#[test]
fn no_torn_file_of_a_new_kernel_makes_the_doctor_panic() {
    torn("debian12-6.18-vm-root");
}

#[test]
fn no_torn_file_of_an_old_kernel_makes_the_doctor_panic() {
    torn("rhel8-4.18-like");
}

#[test]
fn the_real_machine_can_be_examined() {
    let root = Root::real();
    let answers = probe::answers(&root, Environment::default()).unwrap();
    let examination = probe::examine(&root, &answers).unwrap();
    assert!(examination.host.memory_bytes > 0);
    assert!(examination.host.cpus > 0);
    assert!(!diagnose(&examination).features.is_empty());
}

/// The list of files of a machine is complete: a copy of these files gives the same machine.
#[test]
fn a_frozen_copy_is_the_same_machine() {
    let real = Root::real();
    let answers = probe::answers(&real, Environment::default()).unwrap();
    let copy = tempfile::tempdir().unwrap();
    let mut paths: Vec<String> = FROZEN.iter().flat_map(|path| expand(&real, path)).collect();
    if let Some(place) = cgroup::read_place(&real).unwrap() {
        for level in cgroup::levels(&place) {
            paths.extend(FROZEN_CGROUP.iter().map(|file| format!("{level}/{file}")));
        }
    }
    for path in paths {
        if let Ok(content) = real.read(&path) {
            let target = copy.path().join(&path);
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            fs::write(target, content).unwrap();
        }
    }
    let frozen = probe::host(&Root::at(copy.path()), &answers).unwrap();
    let mut live = probe::host(&real, &answers).unwrap();
    // Values that change between the two readings.
    live.load_1min = frozen.load_1min;
    live.free_blocks.clone_from(&frozen.free_blocks);
    assert_eq!(frozen, live);
}

/// Pages of a process have the size of its own machine, not of this one.
#[test]
fn pages_have_the_size_of_the_frozen_machine() {
    const STAT: &str = "7 (server) S 1 7 7 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 100 0 5 0 0 0 \
        9 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
    const SMAPS: &str = "aaaad0000000-aaaad4000000 rw-p 00000000 00:00 0 \n\
        Size:              65536 kB\nKernelPageSize:       16 kB\nRss:                  80 kB\n\
        VmFlags: rd wr mr mw me ac\n";
    let machine = tempfile::tempdir().unwrap();
    let frozen = fixtures().join("hosts/guest-aarch64-6.12-16k-user");
    copy_tree(&frozen, machine.path(), &mut Vec::new());
    let process = machine.path().join("proc/7");
    fs::create_dir_all(&process).unwrap();
    for (file, text) in [
        ("stat", STAT),
        ("status", "Uid:\t0\t0\t0\t0\nThreads:\t1\n"),
        ("statm", "4096 5 1 0 0 0 0\n"),
        ("smaps", SMAPS),
    ] {
        fs::write(process.join(file), text).unwrap();
    }
    let root = Root::at(machine.path());
    let page_bytes = probe::read_page_bytes(&root).unwrap();
    assert_eq!(page_bytes, 16 << 10);
    assert_eq!(
        read_resident(&root, &[7].into(), page_bytes),
        Some(80 << 10)
    );
    let space = read_space(&root, 7, page_bytes, None, Depth::Pages).unwrap();
    assert_eq!((space.page_bytes, space.huge_bytes), (16 << 10, 32 << 20));
    let ranges = space.mappings[0].whole_ranges(space.huge_bytes);
    assert_eq!(ranges, Some((0xaaaa_d000_0000, 0xaaaa_d400_0000)));
}

/// Any machine can be watched, whatever its files contain, and the output fits a terminal.
#[test]
fn every_machine_can_be_watched() {
    for (name, path) in machines() {
        let watcher = Watcher::begin(Root::at(&path), 1_000_000_000, "hugewise");
        let mut watcher = watcher.unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut state = State::new(watcher.header().clone());
        for _ in 0..2 {
            state.push(watcher.sample(Focus {
                process: Some(1),
                groups: Groups::Read,
            }));
        }
        let text = to_text(&state.document(80), &Style::default());
        assert!(
            text.contains("page faults") && text.contains("Free memory"),
            "{name}: {text}"
        );
        // Impossible counts may be as wide as necessary.
        let wide = text.lines().find(|line| line.chars().count() > 80);
        assert!(
            wide.is_none() || name.starts_with("hostile"),
            "{name}: {wide:?}"
        );
    }
}

//! The experiment files of `examples/`, shortened, with the real programs. They are not part of the usual tests:
//! `cargo xtask test-services` runs them.
//!
//! To add an example, add a folder `examples/NAME` with an experiment file and a README, a line to
//! `examples/README.md`, a test here, and its packages to `SERVICE_TOOLS` or `SERVICE_LIBRARIES` in `xtask`.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{Case, is_root, one_at_a_time, settings, skip};

/// An example, its requirements, and the metrics that every trial must have.
struct Example {
    /// Its folder, and its file without the extension.
    name: &'static str,
    /// Libraries of allocators; without one, the policies that name it are left out.
    allocators: &'static [(&'static str, &'static str)],
    programs: &'static [&'static str],
    measured: &'static [&'static str],
    /// By this metric, the policy under which memory of the service must be huge, and the one under which none may be.
    huge: (&'static str, &'static str),
    small: &'static str,
    /// MiB of huge pages that the pool must have.
    pool_mib: u64,
}

impl Example {
    /// Its file, from the root of the repository.
    fn path(&self) -> String {
        format!("examples/{0}/{0}.toml", self.name)
    }
}

#[test]
#[ignore = "needs the real programs, and a minute: cargo xtask test-services"]
fn redis() {
    measures(&Example {
        name: "redis",
        allocators: &[],
        programs: &["redis-server", "redis-benchmark", "redis-cli"],
        measured: &[
            "set_throughput_per_second",
            "set_latency_p50_seconds",
            "set_latency_p99_seconds",
            "set_latency_p999_seconds",
            "copied_by_save",
            "fork_micros",
            "peak_rss_bytes",
        ],
        huge: ("thp=always", "huge_anon_peak_bytes"),
        small: "thp=never",
        pool_mib: 0,
    });
}

#[test]
#[ignore = "needs the real programs, and a minute: cargo xtask test-services"]
fn jvm() {
    measures(&Example {
        name: "jvm",
        allocators: &[],
        programs: &["java", "javac", "wrk"],
        measured: &[
            "throughput",
            "latency_seconds",
            "service_ready_seconds",
            "peak_rss_bytes",
        ],
        huge: ("always+touch", "huge_anon_peak_bytes"),
        small: "off+touch",
        pool_mib: 0,
    });
}

#[test]
#[ignore = "needs the real programs, and a minute: cargo xtask test-services"]
fn postgres() {
    measures(&Example {
        name: "postgres",
        allocators: &[],
        programs: &["pgbench", "setpriv"],
        measured: &["throughput_per_second", "latency_seconds", "peak_rss_bytes"],
        huge: ("pool", "hugetlb_peak_bytes"),
        small: "off",
        pool_mib: 600,
    });
}

#[test]
#[ignore = "needs the real programs, and a minute: cargo xtask test-services"]
fn go() {
    measures(&Example {
        name: "go",
        allocators: &[],
        programs: &["go", "wrk"],
        measured: &["throughput", "latency_seconds", "peak_rss_bytes"],
        huge: ("always", "huge_anon_peak_bytes"),
        small: "off",
        pool_mib: 0,
    });
}

#[test]
#[ignore = "needs the real programs, and a minute: cargo xtask test-services"]
fn memcached() {
    measures(&Example {
        name: "memcached",
        allocators: &[],
        programs: &["memcached", "cc"],
        measured: &["wall_seconds", "latency_seconds", "peak_rss_bytes"],
        huge: ("memcached-L", "huge_anon_peak_bytes"),
        small: "thp=never",
        pool_mib: 0,
    });
}

#[test]
#[ignore = "needs the real programs, and a minute: cargo xtask test-services"]
fn allocators() {
    measures(&Example {
        name: "allocators",
        allocators: &[
            ("jemalloc", "libjemalloc.so.2"),
            ("mimalloc", "libmimalloc.so.2"),
            ("tcmalloc", "libtcmalloc_minimal.so.4"),
        ],
        programs: &["cc"],
        measured: &["wall_seconds", "minor_faults_total", "peak_rss_bytes"],
        huge: ("jemalloc+thp", "huge_anon_peak_bytes"),
        small: "glibc",
        pool_mib: 0,
    });
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn measures(example: &Example) {
    let _turn = one_at_a_time();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &&&str| std::env::split_paths(&path).any(|it| it.join(name).exists());
    if let Some(missing) = example.programs.iter().find(|name| !is_there(name)) {
        skip(example.name, &format!("there is no {missing}"));
    } else if !is_root() {
        skip(example.name, "needs root to write the machine's settings");
    } else {
        run(example);
    }
}

/// The experiment without the policies whose allocators are not installed.
fn experiment(example: &Example) -> String {
    let text = std::fs::read_to_string(repository().join(example.path())).expect("the experiment");
    let absent: Vec<String> = example
        .allocators
        .iter()
        .filter(|(_, library)| !is_installed(library))
        .map(|(name, library)| {
            skip(
                &format!("{}, {name}", example.name),
                &format!("there is no {library}"),
            );
            format!("malloc={name}\"")
        })
        .collect();
    let stays = |line: &&str| !absent.iter().any(|policy| line.contains(policy.as_str()));
    text.lines()
        .filter(stays)
        .map(|line| format!("{line}\n"))
        .collect()
}

/// Returns true if the dynamic linker finds a library.
fn is_installed(library: &str) -> bool {
    let known = std::process::Command::new("/sbin/ldconfig")
        .arg("-p")
        .output();
    known.is_ok_and(|known| String::from_utf8_lossy(&known.stdout).contains(library))
}

/// The pool of huge pages, enlarged, and restored on drop.
struct Pool(String);

const POOL: &str = "/proc/sys/vm/nr_hugepages";

impl Pool {
    fn of(mib: u64) -> Self {
        let before = std::fs::read_to_string(POOL).expect("the pool");
        let info = std::fs::read_to_string("/proc/meminfo").expect("meminfo");
        let size = info
            .lines()
            .find_map(|line| line.strip_prefix("Hugepagesize:"));
        let kib = size.and_then(|size| size.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        let pages = (mib << 10) / kib.expect("a size of huge pages");
        if pages > 0 {
            std::fs::write(POOL, pages.to_string()).expect("a pool");
        }
        Self(before)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        std::fs::write(POOL, &self.0).expect("the pool as it was");
    }
}

fn run(example: &Example) {
    let _pool = Pool::of(example.pool_mib);
    let before = settings();
    let case = Case::new();
    let (json, file) = (case.path("report.json"), case.path("experiment.toml"));
    std::fs::write(&file, experiment(example)).expect("a file");
    let words = [
        "run",
        "--system",
        "--warmup",
        "0",
        "--max-rounds",
        "1",
        "--json",
    ];
    case.hugewise()
        .current_dir(repository())
        .args(words)
        .args([&json, &file])
        .assert()
        .success();
    assert_eq!(settings(), before, "{}", example.name);
    let report = case.json(&json);
    for trial in report["trials"].as_array().expect("trials") {
        is_as_promised(example, trial);
    }
}

fn is_as_promised(example: &Example, trial: &Value) {
    for metric in example.measured {
        let reading = &trial["readings"][metric];
        assert!(
            is_measured(reading),
            "{}: {metric}: {reading}",
            example.name
        );
    }
    let (policy, metric) = example.huge;
    let huge = trial["readings"][metric]["value"].as_f64();
    if trial["policy"] == policy {
        assert!(huge > Some(0.0), "{}: nothing is huge", example.name);
    } else if trial["policy"] == example.small {
        assert_eq!(huge, Some(0.0), "{}", example.name);
    }
}

fn is_measured(reading: &Value) -> bool {
    reading["histogram"].is_object() || reading["value"].as_f64().is_some_and(|value| value > 0.0)
}

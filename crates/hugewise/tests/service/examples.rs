//! The experiment files under `examples/`, short, with the real programs. They are not part of
//! the usual tests: `make test-services` runs them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{Case, is_root, one_at_a_time, settings, skip};

/// An example, what it needs, and what it must measure in every trial.
struct Example {
    file: &'static str,
    programs: &'static [&'static str],
    measured: &'static [&'static str],
    /// A policy under which memory of the service must be huge, by this metric, and one under
    /// which none may be.
    huge: (&'static str, &'static str),
    small: &'static str,
    /// MiB of huge pages that must lie in the pool.
    pool_mib: u64,
}

const EXAMPLES: &[Example] = &[
    Example {
        file: "redis.toml",
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
    },
    Example {
        file: "jvm.toml",
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
    },
    Example {
        file: "postgres.toml",
        programs: &["pgbench", "setpriv"],
        measured: &["throughput_per_second", "latency_seconds", "peak_rss_bytes"],
        huge: ("pool", "hugetlb_peak_bytes"),
        small: "off",
        pool_mib: 600,
    },
    Example {
        file: "go.toml",
        programs: &["go", "wrk"],
        measured: &["throughput", "latency_seconds", "peak_rss_bytes"],
        huge: ("thp=always,go.GOGC=100", "huge_anon_peak_bytes"),
        small: "thp=never,go.GOGC=100",
        pool_mib: 0,
    },
];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
#[ignore = "needs the real programs, and minutes: make test-services"]
fn examples_measure_what_they_promise() {
    let _turn = one_at_a_time();
    for example in EXAMPLES {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let is_there = |name: &&&str| std::env::split_paths(&path).any(|it| it.join(name).exists());
        if let Some(missing) = example.programs.iter().find(|name| !is_there(name)) {
            skip(example.file, &format!("there is no {missing}"));
        } else if !is_root() {
            skip(example.file, "needs root to write the machine's settings");
        } else {
            measures(example);
        }
    }
}

/// The pool of huge pages, made larger, and given back.
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

fn measures(example: &Example) {
    let before = settings();
    let _pool = Pool::of(example.pool_mib);
    let case = Case::new();
    let json = case.path("report.json");
    case.hugewise()
        .current_dir(repository())
        .args([
            "run",
            "--system",
            "--warmup",
            "0",
            "--max-rounds",
            "1",
            "--json",
        ])
        .arg(&json)
        .arg(Path::new("examples").join(example.file))
        .assert()
        .success();
    assert_eq!(settings(), before, "{}", example.file);
    let report = case.json(&json);
    for trial in report["trials"].as_array().expect("trials") {
        for metric in example.measured {
            let reading = &trial["readings"][metric];
            assert!(
                is_measured(reading),
                "{}: {metric}: {reading}",
                example.file
            );
        }
        let (policy, metric) = example.huge;
        let huge = trial["readings"][metric]["value"].as_f64();
        if trial["policy"] == policy {
            assert!(huge > Some(0.0), "{}: nothing is huge", example.file);
        } else if trial["policy"] == example.small {
            assert_eq!(huge, Some(0.0), "{}", example.file);
        }
    }
}

fn is_measured(reading: &Value) -> bool {
    reading["histogram"].is_object() || reading["value"].as_f64().is_some_and(|value| value > 0.0)
}

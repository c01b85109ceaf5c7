//! Two benchmarks are never merged into one.

use super::{counted, docs, report, values};
use crate::loadgen::Load;
use crate::run::trial::Reading;

fn loads(reader: &str, bytes: &[u8]) -> Vec<(String, Load)> {
    let loads = report(reader, bytes).loads.into_iter();
    loads
        .map(|load| (load.name.clone().unwrap_or_default(), load))
        .collect()
}

fn names(reader: &str, bytes: &[u8]) -> Vec<String> {
    loads(reader, bytes).into_iter().map(|it| it.0).collect()
}

#[test]
fn packages_of_go_are_told_apart() {
    let both = loads("go", posted!("go-packages.txt"));
    assert_eq!(both[0].0, "Append-4 example.org/cache");
    assert_eq!(both[1].0, "Append-4 example.org/csrf");
    assert_eq!(
        (values(&both[0].1), values(&both[1].1).len()),
        (&[5.576e-8][..], 1)
    );
    assert!((values(&both[1].1)[0] - 3.733e-10).abs() < 1e-20);
    // For unique names the package is not needed.
    let text = b"pkg: a/b\nBenchmarkX-2 1 5 ns/op\nBenchmarkX-2 1 6 ns/op\npkg: a/c\nBenchmarkY-2 1 7 ns/op\n";
    assert_eq!(names("go", text), ["X-2", "Y-2"]);
    let three = b"pkg: a\nBenchmarkX 1 5 ns/op\npkg: b\nBenchmarkX 1 6 ns/op\npkg: a\nBenchmarkX 1 7 ns/op\n";
    let three = loads("go", three);
    assert_eq!((three.len(), values(&three[0].1)), (2, &[5e-9, 7e-9][..]));
}

#[test]
fn names_that_differ_in_marks_are_all_kept() {
    let bytes = posted!("go-punctuation.txt");
    let (readings, _) = docs("go", &[("stdout".into(), bytes)]);
    assert_eq!(readings["a_latency_seconds"], Reading::of(5e-9));
    let of = |name: &str| readings[&format!("{name}_latency_seconds")].clone();
    assert_eq!(of("fib_slash_a_underscore_b"), Reading::of(3.25e-7));
    assert_eq!(of("fib_slash_a_dash_b"), Reading::of(4.0537e-5));
    assert_eq!(readings.len(), 4, "each, and all together");
}

#[test]
fn modes_threads_and_packages_of_jmh_are_told_apart() {
    let modes = loads("jmh", posted!("jmh-modes.json"));
    assert_eq!(modes[0].0, "Test.slickDelete avgt");
    assert_eq!(modes[1].0, "Test.slickDelete ss");
    assert!((values(&modes[1].1)[0] - 1.212_773).abs() < 1e-12);
    let sample = loads("jmh", posted!("jmh-sample.json"));
    assert_eq!(
        (sample[0].0.as_str(), counted(&sample[0].1).count()),
        ("Test.a sample", 1000)
    );
    assert_eq!(
        (sample[1].0.as_str(), values(&sample[1].1).len()),
        ("Test.a avgt", 2)
    );
    let result = |name: &str, mode: &str, threads: u32, unit: &str| {
        format!(
            r#"{{"benchmark":"{name}","mode":"{mode}","threads":{threads},"primaryMetric":{{"scoreUnit":"{unit}","rawData":[[2.0]]}}}}"#
        )
    };
    let of = |results: [String; 2]| names("jmh", format!("[{}]", results.join(",")).as_bytes());
    let packages = of([
        result("a.T.m", "avgt", 1, "ms/op"),
        result("b.T.m", "avgt", 1, "ms/op"),
    ]);
    assert_eq!(packages, ["T.m a", "T.m b"]);
    let threads = of([
        result("a.T.m", "avgt", 1, "ms/op"),
        result("a.T.m", "avgt", 8, "ms/op"),
    ]);
    assert_eq!(threads, ["T.m threads=1", "T.m threads=8"]);
    // A rate and a time of one benchmark belong to one load.
    let both = of([
        result("a.T.m", "thrpt", 1, "ops/s"),
        result("a.T.m", "avgt", 1, "ms/op"),
    ]);
    assert_eq!(both, ["T.m"]);
}

#[test]
fn parameters_of_hyperfine_are_told_apart() {
    let of = |parameters: [&str; 2]| {
        let results = parameters.map(|it| {
            format!(
                r#"{{"command":"sort","parameters":{{"n":"{it}"}},"times":[1.0],"exit_codes":[0]}}"#
            )
        });
        names(
            "hyperfine",
            format!(r#"{{"results":[{}]}}"#, results.join(",")).as_bytes(),
        )
    };
    assert_eq!(of(["1", "1000"]), ["sort n=1", "sort n=1000"]);
    assert_eq!(of(["1", "1"]), [""], "one command, run twice");
}

//! Memory with known faults and huge pages.

use assert_cmd::Command;
use serde_json::Value;

use super::{Case, lab, readings};

impl Case {
    /// 23,029 pages in an aligned region: as many faults with small pages; with huge pages one per huge page plus the
    /// tail.
    pub fn oracle(&self, mut command: Command) {
        let lab_copy = self.path("hugewise-lab");
        std::fs::copy(lab(), &lab_copy).expect("a copy");
        let json = self.path("report.json");
        command
            .args([
                "run",
                "--policy",
                "huge:as-is",
                "--policy",
                "small:thp=never",
            ])
            .args([
                "--max-rounds",
                "2",
                "--warmup",
                "1",
                "--metric",
                "touched=faults ([0-9]+)",
                "--json",
            ])
            .arg(&json)
            .arg("--")
            .arg(&lab_copy)
            .args(["touch", "--pages", "23029", "--huge"])
            .assert()
            .success();
        let report = self.json(&json);
        let page = report["host"]["page_bytes"].as_f64().expect("a page size");
        let huge = report["host"]["thp"]["pmd_bytes"]
            .as_f64()
            .expect("a huge page size")
            / page;
        let small = readings(&report, "small", "touched");
        assert!(
            !small.is_empty() && small.iter().all(|&faults| faults == 23_029.0),
            "small: {small:?}"
        );
        let whole = (23_029.0 / huge).floor();
        let huge_trials = HugeTrial::of(&report);
        for trial in &huge_trials {
            // A machine short of huge pages refuses some. Each refusal costs this many small faults, and the kernel
            // counts it.
            let refused = (trial.touched - whole - 23_029.0 % huge) / (huge - 1.0);
            assert!(
                refused.fract() == 0.0 && (0.0..=trial.refused).contains(&refused),
                "{huge_trials:?}"
            );
            assert_eq!(
                trial.peak_bytes,
                (whole - refused) * huge * page,
                "{huge_trials:?}"
            );
        }
        assert!(
            huge_trials.iter().any(|trial| trial.refused == 0.0),
            "{huge_trials:?}"
        );
        // The whole process takes some more faults for its start, the same under both.
        let total = |policy| readings(&report, policy, "minor_faults_total")[0];
        let more = total("small") - total("huge") - (23_029.0 - huge_trials[0].touched);
        assert!(more.abs() <= 8.0, "{more}");
    }
}

/// The readings that the oracle checks in a trial with huge pages.
#[derive(Debug)]
struct HugeTrial {
    /// Faults of the memory that it touched.
    touched: f64,
    /// Huge pages that the machine refused during the trial, to any process.
    refused: f64,
    peak_bytes: f64,
}

impl HugeTrial {
    fn of(report: &Value) -> Vec<Self> {
        let read = |metric| readings(report, "huge", metric);
        let (refused, peaks) = (
            read("thp_fault_fallback_total"),
            read("huge_anon_peak_bytes"),
        );
        let trials = read("touched").into_iter().zip(refused).zip(peaks);
        trials
            .map(|((touched, refused), peak_bytes)| Self {
                touched,
                refused,
                peak_bytes,
            })
            .collect()
    }
}

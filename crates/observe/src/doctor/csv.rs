//! The diagnosis as rows for programs.

use super::{BreakingState, Diagnosis, FeatureReport, PolicyReport, Remark, SharedMemory};
use hugewise_text::csv::Csv;

impl Diagnosis {
    /// One row per feature, policy, kind of shared memory, state that breaks a program, and remark.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut csv = Csv::new(&["kind", "id", "answer", "meaning", "evidence", "remedy"]);
        for report in &self.features {
            csv.row(feature(report));
        }
        for report in &self.policies {
            csv.row(policy(report));
        }
        for memory in &self.shared_memory {
            csv.row(shared_memory(memory));
        }
        for state in &self.breaking {
            csv.row(breaking(state));
        }
        for (kind, remarks) in [("hazard", &self.hazards), ("setting", &self.settings)] {
            for remark in remarks {
                csv.row(row(kind, remark));
            }
        }
        csv.into_text()
    }
}

fn feature(report: &FeatureReport) -> [String; 6] {
    [
        "rung".to_owned(),
        report.feature.name().to_owned(),
        report.answer().to_owned(),
        report.title.clone(),
        report.reason(),
        report.remedy.clone().unwrap_or_default(),
    ]
}

fn policy(report: &PolicyReport) -> [String; 6] {
    let answer = if report.means.is_some() { "yes" } else { "no" };
    [
        "policy".to_owned(),
        report.policy.clone(),
        answer.to_owned(),
        report.means.clone().unwrap_or_default(),
        String::new(),
        report.obstacles.join("; "),
    ]
}

fn shared_memory(memory: &SharedMemory) -> [String; 6] {
    let answer = if memory.huge { "huge" } else { "small" };
    [
        "shared_memory".to_owned(),
        memory.mount.clone().unwrap_or_default(),
        answer.to_owned(),
        memory.pages.clone(),
        format!("{}; shmem_enabled={}", memory.setting, memory.shmem_enabled),
        String::new(),
    ]
}

fn breaking(state: &BreakingState) -> [String; 6] {
    [
        "state".to_owned(),
        state.rule.clone(),
        "breaks".to_owned(),
        state.meaning.clone(),
        state.who(),
        state.remedy.clone(),
    ]
}

fn row(kind: &str, remark: &Remark) -> [String; 6] {
    let evidence = remark.evidence.iter();
    let evidence = evidence.map(|one| format!("{}={}", one.source, one.value));
    [
        kind.to_owned(),
        remark.id.clone(),
        remark.severity.title().to_owned(),
        remark.meaning.clone(),
        evidence.collect::<Vec<_>>().join("; "),
        remark.remedy.clone(),
    ]
}

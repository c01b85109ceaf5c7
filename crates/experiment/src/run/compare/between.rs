//! Comparison of two records: the same policy on two machines, kernels or builds.
//!
//! Nothing was shuffled between the two records, so this comparison cannot exclude other changes between them. Two
//! sessions of one program on one boot differ by more than the trials of each. The typical values are therefore
//! compared without an interval, and only a large distance is reported as a change. Records with different
//! circumstances are refused.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use crate::base::host::{Host, ThpSettings};
use crate::base::missing::Fact;
use crate::base::units::MIB;
use crate::run::compare::effect::Effect;
use crate::run::compare::medians::middles;
use crate::run::compare::rounds::{Arm, Rounds};
use crate::run::compare::rows::Estimate;
use crate::run::compare::verdict::word;
use crate::run::compare::{
    CompareError, Comparison, Judged, Statistic, Table, Verdict, Warning, columns,
};
use crate::run::record::Record;
use crate::run::trial::Trial;

/// How records of different circumstances are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Across {
    /// They are refused: the difference could be due to the circumstances.
    Refused,
    /// They are compared, and every comparison lists what differs.
    Allowed,
}

/// Compares record `b` with record `a` for each policy in both. In every row, `policy` and `baseline` are that policy's
/// name: its value in `b` against its value in `a`. The metric, the threshold and the wording come from `b`'s plan.
///
/// # Errors
/// Fails if circumstances differ and this was not allowed (it lists each difference), or if no policy or verdict metric
/// occurs in both.
pub fn between(a: &Record, b: &Record, across: Across) -> Result<Table, CompareError> {
    let differences = differences(a, b);
    if across == Across::Refused && !differences.is_empty() {
        let differences = differences.join("; ");
        return Err(CompareError::Circumstances { differences });
    }
    let two = Two::of(a, b, &differences)?;
    let threshold = two.after.threshold;
    let rows = two.rows().into_iter();
    let comparisons: Vec<_> = rows.map(|row| row.finish(threshold)).collect();
    let verdict = two.verdict(&comparisons);
    Ok(Table {
        pages_alone: Vec::new(),
        comparisons,
        control: None,
        verdict,
        interactions: Vec::new(),
    })
}

struct Two<'a> {
    before: Judged<'a>,
    after: Judged<'a>,
    policies: Vec<&'a str>,
    warnings: Vec<Warning>,
}

impl<'a> Two<'a> {
    fn of(a: &'a Record, b: &'a Record, differences: &[String]) -> Result<Self, CompareError> {
        let before = Judged::as_planned(a)?;
        let after = Judged::as_planned(b)?;
        Ok(Self {
            before,
            after,
            policies: of_both(&[a, b])?,
            warnings: Warning::of_circumstances(differences),
        })
    }

    fn rows(&self) -> Vec<Estimate> {
        columns::names(&[self.before.record, self.after.record])
            .iter()
            .flat_map(|metric| self.policies.iter().map(|policy| self.row(metric, policy)))
            .collect()
    }

    fn row(&self, metric: &str, policy: &str) -> Estimate {
        let (a, mut warnings) = sample(&self.before.rounds, policy, metric);
        let (b, more) = sample(&self.after.rounds, policy, metric);
        warnings.extend(more);
        warnings.extend(self.warnings.iter().cloned());
        let effect = Effect::of_sessions(&a, &b);
        Estimate {
            metric: metric.to_owned(),
            statistic: Statistic::Center,
            policy: policy.to_owned(),
            baseline: policy.to_owned(),
            effect,
            n: a.len().min(b.len()) as u32,
            warnings,
        }
    }

    fn verdict(&self, comparisons: &[Comparison]) -> Verdict {
        let better = self.after.better;
        let mut verdict = Verdict {
            metric: self.after.metric.to_owned(),
            baseline: self.after.baseline.name.clone(),
            threshold: self.after.threshold,
            ..Verdict::default()
        };
        for row in comparisons
            .iter()
            .filter(|row| row.metric == self.after.metric)
        {
            let answer = word(row.change, better);
            verdict.policies.insert(row.policy.clone(), answer);
        }
        verdict
    }
}

/// The policies that all of these records have, in the order of the last record.
///
/// # Errors
/// Fails if there is none.
pub(super) fn of_both<'a>(records: &[&'a Record]) -> Result<Vec<&'a str>, CompareError> {
    let names = |record: &'a Record| record.header.plan.policies.iter().map(|p| p.name.as_str());
    let has = |record: &&'a Record, name: &str| names(record).any(|it| it == name);
    let last = records.last().into_iter().flat_map(|last| names(last));
    let all = last.filter(|name| records.iter().all(|record| has(record, name)));
    let all: Vec<&str> = all.collect();
    match all.is_empty() {
        true => Err(CompareError::NothingInCommon),
        false => Ok(all),
    }
}

/// The typical value of each trial that succeeded and was read, and why others were not.
pub(super) fn sample(rounds: &Rounds, policy: &str, metric: &str) -> (Vec<f64>, Vec<Warning>) {
    let trials = rounds.trials(Arm::Policy(policy));
    let (read, failed): (Vec<&Trial>, Vec<&Trial>) = trials.partition(|trial| trial.succeeded());
    let (values, why) = middles(read, metric);
    let failed = failed.len() as u32;
    let failures = (failed > 0).then_some(Warning::FailedTrials { trials: failed });
    let warnings = failures
        .into_iter()
        .chain(why.map(Warning::NotRead))
        .collect();
    (values, warnings)
}

/// All differences in the circumstances of two records, as `field: before → after`.
pub(super) fn differences(a: &Record, b: &Record) -> Vec<String> {
    let (p, q) = (&a.header.plan, &b.header.plan);
    let mut found = Vec::new();
    let commands = [&p.command, &q.command].map(|words| words.join(" "));
    compare("command", &commands[0], &commands[1], &mut found);
    found.extend(host_differences(&a.header.host, &b.header.host));
    for policy in &p.policies {
        let other = q.policies.iter().find(|other| other.name == policy.name);
        if other.is_some_and(|other| other.settings != policy.settings) {
            found.push(format!("policy {}: not the same settings", policy.name));
        }
    }
    found
}

/// All differences between two hosts that can affect the measurement, as `field: before → after`.
#[must_use]
pub fn host_differences(x: &Host, y: &Host) -> Vec<String> {
    let mut differences = Vec::new();
    let found = &mut differences;
    compare("kernel", &x.kernel, &y.kernel, found);
    compare("architecture", &x.arch, &y.arch, found);
    compare("processor", &x.cpu_model, &y.cpu_model, found);
    compare("processors", &x.cpus, &y.cpus, found);
    compare("NUMA nodes", &x.numa_nodes, &y.numa_nodes, found);
    compare("page size", &x.page_bytes, &y.page_bytes, found);
    let swap = [x, y].map(|host| mib(host.swap_bytes));
    compare("swap", &swap[0], &swap[1], found);
    let shown = |value: &Option<String>| value.clone().unwrap_or_else(none);
    let hypervisors = [&x.hypervisor, &y.hypervisor].map(shown);
    compare("hypervisor", &hypervisors[0], &hypervisors[1], found);
    let governors = [&x.governor, &y.governor].map(shown);
    compare("governor", &governors[0], &governors[1], found);
    let tunables = [x, y].map(|host| host.tunables.variable(None).unwrap_or_else(none));
    compare("tunables of glibc", &tunables[0], &tunables[1], found);
    // The memory that the kernel reserves for itself varies slightly between boots.
    if x.memory_bytes.abs_diff(y.memory_bytes) > x.memory_bytes / 100 {
        let memory = [x, y].map(|host| mib(host.memory_bytes));
        compare("memory", &memory[0], &memory[1], found);
    }
    match (&x.thp, &y.thp) {
        (Ok(x), Ok(y)) => thp_differences(x, y, found),
        (x, y) if x != y => {
            let told = |thp: &Fact<ThpSettings>| match thp {
                Ok(_) => "known".to_owned(),
                Err(missing) => missing.to_string(),
            };
            compare("THP settings", &told(x), &told(y), found);
        }
        _ => {}
    }
    differences
}

/// The settings of transparent huge pages in which two hosts differ, each under its own name.
fn thp_differences(x: &ThpSettings, y: &ThpSettings, found: &mut Vec<String>) {
    compare("THP enabled", &x.enabled, &y.enabled, found);
    compare("THP defrag", &x.defrag, &y.defrag, found);
    compare("use_zero_page", &x.zero_page, &y.zero_page, found);
    let huge = [x, y].map(|thp| mib(thp.pmd_bytes));
    compare("huge page size", &huge[0], &huge[1], found);
    let shmem = [x, y].map(|thp| thp.shmem_enabled.clone().unwrap_or_else(none));
    compare("shmem_enabled", &shmem[0], &shmem[1], found);
    each("khugepaged/", &x.khugepaged, &y.khugepaged, found);
    let named = |thp: &ThpSettings| -> BTreeMap<String, String> {
        let sizes = thp.sizes.iter();
        sizes
            .map(|(kib, mode)| (format!("hugepages-{kib}kB"), mode.clone()))
            .collect()
    };
    each("", &named(x), &named(y), found);
}

/// Adds the differing entries of two tables of settings.
fn each<K: Ord + Display, V: PartialEq + Display>(
    prefix: &str,
    x: &BTreeMap<K, V>,
    y: &BTreeMap<K, V>,
    found: &mut Vec<String>,
) {
    let names: BTreeSet<&K> = x.keys().chain(y.keys()).collect();
    let told = |value: Option<&V>| value.map_or_else(none, ToString::to_string);
    for name in names {
        let field = format!("{prefix}{name}");
        compare(&field, &told(x.get(name)), &told(y.get(name)), found);
    }
}

/// Formats bytes in a unit small enough to distinguish two machines.
fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes / MIB)
}

fn none() -> String {
    "none".to_owned()
}

fn compare<T: PartialEq + Display>(field: &str, a: &T, b: &T, found: &mut Vec<String>) {
    if a != b {
        found.push(format!("{field}: {a} → {b}"));
    }
}

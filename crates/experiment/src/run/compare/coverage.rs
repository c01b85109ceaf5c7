//! Manipulation check: did two policies give the program the same pages?

use crate::run::compare::Why;
use crate::run::compare::medians::arm_trials;
use crate::run::compare::rounds::{Arm, Rounds};
use crate::run::metric::{Counter, MetricId};
use crate::run::policy::Policy;
use crate::run::record::Record;
use crate::run::stats::median;
use crate::run::trial::readings;

/// Fewer rounds do not establish a typical value.
const FEWEST_ROUNDS: u32 = 3;

/// A smaller number of huge pages may come from the timing of the samples.
pub(in crate::run) const MANY_PAGES: f64 = 8.0;

/// Faults may differ by this share. A short program can gain and lose its huge pages between two samples, but its
/// number of faults then reveals it.
pub(in crate::run) const FAULTS: f64 = 0.05;

/// Returns why `policy` had no effect on the program's pages; `None` if it had one, might have had one, or was never
/// meant to differ from the baseline.
///
/// Only policies that differ solely in pages are judged. For every kind of huge page and folio, the typical amounts may
/// differ by one huge page or 1 % of the peak memory, whichever is more. A kind that could not be read is not counted,
/// but anonymous huge pages and faults must have been read. Faults count only for a command: those of a server depend
/// on its load.
pub(super) fn no_effect(
    record: &Record,
    rounds: &Rounds,
    baseline: &Policy,
    policy: &Policy,
) -> Option<Why> {
    let pages_only = policy.settings.differs_only_in_pages(&baseline.settings);
    if !pages_only || policy.settings == baseline.settings {
        return None;
    }
    let typical = |metric: &str| typical(rounds, metric, &baseline.name, &policy.name);
    let (faults, policy_faults) = typical(MetricId::MinorFaultsTotal.name())?;
    // A server faults as requests arrive, and lives longer than one sampling interval.
    let is_service = record.header.plan.service.is_some();
    if !is_service && (policy_faults - faults).abs() > FAULTS * faults {
        return None;
    }
    let kinds = huge_kinds(record);
    let read: Vec<Kind<'_>> = kinds
        .iter()
        .filter_map(|&kind| typical(kind).map(|(a, b)| (kind, a, b)))
        .collect();
    if !read.iter().any(|(kind, ..)| kind.starts_with("huge_anon_")) {
        return None;
    }
    let rss = typical(MetricId::PeakRssBytes.name()).map_or(0.0, |(a, b)| a.max(b));
    let pmd = record.header.host.pmd_bytes().unwrap_or(0) as f64;
    let allowed = pmd.max(0.01 * rss);
    // Memory that lived between two samples was still counted when it was created, and so were files of a tmpfs that
    // no process maps.
    let made = [Counter::ThpFaultAlloc, Counter::ThpFileAlloc];
    let made = made.map(|it| typical(MetricId::Counter(it).name()).unwrap_or_default());
    let differs = |(huge, policy_huge): &(f64, f64)| (policy_huge - huge).abs() * pmd > allowed;
    if made.iter().any(differs) {
        return None;
    }
    if collapsed(record, &policy.name) > allowed {
        return None;
    }
    // A program that reads a file without mapping it shows no pages of it.
    let [files, policy_files] = [baseline, policy].map(|it| huge_files(record, &it.name));
    if (policy_files - files).abs() > allowed {
        return None;
    }
    let farthest = read.iter().max_by(|x, y| apart(x).total_cmp(&apart(y)))?;
    (apart(farthest) <= allowed).then(|| pages(&read, [faults, policy_faults]))
}

/// Bytes that a policy itself made huge in a typical trial; they may be gone at the end.
fn collapsed(record: &Record, policy: &str) -> f64 {
    let trials = arm_trials(record, policy).filter_map(|trial| trial.read_back.tracing.as_ref());
    let bytes = trials.map(|tracing| {
        let made = [&tracing.collapsing, &tracing.text].into_iter().flatten();
        made.map(|it| it.bytes as f64).sum()
    });
    median(&bytes.collect::<Vec<_>>()).unwrap_or_default()
}

/// Bytes of files that were huge in the page cache before a typical trial.
pub(in crate::run) fn huge_files(record: &Record, policy: &str) -> f64 {
    let cached = arm_trials(record, policy).filter_map(|trial| trial.read_back.file_cache);
    let bytes: Vec<f64> = cached.map(|it| it.huge_bytes as f64).collect();
    median(&bytes).unwrap_or_default()
}

/// The medians of one kind of huge page: its metric, the baseline's, the policy's.
type Kind<'a> = (&'a str, f64, f64);

fn apart(kind: &Kind<'_>) -> f64 {
    (kind.2 - kind.1).abs()
}

/// How the pages of two policies were the same, by the kind with the most huge memory.
fn pages(read: &[Kind<'_>], faults: [f64; 2]) -> Why {
    let largest = read
        .iter()
        .max_by(|x, y| x.2.max(x.1).total_cmp(&y.2.max(y.1)));
    match largest {
        Some(&(_, there, here)) if there.max(here) > 0.0 => Why::AsMuchHuge {
            bytes: [there, here],
            faults,
        },
        _ => Why::NothingHuge { faults },
    }
}

/// The metrics of the amount of huge memory.
pub(crate) fn huge_kinds(record: &Record) -> std::collections::BTreeSet<&str> {
    let is_kind = |name: &&str| {
        let huge = name.starts_with("huge_") || name.starts_with("hugetlb_");
        let folio = name.starts_with("mthp_")
            && (name.ends_with("_peak_bytes") || name.ends_with("_exit_bytes"));
        folio || (huge && name.ends_with("_bytes"))
    };
    let readings = record.trials.iter().map(|trial| &trial.readings);
    readings::names(readings)
        .into_iter()
        .filter(is_kind)
        .collect()
}

/// The medians of a metric under both policies, over the rounds in which both were read.
fn typical(rounds: &Rounds, metric: &str, baseline: &str, policy: &str) -> Option<(f64, f64)> {
    let pairs = rounds.pairs(metric, Arm::Policy(baseline), Arm::Policy(policy));
    let draws = pairs.centers();
    (pairs.n() >= FEWEST_ROUNDS).then_some(())?;
    median(&draws.baselines()).zip(median(&draws.policies()))
}

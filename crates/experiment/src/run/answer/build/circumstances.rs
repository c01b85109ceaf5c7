//! Where and how each record was measured.

use std::path::Path;

use super::Source;
use crate::run::answer::{Circumstances, Disturbance, Machine};
use crate::run::metric::MetricId;
use crate::run::record::Record;

/// The circumstances of the record, or of both.
pub(super) fn circumstances(source: &Source<'_>) -> Vec<Circumstances> {
    let records = std::iter::once(source.record).chain(source.other);
    let mut all: Vec<Circumstances> = records.map(of_record).collect();
    for (one, path) in all.iter_mut().zip(&source.beside.paths) {
        one.record = Some(path.clone());
    }
    if let (Some(one), Some(word)) = (all.first_mut(), &source.beside.word) {
        one.record = Some(word.clone());
    }
    if let Some(one) = all.first_mut() {
        one.earlier.clone_from(&source.beside.earlier);
    }
    all
}

fn of_record(record: &Record) -> Circumstances {
    let header = &record.header;
    let touches = record
        .trials
        .iter()
        .filter_map(|it| it.first_touch.as_ref());
    let short = touches.filter(|it| it.wanted_bytes.is_some()).count();
    Circumstances {
        machine: machine(record),
        rounds: record.compared_rounds(),
        trials: record.trials.len() as u32,
        seconds: seconds(record),
        seed: header.plan.seed,
        host_memory: header.plan.host_memory,
        warmed_in_part: short as u32,
        fragment: header.plan.fragment,
        fragmented: fragmented(record),
        disturbance: disturbance(record),
        stopped: record.end.as_ref().map(|end| end.reason),
        continued: continued(record),
        settings_held_by: header.settings_held_by.clone(),
        ran: ran(record),
        measured_by: header.program.clone(),
        record: None,
        earlier: Vec::new(),
    }
}

fn machine(record: &Record) -> Machine {
    let host = &record.header.host;
    let thp = host.thp.as_ref().ok();
    Machine {
        kernel: host.kernel.clone(),
        arch: host.arch.clone(),
        hypervisor: host.hypervisor.clone(),
        cpus: host.cpus,
        thp: thp.map(|thp| thp.enabled.clone()),
        defrag: thp.map(|thp| thp.defrag.clone()),
        page_bytes: host.page_bytes,
        huge_page_bytes: host.pmd_bytes(),
        tunables: host.tunables.clone(),
    }
}

/// Seconds between the start of the first trial and that of the last.
pub(super) fn seconds(record: &Record) -> Option<f64> {
    let begun = record.trials.first()?.started_unix_ms;
    let last = record.trials.last()?.started_unix_ms;
    last.checked_sub(begun).map(|ms| ms as f64 / 1e3)
}

fn fragmented(record: &Record) -> Option<[f64; 2]> {
    record.header.plan.fragment?;
    let trials = record.trials.iter();
    let shares = trials.filter_map(|it| it.value(MetricId::FragmentedBeforeRatio));
    shares.fold(None, |ends: Option<[f64; 2]>, share| {
        let [low, high] = ends.unwrap_or([share, share]);
        Some([low.min(share), high.max(share)])
    })
}

fn disturbance(record: &Record) -> Disturbance {
    let marked = record.trials.iter().filter(|it| !it.marks.is_empty());
    let kinds = record.count_marks().into_iter();
    Disturbance {
        trials: marked.count() as u32,
        kinds: kinds
            .map(|(kind, count)| (kind.to_owned(), count as u32))
            .collect(),
    }
}

fn continued(record: &Record) -> Vec<(u32, u64)> {
    let began = record.header.created_unix_ms;
    let all = record.continuations.iter();
    all.map(|it| {
        (
            it.round + 1,
            it.started_unix_ms.saturating_sub(began) / 60_000,
        )
    })
    .collect()
}

/// The program that did the work, if the command names another one.
fn ran(record: &Record) -> Option<String> {
    let plan = &record.header.plan;
    if plan.bench.is_some() || !plan.programs.is_empty() {
        return None;
    }
    let command = plan.command.first()?.split_whitespace().next()?;
    let trees = record
        .trials
        .iter()
        .filter_map(|it| it.read_back.tree.as_ref());
    let mut programs = trees.map(|it| it.largest.program.as_str());
    let program = programs.find(|it| !it.is_empty())?;
    let name = |path: &str| Path::new(path).file_name().map(ToOwned::to_owned);
    (name(command) != name(program)).then(|| program.to_owned())
}

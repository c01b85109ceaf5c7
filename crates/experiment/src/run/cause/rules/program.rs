//! Properties of the program: its settings, its length, its heap, its cost of address translation.

use std::collections::BTreeMap;

use serde::Serialize;

use super::super::context::{MissingInput, Told, View};
use super::super::{CauseOutcome, Context, Kind};
use crate::base::missing::Missing;
use crate::run::compare::coverage::MANY_PAGES;
use crate::run::compare::medians::arm_trials;
use crate::run::metric::MetricId;
use crate::run::policy::realise::TreeTracer;
use crate::run::policy::{Malloc, Settings, Thp};
use crate::run::record::Record;
use crate::run::trial::{OwnAct, Trial};

/// A program that keeps huge pages from its own memory.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct ProgramDisablesThp {
    /// The name of the process.
    pub process: String,
    /// Its program.
    pub program: String,
    /// The share of anonymous memory with `MADV_NOHUGEPAGE`; `None` if it called `prctl(PR_SET_THP_DISABLE)`.
    pub advised_against_share: Option<f64>,
    /// The share of anonymous memory in thread stacks, if that is the reason: the kernel keeps them small.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stacks_share: Option<f64>,
    /// The setting that keeps huge pages enabled, if one is known.
    pub remedy: Option<String>,
    /// Trials with this observation and all trials, by arm.
    pub trials: BTreeMap<String, [usize; 2]>,
    /// Arms with settings that did not affect it.
    pub in_vain: Vec<String>,
    /// Huge pages from before the program disabled them, in bytes by arm.
    pub earlier_huge_bytes: BTreeMap<String, f64>,
}

/// The program, or the kernel for its thread stacks, keeps huge pages from its memory, whatever the policy.
pub(in super::super) fn own_act(view: &View<'_, '_>) -> Told {
    let (context, record) = (view.context, view.context.record);
    let shut = || arms(context).filter(|arm| is_shut_out(record, arm));
    let Some(act) = shut().find_map(|arm| acts(record, arm).next()) else {
        return Ok(None);
    };
    let process = act.process();
    let is_switch = matches!(act, OwnAct::SwitchedOff(_));
    let trials = |arm: &str| [acts(record, arm).count(), arm_trials(record, arm).count()];
    let earlier = |arm: &str| {
        let bytes = view.median(arm, MetricId::HugeAnonPeakBytes).ok()?;
        (is_switch && bytes > 0.0).then(|| (arm.to_owned(), bytes))
    };
    let sets = |arm: &&str| context.settings(arm) != Settings::default();
    let found = ProgramDisablesThp {
        process: process.name.clone(),
        program: process.program.clone(),
        advised_against_share: match act {
            OwnAct::AdvisedAgainst { bytes, of, .. } => Some(bytes as f64 / of.max(1) as f64),
            _ => None,
        },
        stacks_share: match act {
            OwnAct::ThreadStacks { bytes, of, .. } => Some(bytes as f64 / of.max(1) as f64),
            _ => None,
        },
        remedy: act.remedy(),
        trials: shut().map(|arm| (arm.to_owned(), trials(arm))).collect(),
        in_vain: shut().filter(sets).map(str::to_owned).collect(),
        earlier_huge_bytes: shut().filter_map(earlier).collect(),
    };
    Ok(Some((CauseOutcome::Shown, Kind::ProgramDisablesThp(found))))
}

/// Returns true if the program kept huge pages from its memory under an arm, or under the baseline.
///
/// Without an arm, any arm counts.
pub(in super::super) fn is_vain(context: &Context<'_>, arm: Option<&str>) -> bool {
    let baseline = context.baseline();
    let speaks_of = |other: &str| arm.is_none_or(|arm| arm == other || other == baseline);
    arms(context).any(|other| speaks_of(other) && is_shut_out(context.record, other))
}

fn arms<'a>(context: &Context<'a>) -> impl Iterator<Item = &'a str> {
    context.policies().iter().map(|policy| policy.name.as_str())
}

/// Returns true if the program kept huge pages from its memory in most trials of an arm.
fn is_shut_out(record: &Record, arm: &str) -> bool {
    let looked = |trial: &&Trial| trial.read_back.tree.is_some();
    let looked = arm_trials(record, arm).filter(looked).count();
    2 * acts(record, arm).count() > looked
}

fn acts<'a>(record: &'a Record, arm: &str) -> impl Iterator<Item = OwnAct<'a>> {
    let realisation = record.header.realisations.get(arm);
    // These are effects of the policy: a tracer keeps other sites small, a setting of the allocator all memory.
    let is_chosen = realisation
        .is_some_and(|it| matches!(it.tracer, TreeTracer::Sites(_)) || it.asks_for_none());
    let trials = arm_trials(record, arm).filter(move |_| !is_chosen);
    trials.filter_map(|trial| trial.read_back.own_act())
}

/// A workload with a possibly large share of process start and exit.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct WorkloadTooShort {
    /// Median wall time under the baseline, in seconds.
    pub wall_seconds: f64,
    /// True if start and exit may be most of it: below 10 ms.
    pub is_very_short: bool,
    /// Samples of its memory in a typical trial.
    pub samples: Option<f64>,
}

/// The workload is too short to show much: it takes less than 50 ms.
pub(in super::super) fn too_short(view: &View<'_, '_>) -> Told {
    let wall = view.here(MetricId::WallSeconds).ok();
    let Some(wall_seconds) = wall.filter(|wall| *wall < 0.05) else {
        return Ok(None);
    };
    let found = WorkloadTooShort {
        wall_seconds,
        is_very_short: wall_seconds < 0.01,
        samples: view.here(MetricId::SamplesTotal).ok(),
    };
    Ok(Some((CauseOutcome::Shown, Kind::WorkloadTooShort(found))))
}

/// Huge memory through malloc compared with that through the system-wide setting.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct HeapGrewInSteps {
    /// Huge bytes with malloc's own setting.
    pub huge_bytes: f64,
    /// The arm that gives huge pages to all memory.
    pub always: String,
    /// Huge bytes under that arm.
    pub always_huge_bytes: f64,
}

/// The heap grows in steps too small for huge pages, unless malloc is set to grow it by huge pages.
pub(in super::super) fn heap_steps(view: &View<'_, '_>) -> Told {
    /// A smaller factor may come from the timing of the samples.
    const CLEARLY_MORE: f64 = 2.0;

    let is_of_malloc = view.context.settings(view.arm).malloc == Some(Malloc::Thp);
    // It gives huge pages to all memory and does not change malloc.
    let always = view.context.policies().iter().find(|it| {
        it.settings.thp == Some(Thp::Always) && it.settings.malloc.is_none() && is_of_malloc
    });
    let Some((page, always)) = view.context.host().pmd_bytes().zip(always) else {
        return Ok(None);
    };
    let huge_bytes = view.here(MetricId::HugeAnonPeakBytes)?;
    let there = view.median(&always.name, MetricId::HugeAnonPeakBytes)?;
    let is_more =
        huge_bytes >= CLEARLY_MORE * there && huge_bytes - there >= MANY_PAGES * page as f64;
    let found = HeapGrewInSteps {
        huge_bytes,
        always: always.name.clone(),
        always_huge_bytes: there,
    };
    Ok(is_more.then_some((CauseOutcome::Shown, Kind::HeapGrewInSteps(found))))
}

/// The cost of address translation under the baseline.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Translation {
    /// The share of cycles with a page walk in progress: an upper bound, because the core computes at the same time.
    pub at_most: Option<f64>,
    /// The part for data.
    pub data: Option<f64>,
    /// The part for code.
    pub code: Option<f64>,
    /// The smallest effect of interest; below it, translation is not the bottleneck.
    pub threshold: f64,
    /// Why there is no bound.
    pub uncounted: Option<Missing>,
    /// Data page walks, if their cycles were not counted.
    pub walks: Option<f64>,
    /// Data page walks per 1,000 instructions. They do not show the cost of a walk.
    pub walks_per_1000_instructions: Option<f64>,
}

/// Either address translation is not the bottleneck, or it may be, with an upper bound of the possible savings.
pub(in super::super) fn translation(view: &View<'_, '_>) -> Told {
    let data = view.here(MetricId::DataWalkCyclesRatio);
    let code = view.here(MetricId::CodeWalkCyclesRatio);
    let errors = [&data, &code].map(|it| it.as_ref().err().cloned());
    let is_unasked = |it: &MissingInput| it.reason == Missing::NotAsked || it.is_of_failed_trials();
    // An experiment without counters, or a record from before they existed.
    if errors.iter().flatten().any(is_unasked) {
        return Ok(None);
    }
    let uncounted = errors.into_iter().flatten().next().map(|it| it.reason);
    let (data, code) = (data.ok(), code.ok());
    let at_most = data.zip(code).map(|(data, code)| (data + code).min(1.0));
    let counted = |metric: MetricId| view.here(metric).ok().filter(|_| at_most.is_none());
    let instructions = counted(MetricId::InstructionsTotal);
    let walks = counted(MetricId::DtlbWalksTotal).filter(|_| instructions.is_some());
    let rate = |(walks, instructions): (f64, f64)| match instructions > 0.0 {
        true => walks / instructions * 1000.0,
        false => 0.0,
    };
    let found = Translation {
        at_most,
        data,
        code,
        threshold: view.context.table.verdict.threshold,
        uncounted,
        walks,
        walks_per_1000_instructions: walks.zip(instructions).map(rate),
    };
    let outcome = match at_most {
        Some(_) => CauseOutcome::Shown,
        None => CauseOutcome::CannotTell,
    };
    Ok(Some((outcome, Kind::Translation(found))))
}

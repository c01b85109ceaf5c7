//! The policy to use, and how to set it.

use super::commands::{by_hand, exec, of_machine, workload};
use super::pages::is_malloc_without_pages;
use super::word::Decision;
use super::{Work, arms};
use crate::base::host::ThpDisable;
use crate::run::answer::{
    Against, Choice, ChoiceScope, Claim, ClaimId, Command, Mechanism, Tie, When, Word,
};
use crate::run::cause::facts;
use crate::run::plan::{HUGE, Live};
use crate::run::policy::realise::{FileWrite, Realisation, ThpPrctl};
use crate::run::record::COLD_REST;
use crate::text::wrap::quoted_words;

/// The choice; `None` if the comparison is not about policies.
pub(super) fn choice(work: &Work<'_>, claims: &[Claim], decision: &Decision) -> Option<Choice> {
    let verdict = &work.table().verdict;
    let is_compared = work
        .table()
        .comparisons
        .iter()
        .any(|row| row.metric == verdict.metric && row.n > 0);
    if !work.asks_about_pages() || verdict.policies.is_empty() || !is_compared {
        return None;
    }
    let best = verdict.best.as_deref();
    let vain = best.is_some_and(|best| is_malloc_without_pages(work.context, best));
    // Recommends no policy whose gain has another reason than its huge pages.
    let other = best.filter(|best| *best != verdict.baseline && !vain);
    if let (Some(live), Some(best)) = (&work.record().header.plan.live, best) {
        return Some(match live.starts_the_program() {
            true => start(work, live, best),
            false => switch(live, best),
        });
    }
    match other {
        Some(best) => Some(set(work, claims, best)),
        None => Some(keep(work, claims, decision, best.is_some() && !vain)),
    }
}

/// The pages that a running process should have: the command that makes them so now, and the settings to choose from.
fn switch(live: &Live, best: &str) -> Choice {
    let pid = live.pids.first().copied().unwrap_or_default();
    let make_huge = Command {
        as_root: true,
        ..Command::new(format!("sudo hugewise collapse {pid}"))
    };
    let settings = Command::new(format!("hugewise advise -p {pid}"));
    let is_huge = best == HUGE;
    let is_set = !is_huge && live.found_huge == 0;
    let make_huge = is_huge.then_some(make_huge);
    let commands = make_huge.into_iter().chain((!is_set).then_some(settings));
    chosen(best, is_set, Mechanism::Switch, commands.collect())
}

/// The pages with which a program should be started: whole runs compare the ways to set them.
fn start(work: &Work<'_>, live: &Live, best: &str) -> Choice {
    let plan = &work.record().header.plan;
    let workload = match plan.shell {
        true => format!("--shell -- {}", quoted_words(&plan.command)),
        false => format!("-- {}", workload(work.record(), &[])),
    };
    let ways = Command::new(format!("hugewise run --whole-runs {workload}"));
    let is_set = (best == HUGE) == (live.found_huge > 0);
    let commands = (!is_set).then_some(ways);
    chosen(
        best,
        is_set,
        Mechanism::Start,
        commands.into_iter().collect(),
    )
}

fn chosen(best: &str, is_set: bool, mechanism: Mechanism, commands: Vec<Command>) -> Choice {
    Choice {
        arm: Some(best.to_owned()),
        scope: ChoiceScope::AnyRun,
        mechanism: match is_set {
            true => Mechanism::Nothing,
            false => mechanism,
        },
        commands,
        steps: Vec::new(),
        conditions: Vec::new(),
        prices: Vec::new(),
        ties: Vec::new(),
        preference: None,
    }
}

/// Keeps the baseline: permanently if everything is decided, otherwise for now.
fn keep(work: &Work<'_>, claims: &[Claim], decision: &Decision, is_decided: bool) -> Choice {
    let alone_decided = decision.pages_alone && !has_open(claims);
    let is_little = matches!(decision.word, Word::Little | Word::NoDifference);
    Choice {
        arm: (is_decided || alone_decided || is_little).then(|| work.baseline.to_owned()),
        scope: ChoiceScope::AnyRun,
        mechanism: Mechanism::Nothing,
        commands: Vec::new(),
        steps: Vec::new(),
        conditions: Vec::new(),
        prices: Vec::new(),
        ties: Vec::new(),
        preference: None,
    }
}

fn has_open(claims: &[Claim]) -> bool {
    let mut judged = claims
        .iter()
        .filter(|claim| claim.budget == super::Budget::Verdict);
    judged.any(|claim| claim.call.is_open())
}

fn set(work: &Work<'_>, claims: &[Claim], best: &str) -> Choice {
    let record = work.record();
    let verdict = &work.table().verdict;
    let mut policies = record.header.plan.policies.iter();
    let policy = policies.find(|it| it.name == best);
    let needed = needed(work, best);
    let needs_system = !needed.files.is_empty();
    let (realisation, conditions) = own(work, needed);
    let (by_hand, steps) = by_hand(record, &realisation);
    let mechanism = policy.map_or(Mechanism::Nothing, |it| {
        arms::mechanism(Some(&realisation), it)
    });
    // Variables and arguments that any user can set need no hugewise; system-wide settings are not combined with it.
    let exec = exec(record, best, needs_system).filter(|_| by_hand.is_empty() || !steps.is_empty());
    let ties = claims
        .iter()
        .enumerate()
        .filter_map(|(at, claim)| match &claim.contrast.against {
            Against::Rival(arm) => Some(Tie {
                arm: arm.clone(),
                claim: ClaimId(at),
            }),
            _ => None,
        });
    Choice {
        arm: Some(best.to_owned()),
        scope: scope(work, best),
        mechanism,
        commands: by_hand.into_iter().chain(exec).collect(),
        steps,
        conditions,
        prices: prices(work, claims, best),
        ties: ties.collect(),
        preference: verdict.preference,
    }
}

/// The runs for which a policy is chosen.
pub(super) fn scope(work: &Work<'_>, policy: &str) -> ChoiceScope {
    let rested = facts::rested(work.record(), work.baseline, policy);
    let limited = rested.is_some_and(|it| it.is_for_back_to_back_runs());
    match limited && work.record().header.plan.service.is_none() {
        true => ChoiceScope::BackToBack(COLD_REST.as_secs()),
        false => ChoiceScope::AnyRun,
    }
}

/// The claims about metrics that a policy makes worse.
pub(super) fn prices(work: &Work<'_>, claims: &[Claim], policy: &str) -> Vec<ClaimId> {
    let rows = facts::prices(work.record(), work.table(), policy);
    let of_row = |claim: &Claim| {
        let contrast = &claim.contrast;
        contrast.arm == policy
            && contrast.against == Against::Baseline
            && contrast.when == When::BackToBack
            && rows
                .iter()
                .any(|row| row.metric == contrast.metric && row.statistic == contrast.statistic)
    };
    let all = claims.iter().enumerate();
    all.filter(|(_, claim)| of_row(claim))
        .map(|(at, _)| ClaimId(at))
        .collect()
}

/// How a policy was reached, without steps that this machine did not need: clearing a switch that no parent had set.
fn needed(work: &Work<'_>, policy: &str) -> Realisation {
    let header = &work.record().header;
    let mut realisation = header.realisations.get(policy).cloned().unwrap_or_default();
    if realisation.prctl == ThpPrctl::Clear && header.host.thp_disable == ThpDisable::Off {
        realisation.prctl = ThpPrctl::Leave;
    }
    realisation
}

/// The same without the system-wide settings that the baseline also used, and these settings.
fn own(work: &Work<'_>, mut realisation: Realisation) -> (Realisation, Vec<Command>) {
    let baseline = work.record().header.realisations.get(work.baseline);
    let is_common = |file: &FileWrite| baseline.is_some_and(|it| it.files.contains(file));
    let (common, own): (Vec<FileWrite>, Vec<FileWrite>) =
        realisation.files.into_iter().partition(is_common);
    realisation.files = own;
    let common = common.iter().map(of_machine);
    (realisation, common.collect())
}

//! Words for the doubts: one line each.

use super::headline::{figures, stratum, stratum_in_full};
use super::{change_with_interval, interval, joined, less};
use crate::run::answer::{Answer, Claim, ClaimId, Doubt};
use crate::run::compare::Stratum;
use crate::text::number::{chosen_percent, counted, percent, percent_change};

/// Returns a doubt as one sentence without a full stop.
pub(in crate::run::answer) fn doubt(answer: &Answer, doubt: &Doubt) -> String {
    match doubt {
        Doubt::ControlFailed { claim } => {
            let figures = change_with_interval(answer, answer.claim(*claim));
            let baseline = &answer.judged.baseline;
            format!("{baseline} differs from itself by {figures}: trust no effect of that size")
        }
        Doubt::ControlWide { claim } => wide(answer, *claim),
        Doubt::NotApplied {
            arm,
            trials,
            of,
            detail,
        } => {
            format!("{arm} was not in effect in {trials} of {of} trials: {detail}")
        }
        Doubt::NothingDecided => "no policy got an answer".to_owned(),
        Doubt::ChosenAfterwards => {
            "baseline, metric or threshold were chosen after the trials had run".to_owned()
        }
        Doubt::FailedTrials {
            by_arm,
            of,
            first,
            said,
        } => {
            let said = said.as_ref().map(|said| format!("; it wrote: {said}"));
            let said = said.unwrap_or_default();
            format!(
                "failed trials of {of}: {}; the first: {first}{said}",
                numbers(by_arm)
            )
        }
        Doubt::Disturbed { trials, of, kinds } => {
            format!(
                "{trials} of {of} trials disturbed, kept ({})",
                numbers(kinds)
            )
        }
        Doubt::TimeWithoutPages { claim } => {
            let claim = answer.claim(*claim);
            let change = change_with_interval(answer, claim);
            format!(
                "{} {change} without a changed page: so much is not due to huge pages",
                claim.contrast.arm
            )
        }
        Doubt::OnlyBackToBack {
            arm,
            claim,
            seconds,
        } => back_to_back(answer, arm, *claim, *seconds),
        Doubt::FaultsAfterSplits { share } => {
            let percent = chosen_percent(*share);
            format!(
                "page faults after splits may be {percent} % of the effect: they cost small pages time"
            )
        }
        Doubt::MaybeSmall { claim } => {
            let threshold = chosen_percent(answer.judged.threshold);
            let figures = figures(answer, answer.claim(*claim));
            format!("{figures}: the effect may be smaller than {threshold} %")
        }
        Doubt::FewStarts { starts, wanted } => {
            let starts = counted((*starts).into(), "start");
            format!("only {starts} of the server: others may differ; {wanted} would show it")
        }
        Doubt::LoadIsTheLimit { share, parted } => load(*share, *parted),
        Doubt::ClosedLoop { program } => {
            format!("{program} waits for answers: percentiles hide slow requests")
        }
        Doubt::NoLatencies { trials, of, why } => {
            format!("no latencies in {trials} of {of} trials: {why}")
        }
        Doubt::MayDependOnOrder { arm, p, strata } => {
            format!(
                "{arm} may depend on what ran before ({})",
                order(*p, strata, stratum)
            )
        }
        _ => of_policies(answer, doubt),
    }
}

/// Returns a doubt with the evidence that does not fit on one line.
pub(in crate::run::answer) fn in_full(answer: &Answer, it: &Doubt) -> String {
    match it {
        Doubt::MayDependOnOrder { arm, p, strata } => {
            let order = order(*p, strata, stratum_in_full);
            format!("{arm} may depend on what ran before ({order})")
        }
        _ => doubt(answer, it),
    }
}

/// Returns a doubt about one policy, the records or the machine.
fn of_policies(answer: &Answer, doubt: &Doubt) -> String {
    match doubt {
        Doubt::TakenByChance {
            arm,
            taken,
            ratio,
            glibc,
            bound,
        } => by_chance(arm, *taken, *ratio, glibc, *bound),
        Doubt::MechanismCost { arm, claim } => {
            let figures = figures(answer, answer.claim(*claim));
            format!("{arm} includes the cost of its mechanism: {figures}")
        }
        Doubt::RareRunsUnseen { arm, at_most } => {
            format!(
                "{arm}: up to {} % of runs may be rare slow ones",
                percent(*at_most)
            )
        }
        Doubt::SomeRunsWorse {
            arm,
            worse,
            of,
            ratio,
        } => {
            let typical = ratio.map(|it| format!(", typically {} %", percent_change(it - 1.0)));
            let typical = typical.unwrap_or_default();
            format!("{arm}: {worse} of {of} runs were worse than the baseline{typical}")
        }
        Doubt::Dropped { arm, rounds, why } => {
            format!(
                "{arm} was dropped after {}: {why}",
                counted((*rounds).into(), "round")
            )
        }
        Doubt::LeftOut { arms, why } => format!("{}: {why}", super::list(arms)),
        Doubt::NotOneExperiment { differences } if differences.is_empty() => {
            "the records are not one experiment".to_owned()
        }
        Doubt::NotOneExperiment { differences } => {
            format!(
                "the records are not one experiment: {}",
                joined(differences.clone())
            )
        }
        Doubt::VendorObjects { who, program } => {
            format!("{who} advises against huge pages: see {program}")
        }
        Doubt::LeftBehind { text } => format!("not put back: {text}"),
        Doubt::UnverifiedCounters {
            metrics,
            wrong,
            command,
        } => {
            let metrics = metrics.join(", ");
            match wrong[..] {
                [] => format!("{metrics}: not verified on this CPU; {command}"),
                _ => format!(
                    "{metrics}: {} wrong on this CPU; {command}",
                    wrong.join(", ")
                ),
            }
        }
        Doubt::Warning { text } => text.clone(),
        _ => String::new(),
    }
}

fn wide(answer: &Answer, id: ClaimId) -> String {
    let control = answer.claim(id);
    let itself = super::itself(answer);
    let Some(noise) = interval(answer, control) else {
        return format!("{itself}: too few rounds to show the noise");
    };
    if control.excludes_none() {
        return format!("{itself} {noise}: a difference that cannot be; trust none of that size");
    }
    let decided = answer.headline.iter().map(|id| answer.claim(*id));
    let mut decided = decided.into_iter().filter(|claim| claim.call.is_shown());
    let is_same = |it: &Claim| it.contrast.metric == control.contrast.metric;
    match decided.find(|claim| is_same(claim)) {
        Some(claim) => {
            let own = interval(answer, claim).unwrap_or_default();
            format!(
                "{itself} {noise}: noisy, but {own} of {} includes that",
                claim.contrast.arm
            )
        }
        None => format!("{itself} {noise}: too noisy for a small effect"),
    }
}

fn back_to_back(answer: &Answer, arm: &str, claim: Option<ClaimId>, seconds: u64) -> String {
    let after = claim.map(|id| answer.claim(id));
    let after = match after {
        Some(claim) if claim.call.is_shown() => less(answer, claim),
        Some(claim) => format!("not decided, {}", change_with_interval(answer, claim)),
        None => "not measured".to_owned(),
    };
    format!("{arm}: only if runs follow each other; after {seconds} s of idle {after}")
}

fn load(share: Option<f64>, parted: bool) -> String {
    let share = share.map(|it| format!("the load used {} % of its CPUs, its limit", percent(it)));
    let cpus = match parted {
        true => "",
        false => "load and server share CPUs: distorts rates (--service-cpus, --load-cpus)",
    };
    let text = joined([share.unwrap_or_default(), cpus.to_owned()]);
    match text.is_empty() {
        true => "the load set the pace".to_owned(),
        false => text,
    }
}

fn by_chance(
    arm: &str,
    taken: Option<[u64; 2]>,
    ratio: Option<f64>,
    glibc: &str,
    bound: bool,
) -> String {
    let taken = taken.map(|[taken, of]| format!(" ({taken} of {of})"));
    let taken = taken.unwrap_or_default();
    let ratio = ratio.map(|it| format!("in those {} %", percent_change(it - 1.0)));
    let bound = match bound {
        true => "LD_BIND_NOW makes it certain".to_owned(),
        false => String::new(),
    };
    let head = format!("{arm}: {glibc} takes the setting in some starts only{taken}");
    joined([head, ratio.unwrap_or_default(), bound])
}

/// Returns the evidence that the order of trials matters.
pub(super) fn order(p: f64, strata: &[Stratum], stratum: fn(&Stratum) -> Option<String>) -> String {
    let effects = strata.iter().filter_map(stratum);
    joined(effects.chain([format!("p = {p:.3}")]))
}

fn numbers(kinds: &[(String, u32)]) -> String {
    let kinds = kinds
        .iter()
        .map(|(kind, trials)| format!("{kind} {trials}"));
    kinds.collect::<Vec<_>>().join(", ")
}

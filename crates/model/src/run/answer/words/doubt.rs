//! Words of the doubts: one line each.

use super::headline::{figures, stratum};
use super::{change_with_interval, joined, less};
use crate::run::answer::{Answer, Doubt};
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
            format!("{program} waits for each answer: percentiles understate slow requests")
        }
        Doubt::NoLatencies { trials, of, why } => {
            format!("no latencies in {trials} of {of} trials: {why}")
        }
        Doubt::MayDependOnOrder { arm, p, strata } => {
            format!(
                "{arm} may depend on what ran before ({})",
                order(*p, strata)
            )
        }
        _ => of_policies(answer, doubt),
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
        Doubt::NotOneExperiment { differences } => {
            format!(
                "the records are not one experiment: {}",
                joined(differences.clone())
            )
        }
        Doubt::VendorObjects { who, program } => {
            format!("{who} advises against huge pages: see {program}")
        }
        Doubt::GainWithoutPages { arm } => {
            format!("{arm} made no huge page, so its gain has another reason")
        }
        Doubt::LeftBehind { text } => format!("not put back: {text}"),
        Doubt::Warning { text } => text.clone(),
        _ => String::new(),
    }
}

fn wide(answer: &Answer, id: crate::run::answer::ClaimId) -> String {
    let control = change_with_interval(answer, answer.claim(id));
    let baseline = &answer.judged.baseline;
    let decided = answer.headline.iter().map(|id| answer.claim(*id));
    let decided = decided.into_iter().find(|claim| claim.call.is_shown());
    match decided {
        Some(claim) if answer.claim(id).interval.is_some() => {
            let figures = figures(answer, claim);
            format!(
                "{baseline} against itself {control}: {figures} stands, its interval has that noise"
            )
        }
        _ => format!("{baseline} against itself {control}: too noisy for a small effect"),
    }
}

fn back_to_back(
    answer: &Answer,
    arm: &str,
    claim: Option<crate::run::answer::ClaimId>,
    seconds: u64,
) -> String {
    let after = claim.map(|id| answer.claim(id));
    let after = match after {
        Some(claim) if claim.call.is_shown() => less(answer, claim),
        Some(claim) => format!("not decided, {}", change_with_interval(answer, claim)),
        None => "not measured".to_owned(),
    };
    format!("{arm} helps only runs that follow each other; after {seconds} s of idle: {after}")
}

fn load(share: Option<f64>, parted: bool) -> String {
    let share = share.map(|it| format!("the load used {} % of its CPUs", percent(it)));
    let cpus = match parted {
        true => String::new(),
        false => "load and server share CPUs (--service-cpus, --load-cpus)".to_owned(),
    };
    let rates = "rates are distorted".to_owned();
    joined([share.unwrap_or_default(), cpus, rates])
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
pub(super) fn order(p: f64, strata: &[Stratum]) -> String {
    let effects = strata.iter().filter_map(stratum);
    joined(effects.chain([format!("p = {p:.2}")]))
}

fn numbers(kinds: &[(String, u32)]) -> String {
    let kinds = kinds
        .iter()
        .map(|(kind, trials)| format!("{kind} {trials}"));
    kinds.collect::<Vec<_>>().join(", ")
}

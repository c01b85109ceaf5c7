//! Words for the headline.

use super::{
    against, base, by, change, change_with_interval, effect, interval, less, metric, seconds, why,
};
use crate::base::units::Unit;
use crate::run::answer::{
    Against, Answer, Call, ChoiceScope, Claim, Effect, SubjectKind, When, Word,
};
use crate::run::compare::{Runs, Stratum, Why};
use crate::run::metric::Better;
use crate::run::metric::requests::is_count_of_failures;
use crate::text::ends::percent_ends;
use crate::text::number::{MINUS, chosen_percent, counted, percent, percent_change, quantity};

/// Returns the headline: one sentence, and up to two that qualify it.
pub(in crate::run::answer) fn headline(answer: &Answer) -> Vec<String> {
    let claims: Vec<&Claim> = answer.headline.iter().map(|id| answer.claim(*id)).collect();
    match (answer.word, claims.first()) {
        (Word::Compared, _) => all_compared(answer, &claims),
        (Word::Measured, _) => vec![measured(answer)],
        (Word::Failed, claim) => vec![format!("Nothing was measured: {}.", reason(answer, claim))],
        (Word::SamePages, claim) => vec![same_pages(answer, claim)],
        (Word::CouldNotTry, claim) => {
            vec![format!(
                "Huge pages could not be tried: {}.",
                reason(answer, claim)
            )]
        }
        (_, None) => vec![format!(
            "Not decided: no policy was compared by {}.",
            judged(answer)
        )],
        (_, Some(claim)) => judgement(answer, claim, &claims),
    }
}

/// Returns the headline for a word with a claim.
fn judgement(answer: &Answer, claim: &Claim, claims: &[&Claim]) -> Vec<String> {
    let by = by(answer, &claim.contrast.arm);
    let metric = metric(answer, &claim.contrast);
    let figures = change_with_interval(answer, claim);
    match answer.word {
        Word::Help => decided(answer, claim, "help"),
        Word::Hurt => decided(answer, claim, "hurt"),
        Word::RareSlow => vec![rare(claim, &by)],
        Word::Mixed => vec![mixed(answer, claim, &by)],
        Word::DependsOnOrder => vec![depends(claim, &by)],
        Word::NoDifference => {
            let threshold = chosen_percent(answer.judged.threshold);
            vec![format!(
                "Huge pages make no difference: {metric} stays within ±{threshold} % {by}."
            )]
        }
        Word::Little => vec![format!(
            "Huge pages matter little: {metric} {figures} {by}."
        )],
        Word::TooFewRounds => vec![too_few(answer, claim, &by)],
        Word::NotAboutPages => not_about_pages(answer, claim),
        _ => {
            let first = format!("Not decided for {metric}: {figures} {by}.");
            let shown = claims[1..].iter().filter(|it| it.call.is_shown());
            let shown = shown.map(|it| shown_too(answer, it)).take(1);
            std::iter::once(first).chain(shown).collect()
        }
    }
}

/// Returns the sentence of a shown effect on another metric.
fn shown_too(answer: &Answer, claim: &Claim) -> String {
    let by = by(answer, &claim.contrast.arm);
    format!("Shown: {} {by}.", effect(answer, claim))
}

/// Returns `Huge pages help: …`, its condition and its prices.
fn decided(answer: &Answer, claim: &Claim, verb: &str) -> Vec<String> {
    let arm = &claim.contrast.arm;
    let by = match &claim.contrast.against {
        Against::Baseline => by(answer, arm),
        _ => format!("with {arm} than with {}", against(answer, &claim.contrast)),
    };
    let what = weak(answer, claim).unwrap_or_else(|| effect(answer, claim));
    let choice = answer.choice.iter().find(|it| it.arm.as_ref() == Some(arm));
    let prices: Vec<String> = match choice {
        Some(choice) => {
            let prices = choice.prices.iter();
            prices.map(|id| effect(answer, answer.claim(*id))).collect()
        }
        None => failures(answer, arm).collect(),
    };
    let prices = super::list(&prices);
    let head = format!("Huge pages {verb}: {what} {by}");
    match (choice.map(|choice| choice.scope), prices.is_empty()) {
        (Some(ChoiceScope::BackToBack(seconds)), no_price) => {
            let head = format!("{head}, if each run starts within {seconds} s of the last.");
            let price = (!no_price).then(|| format!("Price: {prices}."));
            let sentences = [Some(head), Some(idle(answer, arm, seconds)), price];
            vec![
                sentences
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .join(" "),
            ]
        }
        (_, true) => vec![format!("{head}.")],
        // A further loss is not the price of a loss.
        (_, false) if answer.word == Word::Hurt => vec![format!("{head}, and {prices}.")],
        (_, false) => vec![format!("{head}, but {prices}.")],
    }
}

/// Returns the requests that failed only under an arm and not under the baseline: the reason why it is not chosen,
/// though it is better.
fn failures(answer: &Answer, arm: &str) -> impl Iterator<Item = String> {
    let is_it = move |claim: &&Claim| {
        claim.contrast.arm == arm
            && claim.contrast.against == Against::Baseline
            && is_count_of_failures(&claim.contrast.metric)
            && claim.call == Call::Worse
    };
    let claims = answer.claims.iter().filter(is_it);
    claims.map(|claim| effect(answer, claim))
}

/// Returns the effect after idle time: `After 4 s of idle: 59 % more.`
fn idle(answer: &Answer, arm: &str, seconds: u64) -> String {
    let fits = |claim: &Claim| {
        claim.contrast.arm == arm
            && claim.contrast.metric == answer.judged.metric
            && matches!(claim.contrast.when, When::AfterIdle(_))
    };
    let claim = answer.find(fits).map(|id| answer.claim(id));
    match claim {
        None => format!("After {seconds} s of idle: not measured."),
        Some(claim) if claim.call.is_shown() => {
            format!("After {seconds} s of idle: {}.", less(answer, claim))
        }
        Some(claim) => {
            let figures = change_with_interval(answer, claim);
            format!("After {seconds} s of idle: not decided, {figures}.")
        }
    }
}

/// Returns `15 to 71 % less wall time` if the near end is less than a third of the estimate.
fn weak(answer: &Answer, claim: &Claim) -> Option<String> {
    let (Some(Effect::Ratio(ratio)), Some(ends)) = (claim.effect, claim.interval) else {
        return None;
    };
    let [low, high] = [ends.low - 1.0, ends.high - 1.0];
    let (near, far) = match ratio < 1.0 {
        true => (high, low),
        false => (low, high),
    };
    let is_weak = near * far > 0.0 && near.abs() < (ratio - 1.0).abs() / 3.0;
    let word = if ratio > 1.0 { "more" } else { "less" };
    let shown = percent_ends(near.min(far), near.max(far)).map(|end| bare(&end));
    let [small, large] = match ratio < 1.0 {
        true => [&shown[1], &shown[0]],
        false => [&shown[0], &shown[1]],
    };
    let metric = metric(answer, &claim.contrast);
    is_weak.then(|| format!("{small} to {large} % {word} {metric}"))
}

fn bare(end: &str) -> String {
    end.trim_start_matches([MINUS, '+']).to_owned()
}

fn rare(claim: &Claim, by: &str) -> String {
    let Call::RareSlow(runs) = &claim.call else {
        return format!("Huge pages slow some runs {by}.");
    };
    let (worse, of) = (runs.worse, runs.of);
    format!("Huge pages slow some runs: {worse} of {of} {by}; the usual run is the same.")
}

fn mixed(answer: &Answer, claim: &Claim, by: &str) -> String {
    let what = match is_good(answer, claim) {
        true => "speed up most runs and slow others",
        false => "slow most runs and speed up others",
    };
    let typical = change(answer, claim).unwrap_or_default();
    let mean = match &claim.call {
        Call::Mixed(runs) => runs.mean,
        _ => None,
    };
    let mean = mean.map(|mean| format!(", {} % on average", percent_change(mean - 1.0)));
    let mean = mean.unwrap_or_default();
    format!("Huge pages {what}: {typical} typically{mean} {by}.")
}

/// Returns true if the effect is in the good direction of its metric.
fn is_good(answer: &Answer, claim: &Claim) -> bool {
    let is_more = match claim.effect {
        Some(Effect::Ratio(ratio)) => ratio > 1.0,
        Some(Effect::Difference(size) | Effect::Points(size)) => size > 0.0,
        None => return false,
    };
    let facts = answer.metrics.get(&claim.contrast.metric);
    facts.is_some_and(|facts| (facts.better == Better::Higher) == is_more)
}

fn depends(claim: &Claim, by: &str) -> String {
    let strata = match &claim.call {
        Call::DependsOnOrder { strata, .. } => strata.as_slice(),
        _ => &[],
    };
    let parts: Vec<String> = strata.iter().filter_map(stratum).collect();
    let parts = match parts.as_slice() {
        [first, .., last] => format!("{first}, {last}"),
        parts => parts.concat(),
    };
    format!("The effect depends on what ran before, {by}: {parts}.")
}

/// Returns the effect in the trials that began so long after one with huge pages.
pub(super) fn stratum(stratum: &Stratum) -> Option<String> {
    let ratio = percent_change(stratum.ratio? - 1.0);
    Some(format!("{ratio} % {}", since(stratum)))
}

/// Returns the same with its interval and its trials.
pub(super) fn stratum_in_full(stratum: &Stratum) -> Option<String> {
    let ratio = percent_change(stratum.ratio? - 1.0);
    let ends = stratum.low.zip(stratum.high);
    let ends = ends.map(|(low, high)| percent_ends(low - 1.0, high - 1.0).join(", "));
    let ends = ends.map_or_else(String::new, |ends| format!(" [{ends}]"));
    let trials = counted(stratum.trials.into(), "trial");
    Some(format!("{ratio} %{ends} {}, {trials}", since(stratum)))
}

/// Returns the time since a trial with huge pages.
fn since(stratum: &Stratum) -> String {
    let from = seconds(stratum.from_seconds);
    match stratum.to_seconds.map(seconds) {
        Some(to) if stratum.from_seconds <= 0.0 => format!("within {to} of a huge-page run"),
        Some(to) => format!("after {from} to {to}"),
        None => format!("{from} or more after it"),
    }
}

fn too_few(answer: &Answer, claim: &Claim, by: &str) -> String {
    let so_far = effect(answer, claim);
    let fewest = match &claim.call {
        Call::Open(needs) => needs.fewest_rounds,
        _ => None,
    };
    let fewest =
        fewest.map(|it| format!(" A decision needs {} or more.", counted(it.into(), "round")));
    let fewest = fewest.unwrap_or_default();
    format!("Too few rounds to decide: {so_far} {by} so far.{fewest}")
}

/// Returns the answer about pages first, then the gain of the whole policy.
fn not_about_pages(answer: &Answer, claim: &Claim) -> Vec<String> {
    let is_alone = |it: &Claim| {
        matches!(it.contrast.against, Against::SmallPagesSameMalloc(_))
            && it.contrast.metric == answer.judged.metric
    };
    let alone = answer
        .claims
        .iter()
        .find(|it| is_alone(it) && it.call.is_shown());
    let alone = alone.or_else(|| answer.claims.iter().find(|it| is_alone(it)));
    let first = match alone {
        Some(alone) => pages_alone(answer, alone),
        None => "Not decided whether huge pages help.".to_owned(),
    };
    let whole = answer.headline.iter().map(|id| answer.claim(*id));
    let whole = whole
        .into_iter()
        .find(|it| it.contrast.against == Against::Baseline)
        .unwrap_or(claim);
    let arm = &whole.contrast.arm;
    let [better, worse] = super::sides(answer, &whole.contrast);
    let side = if is_good(answer, whole) {
        better
    } else {
        worse
    };
    let effect = effect(answer, whole);
    let base = base(answer);
    let failures: Vec<String> = failures(answer, arm).collect();
    let but = match failures.is_empty() {
        true => String::new(),
        false => format!(", but {}", super::list(&failures)),
    };
    let second = format!("{arm} is {side} than {base}: {effect}{but}. It changes more than pages.");
    vec![first, second]
}

fn pages_alone(answer: &Answer, claim: &Claim) -> String {
    let arm = &claim.contrast.arm;
    let other = against(answer, &claim.contrast);
    match claim.call {
        Call::Better => format!(
            "Huge pages help: {} with {arm} than {other}.",
            effect(answer, claim)
        ),
        Call::Worse => format!(
            "Huge pages hurt: {} with {arm} than {other}.",
            effect(answer, claim)
        ),
        _ => {
            let figures = change_with_interval(answer, claim);
            format!("Not decided whether huge pages help: {figures} with {arm} against {other}.")
        }
    }
}

/// Returns the sentences of two claims, shown effects first.
fn all_compared(answer: &Answer, claims: &[&Claim]) -> Vec<String> {
    let (shown, others): (Vec<&Claim>, Vec<&Claim>) =
        claims.iter().partition(|claim| claim.call.is_shown());
    let first = shown.into_iter().chain(others).take(2);
    first.map(|claim| compared(answer, claim)).collect()
}

/// Returns the sentence for one claim among several equal ones.
fn compared(answer: &Answer, claim: &Claim) -> String {
    let arm = &claim.contrast.arm;
    let (program, policy) = super::program(arm);
    let other = against(answer, &claim.contrast);
    let metric = metric(answer, &claim.contrast);
    let figures = change_with_interval(answer, claim);
    let verdict = verdict(answer, claim);
    let text = match &claim.contrast.against {
        Against::Program(_) if claim.call.is_shown() => {
            let side = super::side(answer, claim);
            return format!("{program} is {side} than {other} under {policy}: {metric} {figures}.");
        }
        Against::Program(_) => format!("Under {policy}, {program} against {other}: {metric}"),
        Against::GainOfProgram(_) => format!("Gain of {program} from {policy} against {other}:"),
        Against::OtherRecord => {
            let later = match claim.contrast.when {
                When::PerRecord([_, after]) => format!("{} after", counted(after.into(), "record")),
                _ => "the second record".to_owned(),
            };
            format!("Under {arm}, {later} against {other}: {metric}")
        }
        _ => format!("With {arm} against {other}, {metric}"),
    };
    format!("{text} {figures}{verdict}.")
}

/// Returns the verdict of a claim as the end of a sentence.
fn verdict(answer: &Answer, claim: &Claim) -> String {
    match super::word(answer, claim) {
        "" => String::new(),
        word => format!(", {word}"),
    }
}

/// Returns the typical value of the single policy.
fn measured(answer: &Answer) -> String {
    let arm = &answer.judged.baseline;
    let name = judged(answer);
    let row = answer
        .rows
        .iter()
        .find(|row| row.metric == answer.judged.metric);
    let cell = row.and_then(|row| row.cells.iter().find(|cell| &cell.arm == arm));
    let unit = answer
        .metrics
        .get(&answer.judged.metric)
        .map(|facts| &facts.unit);
    match (cell.and_then(|cell| cell.value), unit) {
        (Some(value), Some(unit)) => {
            let value = quantity(unit, value);
            format!("Measured with {arm}: {name} {value}. Nothing was compared.")
        }
        _ => format!("Measured with {arm}. Nothing was compared."),
    }
}

/// Returns the name of the judged metric.
pub(super) fn judged(answer: &Answer) -> String {
    let name = &answer.judged.metric;
    let facts = answer.metrics.get(name);
    facts.map_or_else(|| name.clone(), |facts| facts.label.clone())
}

/// Returns the headline of policies that left all pages as they were.
fn same_pages(answer: &Answer, claim: Option<&&Claim>) -> String {
    let why = match no_effect(answer, claim) {
        Some(Why::AsMuchHuge { bytes, .. }) if bytes[0] > 0.0 => {
            let bytes = quantity(&Unit::Bytes, bytes[0]);
            format!(": {bytes} were huge under each")
        }
        Some(Why::NothingHuge { .. } | Why::AsMuchHuge { .. }) => {
            ": none was huge under any policy".to_owned()
        }
        Some(reason) => format!(": {}", why(answer, reason)),
        None => String::new(),
    };
    format!("No policy changed the pages of this program{why}.")
}

/// Returns the reason for the missing effect: that of the headline, otherwise of the first policy.
fn reason(answer: &Answer, claim: Option<&&Claim>) -> String {
    let found = no_effect(answer, claim).map(|reason| why(answer, reason));
    found.unwrap_or_else(|| match answer.subject.kind {
        SubjectKind::Service => "the service has no complete trial".to_owned(),
        _ => "no trial is complete".to_owned(),
    })
}

fn no_effect<'a>(answer: &'a Answer, claim: Option<&&'a Claim>) -> Option<&'a Why> {
    let judged = answer.claims.iter();
    let judged = judged.filter(|it| it.contrast.metric == answer.judged.metric);
    let mut all = claim.copied().into_iter().chain(judged);
    all.find_map(|claim| claim.call.why())
}

/// Returns the runs that went either way, and their mean.
pub(super) fn runs(answer: &Answer, claim: &Claim, runs: &Runs) -> String {
    let [better, worse] = super::sides(answer, &claim.contrast);
    let ratio = |ratio: Option<f64>| {
        let ratio = ratio.map(|it| format!(", typically {} %", percent_change(it - 1.0)));
        ratio.unwrap_or_default()
    };
    let mean = runs.mean.map(|mean| {
        let ends = runs.mean_low.zip(runs.mean_high);
        let ends = ends.map(|(low, high)| percent_ends(low - 1.0, high - 1.0).join(", "));
        let ends = ends.map_or_else(String::new, |ends| format!(" [{ends}]"));
        format!("mean {} %{ends}", percent_change(mean - 1.0))
    });
    super::joined([
        format!("{} {better}{}", runs.better, ratio(runs.better_ratio)),
        format!("{} {worse}{}", runs.worse, ratio(runs.worse_ratio)),
        mean.unwrap_or_default(),
        format!("up to {} % worse not excluded", percent(runs.worse_at_most)),
    ])
}

/// Returns the effect of a claim with its interval and arm, for a doubt.
pub(super) fn figures(answer: &Answer, claim: &Claim) -> String {
    let arm = &claim.contrast.arm;
    match interval(answer, claim) {
        Some(_) => format!("{arm} {}", change_with_interval(answer, claim)),
        None => arm.clone(),
    }
}

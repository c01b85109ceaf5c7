//! Contains every English phrase of the answer, one function for each enum.
//!
//! A change of wording touches only this folder. Nothing here decides: a phrase follows from the answer.

use std::ops::Not as _;

use super::{
    Against, Answer, Arm, Budget, Call, Claim, ClaimId, Contrast, Covers, Doubt, Needs,
    SubjectKind, When,
};
use crate::base::missing::Missing;
use crate::base::units::Unit;
use crate::run::compare::{Statistic, Why};
use crate::run::metric::{Better, Scope};
use crate::text::number::{chosen_percent, counted, quantity};

pub(super) mod action;
pub(in crate::run) mod cause;
pub(super) mod circumstances;
pub(super) mod doubt;
mod figure;
pub(super) mod headline;
pub(super) mod inside;
mod reach;
pub(super) mod switchback;

pub(in crate::run) use figure::change_with_interval;
pub(super) use figure::{change, effect, interval, less, seconds, value};

/// Labels of the last lines of a screen.
pub(super) const WHY: &str = "Why";
/// The label of the line that compares the chosen policy with its rivals.
pub(super) const CHOSEN: &str = "Chosen";
/// The label of the scope of an effect.
pub(super) const SCOPE: &str = "Scope";
/// The label of the doubts.
pub(super) const DOUBTS: &str = "Doubts";
/// The label of the next step.
pub(super) const NEXT: &str = "Next";
/// The text for an empty list of doubts.
pub(super) const NONE: &str = "none";
/// The text for an effect without a cause in the readings.
pub(super) const NO_CAUSE: &str = "no cause was shown";
/// Explains the dash in an undecided cell.
pub(super) const DASH_LEGEND: &str = "—: not decided";
/// Explains the star in a cell without an error budget.
pub(super) const STAR_LEGEND: &str = "*: not corrected for the number of rows";
/// Explains the marks of intervals.
pub(super) const INTERVAL_LEGEND: &str = "[ ]: 95 %, this row only; [ ]†: 95 %, all policies together; a to b: smallest and largest seen";
/// The note before metrics that were read in no trial.
pub(super) const NO_READING: &str = "not read";
/// The note before metrics with only zeros.
pub(super) const ZERO: &str = "zero under both";
/// The text for a missing reading without a reason.
pub(super) const NOT_READ: &str = "not read";

/// Headings of the details.
pub(super) const READINGS: &str = "Other readings";
/// The heading of the metrics.
pub(super) const METRICS: &str = "Metrics";
/// The heading of the policies.
pub(super) const POLICIES: &str = "Policies";
/// The heading of the experiment.
pub(super) const EXPERIMENT: &str = "Experiment";
/// The heading of the circumstances.
pub(super) const CIRCUMSTANCES: &str = "Circumstances";
/// The columns of a table of claims.
pub(super) const COLUMNS: [&str; 6] = ["", "from", "to", "change", "interval", "verdict"];

/// Returns the heading of a table of claims: `thp=always against as-is (THP madvise)`.
pub(super) fn pair(answer: &Answer, contrast: &Contrast) -> String {
    let arm = answer.arm(&contrast.arm).map(|arm| named(answer, arm));
    let arm = arm.unwrap_or_else(|| contrast.arm.clone());
    format!("{arm} against {}", against(answer, contrast))
}

/// Returns the verdict of a claim with its full support.
pub(super) fn verdict(answer: &Answer, claim: &Claim) -> String {
    let call = match claim.contrast.against {
        Against::Itself => {
            let id = answer.find(|it| it == claim);
            id.map_or_else(String::new, |id| control(answer, id).to_owned())
        }
        _ => format!("{}{}", call(answer, claim), star(claim)),
    };
    // Without an error budget, a p-value invites readers to pick the smallest.
    let p = claim.p.filter(|_| claim.budget != Budget::Uncorrected);
    let p = p.map(|p| match p < 0.001 {
        true => "p below 0.001".to_owned(),
        false => format!("p = {p:.3}"),
    });
    let evidence = evidence(answer, claim).into_iter().chain(p);
    joined(std::iter::once(call).chain(evidence))
}

/// Returns a star for a verdict without an error budget.
pub(super) fn star(claim: &Claim) -> &'static str {
    match (claim.budget, &claim.call) {
        (Budget::Uncorrected, Call::Better | Call::Worse) => "*",
        _ => "",
    }
}

/// Returns a missing reading with its reason.
pub(super) fn not_read(missing: Option<&Missing>) -> String {
    match missing {
        Some(missing) => format!("{NOT_READ}: {missing}"),
        None => NOT_READ.to_owned(),
    }
}

/// Returns a text with the pointer to others that only `-v` shows.
pub(super) fn with_more(text: &str, count: usize) -> String {
    format!("{text}; {count} more: -v")
}

/// Returns the pointer to rows, columns or policies that only `-v` shows.
pub(super) fn left_out(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} more {noun}{plural}: -v")
}

/// Returns the name of a metric in a sentence: `wall time`, `p99 latency`.
pub(super) fn metric(answer: &Answer, contrast: &Contrast) -> String {
    let facts = answer.metrics.get(&contrast.metric);
    let label = facts.map_or(contrast.metric.as_str(), |facts| facts.label.as_str());
    match contrast.statistic {
        Statistic::Center => label.to_owned(),
        Statistic::Quantile(quantile) => format!("{} {label}", quantile.label()),
    }
}

/// Returns the policy of an effect: `with thp=always`, `without them (thp=never)`.
pub(super) fn by(answer: &Answer, arm: &str) -> String {
    let more = answer.arm(arm).and_then(|arm| arm.pages.more_bytes);
    match more {
        Some(more) if answer.switchback.is_some() => {
            format!("with {} huge", quantity(&Unit::Bytes, more))
        }
        Some(more) if more < 0.0 => format!("without them ({arm})"),
        _ => format!("with {arm}"),
    }
}

/// Returns the baseline and its mode: `as-is (THP madvise)`.
pub(super) fn base(answer: &Answer) -> String {
    let name = &answer.judged.baseline;
    let is_bench = answer.subject.kind == SubjectKind::Bench;
    match answer.arm(name).filter(|_| !is_bench) {
        Some(arm) => named(answer, arm),
        None => name.clone(),
    }
}

/// Returns a policy and the mode of huge pages under it, unless its name contains the mode.
pub(super) fn named(answer: &Answer, arm: &Arm) -> String {
    if arm.mode.is_empty() || arm.name.contains("thp=") || answer.switchback.is_some() {
        return arm.name.clone();
    }
    let verb = match machine_mode(answer) {
        Some(machine) if machine != arm.mode => "sets ",
        _ => "",
    };
    format!("{} ({verb}THP {})", arm.name, arm.mode)
}

/// Returns the mode of huge pages found on the machine.
pub(super) fn machine_mode(answer: &Answer) -> Option<&str> {
    answer.circumstances.first()?.machine.thp.as_deref()
}

/// Returns the other side of a contrast.
pub(super) fn against(answer: &Answer, contrast: &Contrast) -> String {
    match &contrast.against {
        Against::Baseline => base(answer),
        Against::OverheadControl(arm) => format!("{arm} (its mechanism without huge pages)"),
        Against::SmallPagesSameMalloc(arm) => format!("{arm} (same malloc, small pages)"),
        Against::Program(arm) => program(arm).0.to_owned(),
        Against::GainOfProgram(program) => format!("the gain of {program}"),
        Against::Rival(arm) => arm.clone(),
        Against::Itself => "itself".to_owned(),
        Against::OtherRecord => match contrast.when {
            When::PerRecord([before, _]) => {
                format!("the first {}", counted(before.into(), "record"))
            }
            _ => "the first record".to_owned(),
        },
    }
}

/// Returns the runs of a contrast, as the end of a row's name.
pub(super) fn when(when: When) -> String {
    match when {
        When::BackToBack | When::PerRecord(_) => String::new(),
        When::AfterIdle(_) => " after idle".to_owned(),
        When::AfterIdleCold => " on cold memory".to_owned(),
        When::AfterIdleWarm => " on warm memory".to_owned(),
        When::PerStart(starts) => format!(", {}", counted(starts.into(), "start")),
        When::LivePeriods => ", live".to_owned(),
    }
}

/// Returns the name of one comparison of a contrast: round, run, start or period.
fn comparison(when: When) -> &'static str {
    match when {
        When::BackToBack => "round",
        When::AfterIdle(_) | When::AfterIdleCold | When::AfterIdleWarm => "run",
        When::PerStart(_) => "start",
        When::PerRecord(_) => "record",
        When::LivePeriods => "period",
    }
}

/// Returns true when a lower value means that a run ends sooner.
fn is_time(answer: &Answer, contrast: &Contrast) -> bool {
    let facts = answer.metrics.get(&contrast.metric);
    facts.is_some_and(|facts| facts.unit == Unit::Seconds && facts.better == Better::Lower)
}

/// Returns the words for better and for worse.
pub(super) fn sides(answer: &Answer, contrast: &Contrast) -> [&'static str; 2] {
    match (&contrast.against, is_time(answer, contrast)) {
        (Against::GainOfProgram(_), _) => ["more", "less"],
        (_, true) => ["faster", "slower"],
        (_, false) => ["better", "worse"],
    }
}

/// Returns the verdict of a claim and its support: `faster in 6 of 6 rounds`.
pub(super) fn call(answer: &Answer, claim: &Claim) -> String {
    let [better, worse] = sides(answer, &claim.contrast);
    let all = counted(claim.rounds.into(), comparison(claim.contrast.when));
    match &claim.call {
        Call::Better => agreed(better, claim, &all),
        Call::Worse => agreed(worse, claim, &all),
        Call::Higher => agreed("higher", claim, &all),
        Call::Lower => agreed("lower", claim, &all),
        Call::Same => {
            let threshold = chosen_percent(answer.judged.threshold);
            format!("same: within ±{threshold} % in {all}")
        }
        Call::RareSlow(runs) => format!("{} of {} runs {worse}", runs.worse, runs.of),
        Call::Mixed(runs) => {
            let (up, down, of) = (runs.better, runs.worse, runs.of);
            format!("{up} {better}, {down} {worse} of {of} runs")
        }
        Call::DependsOnOrder { .. } => format!("depends on what ran before; {all}"),
        Call::Open(needs) => match needs.fewest_rounds {
            Some(fewest) => format!("too few: {} of {fewest} rounds", claim.rounds),
            None if matches!(claim.contrast.when, When::PerStart(_)) => {
                let agreed = agreed("same sign", claim, &all);
                format!("not decided: {agreed}")
            }
            None if is_part(claim.contrast.when) => part(claim),
            None => format!("not decided after {all}"),
        },
        Call::SamePages(why) | Call::NotApplied(why) | Call::Failed(why) | Call::NotRun(why) => {
            not_compared(answer, why)
        }
    }
}

/// Returns true for runs selected by the state of the memory and not by the shuffle: their figures are no test.
fn is_part(when: When) -> bool {
    matches!(when, When::AfterIdleCold | When::AfterIdleWarm)
}

/// Returns the count of these runs among those after idle: `7 of 8 runs`.
fn part(claim: &Claim) -> String {
    let all = counted(claim.rounds.into(), comparison(claim.contrast.when));
    format!("{} of {all}", claim.agreeing.unwrap_or_default())
}

fn agreed(side: &str, claim: &Claim, all: &str) -> String {
    match claim.agreeing {
        Some(agreeing) => format!("{side} in {agreeing} of {all}"),
        None => format!("{side} ({all})"),
    }
}

/// Returns the verdict of a row without the rounds that support it.
pub(super) fn side(answer: &Answer, claim: &Claim) -> String {
    match claim.call.why() {
        Some(why) => not_compared(answer, why),
        None if is_part(claim.contrast.when) => part(claim),
        None => word(answer, claim).to_owned(),
    }
}

/// Returns the verdict of a claim in a word or two; empty when neither direction is good.
fn word(answer: &Answer, claim: &Claim) -> &'static str {
    let [better, worse] = sides(answer, &claim.contrast);
    match &claim.call {
        Call::Better => better,
        Call::Worse => worse,
        Call::Open(_) | Call::DependsOnOrder { .. } => "not decided",
        call => mark(call),
    }
}

/// Returns the verdict of a cell in one word; empty when neither direction is good.
pub(super) fn mark(call: &Call) -> &'static str {
    match call {
        Call::Better => "better",
        Call::Worse => "worse",
        Call::Higher | Call::Lower => "",
        Call::Same => "same",
        Call::RareSlow(_) => "rarely worse",
        Call::Mixed(_) => "mixed",
        Call::Open(_) | Call::DependsOnOrder { .. } => "—",
        Call::SamePages(_) | Call::NotApplied(_) | Call::Failed(_) | Call::NotRun(_) => {
            "not compared"
        }
    }
}

/// Returns the figures behind a call that do not fit into a row.
pub(super) fn evidence(answer: &Answer, claim: &Claim) -> Option<String> {
    Some(match &claim.call {
        Call::Open(Needs {
            starts: Some(starts),
            ..
        }) => format!("about {starts} starts in all would decide it"),
        Call::Open(needs) => {
            let minutes = (needs.seconds? / 60.0).ceil();
            format!("about {minutes} min would decide it")
        }
        Call::RareSlow(runs) | Call::Mixed(runs) => headline::runs(answer, claim, runs),
        Call::DependsOnOrder { p, strata } => doubt::order(*p, strata, headline::stratum_in_full),
        Call::SamePages(why) | Call::NotApplied(why) | Call::Failed(why) | Call::NotRun(why) => {
            pages(why)?
        }
        Call::Better | Call::Worse | Call::Higher | Call::Lower | Call::Same => return None,
    })
}

/// Returns the reason why an arm has no effect in a row.
pub(super) fn not_compared(answer: &Answer, reason: &Why) -> String {
    format!("not compared: {}", why(answer, reason))
}

/// Returns the reason why an arm has no answer.
pub(super) fn why(answer: &Answer, why: &Why) -> String {
    let baseline = &answer.judged.baseline;
    match why {
        Why::AsMuchHuge { .. } => format!("no page differs from {baseline}"),
        Why::NothingHuge { .. } => format!("no page was huge, as under {baseline}"),
        Why::ReadBackDiffers { detail } => format!("not in effect: {detail}"),
        Why::ProgramRefuses { act } => format!("out of reach: {act}"),
        Why::EveryTrialFailed { first } => format!("every trial failed: {first}"),
        Why::NotMeasured { reason } => format!("not measured: {reason}"),
        Why::NoDirection => "neither direction of this metric is better".to_owned(),
        Why::ByMechanism { control } => format!("{control} lost as much without huge pages"),
        Why::PoolLeftOut { bytes } => {
            let bytes = quantity(&Unit::Bytes, *bytes);
            format!("it leaves out {bytes} of a hugetlb pool")
        }
        Why::SameInCell => format!("same pages as {baseline}"),
        Why::NoRound => "no round was complete".to_owned(),
        Why::LeftOut { reason } => reason.clone(),
    }
}

/// Returns the pages and faults that show why nothing was compared.
fn pages(why: &Why) -> Option<String> {
    let bytes = |value| quantity(&Unit::Bytes, value);
    let counts = |[before, after]: [f64; 2]| {
        let [before, after] = [before, after].map(|it| quantity(&Unit::Count, it));
        format!("page faults {before} and {after}")
    };
    match why {
        Why::AsMuchHuge {
            bytes: [a, b],
            faults,
        } => Some(format!(
            "huge {} and {}; {}",
            bytes(*a),
            bytes(*b),
            counts(*faults)
        )),
        Why::NothingHuge { faults } => Some(counts(*faults)),
        _ => None,
    }
}

/// Returns the mark of an interval; a 95 % interval for its row has none.
pub(super) fn covers(covers: Covers) -> &'static str {
    match covers {
        Covers::Verdict => "†",
        Covers::Row | Covers::Starts | Covers::Sessions | Covers::Range => "",
    }
}

/// Returns the name of the row that compares the baseline with itself.
pub(super) fn itself(answer: &Answer) -> String {
    format!("{} against itself", answer.judged.baseline)
}

/// The outcome of the A/A control for the effects of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Control {
    TooFewRounds,
    Failed,
    Wide,
    BelowTheEffects,
    WithinTheThreshold,
}

fn outcome(answer: &Answer, id: ClaimId) -> Control {
    let doubt = answer.doubts.iter().find_map(|found| match found {
        Doubt::ControlFailed { claim } => (*claim == id).then_some(Control::Failed),
        Doubt::ControlWide { claim } => (*claim == id).then_some(Control::Wide),
        _ => None,
    });
    let has_effect = answer.claims.iter().any(|claim| claim.call.is_shown());
    match (answer.claim(id).interval, doubt) {
        (None, _) => Control::TooFewRounds,
        (Some(_), Some(doubt)) => doubt,
        (Some(_), None) if has_effect => Control::BelowTheEffects,
        (Some(_), None) => Control::WithinTheThreshold,
    }
}

/// Returns the meaning of the A/A control for the effects of this answer.
pub(super) fn control(answer: &Answer, id: ClaimId) -> &'static str {
    match outcome(answer, id) {
        Control::TooFewRounds => "too few rounds",
        Control::Failed => "differs from itself: failed",
        Control::Wide => "wider than the effect: noisy",
        Control::BelowTheEffects => "below the effects: passed",
        Control::WithinTheThreshold => "within the threshold: passed",
    }
}

/// Returns the same in one word, if there is one.
pub(super) fn control_word(answer: &Answer, id: ClaimId) -> &'static str {
    match outcome(answer, id) {
        Control::TooFewRounds => "too few rounds",
        Control::Failed => "failed",
        Control::Wide => "noisy",
        Control::BelowTheEffects | Control::WithinTheThreshold => "passed",
    }
}

/// The heading of rows that compare the same malloc with and without huge pages.
pub(super) const PAGES_ALONE: &str = "huge pages alone:";

/// Returns the name of a contrast's row.
pub(super) fn row(contrast: &Contrast, name: &str) -> String {
    match &contrast.against {
        Against::SmallPagesSameMalloc(other) => format!("  {name} vs {other}"),
        Against::OverheadControl(other) | Against::Rival(other) => {
            format!("{name} vs {other}")
        }
        Against::Program(_) => {
            let (program, policy) = program(name);
            format!("{program} under {policy}")
        }
        Against::GainOfProgram(_) => {
            let (program, policy) = program(name);
            format!("gain of {program}, {policy}")
        }
        Against::Baseline | Against::OtherRecord | Against::Itself => {
            format!("{name}{}", when(contrast.when))
        }
    }
}

/// Returns the program and the policy of an arm such as `new: thp=always`.
pub(super) fn program(arm: &str) -> (&str, &str) {
    arm.split_once(": ").unwrap_or((arm, arm))
}

/// Returns the title of the rows of the judged metric, after its name.
pub(super) fn title(answer: &Answer, contrast: Option<&Contrast>, typical: Option<&str>) -> String {
    let against = contrast.map_or_else(|| base(answer), |it| against(answer, it));
    let typical = typical.unwrap_or_default();
    let text = match contrast.map(|it| &it.against) {
        Some(Against::Program(_) | Against::OtherRecord) => {
            format!("against {against}")
        }
        _ => format!("{against} {typical}"),
    };
    text.trim_end().to_owned()
}

/// Returns the note that a metric covers other programs, too.
pub(super) fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Machine => " (machine)",
        Scope::Tree | Scope::Process | Scope::Main | Scope::Group | Scope::Own => "",
    }
}

/// Returns the good direction of a metric.
pub(super) fn better(better: Better) -> &'static str {
    match better {
        Better::Lower => "less is better",
        Better::Higher => "more is better",
        Better::Neither => "neither direction is better",
    }
}

/// Formats a list with a spelled-out last separator: `a, b and c`.
pub(super) fn list(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Joins all parts with a text by semicolons.
pub(super) fn joined(parts: impl IntoIterator<Item = String>) -> String {
    let parts = parts.into_iter().filter(|part| part.is_empty().not());
    parts.collect::<Vec<_>>().join("; ")
}

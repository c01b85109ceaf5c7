//! A one-line summary of several records of one experiment.

use std::collections::BTreeMap;

use super::{Entry, History};
use crate::run::compare::labels::effect_of_ratio;
use crate::run::compare::{PolicyAnswer, host_differences};
use crate::run::record::{Header, Record};
use crate::run::stats::median;
use crate::text::number::counted;
use crate::text::wrap::{display_width, plain, quoted};

/// Columns of a terminal.
const WIDTH: usize = 80;

/// Returns true if two records are of one experiment. They have the same command under the same policies by the same
/// mechanisms, the same criteria, and the same machine with the same kernel and settings. Host memory may differ, see
/// [`on_other_memory`]. A bench has no single answer.
#[must_use]
pub fn is_again(one: &Header, other: &Header) -> bool {
    let (p, q) = (&one.plan, &other.plan);
    p.bench.is_none()
        && p.programs.is_empty()
        && (&p.command, p.shell, &p.policies) == (&q.command, q.shell, &q.policies)
        && (&p.baseline, &p.verdict_metric) == (&q.baseline, &q.verdict_metric)
        && (&p.service, p.judge_by) == (&q.service, q.judge_by)
        && p.fragment == q.fragment
        && one.realisations == other.realisations
        && host_differences(&one.host, &other.host).is_empty()
}

/// `In 4 records: thp=always −12.2 % (median), better in 2: hugewise history ./gtree`, for a record and earlier ones of
/// the same experiment on the same host memory. Each record contributes one value, because records differ by more than
/// the trials of each. `None` if no earlier one has a value.
#[must_use]
pub fn together(record: &Record, policy: &str, earlier: &[Entry]) -> Option<String> {
    let own = Entry::of(record, String::new()).ok()?;
    let ratio = |entry: &Entry| entry.effect(policy)?.ratio;
    let is_known = |it: &&Entry| it.host_memory == own.host_memory && ratio(it).is_some();
    let known: Vec<&Entry> = earlier.iter().filter(is_known).collect();
    if known.is_empty() {
        return None;
    }
    let all: Vec<&Entry> = known.into_iter().chain([&own]).collect();
    let said = format!("In {}: hugewise history ", said(&all, policy)?);
    let room = WIDTH.saturating_sub(display_width(&said));
    Some(said + &words(&own.command, room))
}

/// `The next session on this boot: thp=always −21 to −18 % (95 %, 5 records)`, for a record and earlier ones of the
/// same experiment; `None` with fewer than three records on this boot and fewer than three boots.
#[must_use]
pub fn next_session(record: &Record, policy: &str, earlier: &[Entry]) -> Option<String> {
    let own = Entry::of(record, String::new()).ok()?;
    let all = earlier.iter().cloned().chain([own]);
    let history = History::of(all.collect());
    let mut foretold = history.next.foretold.into_iter();
    let it = foretold.find(|it| it.policy.as_deref() == Some(policy))?;
    Some(it.sentence())
}

/// `On other memory (--host-memory as-is): 2 records: thp=always +4.1 % (median), worse in 2.`: the results of earlier
/// records on other host memory, a line for each state. They may contradict this one, because of the memory.
#[must_use]
pub fn on_other_memory(record: &Record, policy: &str, earlier: &[Entry]) -> Vec<String> {
    let mut states: BTreeMap<String, Vec<&Entry>> = BTreeMap::new();
    for entry in earlier {
        let has_value = entry.effect(policy).is_some_and(|it| it.ratio.is_some());
        if has_value && entry.host_memory != record.header.plan.host_memory {
            let state = states.entry(entry.host_memory.to_string());
            state.or_default().push(entry);
        }
    }
    let line = |(state, all): (String, Vec<&Entry>)| {
        let said = said(&all, policy)?;
        Some(format!("On other memory (--host-memory {state}): {said}."))
    };
    states.into_iter().filter_map(line).collect()
}

/// `2 records: thp=always −12.2 % (median), better in 2`; `None` if no record has a value.
fn said(all: &[&Entry], policy: &str) -> Option<String> {
    let ratios = all.iter().filter_map(|it| it.effect(policy)?.ratio);
    let change = effect_of_ratio(median(&ratios.collect::<Vec<f64>>())?);
    let middle = match all.len() {
        1 => "",
        _ => " (median)",
    };
    Some(format!(
        "{}: {} {change}{middle}, {}",
        counted(all.len() as u64, "record"),
        plain(policy),
        answers(all, policy)
    ))
}

/// `better in 2, worse in 1`; `decided in none`.
fn answers(all: &[&Entry], policy: &str) -> String {
    let count = |answer| {
        let answers = all.iter().map(|it| it.verdict.policies.get(policy));
        answers.filter(|it| *it == Some(&answer)).count()
    };
    let words = [
        (PolicyAnswer::Better, "better"),
        (PolicyAnswer::Worse, "worse"),
        (PolicyAnswer::Mixed, "mixed"),
        (PolicyAnswer::RarelyWorse, "worse in rare runs"),
        (PolicyAnswer::NoDifference, "no difference"),
    ];
    let counted = words.map(|(answer, word)| (count(answer), word));
    let counted = counted.iter().filter(|(count, _)| *count > 0);
    let counted: Vec<String> = counted.map(|(n, word)| format!("{word} in {n}")).collect();
    match counted.is_empty() {
        true => "decided in none".to_owned(),
        false => counted.join(", "),
    }
}

/// The words that find a command in the history: all of it if it fits, otherwise its program.
fn words(command: &[String], room: usize) -> String {
    let line: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    let is_flagged = command.iter().any(|word| word.starts_with('-'));
    let line = [if is_flagged { "-- " } else { "" }, &line.join(" ")].concat();
    let is_one_line = !command.iter().any(|word| word.contains(char::is_control));
    if is_one_line && display_width(&line) <= room {
        return line;
    }
    let first = command.first().map(String::as_str).unwrap_or_default();
    let program = first.split_whitespace().next().unwrap_or_default();
    quoted(program.rsplit('/').next().unwrap_or(program))
}

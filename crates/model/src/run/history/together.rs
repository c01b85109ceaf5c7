//! What records of one experiment say together, in a line.

use super::Entry;
use crate::run::compare::labels::effect_of_ratio;
use crate::run::compare::{Answer, host_differences};
use crate::run::record::{Header, Record};
use crate::run::stats::median;
use crate::text::wrap::{display_width, plain, quoted};

/// Columns of a terminal.
const WIDTH: usize = 80;

/// Whether two records are of one experiment: the same command under the same policies, judged alike,
/// on the same machine with the same kernel and settings. A bench has no one answer.
#[must_use]
pub fn is_again(one: &Header, other: &Header) -> bool {
    let (p, q) = (&one.plan, &other.plan);
    p.bench.is_none()
        && p.programs.is_empty()
        && (&p.command, p.shell, &p.policies) == (&q.command, q.shell, &q.policies)
        && (&p.baseline, &p.verdict_metric) == (&q.baseline, &q.verdict_metric)
        && (&p.service, p.judge_by) == (&q.service, q.judge_by)
        && (&p.host_memory, p.fragment) == (&q.host_memory, q.fragment)
        && host_differences(&one.host, &other.host).is_empty()
}

/// `4 records: thp=always −12.2 % (median), better in 2: hugewise history ./gtree`, of a record and
/// those of the same experiment before it. One record has one value there, because records differ by more
/// than the trials of each. `None` where no earlier one has a value.
#[must_use]
pub fn together(record: &Record, policy: &str, earlier: &[Entry]) -> Option<String> {
    let own = Entry::of(record, String::new()).ok()?;
    let ratio = |entry: &Entry| entry.effect(policy)?.ratio;
    let known: Vec<&Entry> = earlier.iter().filter(|it| ratio(it).is_some()).collect();
    let ratios: Vec<f64> = known.iter().filter_map(|it| ratio(it)).collect();
    if ratios.is_empty() {
        return None;
    }
    let all: Vec<&Entry> = known.into_iter().chain([&own]).collect();
    let change = median(&ratios.into_iter().chain(ratio(&own)).collect::<Vec<f64>>())?;
    let said = format!(
        "{} records: {} {} (median), {}: hugewise history ",
        all.len(),
        plain(policy),
        effect_of_ratio(change),
        answers(&all, policy)
    );
    let room = WIDTH.saturating_sub(display_width(&said));
    Some(said + &words(&own.command, room))
}

/// `better in 2, worse in 1`; `decided in none`.
fn answers(all: &[&Entry], policy: &str) -> String {
    let count = |answer| {
        let answers = all.iter().map(|it| it.verdict.policies.get(policy));
        answers.filter(|it| *it == Some(&answer)).count()
    };
    let words = [
        (Answer::Better, "better"),
        (Answer::Worse, "worse"),
        (Answer::Mixed, "mixed"),
        (Answer::NoDifference, "no difference"),
    ];
    let counted = words.map(|(answer, word)| (count(answer), word));
    let counted = counted.iter().filter(|(count, _)| *count > 0);
    let counted: Vec<String> = counted.map(|(n, word)| format!("{word} in {n}")).collect();
    match counted.is_empty() {
        true => "decided in none".to_owned(),
        false => counted.join(", "),
    }
}

/// What finds a command in the history: all of it where that has room, else its program.
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

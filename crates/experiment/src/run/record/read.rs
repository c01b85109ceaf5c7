//! Parses any bytes into a [`Record`], or an error with line and column.
//!
//! A crash or a full disk leaves a torn last line, which costs only that line. Anything else that does not fit is an
//! error. A record is evidence, and a reader that skips unknown parts would report half of it as the whole.

use std::fmt;

use serde::de::{Error, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer};

use super::{ChangeOfMeans, Continuation, End, Header, Inside, Line, Record, Removal};
use crate::base::geometry;
use crate::base::jsonl::{self, LineError};
use crate::run::trial::Trial;
use crate::run::trial::readings::Names;
use crate::text::number::counted;

/// Reads a record, complete or partial.
///
/// # Errors
/// Everything but a torn last line, which becomes a warning of the record.
pub fn parse(bytes: &[u8]) -> Result<Record, LineError> {
    let (header, lines) = jsonl::read::<Line>(bytes)?;
    let mut record = Record::begin(header);
    let mut names = Names::default();
    for line in lines {
        let (number, line) = line?;
        match line {
            Some(mut line) => {
                if let Line::Trial(trial) | Line::Period(trial) = &mut line {
                    names.share(&mut trial.readings);
                }
                append(&mut record, line).map_err(|error| LineError::misplaced(number, error))?;
            }
            None => record.warnings.push(torn(number, record.trials.len())),
        }
    }
    if record.end.is_none() && record.warnings.is_empty() {
        record.warnings.push(unfinished(record.trials.len()));
    }
    Ok(record)
}

impl jsonl::Line for Line {
    type Header = Header;
    const TAG: &'static str = "line";
    const HEADER: &'static str = "header";
    const KIND: &'static str = "record";
    const VERSION: u32 = 1;
    const TITLE: &'static str = "a record";
    const WRITER: &'static str = "hugewise run --out";

    fn from_header(header: Header) -> Self {
        Self::Header(header)
    }

    fn check(header: &Header) -> Result<(), String> {
        let thp = header.host.thp.as_ref().ok();
        let huge = thp.map(|thp| ("pmd_bytes", thp.pmd_bytes));
        geometry::check(("page_bytes", header.host.page_bytes), huge, None)
    }

    fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }
}

fn append(record: &mut Record, line: Line) -> Result<(), String> {
    if record.end.is_some() && !matches!(line, Line::Continue(_)) {
        return Err("a line follows the end".to_owned());
    }
    match line {
        Line::Continue(continuation) => record.resume(continuation),
        Line::Header(_) => return Err("a second header".to_owned()),
        Line::Trial(trial) => {
            check_policy(record, &trial.policy, "a trial of")?;
            check_round(record, trial.round)?;
            record.push(trial);
        }
        Line::Drop(removal) => {
            check_policy(record, &removal.policy, "the end of")?;
            check_round(record, removal.round)?;
            record.remove(removal);
        }
        Line::Means(change) => {
            check_policy(record, &change.policy, "another means of")?;
            check_round(record, change.round)?;
            record.change_means(change);
        }
        Line::Inside(_) if record.inside.is_some() => {
            return Err("a second begin inside the servers".to_owned());
        }
        Line::Inside(inside) => record.begin_inside(inside),
        Line::Period(trial) => {
            let inside = record.inside.as_mut();
            let inside = inside.ok_or("a period before `inside`")?;
            check_policy(inside, &trial.policy, "a period of")?;
            check_round(inside, trial.round)?;
            inside.push(trial);
        }
        Line::End(end) => record.end = Some(end),
    }
    Ok(())
}

fn check_policy(record: &Record, name: &str, what: &str) -> Result<(), String> {
    let policies = &record.header.plan.policies;
    if policies.iter().any(|policy| policy.name == name) {
        return Ok(());
    }
    Err(format!(
        "{what} policy `{name}`, which the plan does not have"
    ))
}

/// Rounds are consecutive, and each has a trial: drawing code iterates over all of them.
fn check_round(record: &Record, round: u32) -> Result<(), String> {
    /// Number of rounds that may be missing from a cut-off record.
    const MISSING: usize = 1000;
    let trials = record.trials.len();
    match usize::try_from(round).is_ok_and(|round| round <= trials + MISSING) {
        true => Ok(()),
        false => Err(format!(
            "`round` is {round}, after {}",
            counted(trials as u64, "trial")
        )),
    }
}

fn torn(line: usize, trials: usize) -> String {
    match trials {
        0 => format!("the record ends in the middle of line {line}, its first trial"),
        1 => {
            format!("the record ends in the middle of line {line}; the one trial before it is used")
        }
        _ => format!(
            "the record ends in the middle of line {line}; the {trials} trials before it are used"
        ),
    }
}

fn unfinished(trials: usize) -> String {
    let trials = counted(trials as u64, "trial");
    format!("the record has no end: the experiment still runs, or it was killed; it holds {trials}")
}

/// Reads the kind of the line, then streams the rest into its type. serde's tagged enums buffer the whole line first,
/// which loses the columns of errors and rejects numbers as keys.
impl<'de> Deserialize<'de> for Line {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(LineVisitor)
    }
}

struct LineVisitor;

impl<'de> Visitor<'de> for LineVisitor {
    type Value = Line;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object whose first field is `line`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Line, A::Error> {
        if map.next_key::<String>()?.as_deref() != Some("line") {
            return Err(A::Error::custom("the first field is not `line`"));
        }
        let kind: String = map.next_value()?;
        let rest = MapAccessDeserializer::new(map);
        match kind.as_str() {
            "trial" => Trial::deserialize(rest).map(Line::Trial),
            "drop" => Removal::deserialize(rest).map(Line::Drop),
            "means" => ChangeOfMeans::deserialize(rest).map(Line::Means),
            "continue" => Continuation::deserialize(rest).map(Line::Continue),
            "inside" => Inside::deserialize(rest).map(Line::Inside),
            "period" => Trial::deserialize(rest).map(Line::Period),
            "end" => End::deserialize(rest).map(Line::End),
            other => {
                let known = &[
                    "trial", "drop", "means", "continue", "inside", "period", "end",
                ];
                Err(A::Error::unknown_variant(other, known))
            }
        }
    }
}

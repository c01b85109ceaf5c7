//! YCSB: the groups of lines `[READ], NAME, VALUE` that it prints at its end.
//!
//! Source: `TextMeasurementsExporter`, `OneMeasurementHdrHistogram` and `DBWrapper` of YCSB. `Return=CODE` counts the
//! answers of each code. The times of failed operations are a separate group (`READ-FAILED`), and before 0.5 part of
//! the first one. `Intended-READ` counts from the time scheduled by `-target`. `CLEANUP` closes connections and answers
//! no request.

use super::columns::Format;
use super::figures::Figures;
use super::{Load, LoadReport, ReadError, lines, number};
use crate::run::trial::Pacing;

/// The group of the whole run, printed first.
const OVERALL: &str = "OVERALL";
/// Groups without requests: failed ones, and the ends of connections.
const FAILED: &str = "-FAILED";
const CLEANUP: &str = "CLEANUP";
/// Groups of the garbage collector.
const COLLECTOR: &str = "TOTAL_GC";
const INTENDED: &str = "Intended-";
/// The codes of success; 0 before 0.2.
const SUCCESSES: [&str; 3] = ["OK", "BATCHED_OK", "0"];

pub(super) fn parse(bytes: &[u8]) -> Result<LoadReport, ReadError> {
    let mut groups: Vec<Group> = Vec::new();
    for (number, line) in lines(bytes) {
        if let Some((name, field, value)) = row(&line) {
            group(&mut groups, name).add(number, field, value)?;
        }
    }
    let is_open = groups.iter().any(|it| it.name.starts_with(INTENDED));
    let is_whole = groups.iter().any(|it| it.name == OVERALL);
    if !is_whole {
        let problem = "YCSB printed no such line; it prints it when the run ends";
        return Err(ReadError::of("[OVERALL], Throughput(ops/sec)", problem));
    }
    let requests = groups.into_iter().filter(Group::is_of_requests);
    Ok(LoadReport {
        loads: requests.map(Group::load).collect(),
        // Without a schedule, a thread sends its next request after the previous answer.
        pacing: match is_open {
            true => Pacing::Open,
            false => Pacing::Closed,
        },
    })
}

/// The lines of one kind of operation.
struct Group {
    name: String,
    figures: Figures,
    succeeded: f64,
    failed: f64,
    /// True after a line of `Return=`.
    is_counted: bool,
}

/// Returns the group, the name and the value of a line of YCSB.
fn row(line: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = line.strip_prefix('[')?.split_once(']')?;
    let (field, value) = rest.strip_prefix(',')?.rsplit_once(',')?;
    Some((name, field.trim(), value.trim()))
}

fn group<'a>(groups: &'a mut Vec<Group>, name: &str) -> &'a mut Group {
    let place = groups.iter().position(|it| it.name == name);
    let place = place.unwrap_or_else(|| {
        groups.push(Group {
            name: name.to_owned(),
            figures: Figures::default(),
            succeeded: 0.0,
            failed: 0.0,
            is_counted: false,
        });
        groups.len() - 1
    });
    &mut groups[place]
}

impl Group {
    fn add(&mut self, line: usize, field: &str, value: &str) -> Result<(), ReadError> {
        let Some(code) = field.strip_prefix("Return=") else {
            return self.figures.add_once(Format::Ycsb, line, field, value);
        };
        let problem = || ReadError::at(line, field, format!("`{value}` is no number"));
        let count = number(value).ok_or_else(problem)?;
        self.is_counted = true;
        match SUCCESSES.contains(&code) {
            true => self.succeeded += count,
            false => self.failed += count,
        }
        Ok(())
    }

    fn is_of_requests(&self) -> bool {
        let is_other = self.name.ends_with(FAILED) || self.name.starts_with(COLLECTOR);
        !is_other && self.name != CLEANUP
    }

    fn load(self) -> Load {
        let load = self.figures.load();
        if self.name == OVERALL {
            return Load {
                latency: None,
                ..load
            };
        }
        let (succeeded, failed) = (self.succeeded as u64, self.failed as u64);
        Load {
            name: Some(self.name),
            requests: match self.is_counted {
                true => Some(succeeded),
                false => load.requests,
            },
            errors: self.is_counted.then_some(failed),
            ..load
        }
    }
}

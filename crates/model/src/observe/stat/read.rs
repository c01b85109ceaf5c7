//! Recordings as lines of JSON.

use super::{Header, Interval, Line, VERSION};
use crate::run::trial::Outcome;

/// A recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// Its first line.
    pub header: Header,
    /// Its intervals.
    pub intervals: Vec<Interval>,
    /// How the command ended, if one was run and the recording is complete.
    pub outcome: Option<Outcome>,
    /// Whether its last line is missing.
    pub torn: bool,
}

/// The error of a file without a header.
const NO_RECORDING: &str = "line 1: not a recording of stat; give a file of `hugewise stat \
                            --json`";

/// Parses a recording. An incomplete last line, as a crash leaves, is ignored.
///
/// # Errors
/// With the number of the line: not JSON of this format, or a newer version.
pub fn parse(bytes: &[u8]) -> Result<Recording, String> {
    let text = String::from_utf8_lossy(bytes);
    let whole = text.ends_with('\n');
    let lines: Vec<&str> = text.lines().collect();
    let mut header = None;
    let (mut intervals, mut outcome, mut torn) = (Vec::new(), None, true);
    for (index, line) in lines.iter().enumerate() {
        let last = index + 1 == lines.len();
        let parsed: Line = match serde_json::from_str(line) {
            Ok(parsed) => parsed,
            Err(_) if last && !whole && index > 0 => break,
            Err(error) if index == 0 => return Err(no_header(line, &error)),
            Err(error) => return Err(format!("line {}: {error}", index + 1)),
        };
        match parsed {
            Line::Header(found) if index == 0 => header = Some(checked(*found)?),
            Line::Header(_) => return Err(format!("line {}: a second header", index + 1)),
            _ if index == 0 => return Err(NO_RECORDING.to_owned()),
            Line::Interval(interval) => intervals.push(interval),
            Line::Summary(summary) => {
                outcome = summary.outcome;
                torn = false;
            }
        }
    }
    Ok(Recording {
        header: header.ok_or("the file is empty")?,
        intervals,
        outcome,
        torn,
    })
}

fn checked(header: Header) -> Result<Header, String> {
    if header.version > VERSION {
        return Err(newer(u64::from(header.version)));
    }
    Ok(header)
}

fn newer(version: u64) -> String {
    format!("line 1: format version {version}, this program reads up to {VERSION}")
}

/// Why a first line is no header of this version: a newer one may have other fields.
fn no_header(line: &str, error: &serde_json::Error) -> String {
    let value: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
    match value["version"].as_u64() {
        _ if value["line"] != "header" => NO_RECORDING.to_owned(),
        Some(version) if version > u64::from(VERSION) => newer(version),
        _ => format!("line 1: {error}"),
    }
}

/// One line as it is written, with its newline.
#[must_use]
pub fn to_line(line: &Line) -> String {
    let mut text = serde_json::to_string(line).expect("plain structures with text keys");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::sample::{header, interval};
    use super::*;
    use crate::observe::stat::Summary;

    fn recording() -> String {
        let header = header();
        let mut summary = Summary::default();
        summary.add(&interval(0));
        let summary = summary.finished(&header.hardware, Some(Outcome::Exited { code: 0 }));
        [
            Line::Header(Box::new(header)),
            Line::Interval(interval(0)),
            Line::Summary(summary),
        ]
        .iter()
        .map(to_line)
        .collect()
    }

    #[test]
    fn what_was_written_comes_back() {
        let back = parse(recording().as_bytes()).unwrap();
        assert_eq!(back.header, header());
        let plain = Interval {
            derived: std::collections::BTreeMap::new(),
            ..interval(0)
        };
        assert_eq!(back.intervals, [plain]);
        assert_eq!(back.outcome, Some(Outcome::Exited { code: 0 }));
        assert!(!back.torn);
    }

    #[test]
    fn a_torn_end_is_left_out_and_other_damage_is_named() {
        let text = recording();
        let cut = text.len() - 10;
        let back = parse(&text.as_bytes()[..cut]).unwrap();
        assert!(back.torn && back.intervals.len() == 1);
        assert_eq!(parse(b"").unwrap_err(), "the file is empty");
        let no_header = text.lines().nth(1).unwrap();
        assert_eq!(parse(no_header.as_bytes()).unwrap_err(), NO_RECORDING);
        for other in ["{}\n", "root:x:0:0\n", "[]"] {
            assert_eq!(parse(other.as_bytes()).unwrap_err(), NO_RECORDING);
        }
        let damaged = text.replacen("\"kernel\"", "\"colonel\"", 1);
        assert!(parse(damaged.as_bytes()).unwrap_err().contains("kernel"));
        let newer = text.replacen("\"version\":1", "\"version\":9", 1);
        assert!(parse(newer.as_bytes()).unwrap_err().contains("version 9"));
        let foreign = "{\"line\":\"header\",\"version\":9,\"words\":[]}\n";
        assert!(parse(foreign.as_bytes()).unwrap_err().contains("version 9"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = parse(&bytes);
        }
    }
}

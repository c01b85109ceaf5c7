//! Recordings as lines of JSON.

use super::{Header, Interval, Line};
use hugewise_base::geometry;
use hugewise_base::jsonl::{self, LineError};
use hugewise_experiment::run::trial::Outcome;

/// A recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// Its first line.
    pub header: Header,
    /// Its intervals.
    pub intervals: Vec<Interval>,
    /// How the command ended, if one was run and the recording is complete.
    pub outcome: Option<Outcome>,
    /// CPU time in nanoseconds, and the number of processes that it left running.
    pub left: (u64, u32),
    /// True if the last line is missing.
    pub torn: bool,
}

impl jsonl::Line for Line {
    type Header = Header;
    const TAG: &'static str = "line";
    const HEADER: &'static str = "header";
    const KIND: &'static str = "stat";
    const VERSION: u32 = 1;
    const TITLE: &'static str = "a recording of stat";
    const WRITER: &'static str = "hugewise stat --json";

    fn from_header(header: Header) -> Self {
        Self::Header(Box::new(header))
    }

    fn check(header: &Header) -> Result<(), String> {
        let huge = header.huge_bytes.map(|bytes| ("huge_bytes", bytes));
        geometry::check(("page_bytes", header.page_bytes), huge, None)
    }

    fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }
}

/// Parses a recording. Ignores an incomplete last line, as a crash leaves it.
///
/// # Errors
/// Fails if a line is not of this format, or of another version.
pub fn parse(bytes: &[u8]) -> Result<Recording, LineError> {
    let (header, lines) = jsonl::read::<Line>(bytes)?;
    let mut recording = Recording {
        header,
        intervals: Vec::new(),
        outcome: None,
        left: (0, 0),
        torn: true,
    };
    for line in lines {
        match line?.1 {
            None | Some(Line::Header(_)) => {}
            Some(Line::Interval(interval)) => recording.intervals.push(interval),
            Some(Line::Summary(summary)) => {
                recording.outcome = summary.outcome;
                recording.left = (summary.cpu_ns, summary.outlived);
                recording.torn = false;
            }
        }
    }
    Ok(recording)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::sample::{header, interval};
    use super::*;
    use crate::stat::StatSummary;

    fn recording() -> String {
        let header = header();
        let mut summary = StatSummary::default();
        summary.add(&interval(0));
        let summary = summary.finished(&header.hardware, Some(Outcome::Exited { code: 0 }));
        [
            Line::Header(Box::new(header)),
            Line::Interval(interval(0)),
            Line::Summary(summary),
        ]
        .iter()
        .map(jsonl::to_line)
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
        let error = |text: &str| parse(text.as_bytes()).unwrap_err();
        assert!(matches!(error(""), LineError::Empty { .. }));
        for other in [text.lines().nth(1).unwrap(), "{}\n", "root:x:0:0\n", "[]"] {
            assert!(
                matches!(error(other), LineError::OtherFile { .. }),
                "{other}"
            );
        }
        let damaged = text.replacen("\"kernel\"", "\"colonel\"", 1);
        assert!(error(&damaged).to_string().contains("kernel"));
        let old = "{\"line\":\"header\",\"version\":1";
        let old = text.replacen("{\"format\":\"hugewise-stat 1\"", old, 1);
        assert_eq!(parse(old.as_bytes()), parse(text.as_bytes()));
        let newer = old.replacen(":1", ":9", 1);
        for newer in [newer, text.replacen("stat 1", "stat 9", 1)] {
            assert!(error(&newer).to_string().contains("version 9"));
        }
        let foreign = "{\"line\":\"header\",\"version\":9,\"words\":[]}\n";
        assert!(error(foreign).to_string().contains("version 9"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = parse(&bytes);
        }
    }
}

//! Recordings as lines of JSON: a header, then samples.

use serde::{Deserialize, Serialize};

use super::sample::{Header, Sample};
use hugewise_base::geometry;
use hugewise_base::jsonl::{self, LineError};

/// One line of a recording.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum Line {
    /// The first line.
    Header(Box<Header>),
    /// A sample.
    Sample(Box<Sample>),
}

/// A recording, with its samples in time order.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// Its first line.
    pub header: Header,
    /// Its other lines.
    pub samples: Vec<Sample>,
}

impl jsonl::Line for Line {
    type Header = Header;
    const TAG: &'static str = "line";
    const HEADER: &'static str = "header";
    const KIND: &'static str = "watch";
    const VERSION: u32 = 1;
    const TITLE: &'static str = "a recording of watch";
    const WRITER: &'static str = "hugewise watch --record";

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

/// Parses a recording. An incomplete last line after a crash is ignored.
///
/// # Errors
/// A line has another format or version, or there is no sample.
pub fn parse(bytes: &[u8]) -> Result<Recording, LineError> {
    let (header, lines) = jsonl::read::<Line>(bytes)?;
    let mut samples = Vec::new();
    for line in lines {
        if let Some(Line::Sample(sample)) = line?.1 {
            samples.push(*sample);
        }
    }
    match samples.is_empty() {
        true => Err(LineError::CutShort),
        false => Ok(Recording { header, samples }),
    }
}

use serde::Deserialize;

use super::event::{Event, Own, SCHEMA};
use crate::fault;

/// Why a line is not part of a recording of misses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The file is no recording.
    #[error("line 1: not a recording of misses; give the file that `stat --where --out` wrote")]
    NotARecording,
    /// Another version wrote it.
    #[error(
        "line 1: a recording of schema {found}, and this program reads {SCHEMA}; replay it with \
         hugewise {program}"
    )]
    OtherSchema {
        /// Its schema.
        found: u32,
        /// Who wrote it.
        program: String,
    },
    /// A line that cannot be understood.
    #[error("line {line}, column {column}: {error}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// Where in it.
        column: usize,
        /// What is wrong with it.
        error: String,
    },
    /// The last line is missing.
    #[error("the recording was cut short: it ends without its counts; record again")]
    CutShort,
}

/// The kind of an event.
#[derive(Deserialize)]
struct Tag {
    event: String,
}

/// Whether a file that begins with this line is a recording of misses, of whatever version.
#[must_use]
pub fn is_recording(first: &[u8]) -> bool {
    serde_json::from_slice::<Tag>(first).is_ok_and(|tag| tag.event == "sampling")
}

/// Reads line number `line`, from 1, of a recording; the first must begin it.
///
/// # Errors
/// The line is not an event, or not the one that has to be there.
pub fn read(line: usize, bytes: &[u8]) -> Result<Event, Fault> {
    let event = parse(bytes).map_err(|error| match line {
        1 => Fault::NotARecording,
        _ => Fault::Line {
            line,
            column: error.column(),
            error: error.to_string(),
        },
    })?;
    match (&event, line) {
        (Event::Own(Own::Sampling(conditions)), 1) if conditions.schema != SCHEMA => {
            Err(Fault::OtherSchema {
                found: conditions.schema,
                program: conditions.hugewise.clone(),
            })
        }
        (Event::Own(Own::Sampling(_)), 1) => Ok(event),
        (_, 1) => Err(Fault::NotARecording),
        _ => Ok(event),
    }
}

/// The kind of event decides whose words are to be understood, so that an error is about the
/// line and not about all that it is not.
fn parse(bytes: &[u8]) -> Result<Event, serde_json::Error> {
    let tag: Tag = serde_json::from_slice(bytes)?;
    if matches!(tag.event.as_str(), "sampling" | "miss" | "sampled") {
        serde_json::from_slice(bytes).map(Event::Own)
    } else {
        serde_json::from_slice::<fault::Event>(bytes).map(Event::Space)
    }
}

use super::event::{Event, SCHEMA};

/// Why a line is not part of a recording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The file is no recording.
    #[error("line 1: not a recording of faults; give the file that `hugewise faults --out` wrote")]
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

/// Reads line number `line`, from 1, of a recording; the first must begin it.
///
/// # Errors
/// The line is not an event, or not the one that has to be there.
pub fn read(line: usize, bytes: &[u8]) -> Result<Event, Fault> {
    let event: Event = serde_json::from_slice(bytes).map_err(|error| match line {
        1 => Fault::NotARecording,
        _ => Fault::Line {
            line,
            column: error.column(),
            error: error.to_string(),
        },
    })?;
    match (&event, line) {
        (Event::Begin(conditions), 1) if conditions.schema != SCHEMA => Err(Fault::OtherSchema {
            found: conditions.schema,
            program: conditions.hugewise.clone(),
        }),
        (Event::Begin(_), 1) => Ok(event),
        (_, 1) => Err(Fault::NotARecording),
        _ => Ok(event),
    }
}

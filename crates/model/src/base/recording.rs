//! Recordings: files of events, a JSON document per line. The first says under which conditions they
//! were seen, the last is what other sources counted. Live and replayed events go through one
//! analysis.

use serde::Serialize;

/// What adds up the events of a recording.
pub trait Recorded: Sized {
    /// A line.
    type Event: Serialize;
    /// What is recorded, as in "a recording of faults".
    const OF: &'static str;
    /// The command that records it.
    const WRITER: &'static str;
    /// The version that this program reads.
    const SCHEMA: u32;

    /// An event from its line.
    ///
    /// # Errors
    /// It is none.
    fn parse(line: &[u8]) -> Result<Self::Event, serde_json::Error>;

    /// What the first event of a recording says of who wrote it; `None` for all others.
    fn origin(event: &Self::Event) -> Option<Origin>;

    /// The analysis that such an event begins.
    fn begin(event: &Self::Event) -> Option<Self>;

    /// Takes the next event in.
    fn push(&mut self, event: &Self::Event);
}

/// Who wrote a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The version of the form.
    pub schema: u32,
    /// The version of the program.
    pub program: String,
}

/// Why a line is not part of a recording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The file is no recording.
    #[error("line 1: not a recording of {of}; give the file that `{writer}` wrote")]
    NotARecording {
        /// What was looked for.
        of: &'static str,
        /// The command that writes it.
        writer: &'static str,
    },
    /// Another version wrote it.
    #[error(
        "line 1: a recording of schema {found}, and this program reads {read}; replay it with \
         hugewise {program}"
    )]
    OtherSchema {
        /// Its schema.
        found: u32,
        /// Ours.
        read: u32,
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

impl Fault {
    /// That a file is no recording of what `A` adds up.
    #[must_use]
    pub fn not_a_recording<A: Recorded>() -> Self {
        Self::NotARecording {
            of: A::OF,
            writer: A::WRITER,
        }
    }
}

/// Reads line number `line`, from 1, of a recording; the first must begin it.
///
/// # Errors
/// The line is not an event, or not the one that has to be there.
pub fn read<A: Recorded>(line: usize, bytes: &[u8]) -> Result<A::Event, Fault> {
    let event = A::parse(bytes).map_err(|error| match line {
        1 => Fault::not_a_recording::<A>(),
        _ => Fault::Line {
            line,
            column: error.column(),
            error: error.to_string(),
        },
    })?;
    match (A::origin(&event), line) {
        (Some(Origin { schema, program }), 1) if schema != A::SCHEMA => Err(Fault::OtherSchema {
            found: schema,
            read: A::SCHEMA,
            program,
        }),
        (None, 1) => Err(Fault::not_a_recording::<A>()),
        _ => Ok(event),
    }
}

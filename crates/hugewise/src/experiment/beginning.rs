//! The start of an experiment: a new record, or the rounds added to an existing one.

use std::path::{Path, PathBuf};

use anyhow::Result;
use hugewise_base::verification::Verification;
use hugewise_experiment::run::plan::Plan;
use hugewise_experiment::run::record::{Continuation, Header, Record};
use hugewise_linux::machine::turn::Settings;

use super::recorder::Recorder;
use crate::paths;
use crate::stderr::message;
use crate::turn::Holder;

/// How an experiment begins.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one")]
pub enum Beginning {
    /// With a new record.
    New(Header),
    /// After the rounds of the record at this path.
    After(Record, Continuation, PathBuf),
}

impl Beginning {
    /// The header of its record.
    pub(super) fn header(&self) -> &Header {
        match self {
            Self::New(header) => header,
            Self::After(record, ..) => &record.header,
        }
    }

    /// Notes the process that holds the settings, if there is one.
    pub(super) fn under(mut self, settings: &Settings) -> Self {
        if let (Self::New(header), Settings::HeldBy(pid)) = (&mut self, settings) {
            let holder = Holder(Some(*pid)).to_string();
            message(format_args!(
                "{holder} has changed settings, and keeps them"
            ));
            header.settings_held_by = Some(holder);
        }
        self
    }

    /// Notes which events are verified. Added rounds keep what the record says.
    pub(super) fn verified(mut self, verification: Option<Verification>) -> Self {
        if let Self::New(header) = &mut self {
            header.verification = verification;
        }
        self
    }

    /// Opens the record for more trials.
    pub fn recorder(self, named: Option<&Path>) -> Result<Recorder> {
        match self {
            Self::New(header) => {
                let path = record_path(named, &header)?;
                Recorder::create(&path, header)
            }
            Self::After(record, continuation, path) => {
                Recorder::resume(&path, record, continuation)
            }
        }
    }
}

/// The path that the user named, or a new one in the user's state folder.
fn record_path(named: Option<&Path>, header: &Header) -> Result<PathBuf> {
    match named {
        Some(path) => Ok(path.to_owned()),
        None => paths::new_record(program(&header.plan), header.created_unix_ms),
    }
}

/// The program that names the record: the command's, or the first word of a shell line.
fn program(plan: &Plan) -> &str {
    let first = plan.command.first().map_or("", String::as_str);
    if plan.shell {
        first.split_whitespace().next().unwrap_or_default()
    } else {
        first
    }
}

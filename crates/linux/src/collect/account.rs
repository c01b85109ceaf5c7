//! Resource usage of a trial's subject.

use hugewise_base::missing::Missing;

use crate::spawn::{End, ExitReading, Usage};

/// Resource usage of one trial.
#[derive(Clone, Debug)]
pub(super) struct Account {
    /// How long it was watched, in nanoseconds.
    pub(super) wall_ns: u64,
    /// What its tree used meanwhile; the peak is that of its whole life.
    pub(super) usage: Usage,
    /// Why the switches between tasks in `usage` are not known, where they are not.
    pub(super) switches: Result<(), Missing>,
    /// Peaks up to this many bytes are not its own.
    pub(super) floor_bytes: u64,
    /// Its main process when it was looked at last.
    pub(super) exit: Result<ExitReading, Missing>,
    /// Processor time of what belongs to the trial and not to its subject, in nanoseconds.
    pub(super) aside_cpu_ns: u64,
}

impl Account {
    /// Of a command, which was watched from its exec to its end.
    pub(super) fn of_command(end: &End) -> Self {
        Self {
            wall_ns: end.wall_ns,
            usage: end.usage,
            switches: Ok(()),
            floor_bytes: end.floor_bytes,
            exit: end.exit.clone(),
            aside_cpu_ns: end.keeper_cpu_ns,
        }
    }
}

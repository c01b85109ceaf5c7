//! Resource usage of a trial's subject.

use hugewise_base::missing::Missing;

use crate::spawn::{End, ExitReading, Usage};

/// Resource usage of one trial.
#[derive(Clone, Debug)]
pub(super) struct Account {
    /// The time of observation, in nanoseconds.
    pub(super) wall_ns: u64,
    /// The usage of its tree during that time; the peak covers its whole life.
    pub(super) usage: Usage,
    /// Why the context switches in `usage` are unknown, if they are.
    pub(super) switches: Result<(), Missing>,
    /// Peaks up to this many bytes are not its own.
    pub(super) floor_bytes: u64,
    /// The last reading of its main process.
    pub(super) exit: Result<ExitReading, Missing>,
    /// Processor time of processes that belong to the trial but not to its subject, in nanoseconds.
    pub(super) aside_cpu_ns: u64,
}

impl Account {
    /// The account of a command, observed from its exec to its end.
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

//! Messages between the measuring program and the keeper, over a socket.
//!
//! The input is one [`Order`], then single bytes: release, stop, and signal with the number of a signal. The output is
//! a sequence of [`Event`]s. All messages except these bytes are frames: the length as four bytes, little endian, and
//! JSON.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use hugewise_base::host::ThpDisable;
use hugewise_base::missing::Missing;
use hugewise_experiment::run::policy::realise::{ThpPrctl, TreeTracer};
use hugewise_experiment::run::policy::{Collapse, Numa, Text, Tmpfs};
use hugewise_experiment::run::trial::{Outcome, Tracing};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::exit_reading::{ExitReading, ExitRequest};
use super::usage::Usage;
use super::{AtExit, CgroupPlan, Launch};
use crate::machine::clock;
use crate::machine::descriptors;
use crate::machine::error::{Error, Kind, Result};
use crate::machine::identity::Identity;

/// Lets the workload exec.
pub(super) const RELEASE: u8 = b'r';
/// Kills the tree.
pub(super) const STOP: u8 = b's';
/// Sends a signal to the main process; the next byte is its number.
pub(super) const SIGNAL: u8 = b'k';
/// The maximum length of a frame, in bytes; a greater length means that the peer is not a keeper.
const LONGEST_FRAME: usize = 64 << 20;

/// A [`Launch`] in transit; names are bytes because paths need not be text.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) command: Vec<Vec<u8>>,
    pub(super) environment: Vec<(Vec<u8>, Vec<u8>)>,
    pub(super) prctl: ThpPrctl,
    pub(super) tracer: TreeTracer,
    pub(super) numa: Option<Numa>,
    pub(super) tmpfs: Option<Tmpfs>,
    pub(super) cgroup: Option<CgroupPlan>,
    pub(super) collapse: Option<Collapse>,
    pub(super) text: Option<Text>,
    pub(super) identity: Option<Identity>,
    pub(super) directory: Option<Vec<u8>>,
    pub(super) stdin: Vec<u8>,
    /// The limit of open files.
    pub(super) descriptors: Option<u64>,
    pub(super) timeout_ns: Option<u64>,
    pub(super) at_exit: AtExit,
    pub(super) cpus: Option<Vec<u32>>,
    pub(super) scratch: Option<Vec<u8>>,
    pub(super) question: ExitRequest,
}

impl Order {
    pub(super) fn of(launch: &Launch, question: &ExitRequest) -> Result<Self> {
        if launch.command.is_empty() {
            return Err(fault("starting", "no command was given"));
        }
        let bytes = |text: &OsStr| text.as_bytes().to_vec();
        Ok(Self {
            command: launch.command.iter().map(|word| bytes(word)).collect(),
            environment: environment(launch),
            prctl: launch.prctl,
            tracer: launch.tracer.clone(),
            numa: launch.numa.clone(),
            tmpfs: launch.tmpfs.clone(),
            cgroup: None,
            collapse: launch.collapse,
            text: launch.text,
            identity: launch.identity.clone(),
            directory: launch
                .directory
                .as_ref()
                .map(|path| bytes(path.as_os_str())),
            stdin: bytes(
                launch
                    .stdin
                    .as_deref()
                    .unwrap_or(Path::new("/dev/null"))
                    .as_os_str(),
            ),
            descriptors: descriptors::given(),
            timeout_ns: launch.timeout.map(clock::nanoseconds),
            at_exit: launch.at_exit,
            cpus: launch
                .cpus
                .as_ref()
                .map(|cpus| cpus.iter().copied().collect()),
            scratch: launch.scratch.as_ref().map(|path| bytes(path.as_os_str())),
            question: question.clone(),
        })
    }
}

/// Returns the identity's own variables first, so that the caller's variables override them.
fn environment(launch: &Launch) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut pairs = Vec::new();
    if let Some(identity) = &launch.identity {
        let home = identity.home.as_os_str().as_bytes().to_vec();
        pairs.push((b"HOME".to_vec(), home));
        for name in ["USER", "LOGNAME"] {
            pairs.push((name.into(), identity.name.clone().into()));
        }
    }
    let given = launch.environment.iter();
    pairs.extend(given.map(|(name, value)| (name.clone().into(), value.clone().into())));
    pairs
}

/// A report of the keeper.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Event {
    /// The child is waiting for its release.
    Ready(Ready),
    /// The child could not be prepared.
    Refused(String),
    /// The whole tree has ended.
    Ended(Box<End>),
}

/// The child just before it executes the workload.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Ready {
    /// Its PID, which stays the same.
    pub(super) main: u32,
    /// Its `PR_GET_THP_DISABLE`; `None` if the kernel's answer is unknown.
    pub(super) thp_disable: Option<ThpDisable>,
}

/// How a workload ended, and its usage.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct End {
    /// How the main process ended.
    pub outcome: Outcome,
    /// Time from the release to the reaping of the main process, minus the time it was held, in nanoseconds of the
    /// monotonic clock.
    pub wall_ns: u64,
    /// The usage of all reaped processes of the tree, minus that of the main process before its exec.
    pub usage: Usage,
    /// Peaks up to this many bytes are not the workload's: the keeper's size, inherited through exec.
    pub floor_bytes: u64,
    /// The readings of the main process at its end.
    pub exit: std::result::Result<ExitReading, Missing>,
    /// The results of the tracer of its tree, if one was requested.
    pub tracing: Option<Tracing>,
    /// Processor time of the keeper, in nanoseconds.
    pub keeper_cpu_ns: u64,
    /// The number of processes left running by the main process, and killed.
    pub outlived: u32,
    /// The number of processes of the tree that could not be killed.
    pub survivors: u32,
}

pub(super) fn write_frame(to: &mut impl Write, frame: &impl Serialize) -> io::Result<()> {
    let body = serde_json::to_vec(frame)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(&body)
}

pub(super) fn read_frame<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST_FRAME {
        return Err(io::Error::other("the frame is too long"));
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}

/// Creates an error without a path.
pub(super) fn fault(doing: &str, what: impl Into<String>) -> Error {
    Error {
        kind: Kind::Other(what.into()),
        doing: doing.to_owned(),
        path: None,
        source: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn frames_come_back_whole(text: String) {
            let mut wire = Vec::new();
            write_frame(&mut wire, &text).unwrap();
            let back: String = read_frame(&mut wire.as_slice()).unwrap();
            prop_assert_eq!(back, text);
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = read_frame::<Event>(&mut bytes.as_slice());
        }
    }
}

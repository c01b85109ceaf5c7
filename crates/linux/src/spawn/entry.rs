//! The main function of a keeper process: from its order to its last event.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;

use super::KEEPER_WORD;
use super::calls;
use super::cgroup::{Cgroup, CgroupPlan, not_made};
use super::child::{Child, Streams};
use super::keeper::Keeper;
use super::scratch::Scratch;
use super::wire::{self, Event, Order};
use crate::machine::root::Root;
use crate::proc::status;

/// Runs this process as a keeper. To be called by `main` before anything else if the first argument is [`KEEPER_WORD`],
/// so that its memory stays small; standard input is its socket.
#[must_use]
pub fn keeper_main() -> ExitCode {
    debug_assert!(std::env::args_os().any(|word| word == KEEPER_WORD));
    match keep() {
        Ok(()) => ExitCode::SUCCESS,
        // Errors cannot be reported: the socket is the only connection.
        Err(_) => ExitCode::FAILURE,
    }
}

fn keep() -> io::Result<()> {
    let socket = UnixStream::from(calls::duplicate(0)?);
    calls::put_at(&File::open("/dev/null")?, 0)?;
    calls::new_session();
    let signals = calls::child_signals()?;
    let order: Order = wire::read_frame(&mut &socket)?;
    if let Err(error) = calls::become_subreaper() {
        let sentence = format!("becoming the reaper of orphans: {error}");
        return wire::write_frame(&mut &socket, &Event::Refused(sentence));
    }
    let scratch = order.scratch.as_deref().map(OsStr::from_bytes);
    let scratch = scratch.map(|path| Scratch::make(Path::new(path), order.identity.as_ref()));
    let scratch = match scratch.transpose() {
        Ok(scratch) => scratch,
        Err(sentence) => return wire::write_frame(&mut &socket, &Event::Refused(sentence)),
    };
    let (order, cgroup) = match with_cgroup(order) {
        Ok(both) => both,
        Err(sentence) => return wire::write_frame(&mut &socket, &Event::Refused(sentence)),
    };
    // The part of a peak that the child inherits through exec is no larger than this.
    let floor_bytes = own_peak();
    let child = match Child::fork(&order, Streams::Fresh) {
        Ok(child) => child,
        Err(sentence) => return wire::write_frame(&mut &socket, &Event::Refused(sentence)),
    };
    leave_output()?;
    let mut keeper = Keeper::new(socket, signals, order, child);
    if let Err(sentence) = keeper.begin_tracing() {
        return wire::write_frame(&mut &keeper.socket, &Event::Refused(sentence));
    }
    let end = keeper.run(floor_bytes)?;
    let sent = wire::write_frame(&mut &keeper.socket, &Event::Ended(Box::new(end)));
    // The receiver of the end event may still read the files of the trial before they are removed.
    if scratch.is_some() || cgroup.is_some() {
        wait_for_hanging_up(&keeper.socket);
    }
    drop((scratch, cgroup));
    sent
}

/// Creates the cgroup of an order. If the group is needed only for reading and cannot be created, it is omitted.
fn with_cgroup(mut order: Order) -> Result<(Order, Option<Cgroup>), String> {
    match order.cgroup.as_ref().map(CgroupPlan::make) {
        None => Ok((order, None)),
        Some(Ok(made)) => Ok((order, Some(made))),
        Some(Err(missing)) => match order.cgroup.take() {
            Some(plan) if plan.is_required() => Err(not_made(&missing)),
            _ => Ok((order, None)),
        },
    }
}

/// Returns when the other side has closed its socket or has died.
fn wait_for_hanging_up(mut socket: &UnixStream) {
    while socket.read(&mut [0]).is_ok_and(|count| count > 0) {}
}

/// Returns `VmHWM` of this process; getrusage(2) would include the inherited peak.
fn own_peak() -> u64 {
    let bytes = Root::real().read("proc/self/status").unwrap_or_default();
    let status = status::parse_status(&bytes).ok();
    status
        .and_then(|status| status.peak_rss_bytes)
        .unwrap_or_else(|| calls::own_usage().peak_rss_bytes)
}

/// Closes this process's ends of the workload's streams: a reader then sees end-of-file when the last process of the
/// tree has ended.
fn leave_output() -> io::Result<()> {
    let nowhere = File::options().write(true).open("/dev/null")?;
    calls::put_at(&nowhere, 1)?;
    calls::put_at(&nowhere, 2)
}

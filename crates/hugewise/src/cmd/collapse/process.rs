//! The process: watched with `--hot`, read, and checked.

use anyhow::Result;
use hugewise_linux::machine::error::{Error, Kind};
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::address_space::{Depth, ReadError, read_space};
use hugewise_linux::observe::collapse::Unusable;
use hugewise_linux::observe::stat::WaitResult;
use hugewise_linux::probe::read_page_bytes;
use hugewise_linux::sys::thp::read_thp;
use hugewise_observe::address_space::{Sort, Space};

use super::Arguments;
use crate::collapse_facts::{self, Activity, UsedBits, Watch};
use crate::exit;
use crate::interrupt::Interrupt;

/// Reads the address space, after watching it with `--hot`.
pub(super) fn read(
    root: &Root,
    arguments: &Arguments,
    stop: &Interrupt,
) -> Result<(Space, Option<Activity>)> {
    let pid = arguments.pid();
    let activity = arguments.hot.then(|| watch(root, arguments, stop));
    let activity = activity.transpose()?;
    let huge_bytes = read_thp(root).map_err(no_huge_pages)?.pmd_bytes;
    let space = read_space(
        root,
        pid,
        read_page_bytes(root)?,
        Some(huge_bytes),
        Depth::Pages,
    )
    .map_err(|unread| unreadable(pid, &unread))?;
    check(&space)?;
    Ok((space, activity))
}

/// Without the settings of transparent huge pages nobody knows how large one is.
fn no_huge_pages(unread: Error) -> anyhow::Error {
    match unread.kind {
        Kind::NotFound => exit::refused(
            "this kernel has no transparent huge pages, so no memory can be made huge",
        ),
        _ => unread.into(),
    }
}

/// Watches which memory is used.
fn watch(root: &Root, arguments: &Arguments, stop: &Interrupt) -> Result<Activity> {
    let time = arguments.duration.unwrap_or(collapse_facts::WATCH);
    let watch = Watch::begin(root, arguments.pid(), UsedBits::Clear, time)?;
    let seconds = time.as_secs_f64();
    arguments.message(format_args!("watching for {seconds} s"));
    let activity = watch.finish(|time| {
        stop.wait(time);
        match stop.asked() {
            true => WaitResult::Over,
            false => WaitResult::Passed,
        }
    });
    match stop.asked() {
        true => Err(exit::interrupted("nothing was changed")),
        false => Ok(activity),
    }
}

/// What must hold of a process for anything to be possible.
fn check(space: &Space) -> Result<()> {
    let process = &space.process;
    let who = format!("process {} ({})", process.pid, process.command);
    match process.sort {
        Sort::KernelThread => {
            return Err(exit::usage(format!(
                "{who} is a kernel thread and has no memory of its own"
            )));
        }
        Sort::Zombie => {
            return Err(exit::usage(format!("{who} has ended: its memory is gone")));
        }
        Sort::Program => {}
    }
    if process.thp_enabled == Some(false) {
        return Err(exit::refused(format!(
            "{who} has huge pages switched off (PR_SET_THP_DISABLE), {}; this cannot be changed \
             from outside: start it without",
            match process.parent_thp_enabled {
                Some(true) => "which its parent has not",
                Some(false) => "as its parent has",
                None => "by itself or inherited from a parent",
            }
        )));
    }
    if !space.read_with.page_scan.is_read() && !space.read_with.page_map.is_read() {
        return Err(exit::refused(format!(
            "the pages of {who} cannot be read, so nothing can be planned or verified"
        )));
    }
    Ok(())
}

fn unreadable(pid: u32, unread: &ReadError) -> anyhow::Error {
    match unread {
        ReadError::Gone => exit::no_process(pid),
        other => exit::refused(format!("reading process {pid}: {other}")),
    }
}

/// The error of a process that cannot be changed.
pub(super) fn refused(unusable: &Unusable) -> anyhow::Error {
    match unusable {
        Unusable::NoProcess { pid } => exit::no_process(*pid),
        _ => exit::refused(unusable),
    }
}

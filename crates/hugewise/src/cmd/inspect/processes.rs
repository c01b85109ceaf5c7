//! Reads and judges processes.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use hugewise_base::missing::READERS;
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::address_space::{
    Depth, ReadError, Thoroughness, read_settings, read_space,
};
use hugewise_linux::observe::stat::WaitResult;
use hugewise_linux::probe::read_page_bytes;
use hugewise_observe::address_space::Space;
use hugewise_observe::inspect::reasons::Settings;
use hugewise_observe::inspect::view::{Brief, Inspection};

use super::{Arguments, results};
use crate::collapse_facts::{self, Activity, UsedBits, Watch};
use crate::exit::{self, Exit};
use crate::file;
use crate::stderr::message;

/// The time limit for reading the frames of one process.
pub(super) const FRAMES: Duration = Duration::from_secs(10);

/// Watches the process for its forecast.
pub(super) fn watch_use(root: &Root, pid: u32, arguments: &Arguments) -> Result<Activity> {
    let used_bits = match (arguments.touch_bits, arguments.duration) {
        (true, _) => UsedBits::Clear,
        (false, Some(_)) => UsedBits::Keep,
        (false, None) => return Ok(Activity::of_a_moment(root, pid)),
    };
    let time = arguments.duration.unwrap_or(collapse_facts::WATCH);
    let watch = Watch::begin(root, pid, used_bits, time)?;
    if !arguments.output.quiet {
        message(format_args!("watching for {} s", time.as_secs_f64()));
    }
    Ok(watch.finish(|time| {
        std::thread::sleep(time);
        WaitResult::Passed
    }))
}

/// Reads and judges one process.
pub(super) fn inspect(
    root: &Root,
    pid: u32,
    thoroughness: Thoroughness,
    judged: impl FnOnce(Space, Settings) -> Inspection,
) -> Result<Inspection> {
    read(root, pid, Depth::Frames(FRAMES, thoroughness), judged)?.map_err(|why| match why {
        ReadError::Gone => exit::no_process(pid),
        ReadError::Failed(error) => anyhow::Error::new(error).context(format!("process {pid}")),
        why => exit::refused(format!("process {pid}: {why}")),
    })
}

/// Reads one process; an unreadable one is not yet an error.
pub(super) fn read(
    root: &Root,
    pid: u32,
    depth: Depth,
    judged: impl FnOnce(Space, Settings) -> Inspection,
) -> Result<Result<Inspection, ReadError>> {
    let settings = read_settings(root, pid)?;
    let huge_bytes = settings.thp.as_ref().ok().map(|thp| thp.pmd_bytes);
    let space = read_space(root, pid, read_page_bytes(root)?, huge_bytes, depth);
    Ok(space.map(|space| judged(space, settings)))
}

/// One line for each process. If one of many starts or ends during the inspection, that is no error.
pub(super) fn many(root: &Root, pids: &[u32], arguments: &Arguments) -> Result<Exit> {
    if arguments.map || arguments.mapping.is_some() || arguments.forecast {
        return Err(exit::usage(
            "--map, --mapping and --forecast need one process; name one",
        ));
    }
    let mut briefs = Vec::new();
    let mut refused = 0_u32;
    for &pid in pids {
        match read(root, pid, Depth::Pages, Inspection::in_short)? {
            Ok(inspection) => briefs.extend(Brief::of(&inspection)),
            Err(ReadError::NotPermitted) => refused += 1,
            Err(ReadError::Failed(error)) => message(format_args!("process {pid}: {error}")),
            Err(_) => {}
        }
    }
    results::many(&briefs, arguments)?;
    if refused > 0 && !arguments.output.quiet {
        message(format_args!(
            "not read: the memory of {refused} of {} processes. {READERS}",
            pids.len()
        ));
    }
    Ok(Exit::Done)
}

/// Judges an inspection from JSON again.
pub(super) fn judge_again(path: &Path) -> Result<Inspection> {
    let name = path.display();
    let bytes =
        file::read_recording(path).map_err(|e| exit::usage(format!("--from {name}: {e}")))?;
    let read: Inspection = serde_json::from_slice(&bytes)
        .map_err(|error| exit::usage(format!("--from {name}: not an inspection: {error}")))?;
    let wrong = |why| exit::usage(format!("--from {name}: {why}"));
    read.space.check().map_err(wrong)?;
    Ok(Inspection::of(read.space, read.settings))
}

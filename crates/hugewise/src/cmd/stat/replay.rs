//! A recording, drawn again by the same functions as a live observation.

use std::path::Path;

use anyhow::Result;
use hugewise_observe::stat::{Interval, derive, parse};

use super::Arguments;
use super::lines::Lines;
use crate::exit::{self, Exit};
use crate::file;
use crate::stderr::message;

/// Draws a recording.
pub(super) fn run(path: &Path, arguments: &Arguments) -> Result<Exit> {
    let output = &arguments.output;
    let fault = |what: String| exit::usage(format!("--replay {}: {what}", path.display()));
    let same = output
        .json
        .as_deref()
        .is_some_and(|json| is_same(json, path));
    if same {
        return Err(fault(
            "--json names the same file, which would be lost".to_owned(),
        ));
    }
    #[cfg(feature = "tlb")]
    if hugewise_tlb::misses::is_recording(&file::first_line(path)) {
        return Err(fault(format!(
            "it is a recording of misses; write: hugewise misses --replay {}",
            hugewise_text::wrap::quoted(&path.to_string_lossy())
        )));
    }
    let bytes = file::read_recording(path).map_err(|error| fault(error.to_string()))?;
    let recording = parse(&bytes).map_err(|error| fault(error.to_string()))?;
    let mut lines = Lines::begin(&recording.header, arguments)?;
    for interval in recording.intervals {
        let derived = derive(&interval.counts, recording.header.hardware.missing());
        lines.interval(Interval {
            derived,
            ..interval
        })?;
    }
    if recording.torn && !output.quiet {
        message("the recording was cut off; these are the intervals it holds");
    }
    lines.ended(recording.left.0, recording.left.1);
    lines.finish(recording.outcome)?;
    Ok(Exit::Done)
}

fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    real(one).is_some() && real(one) == real(other)
}

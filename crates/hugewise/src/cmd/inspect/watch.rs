//! `--watch`: shows the first screen once, then the overview and the changes after each interval.

use std::fmt::Write;
use std::io::IsTerminal;
use std::time::Instant;

use anyhow::Result;
use hugewise_base::units::{bytes_text, time_of_day};
use hugewise_linux::machine::clock::unix_ms;
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::address_space::{Depth, ReadError};
use hugewise_observe::inspect::reasons::Code;
use hugewise_observe::inspect::view::{Change, Inspection, changes, map};
use hugewise_text::to_text;

use super::processes::{FRAMES, inspect, read};
use super::{Arguments, results};
use crate::exit::{self, Exit};
use crate::interrupt::Interrupt;
use crate::output;
use crate::output::Format;

/// Moves the cursor home, and clears to the end of the screen.
const REDRAW: &str = "\x1b[H\x1b[2J";

/// Watches one process until it ends or the time is over. An interrupt leaves nothing to restore.
pub(super) fn watch(root: &Root, pid: u32, arguments: &Arguments) -> Result<Exit> {
    if arguments.output.format != Format::Text {
        return Err(exit::usage("--watch prints text only; leave out --format"));
    }
    let began = Instant::now();
    let interrupt = Interrupt::catch()?;
    let mut last = inspect(root, pid, arguments.thoroughness(), Inspection::of)?;
    output::print(&opening(&last, arguments)?)?;
    while arguments.duration.is_none_or(|most| began.elapsed() < most) {
        interrupt.wait(arguments.watch.unwrap_or_default());
        if interrupt.asked() {
            return Ok(Exit::Interrupted);
        }
        let now = match read(
            root,
            pid,
            Depth::Frames(FRAMES, arguments.thoroughness()),
            Inspection::of,
        )? {
            Ok(now) => now,
            Err(ReadError::Gone | ReadError::Ended) => {
                crate::stderr::message(format_args!("process {pid} has ended"));
                return Ok(Exit::Done);
            }
            Err(why) => return Err(exit::refused(format!("process {pid}: {why}"))),
        };
        if now.space.process.started_ticks != last.space.process.started_ticks {
            crate::stderr::message(format_args!(
                "process {pid} has ended; another process has its PID"
            ));
            return Ok(Exit::Done);
        }
        draw(&now, &changes(&last, &now), &last, arguments)?;
        last = now;
    }
    Ok(Exit::Done)
}

/// The first screen, in full; later ones show only changes.
fn opening(first: &Inspection, arguments: &Arguments) -> Result<String> {
    let mut text = String::new();
    if std::io::stdout().is_terminal() {
        text.push_str(REDRAW);
    }
    text.push_str(&results::text(first, arguments));
    Ok(text)
}

fn draw(
    now: &Inspection,
    changes: &[Change],
    last: &Inspection,
    arguments: &Arguments,
) -> Result<()> {
    let terminal = std::io::stdout().is_terminal();
    let mut text = if terminal { REDRAW } else { "\n" }.to_owned();
    writeln!(text, "{} UTC", time_of_day(unix_ms()))?;
    let style = output::style(&arguments.output);
    if arguments.map {
        let changed =
            |one: &hugewise_observe::inspect::reasons::Judgement| !last.judgements.contains(one);
        text.push_str(&to_text(&map(now, &style, &changed), &style));
    } else if arguments.mapping.is_some() {
        text.push_str(&results::text(now, arguments));
    } else {
        text.push_str(&to_text(&now.overview(), &style));
        text.push('\n');
    }
    text.push_str(&changes_text(changes)?);
    output::print(&text)
}

fn changes_text(changes: &[Change]) -> Result<String> {
    let mut text = String::new();
    if changes.is_empty() {
        text.push_str("* nothing changed\n");
    }
    for change in changes {
        let name = |code: Option<Code>| code.map_or("unmapped", Code::name);
        writeln!(
            text,
            "* {} from {} to {}, first at {:x}",
            bytes_text(change.bytes),
            name(change.from),
            name(change.to),
            change.first
        )?;
    }
    Ok(text)
}

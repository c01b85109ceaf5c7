//! Looking again and again, and marking what changed.

use std::fmt::Write;
use std::time::Instant;

use anyhow::{Context, Result};
use hugewise_linux::root::Root;
use hugewise_linux::space::{Depth, Unread};
use hugewise_model::inspection::{Change, Inspection, changes, render_map};
use hugewise_model::quantity::bytes_text;
use hugewise_model::reason::Code;
use std::io::IsTerminal;

use super::{Arguments, FRAMES, give, inspect, look};
use crate::cli::Format;
use crate::exit::{self, Exit};
use crate::output;

/// Home, and clear to the end of the screen.
const REDRAW: &str = "\x1b[H\x1b[2J";

/// Watches one process until it ends or the time is over. Interrupting it leaves nothing to
/// put back.
pub(super) fn watch(root: &Root, pid: u32, arguments: &Arguments) -> Result<Exit> {
    if arguments.output.format != Format::Text {
        return Err(exit::usage("--watch draws text; leave --format out"));
    }
    let began = Instant::now();
    let mut last = inspect(root, pid, Depth::Frames(FRAMES))?;
    draw(&last, &[], &last, arguments)?;
    while arguments.duration.is_none_or(|most| began.elapsed() < most) {
        std::thread::sleep(arguments.watch.unwrap_or_default());
        let now = match look(root, pid, Depth::Frames(FRAMES))? {
            Ok(now) => now,
            Err(Unread::Gone | Unread::Ended) => {
                crate::say::say(format_args!("process {pid} has ended"));
                return Ok(Exit::Done);
            }
            Err(why) => return Err(exit::refused(format!("process {pid}: {why}"))),
        };
        if now.space.process.started_ticks != last.space.process.started_ticks {
            crate::say::say(format_args!(
                "process {pid} has ended; another has its number"
            ));
            return Ok(Exit::Done);
        }
        draw(&now, &changes(&last, &now), &last, arguments)?;
        last = now;
    }
    Ok(Exit::Done)
}

fn draw(
    now: &Inspection,
    changes: &[Change],
    last: &Inspection,
    arguments: &Arguments,
) -> Result<()> {
    let mut text = String::new();
    if std::io::stdout().is_terminal() {
        text.push_str(REDRAW);
    }
    if arguments.map {
        let style = output::style(&arguments.output);
        let changed = |one: &hugewise_model::reason::Judgement| !last.judgements.contains(one);
        render_map(now, &style, &changed, &mut text).context("drawing the map")?;
    } else {
        text.push_str(&give::text(now, arguments)?);
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
    output::print(&text)
}

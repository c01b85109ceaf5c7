//! Sources on whether huge pages help a process: its vendor, past measurements, and the command that measures it.

use hugewise_advise::advice::Program;
use hugewise_advise::rule::Change;
use hugewise_advise::settings::OFF;
use hugewise_linux::machine::root::Root;
use hugewise_linux::proc::sockets::awaits_connections;
use hugewise_observe::inspect::view::{Benefit, Measure};
use hugewise_text::wrap::{plain, quoted};

use crate::cmd::advise;

/// The command line that measures a program.
const RUN: &str = "hugewise run -- CMD";

/// The known facts about a process. If its rules cannot be read, `advise` reports why and the inspection continues.
pub fn of(root: &Root, pid: u32) -> Benefit {
    let program = advise::of_process(root, pid).ok().flatten();
    let command = program.as_ref().and_then(|it| it.command.as_ref());
    let measure = match command {
        _ if awaits_connections(root, pid) => Measure::Service,
        Some(command) => Measure::Command(command.put_into(RUN)),
        None => Measure::Unknown,
    };
    let measured = program.as_ref().map_or(&[][..], |it| &it.measured);
    // The process requests no huge pages.
    let idle = measured.iter();
    let idle = idle.filter(|it| it.changed_no_page && it.policy != OFF);
    let mut better = measured
        .iter()
        .filter(|it| it.outcome == Some(Change::Better));
    Benefit {
        against: program.as_ref().and_then(|program| against(program, pid)),
        tried: program.as_ref().and_then(tried),
        better: better.next().map(|it| it.policy.clone()),
        idle: idle.map(|it| it.policy.clone()).collect(),
        measure,
    }
}

/// `Redis (vendor, 2020-10-27): Leave disable-thp at yes. Why: hugewise advise 7`.
fn against(program: &Program, pid: u32) -> Option<String> {
    let (title, ruling) = program.against_huge_pages()?;
    Some(format!(
        "{} ({}): {} Why: hugewise advise {pid}",
        plain(title),
        ruling.authority(),
        ruling.words()
    ))
}

fn tried(program: &Program) -> Option<String> {
    let (newest, said) = program.measured_here()?;
    Some(format!("{said}: hugewise report {}", quoted(newest.name())))
}

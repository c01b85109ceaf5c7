//! Periods inside the servers of `run --service`: a part of one experiment in each start.

use std::time::Instant;

use anyhow::{Result, anyhow};
use hugewise_experiment::run::plan::{Live, Plan, Work as WorkOfPlan};
use hugewise_experiment::run::record::{Inside as InsideServers, StopReason};
use hugewise_linux::live::Work;
use hugewise_linux::machine::root::Root;

use super::life::Life;
use super::rounds::{Rounds, calibrated, plan};
use super::work::Kind;
use super::{Arguments, halted, opened, work};
use crate::exit;
use crate::experiment::progress::{Audience, Progress, Telling};
use crate::experiment::recorder::Recorder;
use crate::experiment::rounds::{LoadedServer, Switchbacks};
use crate::output::Output;

/// The most switched memory, in bytes: switching more would take most of the time of a start.
const MOST_BYTES: u64 = 2 << 30;

/// The place of the port in a source.
const PORT: &str = "{port}";

/// Switches the pages of servers under load.
#[derive(Debug)]
pub struct InsideStarts<'a> {
    root: &'a Root,
    output: Output,
}

impl<'a> InsideStarts<'a> {
    /// Prepares it; nothing of it is printed in the form of `output`.
    pub fn new(root: &'a Root, output: &Output) -> Self {
        let output = Output {
            quiet: true,
            ..output.clone()
        };
        Self { root, output }
    }

    fn life(
        &self,
        server: &LoadedServer<'_>,
        known: Option<&Live>,
        arguments: &Arguments,
    ) -> Result<Life<'a>> {
        let unit = opened(self.root, server.keeper, MOST_BYTES)?;
        // The work of a later start is counted as in the first.
        let counter = match known {
            Some(live) => {
                let source = live.work.source.replace(PORT, &server.port.to_string());
                work::open(self.root, &unit, &source.parse().map_err(exit::usage)?)?
            }
            None => work::fitting(self.root, &unit, Kind::Processes)?,
        };
        let most = known.map_or(MOST_BYTES / unit.huge_bytes, |live| live.blocks);
        let life = Life::begin(self.root, unit, counter, Some(most), arguments)?;
        Ok(Life {
            start: Some(server.start),
            unloaded: Some(server.unloaded.clone()),
            ..life
        })
    }
}

impl Switchbacks for InsideStarts<'_> {
    fn measure(&self, server: &LoadedServer<'_>, recorder: &mut Recorder) -> Result<Vec<String>> {
        let until = Instant::now() + server.time;
        let seed = recorder.record().header.plan.seed;
        let arguments = Arguments {
            seed: Some(seed.wrapping_add(u64::from(server.start))),
            ..Arguments::of_server(server.options, server.time, self.output.clone())
        };
        let known = recorder.record().inside.as_ref();
        let known = known.map(|inside| inside.header.plan.clone());
        let live = known.as_ref().and_then(|plan| plan.live.as_ref());
        let mut life = self.life(server, live, &arguments)?;
        let plan = match known {
            // Every period follows a switch, and so does the first.
            Some(plan) => {
                let made = life.session.make_all(Work::Split, server.interrupt.flag());
                made.map_err(|halt| halted(&halt))?;
                plan
            }
            None => {
                let times = calibrated(self.root, &mut life, &arguments, seed, server.interrupt)?;
                let plan = plan(&life, &arguments, times, seed);
                let plan = of_server(plan, &recorder.record().header.plan, server.port);
                recorder.begin_inside(InsideServers { plan: plan.clone() });
                plan
            }
        };
        let progress = Progress::begin(Audience::Nobody, Telling::Rows);
        let mut rounds = Rounds::new(
            self.root,
            (life, None),
            &arguments,
            (&plan, until),
            server.interrupt,
            &progress,
        );
        let reason = match recorder.inside() {
            Some(mut periods) => rounds.all(&plan, &mut periods),
            None => Ok(StopReason::MaxTime),
        };
        let left = rounds.end();
        match reason? {
            StopReason::ProcessEnded => Err(anyhow!("the server or its load ended")),
            StopReason::Guarded | StopReason::MemoryShort => {
                let why = std::iter::once("memory is short".to_owned());
                Err(anyhow!(why.chain(left).collect::<Vec<_>>().join("; ")))
            }
            _ => Ok(left),
        }
    }
}

/// The plan of periods in the servers of an experiment. Their ports differ from start to start.
fn of_server(inside: Plan, whole: &Plan, port: u16) -> Plan {
    let live = inside.live.map(|live| Live {
        work: WorkOfPlan {
            source: live.work.source.replace(&port.to_string(), PORT),
            ..live.work
        },
        ..live
    });
    Plan {
        command: whole.command.clone(),
        shell: whole.shell,
        live,
        ..inside
    }
}

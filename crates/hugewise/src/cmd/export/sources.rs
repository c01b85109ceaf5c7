//! Optional data in addition to the machine's totals.

use anyhow::Result;
use hugewise_base::glob::fits;
use hugewise_linux::machine::rights::{Right, keep_only};
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::cgroups::read_cgroups;
use hugewise_linux::observe::export::{collected, timed};
use hugewise_monitor::export::Extras;

use super::Arguments;
use super::durations::KernelDurations;
use super::experiments::Experiments;
use super::groups::Groups;
#[cfg(not(feature = "fleet"))]
use super::no_arm::ArmHere;
#[cfg(feature = "fleet")]
use crate::cmd::fleet::ArmHere;
use crate::invoker;

/// The sources of the optional data.
#[derive(Debug)]
pub(super) struct Sources {
    root: Root,
    cgroups: Vec<String>,
    groups: Option<Groups>,
    durations: Option<KernelDurations>,
    experiments: Option<Experiments>,
    fleet: Option<ArmHere>,
}

impl Sources {
    /// Starts the slow sources, and then drops the privileges that only the start needed.
    pub(super) fn begin(root: &Root, arguments: &Arguments) -> Result<Self> {
        let durations = arguments.durations.then(KernelDurations::begin);
        // The folder of --textfile may belong to another user.
        if arguments.textfile.is_none() {
            keep_only(&needed(arguments))?;
        }
        let fleet = match &arguments.fleet {
            Some(plan) => Some(ArmHere::begin(root, plan, arguments.unit.clone())?),
            None => None,
        };
        let groups = match (&arguments.groups[..], arguments.once) {
            ([], _) => None,
            (rules, true) => Some(Groups::once(root, rules)?),
            (rules, false) => Some(Groups::begin(root, rules)?),
        };
        Ok(Self {
            root: root.clone(),
            cgroups: arguments.cgroups.clone(),
            groups,
            durations,
            fleet,
            experiments: arguments.records.clone().map(Experiments::new),
        })
    }

    /// Reads all sources.
    pub(super) fn read(&mut self) -> Extras {
        let wanted = |path: &str| self.cgroups.iter().any(|pattern| fits(pattern, path));
        let cgroups = (!self.cgroups.is_empty())
            .then(|| collected("nothing", || read_cgroups(&self.root, &wanted)));
        Extras {
            cgroups,
            groups: self.groups.as_ref().map(|it| timed(|| Ok(it.known()))),
            durations: self.durations.as_mut().map(|it| timed(|| it.read())),
            fleet: self.fleet.as_ref().map(|it| timed(|| it.read())),
            experiments: self.experiments.as_mut().map(|it| timed(|| it.read())),
        }
    }
}

/// The privileges needed after the start.
fn needed(arguments: &Arguments) -> Vec<Right> {
    let rights = [
        (!arguments.groups.is_empty(), Right::OtherProcesses),
        (arguments.durations, Right::BpfMaps),
        (arguments.records.is_some(), Right::OtherFiles),
        (reads_for_others(arguments), Right::OtherUsers),
        (arguments.listen.port() < 1024, Right::LowPort),
    ];
    let needed = rights.into_iter().filter(|(needed, _)| *needed);
    needed.map(|(_, right)| right).collect()
}

/// Returns true if files are read with the invoking user's permissions.
fn reads_for_others(arguments: &Arguments) -> bool {
    let reads = arguments.records.is_some() || arguments.fleet.is_some();
    reads && invoker::rights().is_ok_and(|rights| rights.are_lent())
}

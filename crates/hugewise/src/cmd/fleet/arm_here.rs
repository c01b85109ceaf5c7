//! The arm of this host as labels of a metric.

use std::path::{Path, PathBuf};

use anyhow::Result;
use hugewise_linux::machine::root::Root;
use hugewise_model::base::host::Host;
use hugewise_model::base::missing::{Fact, Missing};
use hugewise_model::fleet::assign::{OUTSIDE, assign};
use hugewise_model::observe::export::FleetArm;

use super::{assign, plan_file, stop, stratum};
use crate::paths;
use crate::stderr::chain;

/// A plan, and what its strata need to know of this host.
#[derive(Debug)]
pub struct ArmHere {
    path: PathBuf,
    unit: String,
    host: Host,
}

impl ArmHere {
    /// Reads the plan once, so that a wrong one is told at once.
    ///
    /// # Errors
    /// The plan cannot be read, or the host's name.
    pub fn begin(root: &Root, path: &Path) -> Result<Self> {
        plan_file::read(path)?;
        Ok(Self {
            path: path.to_owned(),
            unit: root.read_trimmed("proc/sys/kernel/hostname")?,
            host: paths::host(root)?,
        })
    }

    /// The arm now.
    ///
    /// # Errors
    /// The plan cannot be read any more.
    pub fn read(&self) -> Fact<FleetArm> {
        let file = plan_file::read(&self.path);
        let plan = file.map_err(|error| Missing::unreadable(chain(&error)))?;
        let plan = plan.plan;
        let assigned = assign(&plan, &self.unit, assign::now());
        let arm = match stop::found(&plan.name) {
            Some(_) => OUTSIDE.to_owned(),
            None => assigned.arm,
        };
        Ok(FleetArm {
            stratum: stratum::of_host(&plan, &self.host),
            experiment: plan.name,
            arm,
            stage: assigned.stage,
        })
    }
}

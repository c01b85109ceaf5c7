//! The arm of this host as labels of a metric.

use std::path::{Path, PathBuf};

use anyhow::Result;
use hugewise_base::host::Host;
use hugewise_base::missing::{Fact, Missing};
use hugewise_fleet::assign::{OUTSIDE, assign};
use hugewise_fleet::unit::check_unit;
use hugewise_linux::machine::root::Root;
use hugewise_monitor::export::FleetArm;

use super::{assign, plan_file, stop, stratum};
use crate::exit;
use crate::paths;
use crate::stderr::chain;

/// A plan, and the facts about this host that its strata need.
#[derive(Debug)]
pub struct ArmHere {
    path: PathBuf,
    unit: String,
    host: Host,
}

impl ArmHere {
    /// Reads the plan once, so that errors are found at the start. The unit's default name is the host's.
    ///
    /// # Errors
    /// The plan or the host's name cannot be read, or the unit's name is invalid.
    pub fn begin(root: &Root, path: &Path, unit: Option<String>) -> Result<Self> {
        plan_file::read(path)?;
        let unit = match unit {
            Some(unit) => unit,
            None => root.read_trimmed("proc/sys/kernel/hostname")?,
        };
        check_unit(&unit).map_err(exit::usage)?;
        Ok(Self {
            path: path.to_owned(),
            unit,
            host: paths::host(root)?,
        })
    }

    /// The current arm.
    ///
    /// # Errors
    /// The plan can no longer be read.
    pub fn read(&self) -> Fact<FleetArm> {
        let file = plan_file::read_again(&self.path);
        let plan = file.map_err(|error| Missing::unreadable(chain(&error)))?;
        let plan = plan.plan;
        let assigned = assign(&plan, &self.unit, assign::now());
        let arm = match stop::found(&plan.name) {
            Some(_) => OUTSIDE.to_owned(),
            None => assigned.arm,
        };
        Ok(FleetArm {
            stratum: stratum::of_host(&plan, &self.host),
            unit: self.unit.clone(),
            experiment: plan.name,
            arm,
            stage: assigned.stage,
        })
    }
}

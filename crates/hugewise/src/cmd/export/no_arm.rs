//! The arm of a host, if this program is built without fleets.

use std::path::Path;

use anyhow::Result;
use hugewise_base::missing::Fact;
use hugewise_linux::machine::root::Root;
use hugewise_monitor::export::FleetArm;

use crate::exit;

/// Has no values.
#[derive(Debug)]
pub enum ArmHere {}

impl ArmHere {
    /// Always fails.
    ///
    /// # Errors
    /// Always.
    pub fn begin(_root: &Root, _plan: &Path, _unit: Option<String>) -> Result<Self> {
        Err(exit::usage(
            "--fleet: this hugewise was built without fleets",
        ))
    }

    /// Cannot be called.
    pub fn read(&self) -> Fact<FleetArm> {
        match *self {}
    }
}

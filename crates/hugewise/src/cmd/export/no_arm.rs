//! The arm of a host where this program has no fleets.

use std::path::Path;

use anyhow::Result;
use hugewise_base::missing::Fact;
use hugewise_linux::machine::root::Root;
use hugewise_monitor::export::FleetArm;

use crate::exit;

/// There is none.
#[derive(Debug)]
pub enum ArmHere {}

impl ArmHere {
    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn begin(_root: &Root, _plan: &Path, _unit: Option<String>) -> Result<Self> {
        Err(exit::usage(
            "--fleet: this hugewise was built without fleets",
        ))
    }

    /// Cannot be asked.
    pub fn read(&self) -> Fact<FleetArm> {
        match *self {}
    }
}

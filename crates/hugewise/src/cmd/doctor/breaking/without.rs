use anyhow::Result;
use hugewise_base::host::Host;
use hugewise_linux::machine::root::Root;
use hugewise_observe::doctor::BreakingState;

/// Returns none: no rules are compiled in.
///
/// # Errors
/// None.
pub fn states(_root: &Root, _host: &Host) -> Result<Vec<BreakingState>> {
    Ok(Vec::new())
}

use anyhow::Result;
use hugewise_advise::ruling::Standing;
use hugewise_base::host::Host;
use hugewise_linux::machine::root::Root;
use hugewise_observe::doctor::BreakingState;

use crate::cmd::advise;

/// Processes in a state that breaks programs, by the rules of `advise`.
pub fn states(root: &Root, host: &Host) -> Result<Vec<BreakingState>> {
    let advice = advise::of_all(root, host)?;
    let programs = advice.programs.iter();
    let states = programs.flat_map(|program| {
        let breaking = program.standing(Standing::Breaks);
        breaking.map(|ruling| BreakingState {
            pid: program.pid,
            program: program.name.clone(),
            rule: ruling.id.clone(),
            remedy: ruling.says.clone(),
            meaning: ruling.why.clone(),
        })
    });
    Ok(states.collect())
}

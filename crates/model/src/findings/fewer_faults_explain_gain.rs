//! Claims that part of a gain in time comes from fewer page faults, and how large a part.
//!
//! Evidence: wall time and minor faults both decidedly lower; the fall of kernel time as a share
//! of the fall of wall time. What is left is cheaper translation or another effect in user mode:
//! without counters of page walks these cannot be told apart, and the rule says so.
//! Refuted when kernel time did not fall. Next: hardware counters, or `hugewise trace` for the
//! latency of faults.

use super::ground::{Absent, Ground, Look, Said, told};
use super::{Finding, Rule};
use crate::compare::Change;
use crate::report::scale::percent;

/// See the module.
#[derive(Debug)]
pub(super) struct FewerFaultsExplainGain;

impl Rule for FewerFaultsExplainGain {
    fn id(&self) -> &'static str {
        "fewer-faults-explain-gain"
    }

    fn explain(&self) -> &'static str {
        "Claims that part of a gain in wall time comes from fewer page faults. Evidence: wall time \
         and minor faults are both decidedly lower, and kernel time fell; its fall is given as a \
         share of the gain. In a program with several threads kernel time is summed over them and \
         may exceed the gain. Refuted when kernel time did not fall. The rest is cheaper address \
         translation or another effect in user mode; without counters of page walks these cannot \
         be told apart. Next: run on a machine with hardware counters; `hugewise trace` shows the \
         latency of faults."
    }

    fn check(&self, ground: &Ground<'_>) -> Vec<Finding> {
        ground.of_arms(self, ask)
    }
}

fn ask(look: &mut Look<'_, '_>) -> Result<Said, Absent> {
    let fell = |metric: &str| look.change(metric) == Some(Change::Lower);
    if !fell("wall_seconds") || !fell("minor_faults_total") {
        return Ok(Said::Nothing);
    }
    let system_fell = fell("system_seconds");
    let (faults_before, faults) = look.both("minor_faults_total")?;
    let (wall_before, wall) = look.both("wall_seconds")?;
    let (system_before, system) = look.both("system_seconds")?;
    let (gain, saved) = (wall_before - wall, system_before - system);
    let faults = format!(
        "{}: {} faults became {}",
        look.policy,
        told("minor_faults_total", faults_before),
        told("minor_faults_total", faults)
    );
    if !system_fell || gain <= 0.0 {
        return Ok(Said::NotShown(format!(
            "{faults}, but kernel time did not decidedly fall ({} and {})",
            told("system_seconds", system_before),
            told("system_seconds", system)
        )));
    }
    let share = saved / gain;
    look.evidence.figure("kernel_share_of_gain", share);
    Ok(Said::Shown(format!(
        "{faults}, and kernel time fell by {}: {}",
        told("system_seconds", saved),
        part(share, gain, saved)
    )))
}

/// Kernel time adds up over threads, wall time does not: a share above one says that they ran
/// side by side, and no rest can be worked out.
fn part(share: f64, gain: f64, saved: f64) -> String {
    let gained = told("wall_seconds", gain);
    if share > 1.0 {
        return format!(
            "more than the {gained} of wall time that were gained, as threads run side by side"
        );
    }
    format!(
        "{} % of the {gained} gained. The other {} are cheaper translation or other effects in \
         user mode; which of them cannot be told without counters of page walks",
        percent(share),
        told("wall_seconds", gain - saved)
    )
}

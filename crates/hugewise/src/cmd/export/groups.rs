//! Groups of processes. A separate thread inspects them, because a large process takes longer than a scrape may.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::process_groups::{GroupReader, Step};
use hugewise_monitor::export::{GroupRule, MOST_GROUPS, ProcessGroups};

use crate::exit;

/// After each step the thread pauses for this many times the step's processor time, so that it uses at most 1 % of one
/// processor.
const PARTS: u32 = 99;
/// The shortest pause after an inspection.
const SHORT: Duration = Duration::from_millis(100);
/// The pause if no process was due.
const LONG: Duration = Duration::from_secs(5);
/// The limit of inspections for a single sample.
const LOOKS: usize = 1000;

/// The current data of the groups.
#[derive(Debug)]
pub(super) struct Groups(Arc<Mutex<ProcessGroups>>);

impl Groups {
    /// Inspects every process once.
    pub(super) fn once(root: &Root, rules: &[GroupRule]) -> Result<Self> {
        let mut reader = reader(root, rules)?;
        let mut looks = (0..LOOKS).map(|_| reader.step());
        let _last = looks.find(|step| !step.looked);
        Ok(Self(Arc::new(Mutex::new(reader.groups()))))
    }

    /// Inspects one process after the other until the program ends.
    pub(super) fn begin(root: &Root, rules: &[GroupRule]) -> Result<Self> {
        let mut reader = reader(root, rules)?;
        let known = Arc::new(Mutex::new(ProcessGroups::default()));
        let shared = Arc::clone(&known);
        let look = move || {
            loop {
                let step = reader.step();
                *shared.lock().unwrap_or_else(PoisonError::into_inner) = reader.groups();
                thread::sleep(rest(step));
            }
        };
        let thread = thread::Builder::new().name("groups".to_owned());
        thread
            .spawn(look)
            .context("starting the thread of groups")?;
        Ok(Self(known))
    }

    /// The current data.
    pub(super) fn known(&self) -> ProcessGroups {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.clone()
    }
}

fn reader(root: &Root, rules: &[GroupRule]) -> Result<GroupReader> {
    if rules.len() > MOST_GROUPS {
        return Err(exit::usage(format!(
            "--group: at most {MOST_GROUPS} groups, so that the series stay few"
        )));
    }
    Ok(GroupReader::new(root.clone(), rules.to_vec())?)
}

fn rest(step: Step) -> Duration {
    let least = if step.looked { SHORT } else { LONG };
    least.max(step.cpu * PARTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_takes_at_most_a_hundredth_of_a_processor() {
        let cpu = Duration::from_millis(70);
        let step = Step { cpu, looked: true };
        assert!(rest(step) + cpu >= cpu * 100);
        let idle = Step {
            cpu: Duration::ZERO,
            looked: false,
        };
        assert_eq!(rest(idle), LONG);
    }
}

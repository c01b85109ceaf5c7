//! Programs whose events the kernel disabled.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::event::Event;

/// Programs of one name whose events stopped at their exec.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Unwatched {
    /// The name that the kernel gave at the exec.
    pub program: String,
    /// The number of processes that became this program.
    pub processes: u64,
}

/// Finds processes that lose their events.
///
/// The kernel disables a process's events when it executes a program with more privileges than its caller, or one that
/// its caller must not read (`begin_new_exec`, fs/exec.c). The events then announce an end before the first mapping of
/// the new program. A program that really ends has mapped itself before.
#[derive(Debug, Default)]
pub(super) struct Withdrawals {
    /// Programs without an event since their exec, by process.
    unseen: HashMap<u32, String>,
    processes: BTreeMap<String, u64>,
}

impl Withdrawals {
    /// Takes in the next event.
    pub(super) fn push(&mut self, event: &Event) {
        match event {
            Event::Exec { pid, name, .. } => {
                self.unseen.insert(*pid, name.clone());
            }
            Event::Map(map) => {
                self.unseen.remove(&map.pid);
            }
            Event::Start { pid, .. } => {
                self.unseen.remove(pid);
            }
            Event::End(served) => {
                self.unseen.remove(&served.pid);
            }
            Event::Exit { pid, tid, .. } if pid == tid => {
                if let Some(program) = self.unseen.remove(pid) {
                    *self.processes.entry(program).or_default() += 1;
                }
            }
            _ => {}
        }
    }

    /// Returns the unwatched programs, by name.
    pub(super) fn unwatched(&self) -> Vec<Unwatched> {
        let all = self.processes.iter();
        all.map(|(program, &processes)| Unwatched {
            program: program.clone(),
            processes,
        })
        .collect()
    }
}

/// Returns the reason and the remedy for unwatched programs. `verb` names the instrument on the
/// command line.
#[must_use]
pub fn explanation(unwatched: &[Unwatched], verb: &str) -> Option<String> {
    let names: Vec<&str> = unwatched.iter().map(|one| one.program.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "Not watched: {}. The kernel takes perf events away from programs that are \
             set-user-ID, set-group-ID, have file capabilities, or that the user may not read. \
             Watch a readable copy without these rights, or the running process: sudo hugewise \
             {verb} -p PID",
            names.join(", ")
        )
    })
}

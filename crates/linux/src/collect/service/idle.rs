//! Waits until a server that answers is idle.
//!
//! A server that listens can still be setting itself up: Redis reads the THP mode and disables huge pages for itself
//! only after listen(2). A policy's settings end with the start of its server, so they must last until then.

use std::time::{Duration, Instant};

use super::{Attempt, Halt, Server, Step};
use crate::machine::root::Root;
use crate::proc::pid_stat::read_pid_stat;
use crate::proc::tree::{read_descendants, read_threads};

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(2);
/// A server is idle if all its threads sleep in so many successive looks.
const LOOKS: u32 = 10;
/// Some servers are never idle; this is enough for the others.
const LONGEST: Duration = Duration::from_secs(1);

impl Attempt<'_> {
    /// Waits until no thread of the server runs or waits for a processor or a disk, at most one second.
    pub(super) fn wait_until_idle(&self, server: &mut Server) -> Step<()> {
        let since = Instant::now();
        let mut idle = 0;
        while idle < LOOKS && since.elapsed() < LONGEST {
            if self.interrupted() {
                return Ok(Err(Halt::Interrupted));
            }
            if server.has_ended(PAUSE)? {
                let how = server.how();
                let why = format!("the service ended soon after it was ready: {how}");
                return Ok(Err(Halt::service(why)));
            }
            idle = match is_idle(self.root, server.running.keeper()) {
                true => idle + 1,
                false => 0,
            };
        }
        Ok(Ok(()))
    }
}

/// Returns true if all threads below the keeper sleep.
fn is_idle(root: &Root, keeper: u32) -> bool {
    let processes = read_descendants(root, keeper);
    let threads = read_threads(root, &processes);
    !threads
        .into_iter()
        .any(|it| read_pid_stat(root, it).is_ok_and(|stat| stat.is_active()))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_busy_child_is_told_from_a_sleeping_one() {
        let root = Root::real();
        let shell = |line: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", line]);
            shell.spawn().unwrap()
        };
        // Its children are below the test, as those of a keeper.
        for (line, expected) in [("while :; do :; done", false), ("sleep 60", true)] {
            let mut child = shell(&format!("({line}) & wait"));
            let within = Instant::now() + Duration::from_secs(10);
            let is_seen = || read_descendants(&root, child.id()).len() == 1;
            while !(is_seen() && is_idle(&root, child.id()) == expected) {
                assert!(Instant::now() < within, "{line}");
                std::thread::sleep(PAUSE);
            }
            for pid in read_descendants(&root, child.id()) {
                let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            }
            child.wait().unwrap();
        }
    }
}

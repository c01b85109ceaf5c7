//! Drops privileges of the program.

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs,
};

use crate::machine::error::{Error, Kind, Result};

/// A privilege that a thread may still need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Reading the page tables of other users' processes.
    OtherProcesses,
    /// Reading files of other users.
    OtherFiles,
    /// Acting for other users.
    OtherUsers,
    /// Reading the maps of running BPF programs.
    BpfMaps,
    /// Listening on a port below 1024.
    LowPort,
}

impl Right {
    fn capabilities(self) -> CapabilitySet {
        match self {
            Self::OtherProcesses => CapabilitySet::SYS_PTRACE | CapabilitySet::DAC_READ_SEARCH,
            Self::OtherFiles => CapabilitySet::DAC_READ_SEARCH,
            Self::OtherUsers => CapabilitySet::SETUID | CapabilitySet::SETGID,
            Self::LowPort => CapabilitySet::NET_BIND_SERVICE,
            // Before Linux 5.19, reading a map needed the privilege to create one.
            Self::BpfMaps => CapabilitySet::BPF,
        }
    }
}

/// Drops all capabilities except `needed` in this thread and the threads that it starts later; executed programs do not
/// regain them. A user without capabilities loses nothing.
///
/// # Errors
/// The kernel refuses, which does not happen when a thread drops capabilities.
pub fn keep_only(needed: &[Right]) -> Result<()> {
    let failed = |error: Errno| Error {
        kind: Kind::Other(String::new()),
        doing: "giving up capabilities".to_owned(),
        path: None,
        source: Some(error.into()),
    };
    let held = capabilities(None).map_err(failed)?;
    let needed = needed.iter().fold(CapabilitySet::empty(), |all, right| {
        all | right.capabilities()
    });
    let left = held.permitted & needed;
    let sets = CapabilitySets {
        effective: held.effective & left,
        permitted: left,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, sets).map_err(failed)?;
    set_no_new_privs(true).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a separate thread: the others keep their capabilities.
    #[test]
    fn a_thread_keeps_what_it_needs_and_nothing_else() {
        let kept = std::thread::spawn(|| {
            let had = capabilities(None).unwrap().permitted;
            keep_only(&[Right::OtherProcesses]).unwrap();
            let left = capabilities(None).unwrap();
            assert_eq!(left.permitted, had & Right::OtherProcesses.capabilities());
            keep_only(&[]).unwrap();
            capabilities(None).unwrap().permitted
        });
        assert_eq!(kept.join().unwrap(), CapabilitySet::empty());
    }
}

use std::collections::{BTreeMap, BTreeSet};

use hugewise_model::fault::Accounted;
use hugewise_model::observation::Missing;

use super::pid_stat::read_pid_stat;
use crate::root::Root;

/// Faults so far of some processes, by the kernel's own accounting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts(BTreeMap<u32, Accounted>);

impl FaultCounts {
    /// Reads them; processes that are gone are left out.
    #[must_use]
    pub fn read(root: &Root, pids: &BTreeSet<u32>) -> Self {
        let counts = pids.iter().filter_map(|&pid| {
            let own = read_pid_stat(root, pid).ok()?.own;
            let (minor, major) = (own.minor_faults, own.major_faults);
            Some((pid, Accounted { minor, major }))
        });
        Self(counts.collect())
    }

    /// What has come since, in the same processes.
    ///
    /// # Errors
    /// One of them has ended.
    pub fn until(&self, later: &Self) -> Result<Accounted, Missing> {
        let mut sum = Accounted::default();
        for (pid, before) in &self.0 {
            let after = later.0.get(pid).ok_or(Missing::TooShort)?;
            sum.minor += after.minor.saturating_sub(before.minor);
            sum.major += after.major.saturating_sub(before.major);
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_ended_has_no_difference() {
        let one = |minor| FaultCounts(BTreeMap::from([(7, Accounted { minor, major: 0 })]));
        assert_eq!(one(5).until(&one(9)), Ok(Accounted { minor: 4, major: 0 }));
        assert!(one(5).until(&FaultCounts::default()).is_err());
    }
}

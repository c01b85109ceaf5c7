//! Measures the memory that processes share after a fork, and how much of it was copied by writes.

use std::collections::{BTreeMap, BTreeSet};

use hugewise_base::missing::Missing;

use crate::proc::smaps_rollup::Rollup;

/// Anonymous memory shared by several processes of a tree, from sample to sample.
///
/// A page shared by n processes counts n times in their resident sizes and once in their proportional shares, so the
/// difference is the shared memory. A copy reduces the difference by one page, and increases the sum of the shares by
/// one. Nothing else does both: new memory does not change the difference, and freed memory does not increase the
/// shares. If both happen, the smaller of the two changes is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// The largest shared amount.
    shared_peak: u64,
    /// The largest amount copied while the processes stayed the same; `None` until two samples have seen the same
    /// processes share memory.
    copied: Option<u64>,
    /// True if the kernel did not report the share of some process.
    untold: bool,
    /// The processes of the last sample, and the moment of their largest sharing.
    since: Option<(BTreeSet<u32>, Point)>,
}

/// The memory of the processes in one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    shared: u64,
    own: u64,
}

impl Sharing {
    /// Adds a sample of the readable processes.
    pub(super) fn add(&mut self, processes: &BTreeMap<u32, Rollup>) {
        let Some(sum) = processes.values().copied().reduce(Rollup::plus) else {
            return;
        };
        let Some(own) = sum.anon_share_bytes else {
            self.untold = true;
            return;
        };
        let shared = sum.anon_bytes.saturating_sub(own);
        let now = Point { shared, own };
        let present: BTreeSet<u32> = processes.keys().copied().collect();
        match &mut self.since {
            Some((known, most))
                if *known == present && shared <= most.shared && most.shared > 0 =>
            {
                let less = most.shared - shared;
                let copied = less.min(own.saturating_sub(most.own));
                self.copied = self.copied.max(Some(copied));
            }
            since => *since = Some((present, now)),
        }
        self.shared_peak = self.shared_peak.max(shared);
    }

    /// Returns the largest shared amount, in bytes.
    pub(super) fn shared_peak(&self) -> Result<u64, Missing> {
        self.told(Some(self.shared_peak))
    }

    /// Returns the largest observed copied amount, in bytes.
    pub(super) fn copied(&self) -> Result<u64, Missing> {
        self.told(self.copied)
    }

    fn told(&self, bytes: Option<u64>) -> Result<u64, Missing> {
        if self.untold {
            return Err(Missing::NotSupported {
                what: "Pss_Anon in smaps_rollup (Linux 5.4)".to_owned(),
            });
        }
        bytes.ok_or_else(|| Missing::NotCounted {
            obstacle: "no two samples saw the same processes share memory".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds processes from their anonymous memory and their shares of it.
    fn of(processes: &[(u32, u64, u64)]) -> BTreeMap<u32, Rollup> {
        let rollup = |anon_bytes, share| Rollup {
            anon_bytes,
            anon_share_bytes: Some(share),
            ..Rollup::default()
        };
        let processes = processes.iter();
        processes
            .map(|&(pid, anon, share)| (pid, rollup(anon, share)))
            .collect()
    }

    fn after(samples: &[&[(u32, u64, u64)]]) -> (u64, Option<u64>) {
        let mut sharing = Sharing::default();
        for sample in samples {
            sharing.add(&of(sample));
        }
        (sharing.shared_peak().unwrap(), sharing.copied().ok())
    }

    #[test]
    fn a_copy_is_a_page_less_that_is_shared_and_one_more_that_is_owned() {
        let alone: &[_] = &[(1, 100, 100)];
        let forked: &[_] = &[(1, 100, 50), (2, 100, 50)];
        let thirty: &[_] = &[(1, 100, 65), (2, 100, 65)];
        assert_eq!(after(&[alone, forked, thirty]), (100, Some(30)));
        assert_eq!(
            after(&[alone, forked, thirty, alone]),
            (100, Some(30)),
            "the child's end"
        );
        assert_eq!(after(&[alone, forked, alone]), (100, None), "seen once");
        assert_eq!(after(&[alone, alone]), (0, None));
    }

    #[test]
    fn what_is_new_or_given_back_was_not_copied() {
        let forked: &[_] = &[(1, 100, 50), (2, 100, 50)];
        assert_eq!(
            after(&[forked, &[(1, 140, 90), (2, 100, 50)]]),
            (100, Some(0))
        );
        // The child frees 40 that it shared.
        assert_eq!(
            after(&[forked, &[(1, 100, 70), (2, 60, 30)]]),
            (100, Some(0))
        );
        // It frees 40, and 10 of the rest are copied.
        assert_eq!(
            after(&[forked, &[(1, 100, 75), (2, 60, 35)]]),
            (100, Some(10))
        );
    }

    #[test]
    fn a_kernel_without_shares_is_no_zero() {
        let mut sharing = Sharing::default();
        assert_eq!(sharing.shared_peak(), Ok(0));
        sharing.add(&BTreeMap::from([(1, Rollup::default())]));
        assert!(matches!(
            sharing.shared_peak(),
            Err(Missing::NotSupported { .. })
        ));
        assert!(sharing.copied().is_err());
    }
}

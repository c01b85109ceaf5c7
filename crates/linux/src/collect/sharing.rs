//! Memory that processes share after a fork, and how much of it writes made their own.

use std::collections::{BTreeMap, BTreeSet};

use hugewise_base::missing::Missing;

use crate::proc::smaps_rollup::Rollup;

/// Anonymous memory that several processes of a tree share, from sample to sample.
///
/// A page that n processes share is counted n times in their sizes and once in their shares, so
/// the difference of both is what is shared. A copy makes that less by a page, and the sum of the
/// shares more by one. So does no other single thing: new memory leaves the difference alone, and
/// what is given back leaves the shares. While both happen, the smaller of the two is believed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// The largest amount that was shared.
    shared_peak: u64,
    /// The largest amount that was copied while the same processes were there; `None` before two
    /// samples saw the same processes share memory.
    copied: Option<u64>,
    /// Whether the kernel told the shares of every process that was read.
    untold: bool,
    /// The processes of the last sample, and the moment at which they shared most.
    since: Option<(BTreeSet<u32>, Point)>,
}

/// What the processes of one sample hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    shared: u64,
    own: u64,
}

impl Sharing {
    /// Adds a sample: the processes that could be read.
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

    /// The largest amount that was shared, in bytes.
    pub(super) fn shared_peak(&self) -> Result<u64, Missing> {
        self.told(Some(self.shared_peak))
    }

    /// The largest amount that was seen to be copied, in bytes.
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

    /// Processes with their anonymous memory and their shares of it.
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
        // The child gives back 40 that it shared.
        assert_eq!(
            after(&[forked, &[(1, 100, 70), (2, 60, 30)]]),
            (100, Some(0))
        );
        // It gives back 40, and 10 of the rest are copied.
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

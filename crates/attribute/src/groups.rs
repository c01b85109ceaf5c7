//! Group screening. If there are more sites than a design can separate, they are grouped at random, and only groups
//! that seem active are split (Dorfman, 1943; Woods and Lewis, arXiv 1510.05248).
//!
//! A screening only chooses what to measure next. Its data are not used again: the final design of single sites has
//! separate runs, so its error is that of any other design.

use fastrand::Rng;

use super::attribution::responses;
use super::plan::rows_of;
use super::{Design, MOST_SITES, Shares, shares};
use hugewise_experiment::run::policy::Policy;
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::site::{Identity, Site};
use hugewise_experiment::run::stats::ALPHA;

/// The number of groups: the most that fit into 32 rows.
const GROUPS: usize = 15;
/// The limit of active groups: if there are more, the strongest are kept, so that each stage leaves at most half of the
/// sites.
const MOST_ACTIVE: usize = 7;

/// Sites in groups; a group is huge or small as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    groups: Vec<Vec<Site>>,
    design: Design,
}

/// The result of a screening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Screened {
    /// The sites of the active groups.
    pub sites: Vec<Site>,
    /// The number of active groups.
    pub active: usize,
    /// The number of active groups left out because others were stronger.
    pub dropped: usize,
}

impl Groups {
    /// Groups the sites at random; `None` if one design can separate all of them.
    #[must_use]
    pub fn at_random(sites: &[Site], seed: u64) -> Option<Self> {
        if sites.len() <= MOST_SITES {
            return None;
        }
        let mut shuffled = sites.to_vec();
        Rng::with_seed(seed).shuffle(&mut shuffled);
        let group = |index: usize| shuffled.iter().skip(index).step_by(GROUPS).copied();
        Some(Self {
            groups: (0..GROUPS).map(|index| group(index).collect()).collect(),
            design: Design::new(GROUPS)?,
        })
    }

    /// Its design.
    #[must_use]
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// The groups.
    #[must_use]
    pub fn groups(&self) -> &[Vec<Site>] {
        &self.groups
    }

    /// The rows of its design.
    #[must_use]
    pub fn rows(&self, by: Identity) -> Vec<Policy> {
        let groups: Vec<&[Site]> = self.groups.iter().map(Vec::as_slice).collect();
        rows_of(by, &self.design, &groups)
    }

    /// The result of the screening from the record of its rows; `None` if too few of its rounds are complete.
    #[must_use]
    pub fn screened(&self, record: &Record) -> Option<Screened> {
        Some(self.left(&shares(&self.design, &responses(record))?))
    }

    /// The sites of the groups that seem active. A group that seems active by chance costs runs but causes no error.
    pub(super) fn left(&self, shares: &Shares) -> Screened {
        let seems = shares.sites.iter().zip(&self.groups);
        let active = seems.filter(|(share, _)| share.own_p <= ALPHA);
        let strength = |(share, sites): (&super::Share, _)| (share.effect.value.abs(), sites);
        let mut active: Vec<(f64, &Vec<Site>)> = active.map(strength).collect();
        active.sort_by(|a, b| b.0.total_cmp(&a.0));
        let kept = active.iter().take(MOST_ACTIVE);
        Screened {
            sites: kept.flat_map(|(_, sites)| sites.iter().copied()).collect(),
            active: active.len(),
            dropped: active.len().saturating_sub(MOST_ACTIVE),
        }
    }
}

//! The sites of a program, as runs under the tracer list them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::MOST_SITES;
use crate::run::site::Site;
use crate::run::trial::{Frame, MappedSite, Trial};

/// A site whose bytes recur less than this from run to run is not told from others.
pub const LEAST_RECURRENCE: f64 = 0.95;

/// A site as several runs mapped it.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Listed {
    /// The site.
    pub site: Site,
    /// The most bytes that a run mapped there.
    pub bytes: u64,
    /// The fewest bytes that a run mapped there, as a share of the most.
    pub recurrence: f64,
    /// The calls of the first mapping, the innermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<Frame>,
}

/// Why a site is not tried.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// Its bytes differ from run to run.
    DoesNotRecur,
    /// More sites are larger than fit into a design.
    TooMany,
}

/// The sites of a program: those that are tried, the largest first, and the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// Those that are tried.
    pub tried: Vec<Listed>,
    /// The others, and why.
    pub refused: Vec<(Listed, Refusal)>,
}

impl Listing {
    /// From the runs of a tracer that tells sites apart.
    #[must_use]
    pub fn of<'a>(trials: impl Iterator<Item = &'a Trial>) -> Self {
        let mut listing = Self::default();
        for site in listed(trials) {
            if site.recurrence < LEAST_RECURRENCE {
                listing.refused.push((site, Refusal::DoesNotRecur));
            } else if listing.tried.len() == MOST_SITES {
                listing.refused.push((site, Refusal::TooMany));
            } else {
                listing.tried.push(site);
            }
        }
        listing
    }

    /// The sites that are tried.
    #[must_use]
    pub fn sites(&self) -> Vec<Site> {
        self.tried.iter().map(|it| it.site).collect()
    }
}

/// All sites of some runs, the largest first.
pub(super) fn listed<'a>(trials: impl Iterator<Item = &'a Trial>) -> Vec<Listed> {
    let tracings = trials.filter(|trial| trial.succeeded());
    let runs: Vec<&[MappedSite]> = tracings
        .filter_map(|trial| trial.read_back.tracing.as_ref())
        .map(|tracing| tracing.sites.as_slice())
        .collect();
    let mut found: BTreeMap<Site, (Vec<u64>, &[Frame])> = BTreeMap::new();
    for mapped in runs.iter().copied().flatten() {
        let (bytes, _) = found
            .entry(mapped.site)
            .or_insert((Vec::new(), &mapped.chain));
        bytes.push(mapped.bytes);
    }
    let listed = found.into_iter().map(|(site, (bytes, chain))| {
        let most = bytes.iter().copied().max().unwrap_or(0);
        let is_in_all = bytes.len() == runs.len();
        let fewest = bytes
            .iter()
            .copied()
            .min()
            .filter(|_| is_in_all)
            .unwrap_or(0);
        Listed {
            site,
            bytes: most,
            recurrence: fewest as f64 / most.max(1) as f64,
            chain: chain.to_vec(),
        }
    });
    let mut listed: Vec<Listed> = listed.collect();
    listed.sort_by(|a, b| b.bytes.cmp(&a.bytes).then(a.site.cmp(&b.site)));
    listed
}

//! The sites of a program, as listed by runs under the tracer or by the periods of a running process.

use std::collections::BTreeMap;

use serde::Serialize;

use hugewise_experiment::run::site::{Identity, Site};
use hugewise_experiment::run::trial::{Frame, MappedSite, Trial};

/// The smallest recurrence of a site's bytes from run to run at which the site counts as the same.
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
    /// The most bytes at the end of a run that could be huge, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reach_bytes: Option<u64>,
    /// The program's own name for its memory, if it sets one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its address, if it is one mapping of a running process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<u64>,
    /// The calls of the first mapping, the innermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<Frame>,
}

impl Listed {
    /// The bytes that huge pages can affect: the address space, unless more is known.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.reach_bytes.unwrap_or(self.bytes)
    }
}

/// Why a site is not tried.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// Its bytes differ from run to run.
    DoesNotRecur,
    /// No memory of it at the end could be huge.
    HoldsNothing,
    /// Left out because enough sites hold more.
    TooMany,
}

/// The limit of sites, so that the names of policies do not become too long.
const MOST_LISTED: usize = 1000;

/// The sites of a program: the sites to try, largest first, and the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// The sites to try.
    pub tried: Vec<Listed>,
    /// The others, with the reasons.
    pub refused: Vec<(Listed, Refusal)>,
}

impl Listing {
    /// Lists the sites from runs of a tracer that identifies sites.
    #[must_use]
    pub fn of<'a>(trials: impl Iterator<Item = &'a Trial>) -> Self {
        let mut listing = Self::default();
        for site in listed(trials) {
            if site.reach_bytes == Some(0) {
                listing.refused.push((site, Refusal::HoldsNothing));
            } else if site.recurrence < LEAST_RECURRENCE {
                listing.refused.push((site, Refusal::DoesNotRecur));
            } else if listing.tried.len() == MOST_LISTED {
                listing.refused.push((site, Refusal::TooMany));
            } else {
                listing.tried.push(site);
            }
        }
        listing
    }

    /// The sites to try.
    #[must_use]
    pub fn sites(&self) -> Vec<Site> {
        self.tried.iter().map(|it| it.site).collect()
    }

    /// The best parts into which to cut the memory of these sites: the smallest power of two with which they fit into a
    /// design of 32 rows. With too many sites for that, the largest one makes eight parts.
    #[must_use]
    pub fn chunks(&self) -> Identity {
        const PARTS: u64 = 15;
        const OF_LARGEST: u64 = 8;
        const SMALLEST: u64 = 2 << 20;
        let held = || self.tried.iter().map(Listed::held_bytes);
        let largest = held().max().unwrap_or(0);
        let fits = |bytes: &u64| held().map(|it| it.div_ceil(*bytes)).sum::<u64>() <= PARTS;
        let mut sizes = std::iter::successors(Some(SMALLEST), |bytes| bytes.checked_mul(2))
            .take_while(|&bytes| bytes <= largest);
        let eighth = largest.div_ceil(OF_LARGEST).next_power_of_two();
        Identity::chunks(sizes.find(fits).unwrap_or(eighth))
    }
}

/// All sites of these runs, largest first.
pub(super) fn listed<'a>(trials: impl Iterator<Item = &'a Trial>) -> Vec<Listed> {
    let succeeded = trials.filter(|trial| trial.succeeded());
    let runs: Vec<&[MappedSite]> = succeeded
        .filter_map(|trial| trial.read_back.sites())
        .collect();
    let mut found: BTreeMap<Site, Vec<&MappedSite>> = BTreeMap::new();
    for mapped in runs.iter().copied().flatten() {
        found.entry(mapped.site).or_default().push(mapped);
    }
    let listed = found.into_values();
    let mut listed: Vec<Listed> = listed.filter_map(|it| one(&it, runs.len())).collect();
    let order = |a: &Listed, b: &Listed| b.held_bytes().cmp(&a.held_bytes());
    listed.sort_by(|a, b| order(a, b).then(a.site.cmp(&b.site)));
    listed
}

/// Combines the mappings of one site in this number of runs, if it recurred.
fn one(mapped: &[&MappedSite], runs: usize) -> Option<Listed> {
    let first = mapped.first()?;
    let bytes = mapped.iter().map(|it| it.bytes);
    let most = bytes.clone().max()?;
    let fewest = bytes.min().filter(|_| mapped.len() == runs);
    let reach = mapped.iter().filter_map(|it| it.at_end?.reach_bytes);
    Some(Listed {
        site: first.site,
        bytes: most,
        recurrence: fewest.unwrap_or(0) as f64 / most.max(1) as f64,
        reach_bytes: reach.max(),
        name: mapped.iter().find_map(|it| it.name.clone()),
        address: first.address,
        chain: first.chain.clone(),
    })
}

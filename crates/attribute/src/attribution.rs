//! The result of an attribution, computed from the record of its design.

use serde::Serialize;

use super::listing::{Listed, listed};
use super::{Estimate, FEWEST_ROUNDS, LEAST_RECURRENCE, Share, Shares, plan, shares};
use hugewise_experiment::run::compare::Statistic;
use hugewise_experiment::run::compare::labels::{label_of, metric_of};
use hugewise_experiment::run::compare::medians::arm_trials;
use hugewise_experiment::run::metric::Better;
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::site::{Identity, Site, SiteChoice};
use hugewise_experiment::run::stats::median;
use hugewise_experiment::run::trial::{Frame, SiteMemory, Trial};
use hugewise_text::number::counted;

/// The contribution of each memory site to the effect of huge pages.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Attribution {
    /// Kind and version of this document.
    pub format: String,
    /// The command.
    pub command: Vec<String>,
    /// The running processes whose pages `live` switched; empty if `attribute` started the command.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pids: Vec<u32>,
    /// Bytes that `live` left out at random to save time: they were never switched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out_bytes: Option<u64>,
    /// How sites are identified.
    pub by: String,
    /// The metric whose effect is split.
    pub metric: String,
    /// The name of the metric for people.
    #[serde(skip)]
    pub label: String,
    /// The number of complete rounds; each has every row of the design once.
    pub rounds: usize,
    /// Rows of the design.
    pub rows: usize,
    /// The noise of one run, as a relative standard deviation.
    pub noise: f64,
    /// The sites, the best first.
    pub sites: Vec<SiteShare>,
    /// The sum of the shares.
    pub sum: Change,
    /// All sites huge against none, in the runs of this design.
    pub whole: Change,
    /// The sum minus the whole.
    pub rest: Change,
    /// True if the shares add up to the whole, within the noise.
    pub separable: bool,
    /// Sites kept small in all runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_tried: Vec<Listed>,
}

/// A relative change and its interval.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct Change {
    /// −0.05 is 5 % less.
    pub change: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Change {
    /// Returns true if the interval includes no change.
    pub(super) fn includes_zero(&self) -> bool {
        self.low <= 0.0 && self.high >= 0.0
    }
}

impl From<Estimate> for Change {
    fn from(estimate: Estimate) -> Self {
        let relative = estimate.relative();
        Self {
            change: relative.value,
            low: relative.interval.0,
            high: relative.interval.1,
        }
    }
}

/// The effect of huge pages at a site.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// They help.
    Helps,
    /// They hurt.
    Hurts,
    /// They change a metric that has no better direction.
    Changes,
    /// No effect was shown.
    NotShown,
}

/// The share of one site.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct SiteShare {
    /// The site.
    pub site: Site,
    /// The effect that was shown.
    pub effect: Effect,
    /// Its share.
    #[serde(flatten)]
    pub share: Change,
    /// The p-value of no effect, after Holm's correction over the sites.
    pub p: f64,
    /// The logarithm of the share, which adds up.
    #[serde(skip)]
    pub log: f64,
    /// Bytes of address space that a run or the process maps there.
    pub mapped_bytes: u64,
    /// The fewest bytes that a run mapped there, as a share of the most.
    pub recurrence: f64,
    /// Median bytes that were huge at the end of the runs with this site huge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub huge_bytes: Option<u64>,
    /// Median bytes in memory at the end with the site huge, minus the median with it small. `None` for a running
    /// process, because its switched memory was in use before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added_bytes: Option<i64>,
    /// Runs in which its memory did not follow the row.
    pub failed_treatments: usize,
    /// Runs in which its memory was unmapped at the end, so that nothing could be read.
    pub unseen: usize,
    /// The program's own name for its memory, if it sets one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its address, if it is one mapping of a running process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<u64>,
    /// The calls that mapped it, the innermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<Frame>,
    /// The source line that mapped it, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

impl SiteShare {
    /// Returns true if the calls that map the site identify it, so that a source line can be named.
    pub(super) fn is_of_calls(&self) -> bool {
        matches!(self.site, Site::Chain { .. })
    }
}

impl Attribution {
    /// Returns true if the policies of a record are the rows of a design.
    #[must_use]
    pub fn is_of(record: &Record) -> bool {
        plan::of_record(record).is_some()
    }

    /// Computes the attribution from the record of a design.
    ///
    /// # Errors
    /// The record is of something else, or too few of its rounds are complete.
    pub fn of(record: &Record) -> Result<Self, String> {
        let (by, sites, design) = plan::of_record(record)
            .ok_or("the policies of this record are not the rows of a design")?;
        let responses = responses(record);
        let found = shares(&design, &responses).ok_or_else(|| {
            let whole = counted(responses.len() as u64, "whole round");
            format!("{whole} only; at least {FEWEST_ROUNDS} show the noise")
        })?;
        let all = listed(record.trials.iter());
        let (tried, not_tried): (Vec<Listed>, Vec<Listed>) =
            all.into_iter().partition(|it| sites.contains(&it.site));
        let better = metric_of(record, &record.header.plan.verdict_metric).better;
        let shares = sites.iter().zip(&found.sites);
        let mut sites: Vec<SiteShare> = shares
            .map(|(&site, share)| site_share(record, &tried, (site, share), better))
            .collect();
        let sign = if better == Better::Higher { -1.0 } else { 1.0 };
        sites.sort_by(|a, b| (sign * a.log).total_cmp(&(sign * b.log)));
        Ok(Self::assembled(
            record,
            by,
            &found,
            design.rows().len(),
            sites,
            not_tried,
        ))
    }

    fn assembled(
        record: &Record,
        by: Identity,
        found: &Shares,
        rows: usize,
        sites: Vec<SiteShare>,
        not_tried: Vec<Listed>,
    ) -> Self {
        let live = record.header.plan.live.as_ref();
        Self {
            format: "hugewise-attribution 1".to_owned(),
            command: record.header.plan.command.clone(),
            pids: live.map(|it| it.pids.clone()).unwrap_or_default(),
            left_out_bytes: live
                .map(|it| it.left_out * it.huge_page_bytes)
                .filter(|it| *it > 0),
            by: by.to_string(),
            metric: record.header.plan.verdict_metric.clone(),
            label: label_of(
                record,
                &record.header.plan.verdict_metric,
                Statistic::Center,
            ),
            rounds: found.rounds,
            rows,
            noise: found.noise,
            sites,
            sum: found.sum.into(),
            whole: found.whole.into(),
            rest: found.rest.into(),
            separable: found.is_separable(),
            not_tried,
        }
    }

    /// The best sites, at most `most`, at which huge pages were shown to help; `None` if there are none.
    #[must_use]
    pub fn best(&self, most: usize) -> Option<SiteChoice> {
        let helping = self.sites.iter().filter(|it| it.effect == Effect::Helps);
        let sites: Vec<Site> = helping.take(most).map(|it| it.site).collect();
        let by = self.by.parse().ok().filter(|_| !sites.is_empty())?;
        Some(SiteChoice::of(by, sites))
    }

    /// Returns true if a site did not recur in the runs of the design.
    #[must_use]
    pub fn is_unsteady(share: &SiteShare) -> bool {
        share.recurrence < LEAST_RECURRENCE
    }
}

/// The logarithms of the metric, for complete rounds only, with the rows in design order.
pub(super) fn responses(record: &Record) -> Vec<Vec<f64>> {
    let plan = &record.header.plan;
    let value = |round: u32, policy: &str| -> Option<f64> {
        let mut trials = arm_trials(record, policy);
        let trial = trials.find(|it| it.round == round && it.succeeded())?;
        let value = trial.readings.get(&plan.verdict_metric)?.middle().ok()?;
        (value > 0.0).then(|| value.ln())
    };
    let row = |round: u32| -> Option<Vec<f64>> {
        let policies = plan.policies.iter();
        policies.map(|policy| value(round, &policy.name)).collect()
    };
    (0..record.next_round()).filter_map(row).collect()
}

fn site_share(
    record: &Record,
    tried: &[Listed],
    (site, share): (Site, &Share),
    better: Better,
) -> SiteShare {
    let listed = tried.iter().find(|it| it.site == site);
    let (huge, small) = treatments(record, site);
    let seen = |runs: &[Option<SiteMemory>], read: fn(&SiteMemory) -> u64| {
        let values: Vec<f64> = runs.iter().flatten().map(|it| read(it) as f64).collect();
        median(&values)
    };
    let resident = |runs: &[Option<SiteMemory>]| seen(runs, |it| it.resident_bytes);
    let block = record.header.host.pmd_bytes().unwrap_or(2 << 20);
    let not_huge = huge.iter().flatten().filter(|it| it.huge_bytes == 0);
    let not_huge = not_huge.filter(|it| it.reach_bytes.unwrap_or(it.resident_bytes) >= block);
    let not_small = small.iter().flatten().filter(|it| it.huge_bytes > 0);
    // A switch of memory in use adds none.
    let adds = record.header.plan.live.is_none();
    let unseen = huge.iter().chain(&small).filter(|it| it.is_none());
    SiteShare {
        site,
        effect: effect(share, better),
        share: share.effect.into(),
        p: share.p,
        log: share.effect.value,
        mapped_bytes: listed.map_or(0, |it| it.bytes),
        recurrence: listed.map_or(0.0, |it| it.recurrence),
        huge_bytes: seen(&huge, |it| it.huge_bytes).map(|bytes| bytes as u64),
        added_bytes: resident(&huge)
            .zip(resident(&small))
            .filter(|_| adds)
            .map(|(huge, small)| (huge - small) as i64),
        failed_treatments: not_huge.count() + not_small.count(),
        unseen: unseen.count(),
        name: listed.and_then(|it| it.name.clone()),
        address: listed.and_then(|it| it.address),
        chain: listed.map(|it| it.chain.clone()).unwrap_or_default(),
        place: None,
    }
}

fn effect(share: &Share, better: Better) -> Effect {
    match (share.is_shown(), better, share.effect.value < 0.0) {
        (false, _, _) => Effect::NotShown,
        (true, Better::Neither, _) => Effect::Changes,
        (true, Better::Lower, true) | (true, Better::Higher, false) => Effect::Helps,
        (true, ..) => Effect::Hurts,
    }
}

/// The memory of a site at the end of each run: with the site huge, and with it small.
fn treatments(record: &Record, site: Site) -> (Vec<Option<SiteMemory>>, Vec<Option<SiteMemory>>) {
    let (mut huge, mut small) = (Vec::new(), Vec::new());
    for policy in &record.header.plan.policies {
        let choice = policy.settings.sites.as_ref();
        let runs = match choice.is_some_and(|it| it.has(site)) {
            true => &mut huge,
            false => &mut small,
        };
        let own = arm_trials(record, &policy.name).filter(|trial| trial.succeeded());
        runs.extend(own.map(|trial| at_end(trial, site)));
    }
    (huge, small)
}

fn at_end(trial: &Trial, site: Site) -> Option<SiteMemory> {
    let sites = trial.read_back.sites()?;
    let mapped = sites.iter().find(|it| it.site == site)?;
    mapped.at_end
}

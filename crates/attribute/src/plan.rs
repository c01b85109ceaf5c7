//! The policies of an attribution: one for each row of the design.

use super::Design;
use hugewise_experiment::run::policy::{Policy, Settings};
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::site::{Chosen, Identity, Site, SiteChoice};

/// The policy that makes chosen sites huge and keeps all others small.
#[must_use]
pub fn choosing(name: &str, choice: SiteChoice) -> Policy {
    Policy {
        name: name.to_owned(),
        settings: Settings {
            sites: Some(choice),
            ..Settings::default()
        },
    }
}

/// The two policies between which the whole effect is measured: no site huge, and all of these sites.
#[must_use]
pub fn whole(by: Identity, sites: &[Site]) -> [Policy; 2] {
    let none = choosing("no site huge", SiteChoice::of(by, []));
    let all = choosing("all sites huge", SiteChoice::of(by, sites.iter().copied()));
    [none, all]
}

/// The rows of a design, in its order. `None` if no design has this number of sites.
#[must_use]
pub fn rows(by: Identity, sites: &[Site]) -> Option<Vec<Policy>> {
    let design = Design::new(sites.len())?;
    let each: Vec<&[Site]> = sites.iter().map(std::slice::from_ref).collect();
    Some(rows_of(by, &design, &each))
}

/// The rows of a design in which each factor is a group of sites.
pub(super) fn rows_of(by: Identity, design: &Design, factors: &[&[Site]]) -> Vec<Policy> {
    let rows = design.rows().iter().enumerate();
    let policy = |(index, row): (usize, &Vec<bool>)| {
        let huge = factors.iter().zip(row).filter(|(_, huge)| **huge);
        let sites = huge.flat_map(|(sites, _)| sites.iter().copied());
        choosing(&format!("row {}", index + 1), SiteChoice::of(by, sites))
    };
    rows.map(policy).collect()
}

/// The sites of a record whose policies are the rows of a design, with that design.
pub(super) fn of_record(record: &Record) -> Option<(Identity, Vec<Site>, Design)> {
    let policies = &record.header.plan.policies;
    let choice = |policy: &Policy| policy.settings.sites.clone();
    let choices: Vec<SiteChoice> = policies.iter().map(choice).collect::<Option<_>>()?;
    let by = choices.first()?.by;
    let Chosen::These(all) = &choices.first()?.huge else {
        return None;
    };
    let design = Design::new(all.len())?;
    // Any order of the sites gives a design of the same kind, but with other rows: this uses the order that matches the
    // rows.
    let column = |site: Site| -> Vec<bool> { choices.iter().map(|it| it.has(site)).collect() };
    let wanted =
        |index: usize| -> Vec<bool> { design.rows().iter().map(|row| row[index]).collect() };
    let find = |index: usize| {
        let fits = |site: &&Site| column(**site) == wanted(index);
        all.iter().find(fits).copied()
    };
    let sites: Option<Vec<Site>> = (0..all.len()).map(find).collect();
    Some((by, sites?, design))
}

//! The sites of `live --by mapping`: their layout, the rows of their design, their memory in a period, and the report.

use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Result;
use hugewise_attribute::{Attribution, Design, FEWEST_ROUNDS, rows};
use hugewise_base::units::{bytes_text, rough};
use hugewise_experiment::run::plan::live_policies;
use hugewise_experiment::run::policy::Policy;
use hugewise_experiment::run::record::{Record, StopReason};
use hugewise_experiment::run::site::{Identity, Site};
use hugewise_experiment::run::trial::{MappedSite, SiteMemory};
use hugewise_linux::live::Member;
use hugewise_linux::machine::root::Root;
use hugewise_live::{Blocks, Exposure, Layout, Mapped, MappedProcess, Order, SwitchedSite, Times};
use hugewise_text::number::counted;
use hugewise_text::wrap::plain;

use super::Arguments;
use super::by::By;
use super::unit::Unit;
use crate::cmd::attribute;
use crate::exit::{self, Exit};

/// The processes with their blocks and mappings.
pub(super) type Found = Vec<(Rc<Member>, (Blocks, Vec<Mapped>))>;

/// Finds the blocks and mappings of all processes.
pub(super) fn look(root: &Root, unit: &Unit) -> Result<Found> {
    let one = |member: &Rc<Member>| {
        let found = member.blocks_and_mappings(root).map_err(exit::refused)?;
        Ok((Rc::clone(member), found))
    };
    unit.members.iter().map(one).collect()
}

/// Lays out the memory of processes.
pub(super) fn layout(by: Option<By>, found: &Found) -> Layout {
    let Some(By::Mapping) = by else {
        return Layout::Whole;
    };
    let process = |(member, (blocks, mapped)): &(Rc<Member>, (Blocks, Vec<Mapped>))| {
        let blocks = blocks.able.iter().map(|it| it.start);
        MappedProcess {
            pid: member.pid(),
            mapped: mapped.clone(),
            blocks: blocks.collect(),
        }
    };
    let processes: Vec<MappedProcess> = found.iter().map(process).collect();
    Layout::by_mapping(&processes)
}

/// Refuses a layout with nothing to divide.
pub(super) fn check(layout: &Layout, huge_page_bytes: u64) -> Result<()> {
    match layout.sites() {
        [alone] => Err(exit::refused(format!(
            "one mapping has all memory that can be switched ({}); leave out --by",
            line(alone, huge_page_bytes)
        ))),
        _ => Ok(()),
    }
}

/// Refuses a design for which there is not the time. `switching` is the mean time before a period, in seconds.
pub(super) fn check_time(
    sites: &[SwitchedSite],
    times: Times,
    switching: f64,
    left: Duration,
) -> Result<()> {
    let Some(design) = Design::new(sites.len()) else {
        return Ok(());
    };
    let periods = FEWEST_ROUNDS as u32 * periods_of_a_round(&design);
    let period = times.period + times.settle + switching;
    let least = Duration::from_secs_f64(period * f64::from(periods));
    match least > left {
        true => Err(exit::usage(format!(
            "{} need {periods} periods, about {}; allow more with --max-time",
            counted(sites.len() as u64, "mapping"),
            rough(least)
        ))),
        false => Ok(()),
    }
}

/// Prints the effect of each site, and writes the page.
pub(super) fn report(
    record: &Record,
    reason: StopReason,
    path: &Path,
    arguments: &Arguments,
) -> Result<Exit> {
    if let Err(why) = Attribution::of(record) {
        let why = format!("{}: {why}", path.display());
        return Err(match reason {
            StopReason::Interrupted => exit::interrupted(why),
            _ => exit::trial_failed(why),
        });
    }
    attribute::show(record, path, &arguments.page, &arguments.output)?;
    Ok(Exit::Done)
}

/// Returns the policies of the experiment: the rows of the design of several sites, or huge and small.
pub(super) fn policies(sites: &[SwitchedSite]) -> Vec<Policy> {
    let sites: Vec<Site> = sites.iter().map(|it| it.site).collect();
    rows(Identity::Mapping, &sites).unwrap_or_else(|| live_policies().to_vec())
}

/// Returns the order of the periods.
pub(super) fn order(sites: &[SwitchedSite]) -> Order {
    Design::new(sites.len()).map_or(Order::PAIRS, |design| {
        Order::of_design(periods_of_a_round(&design))
    })
}

/// Returns the fewest rounds of a design: one alone does not show the noise.
pub(super) fn least_rounds(sites: &[SwitchedSite]) -> Option<u32> {
    (!sites.is_empty()).then_some(FEWEST_ROUNDS as u32)
}

/// Each round has a control in addition to the rows.
fn periods_of_a_round(design: &Design) -> u32 {
    u32::try_from(design.rows().len() + 1).unwrap_or(u32::MAX)
}

/// Describes a site: `1-256m: 256 MiB at 0x7f0000000000`.
pub(super) fn line(site: &SwitchedSite, huge_page_bytes: u64) -> String {
    let bytes = bytes_text(site.blocks * huge_page_bytes);
    let place = match site.alone() {
        Some(mapped) => format!("at {:#x}", mapped.start),
        None => format!("in {}", counted(site.mappings.len() as u64, "mapping")),
    };
    let name = name(site).map_or_else(String::new, |name| format!(" {name}"));
    format!("{}: {bytes} {place}{name}", site.site)
}

/// The name of the memory, if all its mappings have the same.
fn name(site: &SwitchedSite) -> Option<String> {
    let (_, first) = site.mappings.first()?;
    let is_common = site.mappings.iter().all(|(_, it)| it.name == first.name);
    first
        .name
        .as_ref()
        .filter(|_| is_common)
        .map(|it| plain(it))
}

/// Returns the memory of each site at the end of a period.
pub(super) fn switched(sites: &[SwitchedSite], exposures: &[Exposure]) -> Vec<MappedSite> {
    let one = |(site, exposure): (&SwitchedSite, &Exposure)| MappedSite {
        site: site.site,
        mappings: site.mappings.len() as u64,
        bytes: site.bytes(),
        chain: Vec::new(),
        name: name(site),
        address: site.alone().map(|it| it.start),
        at_end: Some(SiteMemory {
            mapped_bytes: site.bytes(),
            // Only blocks whose pages are all in memory are switched.
            resident_bytes: exposure.switched,
            huge_bytes: exposure.end,
            reach_bytes: Some(exposure.switched),
        }),
    };
    sites.iter().zip(exposures).map(one).collect()
}

//! `--fragment`: keeps free memory in a chosen state during an experiment.

use std::cell::RefCell;

use anyhow::Result;
use hugewise_base::host::Host;
use hugewise_base::units::bytes_text;
use hugewise_experiment::run::metric::MetricId;
use hugewise_experiment::run::record::Header;
use hugewise_experiment::run::trial::{Mark, Reading};
use hugewise_linux::apply::fragment::{Fragmented, FreeMemoryState, compact, share_now};
use hugewise_linux::collect::TrialObservation;
use hugewise_linux::machine::root::Root;

use crate::exit;
use crate::interrupt::Interrupt;
use crate::paths;
use crate::stderr::message;

/// Maximum difference between two states that count as the same.
const TOLERANCE: f64 = 0.05;

/// Keeps the state until it is dropped.
#[derive(Debug)]
pub struct Fragmentation<'a> {
    root: &'a Root,
    page_bytes: u64,
    huge_bytes: u64,
    percent: u32,
    /// The share in small blocks before the experiment.
    found: f64,
    held: RefCell<Fragmented>,
}

impl<'a> Fragmentation<'a> {
    /// Establishes the state of the plan, if it has one.
    pub fn begin(root: &'a Root, header: &Header, interrupt: &Interrupt) -> Result<Option<Self>> {
        let Some(percent) = header.plan.fragment else {
            return Ok(None);
        };
        let (page_bytes, huge_bytes) = sizes(&header.host)?;
        let refused = |error| exit::refused(format!("--fragment {percent}%: {error}"));
        let found = share_now(root, page_bytes, huge_bytes).map_err(refused)?;
        let reached = Fragmented::reach(&paths::laboratory()?, percent, || interrupt.asked());
        let Some((held, state)) = reached.map_err(refused)? else {
            return Err(exit::interrupted("nothing was measured"));
        };
        report_state(found, state);
        Ok(Some(Self {
            root,
            page_bytes,
            huge_bytes,
            percent,
            found,
            held: RefCell::new(held),
        }))
    }

    /// Restores the state before a trial.
    pub fn repair(&self) -> Result<(), String> {
        let repaired = self.held.borrow_mut().repair();
        repaired
            .map(drop)
            .map_err(|error| format!("--fragment {}%: {error}", self.percent))
    }

    /// Marks a trial that did not begin in the state.
    pub fn judge(&self, observed: &mut TrialObservation) {
        let share = observed
            .readings
            .get(MetricId::FragmentedBeforeRatio.name());
        if let Some(Reading::Value { value }) = share
            && *value < f64::from(self.percent) / 100.0 - TOLERANCE
        {
            observed.marks.push(Mark::NotApplied {
                detail: format!(
                    "{:.0} % of free memory was in small blocks instead of {} %",
                    value * 100.0,
                    self.percent
                ),
            });
        }
    }

    /// Releases the memory, lets the kernel compact it, and returns a warning if it stays fragmented.
    pub fn end(self) -> Option<String> {
        let Self { held, .. } = self;
        drop(held);
        let now = || share_now(self.root, self.page_bytes, self.huge_bytes);
        let back = |share: f64| share <= self.found + TOLERANCE;
        if now().is_ok_and(back) {
            return None;
        }
        // Compaction needs root. Without it, memory recovers as programs end.
        let _ = compact(self.root);
        let left = now().ok().filter(|&share| !back(share))?;
        Some(format!(
            "{:.0} % of free memory is in small blocks, {:.0} % before --fragment: pages in \
             per-CPU lists or in use by other programs are still scattered; this recovers as they \
             are freed",
            left * 100.0,
            self.found * 100.0
        ))
    }
}

fn sizes(host: &Host) -> Result<(u64, u64)> {
    let huge = host.pmd_bytes().ok_or_else(|| {
        exit::refused(
            "--fragment: this kernel has no transparent huge pages to fragment memory for",
        )
    })?;
    Ok((host.page_bytes, huge))
}

fn report_state(found: f64, state: FreeMemoryState) {
    message(format_args!(
        "free memory: {:.0} % in blocks smaller than a huge page, {:.0} % before; {} held for this",
        state.share * 100.0,
        found * 100.0,
        bytes_text(state.kept_bytes)
    ));
}

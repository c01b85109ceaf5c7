//! Memory or code that a policy made huge while the program ran.

use std::collections::BTreeMap;

use serde::Serialize;

use super::mechanism::{beyond, tracings};
use crate::run::record::Record;
use crate::run::stats::median;
use crate::run::trial::{Collapsing, Tracing};

/// Memory that became huge in a typical run, and the stops for it.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct MadeHuge {
    /// Bytes that were huge afterwards.
    pub bytes: f64,
    /// Calls, or stops for code.
    pub calls: f64,
    /// Seconds that one thread at a time stood, in all.
    pub held_seconds: f64,
    /// The longest of these stops, in seconds.
    pub longest_seconds: f64,
    /// Bytes that the kernel refused in a mean run, by error.
    pub refused: BTreeMap<String, f64>,
    /// Why nothing became huge, when nothing did.
    pub nothing: Option<NothingMade>,
    /// Memory that no tracer reached, one sentence each.
    pub beyond: Vec<String>,
}

/// Why nothing became huge.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum NothingMade {
    /// The program ended before that time.
    EndedBefore,
    /// No private anonymous range of at least one huge page had a small page in use.
    NoSmallPages,
    /// No huge page fits into the code in use, or it was huge already.
    NoCode,
    /// The kernel refused it with these errors.
    Refused(Vec<String>),
}

type Counted = fn(&Tracing) -> Option<&Collapsing>;

const MEMORY: Counted = |tracing| tracing.collapsing.as_ref();
const CODE: Counted = |tracing| tracing.text.as_ref();

/// Returns the memory that `collapse=` made huge; `None` for other policies.
#[must_use]
pub fn collapsed_later(record: &Record, arm: &str) -> Option<MadeHuge> {
    made_huge(record, arm, MEMORY, NothingMade::NoSmallPages)
}

/// Returns the code that `text=huge` put into huge pages; `None` for other policies.
#[must_use]
pub fn huge_code(record: &Record, arm: &str) -> Option<MadeHuge> {
    made_huge(record, arm, CODE, NothingMade::NoCode)
}

/// Returns why such a policy made nothing huge in any trial; `None` for other policies.
pub(in super::super) fn why_nothing(record: &Record, arm: &str) -> Option<NothingMade> {
    let kinds = [
        (MEMORY, NothingMade::NoSmallPages),
        (CODE, NothingMade::NoCode),
    ];
    kinds.into_iter().find_map(|(counted, none)| {
        let tracings = tracings(record, arm);
        let seen: Vec<&Collapsing> = tracings.into_iter().filter_map(counted).collect();
        let is_nothing = !seen.is_empty() && seen.iter().all(|it| it.bytes == 0);
        is_nothing.then(|| nothing(&seen, none))
    })
}

fn made_huge(record: &Record, arm: &str, counted: Counted, none: NothingMade) -> Option<MadeHuge> {
    let tracings = tracings(record, arm);
    let seen: Vec<&Collapsing> = tracings.iter().copied().filter_map(counted).collect();
    let typical = |figure: fn(&Collapsing) -> u64| {
        let figures: Vec<f64> = seen.iter().map(|it| figure(it) as f64).collect();
        median(&figures)
    };
    let bytes = typical(|it| it.bytes)?;
    let trials = seen.len() as f64;
    let refused = errors(&seen).into_iter();
    Some(MadeHuge {
        bytes,
        calls: typical(|it| it.calls)?,
        held_seconds: typical(|it| it.held_ns)? / 1e9,
        longest_seconds: typical(|it| it.longest_ns)? / 1e9,
        refused: refused
            .map(|(error, bytes)| (error, bytes as f64 / trials))
            .collect(),
        nothing: (bytes == 0.0).then(|| nothing(&seen, none)),
        beyond: beyond(&tracings),
    })
}

fn nothing(seen: &[&Collapsing], none: NothingMade) -> NothingMade {
    if seen.iter().all(|it| it.passes == 0) {
        NothingMade::EndedBefore
    } else if seen.iter().all(|it| it.calls == 0) {
        none
    } else {
        NothingMade::Refused(errors(seen).into_keys().collect())
    }
}

/// Returns the bytes that were refused over all trials, by error.
fn errors(seen: &[&Collapsing]) -> BTreeMap<String, u64> {
    let mut sum = BTreeMap::new();
    for (error, bytes) in seen.iter().flat_map(|it| &it.refused) {
        *sum.entry(error.clone()).or_default() += bytes;
    }
    sum
}

//! Bringing memory in by reading it leaves small pages when writing gives huge ones.

use serde::Serialize;

use super::super::context::{Told, View};
use super::super::{Kind, Outcome};
use super::cells::{huge_share, of_suite};

/// The methods that read a page before they write it, or only read it.
const READING: [&str; 4] = ["load", "load-store", "atomic-add", "populate-read"];

/// Memory that was brought in by reads, once it is written, beside the same by a store.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct ReadFirstPrefault {
    /// The method of reading with the least huge memory.
    pub method: &'static str,
    /// The share that was huge after the write.
    pub share: f64,
    /// The share that was huge after a store.
    pub store_share: f64,
}

pub(in super::super) fn ask(view: &View<'_, '_>) -> Told {
    let Some(bench) = of_suite(view.context, "prefault") else {
        return Ok(None);
    };
    let share = |method: &str| {
        let mut cells = bench
            .cells
            .iter()
            .filter(|cell| cell.part(0) == Some(method));
        cells.find_map(|cell| huge_share(view, cell, "written"))
    };
    let store_share = share("store").filter(|&share| share >= 0.9);
    let read = READING
        .into_iter()
        .filter_map(|method| Some((method, share(method)?)));
    let worst = read.min_by(|a, b| a.1.total_cmp(&b.1));
    Ok(store_share
        .zip(worst)
        .map(|(store_share, (method, share))| {
            let outcome = Outcome::shown_if(share < 0.5);
            let found = ReadFirstPrefault {
                method,
                share,
                store_share,
            };
            (outcome, Kind::ReadFirstPrefault(found))
        }))
}

//! Memory that grew in steps, recognised by the pattern of its ranges.
//!
//! A program can map a step, use it at once, and map the next step directly after it. The kernel merges these
//! neighbours into one large mapping. No counter and no flag shows why that mapping is small: at each first use it did
//! not yet cover a whole huge page. The pattern remains: small pages from end to end. Steps that are larger than a huge
//! page but not aligned to one leave a small range at each boundary.

use serde::{Deserialize, Serialize};

use crate::address_space::{Mapping, MappingKind, Space};
use hugewise_base::units::bytes_text;

use super::allocator::larger_steps;
use super::{Certainty, Code, Judgement};

/// A mapping that appears to have grown in steps.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct StepwiseGrowth {
    /// Index of the mapping.
    pub mapping: usize,
    /// The number of huge-page ranges that are small because of it.
    pub ranges: u64,
    /// Resident memory in these ranges, in bytes.
    pub resident_bytes: u64,
    /// The step, in bytes, if the pattern shows it; this needs steps larger than a huge page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_bytes: Option<u64>,
    /// The evidence.
    pub evidence: String,
    /// Another possible cause of the same pattern.
    pub or: String,
    /// How to fix it.
    pub repair: String,
}

/// The fewest small ranges that form a pattern; two can occur by chance.
const LEAST_RANGES: u64 = 3;

/// Returns the mappings whose small ranges have the pattern of growth.
#[must_use]
pub fn recognise_growth(space: &Space, judgements: &[Judgement]) -> Vec<StepwiseGrowth> {
    judgements
        .chunk_by(|one, next| one.mapping == next.mapping)
        .filter_map(|of_mapping| {
            let index = of_mapping.first()?.mapping;
            let mapping = space.mappings.get(index)?;
            mapping.kind.is_anonymous().then_some(())?;
            let small: Vec<&Judgement> = of_mapping
                .iter()
                .filter(|one| had_a_page_table(one))
                .collect();
            let ranges: u64 = small.iter().map(|one| one.ranges).sum();
            (ranges >= LEAST_RANGES).then_some(())?;
            below_a_huge_page(space, mapping, of_mapping)
                .or_else(|| across_borders(space, of_mapping, &small))
                .map(|shape| StepwiseGrowth {
                    mapping: index,
                    ranges,
                    resident_bytes: small.iter().filter_map(|one| one.resident_bytes).sum(),
                    step_bytes: shape.0,
                    evidence: shape.1,
                    or: alternative(mapping),
                    repair: remedy(space, mapping),
                })
        })
        .collect()
}

/// Returns true if an earlier small page can be the reason.
fn had_a_page_table(one: &Judgement) -> bool {
    matches!(&one.certainty, Certainty::OneOf(codes) if codes.contains(&Code::PteTableExists))
}

type Shape = (Option<u64>, String);

/// Full of small pages and nowhere huge: less than one huge page of it is unused.
fn below_a_huge_page(space: &Space, mapping: &Mapping, all: &[Judgement]) -> Option<Shape> {
    let anywhere_huge = all.iter().any(|one| one.code == Code::AlreadyPmd);
    let resident: u64 = all.iter().filter_map(|one| one.resident_bytes).sum();
    let unused = mapping.bytes().saturating_sub(resident);
    (!anywhere_huge && unused < space.huge_bytes).then(|| {
        let huge = bytes_text(space.huge_bytes);
        let used = match unused {
            0 => format!("all {}", bytes_text(mapping.bytes())),
            _ => format!(
                "all but {} of {}",
                bytes_text(unused),
                bytes_text(mapping.bytes())
            ),
        };
        let evidence = format!(
            "{used} are in use and none is huge, as after growth in steps below {huge} that are \
             used at once"
        );
        (None, evidence)
    })
}

/// Single small ranges at even distances among huge ones.
fn across_borders(space: &Space, all: &[Judgement], small: &[&Judgement]) -> Option<Shape> {
    let whole = all.iter().all(|one| {
        let ends = [Code::VmaSmall, Code::VmaSplit, Code::Untouched];
        one.code == Code::AlreadyPmd || had_a_page_table(one) || ends.contains(&one.code)
    });
    let single = small.iter().all(|one| one.ranges == 1);
    (whole && single && small.len() as u64 >= LEAST_RANGES).then_some(())?;
    let distances: Vec<u64> = small
        .windows(2)
        .map(|pair| (pair[1].start - pair[0].start) / space.huge_bytes.max(1))
        .collect();
    let (least, most) = (distances.iter().min()?, distances.iter().max()?);
    (most - least <= 1).then_some(())?;
    let last = small.last()?.start - small.first()?.start;
    let step = last / distances.len() as u64;
    let evidence = format!(
        "one range in {} is small, at even distances, as after growth in steps of about {} that \
         do not end at range boundaries",
        step.div_ceil(space.huge_bytes.max(1)),
        bytes_text(step)
    );
    Some((Some(step), evidence))
}

fn alternative(mapping: &Mapping) -> String {
    let or = if mapping.flags().has("hg") {
        "or it was used before madvise(MADV_HUGEPAGE)"
    } else {
        "or it was used before the setting allowed huge pages"
    };
    or.to_owned()
}

fn remedy(space: &Space, mapping: &Mapping) -> String {
    if mapping.kind == MappingKind::Heap {
        larger_steps(space)
    } else {
        let huge = bytes_text(space.huge_bytes);
        format!("map in aligned steps of {huge}, or reserve once and use piecewise")
    }
}

use anyhow::Result;
use clap::Args;
use hugewise_base::host::Host;
use hugewise_bench::slab::{PREFAULT, allocators as all_allocators};
use hugewise_experiment::run::cells::Bench;
use hugewise_experiment::run::policy::Policy;
use hugewise_experiment::run::policy::realise::{Unreachable, realise};
use hugewise_linux::machine::root::Root;

use super::cells::{chosen, of_cells};
use super::flags::BenchFlags;
use super::room;
use crate::exit;
use crate::stderr::message;

const USUAL_PLACES: u64 = 100_000;
const USUAL_OPERATIONS: u64 = 2_000_000;

/// Maximum memory of a place: two objects of the largest size.
const PLACE_BYTES: u64 = 2 * 1040;

/// Flags of `bench slab`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Prefaulting of slabs: off, populate, touch [default: all]
    #[arg(
        long,
        value_name = "WAY,WAY",
        value_delimiter = ',',
        conflicts_with = "allocators"
    )]
    prefault: Vec<String>,

    /// Compare malloc of these allocators [default: those installed]
    ///
    /// All: glibc, glibc-top-pad, glibc-thp, glibc-hugetlb, jemalloc, jemalloc-thp, mimalloc,
    /// mimalloc-large, tcmalloc.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        num_args = 0..,
        require_equals = true,
        conflicts_with = "pages"
    )]
    allocators: Option<Vec<String>>,

    /// Places for objects; about half are in use [default: 100000]
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    places: Option<u64>,

    /// Allocations plus frees [default: 2000000]
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..=1_000_000_000))]
    operations: Option<u64>,

    #[command(flatten)]
    pub(super) common: BenchFlags,
}

/// The cells of these flags.
pub(super) fn bench(flags: &Arguments, host: &Host, root: &Root) -> Result<Bench> {
    let places = flags.places.unwrap_or(USUAL_PLACES);
    let operations = flags.operations.unwrap_or(USUAL_OPERATIONS);
    let most = room::bytes(host, root)? / PLACE_BYTES;
    if places > most {
        return Err(exit::usage(format!(
            "--places: {places} places may need more memory than is available here; {most} would \
             fit"
        )));
    }
    let words: Vec<&str> = PREFAULT.iter().map(|(word, _)| *word).collect();
    let ways = chosen("--prefault", &flags.prefault, &words, &words)?;
    let source = |way: &&str| PREFAULT.iter().find(|(word, _)| word == way);
    let sources: Vec<&str> = match &flags.allocators {
        Some(_) => vec!["malloc"],
        None => ways
            .iter()
            .filter_map(source)
            .map(|found| found.1)
            .collect(),
    };
    let words = |source: &str| {
        vec![
            source.to_owned(),
            places.to_string(),
            operations.to_string(),
        ]
    };
    of_cells("slab", sources.into_iter().map(words).collect())
}

/// The allocators to compare, as policies; `None` if pages are compared. A named allocator must exist; by default the
/// missing ones are only reported.
pub(super) fn allocators(flags: &Arguments, host: &Host) -> Result<Option<Vec<Policy>>> {
    let Some(names) = &flags.allocators else {
        return Ok(None);
    };
    let all = all_allocators();
    let known: Vec<&str> = all.iter().map(|policy| policy.name.as_str()).collect();
    let wanted = chosen("--allocators", names, &known, &known)?;
    let mut policies: Vec<Policy> = Vec::new();
    for policy in all
        .iter()
        .filter(|policy| wanted.contains(&policy.name.as_str()))
    {
        match realise(policy, host, flags.common.reach()) {
            Ok(_) => policies.push(policy.clone()),
            Err(obstacles) if names.is_empty() => {
                let obstacles: Vec<String> = obstacles.iter().map(Unreachable::reason).collect();
                message(format_args!(
                    "Not tried: {}: {}",
                    policy.name,
                    obstacles.join("; ")
                ));
            }
            Err(obstacles) => {
                let first = obstacles
                    .first()
                    .map(ToString::to_string)
                    .unwrap_or_default();
                return Err(exit::refused(format!("--allocators: {first}")));
            }
        }
    }
    Ok(Some(policies))
}

use anyhow::Result;
use clap::Args;
use hugewise_base::host::Host;
use hugewise_base::units::{KIB, bytes_text, parse_size};
use hugewise_bench::latency;
use hugewise_experiment::run::cells::Bench;
use hugewise_experiment::run::cells::processor::Processor;
use hugewise_linux::machine::root::Root;
use hugewise_linux::sys::cache::read_caches;
use hugewise_linux::tlb::read_tlb;

use super::cells::{flag_text, of_cells};
use super::flags::BenchFlags;
use super::{calibrate, room};
use crate::exit;

const SMALLEST: u64 = 4 * KIB;
/// An upper limit of the cache line size, in bytes; footprints are whole lines.
const LINE: u64 = 256;

/// Flags of `bench latency`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Footprints [default: from 4K, four per octave]
    ///
    /// Above 64M there are two per octave.
    #[arg(long, value_name = "SIZE,SIZE", value_delimiter = ',', value_parser = parse_size)]
    sizes: Vec<u64>,

    /// Largest footprint [default: as --max-time allows]
    ///
    /// At most a quarter of memory.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, conflicts_with = "sizes")]
    to: Option<u64>,

    #[command(flatten)]
    pub(super) common: BenchFlags,
}

/// The cells of these flags, ascending, so that pages of one cell are mapped for the next.
pub(super) fn bench(flags: &Arguments, host: &Host, root: &Root) -> Result<Bench> {
    let usual = match (flags.sizes.is_empty(), flags.to) {
        (true, None) => Some(usual(flags, host, root)?),
        _ => None,
    };
    let mut sizes = match usual.or(flags.to) {
        Some(largest) => latency::footprints(largest),
        None => flags.sizes.clone(),
    };
    sizes.sort_unstable();
    let flag = if flags.to.is_some() {
        "--to"
    } else {
        "--sizes"
    };
    check_sizes(flag, flags.to.into_iter().chain(sizes.iter().copied()))?;
    let largest = flags.to.or(sizes.last().copied());
    room::check(flag, largest.as_slice(), 1, host, root)?;
    Ok(Bench {
        processor: Some(Processor {
            caches: read_caches(root),
            tlb: read_tlb(root),
        }),
        left_out: usual.and_then(|usual| left_out(usual, host)),
        ..of_cells("latency", cells(&sizes))?
    })
}

fn cells(sizes: &[u64]) -> Vec<Vec<String>> {
    sizes.iter().map(|size| vec![size.to_string()]).collect()
}

/// The largest footprint for which ten rounds fit into the time.
fn usual(flags: &Arguments, host: &Host, root: &Root) -> Result<u64> {
    let budget = flags.common.budget("latency", host);
    let most = room::usual_most(1, host, root)?;
    calibrate::largest("latency", budget, most, |largest| {
        Ok(cells(&latency::footprints(largest)))
    })
}

/// Describes the footprints that the default leaves out.
fn left_out(usual: u64, host: &Host) -> Option<String> {
    let more = room::quarter(host.memory_bytes);
    (usual < more).then(|| {
        format!(
            "Left out: footprints above {}; --to {} or a longer --max-time includes them.",
            bytes_text(usual),
            flag_text(more)
        )
    })
}

fn check_sizes(flag: &str, mut sizes: impl Iterator<Item = u64>) -> Result<()> {
    match sizes.find(|&size| size < SMALLEST || !size.is_multiple_of(LINE)) {
        None => Ok(()),
        Some(size) => Err(exit::usage(format!(
            "{flag}: {size} bytes is not possible; at least {}, and a multiple of {LINE} bytes",
            bytes_text(SMALLEST)
        ))),
    }
}

use anyhow::Result;
use clap::Args;
use hugewise_base::host::Host;
use hugewise_base::units::{MIB, parse_size};
use hugewise_experiment::run::cells::Bench;
use hugewise_linux::machine::root::Root;

use super::cells::{of_cells, or_usual};
use super::flags::BenchFlags;
use super::room;

const USUAL_SIZE: u64 = 128 * MIB;

/// Enough for a 99th percentile of two hundred writes.
const USUAL_WRITES: u64 = 20_000;

/// Flags of `bench fork`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Memory of the process when it forks [default: 128M]
    #[arg(long, value_name = "SIZE,SIZE", value_delimiter = ',', value_parser = parse_size)]
    sizes: Vec<u64>,

    /// Random writes after the fork [default: 20000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    writes: Option<u64>,

    #[command(flatten)]
    pub(super) common: BenchFlags,
}

/// The cells: the same writes with a forked child and without one.
pub(super) fn bench(flags: &Arguments, host: &Host, root: &Root) -> Result<Bench> {
    let sizes = or_usual(&flags.sizes, &[USUAL_SIZE]);
    // The memory and its copy.
    room::check("--sizes", &sizes, 2, host, root)?;
    let writes = flags.writes.unwrap_or(USUAL_WRITES);
    let mut cells = Vec::new();
    for size in &sizes {
        for moment in ["forked", "alone"] {
            cells.push(vec![
                moment.to_owned(),
                size.to_string(),
                writes.to_string(),
            ]);
        }
    }
    of_cells("fork", cells)
}

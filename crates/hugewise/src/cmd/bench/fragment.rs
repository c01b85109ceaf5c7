use anyhow::Result;
use clap::Args;
use hugewise_base::host::Host;
use hugewise_base::units::{MIB, parse_size};
use hugewise_experiment::run::cells::Bench;
use hugewise_linux::machine::root::Root;

use super::cells::{of_cells, or_usual};
use super::flags::BenchFlags;
use super::room;
use crate::exit;
use crate::options::parse_fragment;

const USUAL_SIZE: u64 = 64 * MIB;

/// Flags of `bench fragment`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Shares of free memory to fragment [default: 80%]
    ///
    /// This is the share in blocks smaller than a huge page. The state as found comes first. Free memory with a larger
    /// share already stays so.
    #[arg(long, value_name = "SHARE,SHARE", value_delimiter = ',', value_parser = parse_fragment)]
    to: Vec<u32>,

    /// Sizes of memory to write in each state [default: 64M]
    #[arg(long, value_name = "SIZE,SIZE", value_delimiter = ',', value_parser = parse_size)]
    sizes: Vec<u64>,

    #[command(flatten)]
    pub(super) common: BenchFlags,
}

/// The cells: each size in each state.
pub(super) fn bench(flags: &Arguments, host: &Host, root: &Root) -> Result<Bench> {
    if !flags.common.system {
        return Err(exit::usage(
            "bench fragment fragments the free memory of the whole machine, which can slow other \
             programs; add --system to allow that",
        ));
    }
    let sizes = or_usual(&flags.sizes, &[USUAL_SIZE]);
    room::check("--sizes", &sizes, 1, host, root)?;
    let mut states = vec![0];
    states.extend(if flags.to.is_empty() {
        &[80][..]
    } else {
        &flags.to
    });
    let mut cells = Vec::new();
    for size in &sizes {
        cells.extend(
            states
                .iter()
                .map(|state| vec![state.to_string(), size.to_string()]),
        );
    }
    of_cells("fragment", cells)
}

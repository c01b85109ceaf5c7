use anyhow::Result;
use clap::Args;
use hugewise_linux::root::Root;
use hugewise_model::bench::Bench;
use hugewise_model::bench::prefault::{METHODS, USUAL};
use hugewise_model::host::Host;
use hugewise_model::quantity::{MIB, parse_size};

use super::{Common, chosen, flag_text, of_cells, or_usual, room};
use crate::exit;

const USUAL_SIZE: u64 = 256 * MIB;

/// Flags of `bench prefault`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Amounts of memory to bring in [default: 256M]
    #[arg(long, value_name = "SIZE,SIZE", value_delimiter = ',', value_parser = parse_size)]
    sizes: Vec<u64>,

    /// Ways, as store,populate-write [default: store,memset,load,map-populate,populate-write,collapse]
    ///
    /// All: load, store, load-store, atomic-add, memset, map-populate, populate-read,
    /// populate-write, collapse, mlock, willneed.
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    methods: Vec<String>,

    /// Numbers of threads that share the work [default: 1]
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: Vec<u64>,

    #[command(flatten)]
    pub(super) common: Common,
}

/// The cells that were asked for.
pub(super) fn bench(asked: &Arguments, host: &Host, root: &Root) -> Result<Bench> {
    let methods = chosen("--methods", &asked.methods, METHODS, USUAL)?;
    let sizes = or_usual(&asked.sizes, &[USUAL_SIZE]);
    let threads = or_usual(&asked.threads, &[1]);
    let whole = host.pmd_bytes().unwrap_or(host.page_bytes);
    if sizes
        .iter()
        .any(|&size| size == 0 || !size.is_multiple_of(whole))
    {
        return Err(exit::usage(format!(
            "--sizes: memory is brought in by whole huge pages; give multiples of {}",
            flag_text(whole)
        )));
    }
    room::check("--sizes", &sizes, 1, host, root)?;
    let mut cells = Vec::new();
    for size in &sizes {
        for threads in &threads {
            let words =
                |method: &&str| vec![(*method).to_owned(), size.to_string(), threads.to_string()];
            cells.extend(methods.iter().map(words));
        }
    }
    of_cells("prefault", cells)
}

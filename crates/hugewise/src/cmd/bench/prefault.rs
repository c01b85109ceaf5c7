use anyhow::Result;
use clap::Args;
use hugewise_base::host::Host;
use hugewise_base::units::{MIB, bytes_text, parse_size};
use hugewise_bench::prefault::{METHODS, USUAL};
use hugewise_experiment::run::cells::Bench;
use hugewise_linux::machine::root::Root;

use super::cells::{chosen, flag_text, of_cells, or_usual};
use super::flags::BenchFlags;
use super::{calibrate, room};
use crate::exit;

const USUAL_SIZE: u64 = 256 * MIB;

/// Flags of `bench prefault`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Sizes of memory to prefault [default: 256M]
    ///
    /// Less if --max-time does not allow it.
    #[arg(long, value_name = "SIZE,SIZE", value_delimiter = ',', value_parser = parse_size)]
    sizes: Vec<u64>,

    /// Methods, e.g. store,populate-write
    ///
    /// All: load, store, load-store, atomic-add, memset, map-populate, populate-read,
    /// populate-write, collapse, mlock, willneed. The default is
    /// store,memset,load,map-populate,populate-write,collapse.
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    methods: Vec<String>,

    /// Numbers of threads that share the work [default: 1]
    #[arg(hide_short_help = true, long, value_name = "N,N", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: Vec<u64>,

    #[command(flatten)]
    pub(super) common: BenchFlags,
}

/// The cells of these flags.
pub(super) fn bench(flags: &Arguments, host: &Host, root: &Root) -> Result<Bench> {
    let methods = chosen("--methods", &flags.methods, METHODS, USUAL)?;
    let threads = or_usual(&flags.threads, &[1]);
    let whole = host.pmd_bytes().unwrap_or(host.page_bytes);
    if flags
        .sizes
        .iter()
        .any(|&size| size == 0 || !size.is_multiple_of(whole))
    {
        return Err(exit::usage(format!(
            "--sizes: memory is prefaulted in whole huge pages; use multiples of {}",
            flag_text(whole)
        )));
    }
    room::check("--sizes", &flags.sizes, 1, host, root)?;
    let cells = |sizes: &[u64]| cells(&methods, sizes, &threads);
    if !flags.sizes.is_empty() {
        return of_cells("prefault", cells(&flags.sizes));
    }
    let most = room::usual_most(1, host, root)?.min(USUAL_SIZE);
    let budget = flags.common.budget("prefault", host);
    let usual = |largest: u64| cells(&[largest.max(whole)]);
    let largest = calibrate::largest("prefault", budget, most, |size| Ok(usual(size)))?;
    let left_out = (largest < USUAL_SIZE).then(|| {
        format!(
            "Left out: more than {}, because ten rounds would not fit; --sizes {} or a longer \
             --max-time includes it.",
            bytes_text(largest.max(whole)),
            flag_text(USUAL_SIZE)
        )
    });
    Ok(Bench {
        left_out,
        ..of_cells("prefault", usual(largest))?
    })
}

fn cells(methods: &[&str], sizes: &[u64], threads: &[u64]) -> Vec<Vec<String>> {
    let mut cells = Vec::new();
    for size in sizes {
        for threads in threads {
            let words =
                |method: &&str| vec![(*method).to_owned(), size.to_string(), threads.to_string()];
            cells.extend(methods.iter().map(words));
        }
    }
    cells
}

use anyhow::Result;
use clap::Args;
use hugewise_base::host::Host;
use hugewise_base::units::parse_size;
use hugewise_bench::growth::{PROGRAMS, usual_programs};
use hugewise_experiment::run::cells::Bench;
use hugewise_linux::machine::root::Root;

use super::cells::{chosen, of_cells};
use super::flags::BenchFlags;
use super::growth::USUAL_HEAP;
use super::room;
use crate::stderr::message;

/// Flags of `bench heap`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Programs, e.g. go,glibc [default: the deterministic ones]
    ///
    /// All: go-1.7 (steps of 1 MiB), go (4 MiB), arena-2m, glibc-arena (of a thread), glibc, glibc-top-pad-64m,
    /// glibc-hugetlb-1. The first four imitate the steps; the others use malloc in the laboratory's process.
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    programs: Vec<String>,

    /// Final size of the heap [default: 64M]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    heap: Option<u64>,

    #[command(flatten)]
    pub(super) common: BenchFlags,
}

/// The cells of these flags.
pub(super) fn bench(flags: &Arguments, host: &Host, root: &Root) -> Result<Bench> {
    let usual = usual_programs(host);
    let programs = chosen("--programs", &flags.programs, PROGRAMS, &usual)?;
    let heap = flags.heap.unwrap_or(USUAL_HEAP);
    room::check("--heap", &[heap], 1, host, root)?;
    let left_to_chance = programs.contains(&"glibc-hugetlb-1") || flags.programs.is_empty();
    if left_to_chance && host.malloc_takes_advice_by_chance() && !flags.common.output.quiet {
        let tried = if flags.programs.is_empty() {
            "Not tried: glibc-hugetlb-1"
        } else {
            "glibc-hugetlb-1 is not deterministic"
        };
        message(format_args!(
            "{tried}: this glibc applies glibc.malloc.hugetlb=1 in some processes only, depending \
             on their initial stack."
        ));
    }
    let words = |program: &&str| vec![(*program).to_owned(), heap.to_string()];
    of_cells("heap", programs.iter().map(words).collect())
}

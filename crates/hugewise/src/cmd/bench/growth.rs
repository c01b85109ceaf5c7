use anyhow::Result;
use clap::Args;
use hugewise_base::host::Host;
use hugewise_base::units::{MIB, bytes_text, parse_size};
use hugewise_bench::growth::{MEANS, STARTS, TOUCHES, usual_steps};
use hugewise_experiment::run::cells::Bench;
use hugewise_linux::machine::root::Root;

use super::cells::{chosen, flag_text, of_cells, or_usual};
use super::flags::BenchFlags;
use super::room;
use crate::exit;

/// The default final size of a heap.
pub(super) const USUAL_HEAP: u64 = 64 * MIB;

/// Flags of `bench growth`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Growth steps [default: around a huge page: 64K,1M,2M,4M]
    #[arg(long, value_name = "SIZE,SIZE", value_delimiter = ',', value_parser = parse_size)]
    steps: Vec<u64>,

    /// How it grows: brk, mmap, mprotect [default: mmap]
    ///
    /// mmap adds each step next to the last; mprotect opens a reservation step by step.
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    means: Vec<String>,

    /// Where it begins: aligned, between (two huge pages) [default: both]
    #[arg(
        hide_short_help = true,
        long,
        value_name = "WHERE,WHERE",
        value_delimiter = ','
    )]
    start: Vec<String>,

    /// When a step is touched: at-once, later [default: at-once]
    ///
    /// At once is before the next step.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "WHEN,WHEN",
        value_delimiter = ','
    )]
    touched: Vec<String>,

    /// Final size of the heap [default: 64M]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    heap: Option<u64>,

    #[command(flatten)]
    pub(super) common: BenchFlags,
}

/// The cells of these flags.
pub(super) fn bench(flags: &Arguments, host: &Host, root: &Root) -> Result<Bench> {
    let means = chosen("--means", &flags.means, MEANS, &MEANS[1..2])?;
    let starts = chosen("--start", &flags.start, STARTS, STARTS)?;
    let touches = chosen("--touched", &flags.touched, TOUCHES, &TOUCHES[..1])?;
    let steps = or_usual(&flags.steps, &usual_steps(host));
    let heap = flags.heap.unwrap_or(USUAL_HEAP);
    room::check("--heap", &[heap], 1, host, root)?;
    check_steps(&steps, heap, host)?;
    let mut cells = Vec::new();
    for mean in &means {
        for touched in &touches {
            for start in &starts {
                cells.extend(steps.iter().map(|step| {
                    let words = [mean, &*step.to_string(), start, touched, &heap.to_string()];
                    words.map(str::to_owned).to_vec()
                }));
            }
        }
    }
    of_cells("growth", cells)
}

fn check_steps(steps: &[u64], heap: u64, host: &Host) -> Result<()> {
    let page = host.page_bytes;
    if let Some(step) = steps
        .iter()
        .find(|&&step| step == 0 || !step.is_multiple_of(page))
    {
        return Err(exit::usage(format!(
            "--steps: a heap grows by whole pages of {}; {} is not a multiple",
            bytes_text(page),
            bytes_text(*step)
        )));
    }
    match steps.iter().find(|&&step| step > heap) {
        None => Ok(()),
        Some(&step) => Err(exit::usage(format!(
            "--steps: a step of {} is larger than the heap; --heap {} would hold two",
            bytes_text(step),
            flag_text(step.saturating_mul(2))
        ))),
    }
}

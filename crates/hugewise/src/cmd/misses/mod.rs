//! `hugewise misses`: samples the addresses of TLB misses to show where they come from.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use hugewise_base::jsonl::LineError;
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::tlb_misses as misses;
use hugewise_linux::observe::tlb_misses::KernelSampler;
use hugewise_tlb::misses::{Absence, Analysis};

use crate::exit::{self, Exit};
use crate::output::{self, Output};
use crate::paths;
use crate::recording::{self, PageLines};
use crate::target::TargetFlags;

mod sampling;

/// Why the verb is experimental.
const EXPERIMENTAL: &str = "Experimental: the decoders of samples (PEBS, IBS, SPE) were checked \
                            against the documented layouts, not yet on real hardware.";

/// Flags of `misses`.
#[derive(Debug, Args)]
#[command(
    mut_arg("verbose", |it| it.help("Show mappings, page sizes and functions")),
    after_help = "Experimental: not yet tried on the hardware that it needs.",
    after_long_help = EXPERIMENTAL,
    group(clap::ArgGroup::new("target").args(["pid", "all", "cgroup", "command", "replay"]))
)]
pub struct Arguments {
    #[command(flatten)]
    target: TargetFlags,

    /// Sample one in N events [default: chosen for this CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=0x00ff_ffff))]
    every: Option<u64>,

    /// Record every sample in FILE, for --replay
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    out: Option<PathBuf>,

    /// Report again from a recording (--out FILE)
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

/// Samples until the target ends, the time is over, or a signal comes. If sampling is impossible, reports why and runs
/// nothing.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    if let Some(path) = &arguments.replay {
        let (analysis, _) = recording::replay(path, PageLines::default())?;
        show(&analysis, &arguments.output)?;
        return Ok(Exit::Done);
    }
    let root = &Root::real();
    output::check_file(&arguments.output)?;
    let host = paths::host(root)?;
    let target = sampling::Wanted::find(root, arguments)?;
    let instruments = match misses::find(root, &host, &KernelSampler, arguments.every) {
        Ok(instruments) => instruments,
        Err(absence) => return refuse(&absence, &arguments.output),
    };
    match sampling::watch(root, &host, &instruments, target, arguments)? {
        sampling::Ended::Sampled(analysis, exit) => {
            show(&analysis, &arguments.output)?;
            Ok(exit)
        }
        sampling::Ended::Absent(absence) => refuse(&absence, &arguments.output),
    }
}

/// The result if sampling is impossible: the reason and the remedy.
fn refuse(absence: &Absence, output: &Output) -> Result<Exit> {
    output::show(output, absence, || absence.document(), || absence.csv())?;
    Ok(Exit::Refused)
}

fn show(analysis: &Analysis, output: &Output) -> Result<()> {
    let summary = analysis
        .summary()
        .ok_or_else(|| exit::usage(LineError::CutShort))?;
    output::show(output, &summary, || summary.document(), || summary.csv())
}

//! `hugewise collapse`: makes the memory of a running process huge, with proof, and reports what
//! the kernel refused and why.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use hugewise_base::missing::Missing;
use hugewise_base::units::{parse_duration, parse_size};
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::collapse::{CollapseTarget, Unusable};
use hugewise_linux::sys::kernel_config;
use hugewise_linux::sys::thp::read_thp;
use hugewise_observe::collapse::{Choice, End, FileRules, plan};
use hugewise_observe::inspect::view::Glob;

use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::output::{self, Output};
use crate::process_name::parse_process;

mod act;
mod process;

/// Flags of `collapse`.
#[derive(Debug, Args)]
#[command(
    mut_arg("verbose", |it| it.help("Show what was refused by its addresses")),
    after_help = "Needs CAP_SYS_NICE; for a process of another user also CAP_SYS_PTRACE and\n\
                  CAP_DAC_READ_SEARCH.",
    after_long_help = "Needs CAP_SYS_NICE; for a process of another user also CAP_SYS_PTRACE and\n\
                  CAP_DAC_READ_SEARCH. Root has all three.\n\n\
                  Exit codes:  0 every range was tried (the report says which were refused),\n\
                  \x20            2 usage, 3 the process ended or became another program meanwhile,\n\
                  \x20            4 the kernel refuses or memory is short, 130 interrupted"
)]
pub struct Arguments {
    /// A running process
    #[arg(value_name = "PID|NAME", value_parser = parse_process, required_unless_present = "pid")]
    process: Option<u32>,

    /// A running process
    #[arg(short, long, value_name = "PID|NAME", value_parser = parse_process, conflicts_with = "process")]
    pid: Option<u32>,

    /// Only mappings whose name matches (`*`, `?`) or that hold an address (0x…)
    ///
    /// A word without `*` and `?` may be any part of the name; memory without a name is called
    /// anonymous. Files are taken only where this names them.
    #[arg(long, value_name = "GLOB", value_parser = pattern)]
    mapping: Option<Glob>,

    /// Only mappings used while they were watched (needs --touch-bits)
    ///
    /// At least half of a mapping must have been used.
    #[arg(hide_short_help = true, long, requires = "touch_bits")]
    hot: bool,

    /// Allow clearing the accessed bits of the process, to see which pages are used
    ///
    /// It is written to /proc/PID/clear_refs. No content changes, but the kernel also uses these
    /// bits to choose what to reclaim, and has to learn anew.
    #[arg(hide_short_help = true, long)]
    touch_bits: bool,

    /// Watch for TIME which pages are used [default: 5s]
    #[arg(hide_short_help = true, long, value_name = "TIME", value_parser = parse_duration, requires = "hot")]
    duration: Option<Duration>,

    /// Make at most SIZE huge
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_bytes: Option<u64>,

    /// Show what would become huge; change nothing
    #[arg(long)]
    dry_run: bool,

    /// Measure before and after: `hugewise live` does that in random order
    #[arg(hide = true, long, num_args = 0..=1, default_missing_value = "", value_parser = replaced)]
    measure: Option<String>,

    #[command(flatten)]
    output: Output,
}

fn pattern(text: &str) -> Result<Glob, String> {
    if text.is_empty() {
        return Err("it is empty; memory without a name is called anonymous".to_owned());
    }
    Ok(Glob::new(text))
}

/// Refuses a flag that `live` replaced.
fn replaced(_: &str) -> Result<String, String> {
    Err("`hugewise live PID` measures inside a running process".to_owned())
}

/// The share of a mapping that must have been used for it to be hot.
const HOT_SHARE: f64 = 0.5;

/// Runs the verb.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    let root = Root::real();
    output::check_file(&arguments.output)?;
    let stop = Interrupt::catch()?;
    let target = CollapseTarget::open(arguments.pid());
    if let (Err(unusable @ Unusable::NotPermitted { .. }), false) = (&target, arguments.dry_run) {
        return Err(process::refused(unusable));
    }
    let (space, activity) = process::read(&root, arguments, &stop)?;
    let rules = FileRules::of(
        read_thp(&root).ok().as_ref(),
        kernel_config::read_option(&root, "CONFIG_READ_ONLY_THP_FOR_FS"),
    );
    let plan = plan(&space, &choice(arguments), &rules);
    let report = if arguments.dry_run {
        if let Err(unusable) = &target {
            arguments.message(format_args!("this is a forecast only: {unusable}"));
        }
        let lacks = target.err().and_then(|unusable| match unusable {
            Unusable::NotPermitted { grant } => Some(Missing::NotPermitted { grant }),
            Unusable::NoProcess { .. } | Unusable::NotSupported { .. } => None,
        });
        act::dry_run(&root, &space, &plan, activity, lacks)
    } else {
        let target = target.map_err(|unusable| process::refused(&unusable))?;
        act::collapse(&root, arguments.pid(), &space, &plan, &target, &stop)
    };
    let output = &arguments.output;
    output::show(output, &report, || report.document(), || report.csv())?;
    Ok(how_it_ended(&report.ended))
}

impl Arguments {
    /// The process, by either of the two ways to name it.
    fn pid(&self) -> u32 {
        self.pid.or(self.process).unwrap_or_default()
    }

    /// Prints a line on stderr, unless that is to be quiet.
    fn message(&self, line: impl std::fmt::Display) {
        if !self.output.quiet {
            crate::stderr::message(line);
        }
    }
}

fn choice(arguments: &Arguments) -> Choice {
    Choice {
        mapping: arguments.mapping.clone(),
        hot_share: arguments.hot.then_some(HOT_SHARE),
        max_bytes: arguments.max_bytes,
    }
}

fn how_it_ended(ended: &End) -> Exit {
    match ended {
        End::Finished | End::DryRun => Exit::Done,
        End::Interrupted => Exit::Interrupted,
        End::ProcessEnded | End::BecameAnother => Exit::TrialFailed,
        End::NoMemory { .. } | End::NotPermitted { .. } => Exit::Refused,
    }
}

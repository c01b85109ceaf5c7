//! `hugewise run`: the whole way of the data, from policies to findings.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use hugewise_linux::machine::clock::unix_ms;
use hugewise_linux::machine::root::Root;

use crate::exit::Exit;
use crate::experiment::conduct::{Files, announce_unreached, conduct};
use crate::experiment::plan::realise_all;
use crate::experiment::preview;
use crate::options::Options;
use crate::output::Output;
use crate::paths;

/// Flags of `run`.
#[derive(Debug, Args)]
pub struct Arguments {
    // First, because what follows the output's flags would be listed among them.
    #[command(flatten)]
    options: Options,

    /// Write the record to FILE, which must be new
    ///
    /// Without it the record is a new file in $XDG_STATE_HOME/hugewise, or else in
    /// ~/.local/state/hugewise; the report names it.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    out: Option<PathBuf>,

    /// Show what would be run and set; change nothing
    #[arg(long, help_heading = "Output")]
    dry_run: bool,

    #[command(flatten)]
    output: Output,
}

/// Runs the verb.
pub fn run(arguments: Arguments) -> Result<Exit> {
    let root = Root::real();
    let options = arguments.options.complete()?;
    let host = paths::host(&root)?;
    let plan = options.plan(&host, unix_ms())?;
    if arguments.dry_run {
        let realisations = realise_all(&plan, &host, options.reach())?;
        preview::show(&plan, &realisations, &arguments.output)?;
        let named = !options.policy.is_empty() || !options.matrix.is_empty();
        if !named && !arguments.output.quiet {
            announce_unreached(&host, &options);
        }
        return Ok(Exit::Done);
    }
    let files = Files {
        record: arguments.out.as_deref(),
        svg: None,
    };
    conduct(&root, &options, (host, plan), files, &arguments.output)
}

//! Flags that have moved to `misses` and `simulate`; the error names the command to use.

use anyhow::Result;
use clap::Args;

use crate::exit;

/// The flags, hidden; their values are not read.
#[derive(Debug, Args)]
pub(super) struct Moved {
    #[arg(long = "where", hide = true)]
    origins: bool,
    #[arg(long, hide = true)]
    every: Option<String>,
    #[arg(long, hide = true)]
    out: Option<String>,
    #[arg(long, hide = true)]
    simulate: bool,
    #[arg(long, hide = true)]
    cpu: Option<String>,
    #[arg(long, hide = true)]
    max_accesses: Option<String>,
}

impl Moved {
    /// Refuses them.
    pub(super) fn check(&self) -> Result<()> {
        let misses = self.origins || self.every.is_some() || self.out.is_some();
        let simulate = self.simulate || self.cpu.is_some() || self.max_accesses.is_some();
        let (flag, verb) = match (misses, simulate) {
            (_, true) => ("--simulate", "simulate"),
            (true, false) => ("--where", "misses"),
            (false, false) => return Ok(()),
        };
        let words = std::env::args().skip(2).filter(|word| word != flag);
        let words: Vec<String> = ["hugewise", verb]
            .map(str::to_owned)
            .into_iter()
            .chain(words)
            .collect();
        Err(exit::usage(format!(
            "stat {flag} is a separate verb; write: {}",
            words.join(" ")
        )))
    }
}

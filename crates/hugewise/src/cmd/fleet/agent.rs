//! x
use crate::exit::Exit;
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;
/// Flags of `fleet agent`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The plan, a TOML file
    #[arg(value_name = "PLAN")]
    plan: PathBuf,
    /// once
    #[arg(long)]
    once: bool,
    /// out
    #[arg(long)]
    out: PathBuf,
}
pub(super) fn run(_: &Arguments) -> Result<Exit> {
    Ok(Exit::Done)
}

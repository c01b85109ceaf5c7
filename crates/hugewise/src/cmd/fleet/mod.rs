//! `hugewise fleet`: one experiment over many hosts, with no server.

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::exit::Exit;

mod agent;
mod analyse;
mod arm_here;
mod assign;
mod plan_file;
mod stop;
mod stratum;

pub use arm_here::ArmHere;

/// Flags of `fleet`.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    task: Task,
}

/// The task.
#[derive(Debug, Subcommand)]
enum Task {
    /// Say the arm of each unit, or print the same function for other engines
    Assign(assign::Arguments),
    /// Carry out the arm of this host, with proof, and write its rows
    Agent(agent::Arguments),
    /// Say what the rows show of each arm; before the start, what they can show
    Analyse(analyse::Arguments),
}

/// Runs the verb.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    match &arguments.task {
        Task::Assign(arguments) => assign::run(arguments),
        Task::Agent(arguments) => agent::run(arguments),
        Task::Analyse(arguments) => analyse::run(arguments),
    }
}

//! Words to choose from.

use std::str::FromStr;

use clap::ValueEnum;
use hugewise_experiment::run::plan::service::LoadPolicy;
use hugewise_linux::sys::cpu;

/// How the workload's output is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Streams {
    /// Thrown away (the end of stderr is kept for failures)
    Discard,
    /// Shown on stderr
    Show,
    /// Kept in files next to the record: NAME.output/0000.stdout and so on
    Keep,
}

/// The stalls to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StallChoice {
    /// None
    Off,
    /// Only the rare ones
    Rare,
    /// Also those that come with every fault and every change of the address space
    All,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// Do it
    On,
    /// Do not
    Off,
}

/// Whether the servers of all policies run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InterleaveChoice {
    /// Where addresses and memory allow it
    Auto,
    /// Yes, or nothing runs
    Yes,
    /// Each trial starts its server
    No,
}

/// The policy that applies to the load generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LoadUnder {
    /// None
    None,
    /// The server's
    Same,
}

impl From<LoadUnder> for LoadPolicy {
    fn from(choice: LoadUnder) -> Self {
        match choice {
            LoadUnder::None => Self::None,
            LoadUnder::Same => Self::Same,
        }
    }
}

/// Processor numbers; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processors(pub Vec<u32>);

impl FromStr for Processors {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = cpu::parse_members(text.as_bytes())?;
        if numbers.is_empty() {
            return Err("the list has no CPU; write 0-3,8".to_owned());
        }
        Ok(Self(numbers))
    }
}

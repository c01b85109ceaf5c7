//! `hugewise fleet agent`: carries out the arm of this host, proves it, and writes its rows.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use hugewise_base::host::Host;
use hugewise_fleet::plan::Plan;
use hugewise_fleet::unit::{UnitKind, check_unit};
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::export::Collector;

use super::stratum;
use crate::exit::{self, Exit};
use crate::interrupt::Interrupt;
use crate::left_over;
use crate::paths;
use crate::stderr::message;
use crate::turn::Wait;

mod hold;
mod hours;
mod latency;
mod orders;
mod period;
mod rows;

use latency::Latency;
use orders::{Order, Orders};
use rows::{RowFiles, Rows};

/// How often the plan, the stop file and the guardrails are checked.
const LOOK: Duration = Duration::from_secs(10);

/// Flags of `fleet agent`.
#[derive(Debug, Args)]
#[command(
    after_help = "The old settings come back when the plan ends or cannot be read for its lease,\n\
                  when a guardrail or /etc/hugewise/stop stops the arm, and when this process\n\
                  ends, even by kill -9.\n\n\
                  Exit codes:  0 at the end of the plan, after one period, or by a signal;\n\
                  \x20            1 if rows are lost at its end; 2 if the plan is wrong;\n\
                  \x20            4 if the policy is not possible here;\n\
                  \x20            6 if another experiment has the machine (with --once)"
)]
pub struct Arguments {
    /// The plan, a TOML file; read again at each check
    #[arg(value_name = "PLAN")]
    plan: PathBuf,

    /// Name of this unit [default: the host's name]
    #[arg(long, value_name = "NAME")]
    unit: Option<String>,

    /// Stratum of this unit [default: as the plan says]
    #[arg(long, value_name = "NAME")]
    stratum: Option<String>,

    /// Folder of the rows
    #[arg(long, value_name = "FOLDER", default_value = "/var/lib/hugewise/fleet")]
    out: PathBuf,

    /// Files of the rows: jsonl, one a period, or parquet, one an hour
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "jsonl",
        hide_possible_values = true
    )]
    rows: RowFiles,

    /// End after one period
    #[arg(long)]
    once: bool,

    /// With --once, wait for another experiment: at most TIME, or no
    #[arg(
        long,
        hide_short_help = true,
        value_name = "TIME|no",
        requires = "once",
        default_value = "no"
    )]
    wait: Wait,
}

/// An agent with its state across periods.
struct Agent {
    root: Root,
    unit: String,
    stratum: Option<String>,
    orders: Orders,
    rows: Rows,
    collector: Collector,
    latency: Latency,
    interrupt: Interrupt,
    /// The last message, so that it is not repeated.
    said: String,
    repeat: Repeat,
    wait: Wait,
}

/// Whether another period follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repeat {
    Once,
    Always,
}

/// Runs it.
pub(super) fn run(arguments: &Arguments) -> Result<Exit> {
    let root = Root::real();
    let unit = match &arguments.unit {
        Some(unit) => unit.clone(),
        None => root.read_trimmed("proc/sys/kernel/hostname")?,
    };
    check_unit(&unit).map_err(exit::usage)?;
    let orders = Orders::begin(&arguments.plan, &unit, &arguments.out)?;
    check_kind(orders.plan())?;
    let mut agent = Agent {
        stratum: arguments.stratum.clone(),
        orders,
        rows: Rows::new(&arguments.out, &unit, arguments.rows)?,
        unit,
        collector: Collector::new(root.clone()),
        latency: Latency::default(),
        root,
        interrupt: Interrupt::catch()?,
        said: String::new(),
        repeat: match arguments.once {
            true => Repeat::Once,
            false => Repeat::Always,
        },
        wait: arguments.wait,
    };
    agent.work()?;
    agent.rows.close()?;
    Ok(Exit::Done)
}

/// A service, a start or a pod shares its host with others, so it cannot have the host's settings as its arm.
fn check_kind(plan: &Plan) -> Result<()> {
    match plan.unit {
        UnitKind::Host => Ok(()),
        kind => Err(exit::usage(format!(
            "the units of {} are no hosts: start each {kind} by `hugewise exec --policy \
             \"$(hugewise fleet assign PLAN UNIT --format policy)\" -- COMMAND`",
            plan.name
        ))),
    }
}

impl Agent {
    fn work(&mut self) -> Result<()> {
        while !self.interrupt.asked() {
            left_over::put_back(&self.root)?;
            match self.orders.next() {
                Order::Over => {
                    self.say("the plan is over: nothing is changed any more".to_owned());
                    return Ok(());
                }
                Order::Nothing(reason) => {
                    self.say(format!("{}: nothing is changed: {reason}", self.unit));
                    if self.repeat == Repeat::Once {
                        return Ok(());
                    }
                    self.interrupt.wait(LOOK.min(self.orders.plan().lease));
                }
                Order::Do(task) => {
                    let done = self.carry_out(*task);
                    self.settle(done)?;
                }
            }
            if self.repeat == Repeat::Once && !self.rows.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Waits for another experiment that has the machine; a signal ends the wait.
    fn settle(&mut self, done: Result<()>) -> Result<()> {
        match done {
            Err(error) if exit::of(&error) == Exit::Busy && self.repeat == Repeat::Always => {
                self.say(format!("waiting: {error}"));
                self.interrupt.wait(LOOK);
                Ok(())
            }
            other => other,
        }
    }

    /// Prints a message, unless it repeats the last one.
    fn say(&mut self, what: String) {
        if what != self.said {
            message(&what);
            self.said = what;
        }
    }

    fn stratum(&self, plan: &Plan, host: &Host) -> String {
        let named = self.stratum.clone();
        named.unwrap_or_else(|| stratum::of_host(plan, host))
    }

    fn host(&self) -> Result<Host> {
        paths::host(&self.root)
    }
}

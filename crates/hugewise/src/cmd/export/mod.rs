//! `hugewise export`: exports the machine's huge page state to Prometheus and similar systems.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::export::Collector;
use hugewise_monitor::export::GroupRule;
use hugewise_monitor::export::exposition::{Format, text};

use crate::exit::Exit;
use crate::http::Endpoint;
use crate::interrupt::Interrupt;
use crate::options::parse_interval;
use crate::output;

mod durations;
mod experiments;
mod groups;
#[cfg(not(feature = "fleet"))]
mod no_arm;
mod otlp;
mod sampler;
mod server;
mod sources;
mod textfile;

use sampler::Sampler;
use sources::Sources;
use textfile::TextFile;

/// Flags of `export`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Serve /metrics here
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9974")]
    listen: SocketAddr,

    /// Write DIR/hugewise.prom instead (textfile collector)
    ///
    /// `node_exporter --collector.textfile.directory DIR` reads it.
    #[arg(long, value_name = "DIR", group = "sent", conflicts_with = "listen")]
    textfile: Option<PathBuf>,

    /// Push to the OpenTelemetry collector at URL instead, e.g. http://localhost:4318
    #[arg(long, value_name = "URL", group = "sent", conflicts_with = "listen", value_parser = otlp::endpoint)]
    otlp: Option<Endpoint>,

    /// How often the file is written, or a sample pushed
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = parse_interval, requires = "sent")]
    interval: Duration,

    /// Also give the memory of processes by name, and why it is small, e.g. web=nginx*
    ///
    /// Inspecting processes takes at most 1 % of one processor, and each is inspected at most once a minute. Repeat for
    /// more groups, at most 10; a process belongs to the first that fits.
    #[arg(long = "group", value_name = "NAME=PATTERN")]
    groups: Vec<GroupRule>,

    /// Also give the memory of cgroups whose path fits, e.g. '/system.slice/*'
    ///
    /// Repeat for more. More than 50 cgroups share one series, `other`.
    #[arg(long = "cgroup", value_name = "PATTERN")]
    cgroups: Vec<String>,

    /// Also give how long faults and stalls take, as histograms (BPF)
    #[arg(long)]
    durations: bool,

    /// Also give the effects in the newest 10 records of DIR
    #[arg(long, value_name = "DIR")]
    records: Option<PathBuf>,

    /// Also give the arm of this host under PLAN
    #[arg(long, value_name = "PLAN")]
    fleet: Option<PathBuf>,

    /// This unit's name in PLAN [default: host name]
    #[arg(long, value_name = "NAME", requires = "fleet")]
    unit: Option<String>,

    /// Print, write or push one sample, and end
    #[arg(long)]
    once: bool,

    /// Export a frozen machine instead of this one
    #[arg(long, hide = true, value_name = "DIR")]
    host: Option<PathBuf>,
}

/// Runs the verb.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    let root = arguments.host.clone().map_or_else(Root::real, Root::at);
    let file = arguments.textfile.as_deref().map(TextFile::open);
    let file = file.transpose()?;
    let sources = Sources::begin(&root, arguments)?;
    let sampler = Sampler::begin(Collector::new(root), sources)?;
    let every = arguments.interval;
    match (&file, &arguments.otlp, arguments.once) {
        (Some(file), _, true) => file.write(&sampler.first())?,
        (Some(file), _, false) => file.keep(every, &sampler, &Interrupt::catch()?)?,
        (None, Some(endpoint), true) => otlp::push(endpoint, &sampler.first())?,
        (None, Some(endpoint), false) => {
            otlp::keep(endpoint, every, &sampler, &Interrupt::catch()?);
        }
        (None, None, true) => output::print(&text(&sampler.first(), Format::Prometheus))?,
        (None, None, false) => server::serve(arguments.listen, sampler, &Interrupt::catch()?)?,
    }
    Ok(Exit::Done)
}

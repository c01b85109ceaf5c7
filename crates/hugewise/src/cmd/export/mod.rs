//! `hugewise export`: the huge page state of the machine for Prometheus and its kin.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use hugewise_linux::machine::root::Root;
use hugewise_linux::observe::export::Collector;
use hugewise_model::observe::export::exposition::{Format, text};
use hugewise_model::observe::export::{MachineSample, families};

use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::options::parse_interval;
use crate::output;

mod server;
mod textfile;

/// Scrapes that come faster are answered with the same sample.
const FRESH: Duration = Duration::from_secs(1);

/// Flags of `export`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Answer scrapes of /metrics here
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9974")]
    listen: SocketAddr,

    /// Write DIR/hugewise.prom instead, for the textfile collector of `node_exporter`
    #[arg(long, value_name = "DIR", conflicts_with = "listen")]
    textfile: Option<PathBuf>,

    /// How often the file is written
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = parse_interval, requires = "textfile")]
    interval: Duration,

    /// Print one sample, or write the file once, and end
    #[arg(long)]
    once: bool,

    /// Export a frozen machine instead of this one
    #[arg(long, hide = true, value_name = "DIR")]
    host: Option<PathBuf>,
}

/// Runs the verb.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    let root = arguments.host.clone().map_or_else(Root::real, Root::at);
    let exporter = Exporter::new(Collector::new(root));
    match (&arguments.textfile, arguments.once) {
        (Some(folder), true) => textfile::write(folder, &exporter)?,
        (None, true) => output::print(&exporter.text(Format::Prometheus))?,
        (Some(folder), false) => {
            textfile::keep(folder, arguments.interval, &exporter, &Interrupt::catch()?)?;
        }
        (None, false) => server::serve(arguments.listen, exporter, &Interrupt::catch()?)?,
    }
    Ok(Exit::Done)
}

/// Samples of this machine, as text.
#[derive(Debug)]
struct Exporter {
    collector: Collector,
    last: Mutex<Option<(Instant, MachineSample)>>,
}

impl Exporter {
    fn new(collector: Collector) -> Self {
        Self {
            collector,
            last: Mutex::default(),
        }
    }

    fn text(&self, format: Format) -> String {
        text(&families(&self.sample()), format)
    }

    /// A new sample, or the last one while it is fresh.
    fn sample(&self) -> MachineSample {
        let mut last = match self.last.lock() {
            Ok(last) => last,
            // Whoever panicked left a whole sample, or none.
            Err(poisoned) => poisoned.into_inner(),
        };
        match &*last {
            Some((taken, sample)) if taken.elapsed() < FRESH => sample.clone(),
            _ => {
                let sample = self.collector.sample();
                *last = Some((Instant::now(), sample.clone()));
                sample
            }
        }
    }
}

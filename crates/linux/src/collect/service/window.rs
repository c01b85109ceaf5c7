//! The time of the load, and the readings in it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hugewise_base::missing::Missing;
use hugewise_experiment::run::timeline::TrialSeconds;
use hugewise_experiment::run::trial::Outcome;

use super::service_trial::Life;
use super::{Attempt, Halt, Server, Step, go};
use crate::collect::account::Account;
use crate::collect::counts::{TrialCounters, TrialCounts};
use crate::collect::machine::Machine;
use crate::collect::read_back;
use crate::collect::sampler::{Sampler, TrialSamples};
use crate::collect::stacks::{Stacks, read_stacks};
use crate::collect::stalls::Seconds;
use crate::collect::ticker::Ticker;
use crate::machine::clock::unix_ms;
use crate::observe::stat::usage::{UsageObserver, UsageScope};
use crate::perf::count::CountScope;
use crate::proc::pid_stat::ResourceUsage;
use crate::proc::stat::ticks_per_second;
use crate::proc::tree::read_threads;
use crate::spawn::{self, CapturedOutput, End, ExitReading, ExitRequest, Launch, Usage};

/// Readings during the load.
pub(super) struct Window<'a> {
    /// The server's main process.
    pub(super) main: u32,
    pub(super) started_unix_ms: u64,
    pub(super) ready: Duration,
    pub(super) load: End,
    /// Processor time of the servers of other policies, in nanoseconds.
    pub(super) other_servers_ns: u64,
    pub(super) printed: CapturedOutput,
    pub(super) counted: TrialCounts<'a>,
    pub(super) before: Machine,
    pub(super) after: Machine,
    pub(super) stalls: Seconds,
    pub(super) files_before: BTreeMap<String, String>,
    pub(super) files_after: BTreeMap<String, String>,
    pub(super) samples: TrialSamples,
    pub(super) seen: TrialSeconds,
    pub(super) stacks: Result<Stacks, Missing>,
    used: ResourceUsage,
    exit: Result<ExitReading, Missing>,
}

impl Window<'_> {
    /// Returns the account of the server's tree during the load. Its peak covers its whole life.
    pub(super) fn account(&self, life: &Life) -> Account {
        let ns = |ticks: u64| ticks.saturating_mul(1_000_000_000 / ticks_per_second());
        Account {
            wall_ns: self.load.wall_ns,
            usage: Usage {
                user_ns: ns(self.used.user_ticks),
                system_ns: ns(self.used.system_ticks),
                minor_faults: self.used.minor_faults,
                major_faults: self.used.major_faults,
                voluntary_switches: 0,
                involuntary_switches: 0,
                peak_rss_bytes: life.peak_rss_bytes,
            },
            switches: Err(Missing::NotCounted {
                obstacle:
                    "the kernel adds the switches of ended threads only when the service ends"
                        .to_owned(),
            }),
            floor_bytes: life.floor_bytes,
            exit: self.exit.clone(),
            aside_cpu_ns: self.load.usage.cpu_ns()
                + self.load.keeper_cpu_ns
                + self.other_servers_ns,
        }
    }
}

impl<'a> Attempt<'a> {
    /// Runs the load, and reads the server's tree before, during and after it.
    pub(super) fn window(
        &self,
        server: &mut Server,
        mut sampler: Sampler<'_>,
        sizes: &[u64],
        question: &ExitRequest,
        ready: Duration,
    ) -> Step<Window<'a>> {
        let launch = Launch {
            timeout: self.service.load.timeout,
            ..self.beside(&self.service.plan.load, self.service.load.output)
        };
        // Prepared beforehand, so that the preparation is not in the readings.
        let load = go!(self.prepare(&launch));
        let keeper = server.running.keeper();
        let below = UsageScope::Below(keeper);
        let files_before = read_back::files(self.root, self.watch.files);
        let target = CountScope::Tasks(read_threads(self.root, &below.processes(self.root)));
        let counters = TrialCounters::attach(self.root, self.watch.counting, &target);
        let before = Machine::read(self.root, sizes);
        let mut usage = UsageObserver::begin(self.root, below);
        sampler.begin(Instant::now());
        sampler.take(keeper);
        if let Some(stalls) = self.watch.stalls {
            stalls.borrow_mut().begin(keeper)?;
        }
        let started_unix_ms = unix_ms();
        let mut ticker = Ticker::begin(self.root, keeper, self.host.page_bytes, self.watch.stalls)?;
        let mut load = load.release()?;
        sampler.load_begins();
        let finished = self.finish(&mut load, server, |server| {
            if sampler.until_due().is_zero() {
                sampler.take(server.running.keeper());
            }
            if ticker.until_due().is_zero() {
                ticker.look(&sampler);
            }
            sampler.until_due().min(ticker.until_due())
        })?;
        sampler.load_ended();
        let seen = ticker.finish(&sampler)?;
        // Also after a failed load: the next trial begins with a new window.
        let stalls = match self.watch.stalls {
            Some(stalls) => stalls.borrow_mut().end()?,
            None => Seconds::default(),
        };
        let counted = counters.finish();
        let used = usage.growth();
        let after = Machine::read(self.root, sizes);
        let end = match finished {
            Ok(end) => end,
            Err(halt) => return Ok(Err(halt)),
        };
        let printed = load.into_printed();
        if end.outcome != (Outcome::Exited { code: 0 }) {
            let halt = self.failure("the load", &end, printed, server)?;
            return Ok(Err(halt));
        }
        sampler.take(keeper);
        let exit = spawn::read_living(server.main, question);
        let stacks = read_stacks(self.root, server.main);
        let last = exit.as_ref().ok().and_then(|exit| exit.rollup.clone().ok());
        let samples = sampler.finish(Duration::from_nanos(end.wall_ns), last);
        let Some(used) = used.filter(|_| !server.has_ended(Duration::ZERO).unwrap_or(true)) else {
            let how = server.how();
            return Ok(Err(Halt::service(format!(
                "the service ended under load: {how}"
            ))));
        };
        Ok(Ok(Window {
            main: server.main,
            started_unix_ms,
            ready,
            load: end,
            other_servers_ns: 0,
            printed,
            counted,
            before,
            after,
            stalls,
            files_before,
            files_after: read_back::files(self.root, self.watch.files),
            samples,
            seen,
            stacks,
            used,
            exit,
        }))
    }
}

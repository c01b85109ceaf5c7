//! Builds the observation of a trial from the server and its load.

use std::collections::BTreeMap;

use hugewise_base::host::ThpDisable;
use hugewise_base::missing::Missing;
use hugewise_experiment::run::trial::{Outcome, Party, ReadBack, Tracing, TrialCgroup};

use super::window::Window;
use super::{Attempt, Halt, Server, ServerEnd, ServiceObservation};
use crate::collect::readings::Evidence;
use crate::collect::service_evidence::ServiceEvidence;
use crate::collect::{TAIL, TrialObservation, marks, read_back};
use crate::machine::root::Root;
use crate::proc::status::read_status;
use crate::proc::tree::read_descendants;
use crate::spawn::{CapturedOutput, End, TreeCgroup};

/// The life of a server until its last reading.
#[derive(Clone, Debug)]
pub(super) struct Life {
    /// The largest resident set of a process of its tree.
    pub(super) peak_rss_bytes: u64,
    /// Peaks up to this many bytes are not its own.
    pub(super) floor_bytes: u64,
    survivors: u32,
    /// The policy as read before the server was released.
    thp_disable: Option<ThpDisable>,
    numa: Option<String>,
    tmpfs: Option<String>,
    tracing: Option<Tracing>,
    cgroup_peak: Result<u64, Missing>,
    cgroup: Option<TrialCgroup>,
}

impl Life {
    /// The life of a server that has ended.
    fn ended(server: &Server, end: &End) -> Self {
        Self {
            peak_rss_bytes: end.usage.peak_rss_bytes,
            floor_bytes: end.floor_bytes,
            survivors: end.survivors,
            tracing: end.tracing.clone(),
            ..Self::of(server)
        }
    }

    /// The parts that do not depend on its end.
    fn of(server: &Server) -> Self {
        let cgroup = server.cgroup.as_ref();
        Self {
            peak_rss_bytes: 0,
            floor_bytes: 0,
            survivors: 0,
            thp_disable: server.thp_disable,
            numa: server.numa.clone(),
            tmpfs: server.tmpfs.clone(),
            tracing: None,
            cgroup: cgroup.ok().and_then(TreeCgroup::read_back),
            cgroup_peak: cgroup
                .map_err(Clone::clone)
                .and_then(TreeCgroup::peak_bytes),
        }
    }

    /// The life of a live server so far: nothing is known of its ended processes.
    fn so_far(root: &Root, server: &Server) -> Self {
        let processes = read_descendants(root, server.running.keeper());
        let peaks = processes
            .iter()
            .filter_map(|&pid| read_status(root, pid).ok()?.peak_rss_bytes);
        Self {
            peak_rss_bytes: peaks.max().unwrap_or(0),
            ..Self::of(server)
        }
    }
}

impl Attempt<'_> {
    /// Builds the observation for one load of a live server.
    pub(super) fn observed_window(
        &self,
        server: &Server,
        driven: Result<Window<'_>, Halt>,
        sizes: &[u64],
    ) -> TrialObservation {
        let mut served = ServiceObservation {
            log: server.running.log_so_far(usize::MAX),
            ended: ServerEnd::Lives,
            seen: None,
        };
        let mut observed = match driven {
            Ok(mut window) => {
                served.seen = Some(std::mem::take(&mut window.seen));
                let life = Life::so_far(self.root, server);
                self.measured(window, life, sizes)
            }
            Err(halt) => self.halted(halt, Some(&served)),
        };
        observed.served = Some(served);
        observed
    }

    /// Builds the observation for the whole life of a stopped server.
    pub(super) fn observed(
        &self,
        server: Server,
        driven: Result<Window<'_>, Halt>,
        ended: ServerEnd,
        sizes: &[u64],
    ) -> TrialObservation {
        // Its cgroup is removed when its output is taken.
        let life = server.over.as_ref().map(|end| Life::ended(&server, end));
        let log = server.running.into_printed().stderr_tail;
        let mut served = ServiceObservation {
            log,
            ended,
            seen: None,
        };
        let mut observed = match (driven, life) {
            (Ok(mut window), Some(life)) => {
                served.seen = Some(std::mem::take(&mut window.seen));
                self.measured(window, life, sizes)
            }
            (Ok(_), None) => self.halted(Halt::Interrupted, Some(&served)),
            (Err(halt), _) => self.halted(halt, Some(&served)),
        };
        observed.served = Some(served);
        observed
    }

    pub(super) fn halted(
        &self,
        halt: Halt,
        served: Option<&ServiceObservation>,
    ) -> TrialObservation {
        let (outcome, load_tail) = match halt {
            Halt::Failed(outcome, tail) => (outcome, tail),
            Halt::Interrupted => (
                Outcome::Signalled {
                    signal: libc::SIGKILL,
                },
                Vec::new(),
            ),
        };
        let of_load = matches!(
            outcome,
            Outcome::ServiceFailed {
                party: Party::Load,
                ..
            }
        );
        let tail = match served {
            Some(served) if !of_load => last(&served.log, TAIL).to_vec(),
            _ => load_tail,
        };
        TrialObservation {
            stderr_tail: tail,
            interrupted: self.interrupted(),
            ..TrialObservation::not_run(outcome)
        }
    }

    fn measured(&self, window: Window<'_>, life: Life, sizes: &[u64]) -> TrialObservation {
        let account = window.account(&life);
        let samples = &window.samples;
        let driven = ServiceEvidence {
            ready: window.ready,
            load_cpu_ns: window.load.usage.cpu_ns(),
            other_servers_ns: window.other_servers_ns,
            stacks: window.stacks.clone(),
        };
        let evidence = Evidence {
            host: self.host,
            account: &account,
            samples,
            counted: &window.counted,
            before: &window.before,
            after: &window.after,
            cgroup_peak: life.cgroup_peak,
            stalls: &window.stalls,
            driven: Some(driven),
        };
        let tree = (samples.looks).at_end(window.main, account.exit.as_ref().ok());
        let read_back = ReadBack {
            files: window.files_before.clone(),
            thp_disable: life.thp_disable,
            numa: life.numa,
            tmpfs: life.tmpfs,
            file_cache: None,
            cgroup: life.cgroup,
            runtimes: BTreeMap::new(),
            switched: Vec::new(),
            allocator: read_back::allocator(self.watch.expected, tree.as_ref()),
            library: read_back::library(self.watch.expected, tree.as_ref()),
            tracing: life.tracing.clone(),
            tree,
        };
        let expected = self.watch.expected;
        let CapturedOutput {
            stdout,
            stderr_tail,
        } = window.printed;
        TrialObservation {
            started_unix_ms: window.started_unix_ms,
            marks: marks(&evidence.circumstances(expected, &read_back, &window.files_after)),
            readings: evidence.readings(sizes),
            outcome: window.load.outcome.clone(),
            stderr_tail,
            output: stdout,
            read_back,
            outlived: 0,
            survivors: life.survivors + window.load.survivors,
            interrupted: self.interrupted(),
            served: None,
        }
    }
}

/// Returns the last bytes.
pub(super) fn last(bytes: &[u8], most: usize) -> &[u8] {
    &bytes[bytes.len().saturating_sub(most)..]
}

//! The observation of a trial, from the server and its load.

use std::collections::BTreeMap;

use hugewise_model::base::host::ThpDisable;
use hugewise_model::base::missing::Missing;
use hugewise_model::run::trial::{Outcome, Party, ReadBack};

use super::window::Window;
use super::{Attempt, Halt, Server, ServerEnd, ServiceObservation};
use crate::collect::readings::Evidence;
use crate::collect::service_evidence::ServiceEvidence;
use crate::collect::{TAIL, TrialObservation, marks, read_back};
use crate::spawn::{CapturedOutput, End};

impl Attempt<'_> {
    pub(super) fn observed(
        &self,
        server: Server,
        driven: Result<Window<'_>, Halt>,
        ended: ServerEnd,
        sizes: &[u64],
    ) -> TrialObservation {
        let Server {
            running,
            over,
            group,
            thp_disable,
            ..
        } = server;
        let log = running.into_printed().stderr_tail;
        let mut served = ServiceObservation {
            log,
            ended,
            seen: None,
        };
        let mut observed = match (driven, over) {
            (Ok(mut window), Some(end)) => {
                served.seen = Some(std::mem::take(&mut window.seen));
                let peak = group.and_then(|group| group.peak_bytes());
                self.measured(window, &end, peak, thp_disable, sizes)
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

    fn measured(
        &self,
        window: Window<'_>,
        end: &End,
        cgroup_peak: Result<u64, Missing>,
        thp_disable: Option<ThpDisable>,
        sizes: &[u64],
    ) -> TrialObservation {
        let account = window.account(end);
        let samples = &window.samples;
        let driven = ServiceEvidence {
            ready: window.ready,
            load_cpu_ns: window.load.usage.cpu_ns(),
            stacks: window.stacks.clone(),
        };
        let evidence = Evidence {
            host: self.host,
            account: &account,
            samples,
            counted: &window.counted,
            before: &window.before,
            after: &window.after,
            cgroup_peak,
            stalls: &window.stalls,
            driven: Some(driven),
        };
        let tree = (samples.looks).at_end(window.main, account.exit.as_ref().ok());
        let read_back = ReadBack {
            files: window.files_before.clone(),
            thp_disable,
            runtimes: BTreeMap::new(),
            allocator: read_back::allocator(self.watch.expected, tree.as_ref()),
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
            survivors: end.survivors + window.load.survivors,
            interrupted: self.interrupted(),
            served: None,
        }
    }
}

/// The last bytes.
pub(super) fn last(bytes: &[u8], most: usize) -> &[u8] {
    &bytes[bytes.len().saturating_sub(most)..]
}

//! Counts the page walks of a process during another observation.

use std::time::Duration;

use hugewise_base::host::Host;
use hugewise_base::missing::{Fact, Missing};
use hugewise_observe::stat::{Target, WalkShare};

use super::plan::WantedEvents;
use super::subject::{CountedProcess, Subject};
use super::{Observation, StatRequest, WaitResult};
use crate::machine::root::Root;
use crate::perf::open::PerfOpen;

/// Counters of walks and their cycles, from the beginning of the observation. They count like an observation of one
/// interval: the process, its threads, and all that it starts.
#[derive(Debug)]
pub struct Walks<'a> {
    observation: Observation<'a>,
}

impl<'a> Walks<'a> {
    /// Opens the counters for `time`, within which every group gets its turns.
    #[must_use]
    pub fn begin(
        root: &'a Root,
        host: &Host,
        opener: &dyn PerfOpen,
        process: &CountedProcess,
        time: Duration,
    ) -> Self {
        let wanted = StatRequest {
            subject: Subject::Process(process.clone()),
            target: Target::Process {
                pid: process.pid,
                comm: process.comm.clone(),
            },
            interval: time,
            mode: None,
            events: WantedEvents::Walks,
            program: String::new(),
            verified: None,
        };
        Self {
            observation: Observation::begin(root, host, opener, &wanted),
        }
    }

    /// Returns the reason why nothing is counted.
    #[must_use]
    pub fn missing(&self) -> Option<&Missing> {
        self.observation.header().hardware.missing()
    }

    /// Waits for the full time, starting now, and returns the counts. `wait` waits for at most the time passed to it.
    pub fn finish(mut self, wait: impl FnMut(Duration) -> WaitResult) -> Fact<WalkShare> {
        self.observation.released();
        let (interval, _) = self.observation.next(wait);
        WalkShare::of(&self.observation.header().hardware, &interval)
    }
}

#[cfg(test)]
mod tests {
    use hugewise_observe::stat::Mode;

    use super::super::plan::plan;
    use super::*;
    use crate::machine::root::machine_of;
    use crate::perf::open::RawCount;
    use crate::perf::table::Table;
    use crate::probe::{Environment, answers_without_tracing};
    use crate::proc::pid_stat::line_of;

    const SKYLAKE: &str =
        "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t: 85\n";

    /// A machine with one single-threaded process.
    fn machine() -> (tempfile::TempDir, Root, CountedProcess) {
        let line = &line_of(7, "sleeper", 'R', &[(22, 100)]);
        let (folder, root) = machine_of(&[
            ("proc/cpuinfo", SKYLAKE),
            ("sys/bus/event_source/devices/cpu/type", "4\n"),
            ("proc/7/stat", line),
            ("proc/7/task/7/stat", line),
        ]);
        let process = CountedProcess::find(&root, 7).unwrap();
        (folder, root, process)
    }

    fn host(hypervisor: Option<&str>) -> Host {
        let root = Root::real();
        let answers = answers_without_tracing(&root, Environment::default()).unwrap();
        Host {
            hypervisor: hypervisor.map(str::to_owned),
            ..crate::probe::host(&root, &answers).unwrap()
        }
    }

    /// The six events of walks on Skylake share two counters in three groups. Each group counts a thousand cycles, and
    /// has the hardware for half of the time.
    fn shared(root: &Root) -> Table {
        let mut table = Table::with_counters(2);
        let planned = plan(root, &table, None, &WantedEvents::Walks).unwrap();
        assert_eq!(planned.turns(), 3);
        for event in planned.sources.iter().flat_map(|one| &one.groups).flatten() {
            let value = match event.kind.as_str() {
                "cycles" | "instructions" => 1000,
                "dtlb_load_walk_active" => 80,
                "dtlb_store_walk_active" => 10,
                "itlb_walk_active" => 9,
                _ => 1,
            };
            let says = RawCount {
                value,
                enabled_ns: 2000,
                running_ns: 1000,
            };
            table.says.insert(event.code, vec![says]);
        }
        table
    }

    /// Counts until each group has had its turn.
    fn counted(
        root: &Root,
        table: &Table,
        host: &Host,
        process: &CountedProcess,
    ) -> Fact<WalkShare> {
        let long = Duration::from_secs(3600);
        let mut turns = 0;
        Walks::begin(root, host, table, process, long).finish(|time| {
            std::thread::sleep(time);
            turns += 1;
            match turns {
                0..4 => WaitResult::Passed,
                _ => WaitResult::Over,
            }
        })
    }

    #[test]
    fn the_groups_of_few_counters_take_turns() {
        let (_folder, root, process) = machine();
        let share = counted(&root, &shared(&root), &host(None), &process).unwrap();
        assert!((share.at_most - 0.099).abs() < 1e-12, "{}", share.at_most);
        assert_eq!(
            (share.at_least, share.mode),
            (Some(0.08), Mode::UserAndKernel)
        );
        assert_eq!(share.counts.len(), 3 * 2 + 6);
    }

    #[test]
    fn a_turn_that_did_not_come_is_no_zero() {
        let (_folder, root, process) = machine();
        let walks = Walks::begin(
            &root,
            &host(None),
            &shared(&root),
            &process,
            Duration::from_secs(3600),
        );
        let why = walks.finish(|_| WaitResult::Over).unwrap_err();
        assert_eq!(why, Missing::NotItsTurn);
    }

    #[test]
    fn nested_paging_that_is_left_out_bounds_nothing() {
        let (_folder, root, process) = machine();
        let host = host(Some("KVM"));
        let why = counted(&root, &shared(&root), &host, &process).unwrap_err();
        assert!(why.to_string().contains("in a virtual machine"), "{why}");
    }

    #[test]
    fn what_is_refused_is_known_before_it_is_waited_for() {
        let (_folder, root, process) = machine();
        let refusing = Table {
            kernel_permitted: false,
            user_permitted: false,
            ..Table::with_counters(4)
        };
        let long = Duration::from_secs(3600);
        let walks = Walks::begin(&root, &host(None), &refusing, &process, long);
        assert!(matches!(
            walks.missing(),
            Some(Missing::NotPermitted { .. })
        ));
        let only_user = Table {
            user_permitted: true,
            ..refusing
        };
        let walks = Walks::begin(&root, &host(None), &only_user, &process, long);
        assert_eq!(walks.missing(), None);
    }
}

//! Hardware events in one trial.
//!
//! One group counts in each trial, from exec to the end and in all processes that the workload starts; the next round
//! counts the next group. So totals are exact, without scaling, and every policy of a round counts the same events.

use hugewise_base::host::Host;
use hugewise_base::missing::Missing;
use hugewise_experiment::run::metric::MetricId;
use hugewise_experiment::run::trial::Reading;
use hugewise_observe::stat::{Count, Tally, check_coverage, derive};

use crate::machine::root::Root;
use crate::observe::stat::plan::walk_cycles;
use crate::perf::count::{CountScope, Counters, Plan};
use crate::perf::open::KernelCounters;
use crate::probe::Grants;

/// The plan of counting, and the group of a trial.
#[derive(Clone, Copy, Debug)]
pub struct CountingPlan<'a> {
    /// The events that this machine can count, or why there are none.
    pub plan: Result<&'a Plan, &'a Missing>,
    /// The number of the round, which selects the group.
    pub round: u32,
}

type Value = Result<f64, Missing>;

/// The counters of a trial, from its beginning.
#[derive(Debug)]
pub(super) struct TrialCounters<'a> {
    plan: Result<&'a Plan, Missing>,
    counters: Option<Counters>,
}

impl<'a> TrialCounters<'a> {
    /// Opens the counters on the target of the trial.
    pub(super) fn attach(root: &Root, counting: CountingPlan<'a>, target: &CountScope) -> Self {
        let attached = counting.plan.map_err(Clone::clone).and_then(|plan| {
            let turn = usize::try_from(counting.round).unwrap_or(0);
            let grants = Grants::read(root);
            Counters::attach(&KernelCounters, plan.only(turn), target, &grants)
        });
        match attached {
            Ok(counters) => Self {
                plan: counting.plan.map_err(Clone::clone),
                counters: Some(counters),
            },
            Err(missing) => Self {
                plan: Err(missing),
                counters: None,
            },
        }
    }

    /// Returns the counts; to be called after the end of the workload.
    pub(super) fn finish(mut self) -> TrialCounts<'a> {
        let counters = self.counters.as_mut();
        TrialCounts {
            counts: counters.map(Counters::collect).unwrap_or_default(),
            plan: self.plan,
        }
    }

    /// Returns the counts of a command that used this much processor time since its exec.
    pub(super) fn finish_command(self, cpu_ns: u64) -> TrialCounts<'a> {
        let mut counted = self.finish();
        check_coverage(&mut counted.counts, cpu_ns);
        counted
    }
}

/// Counts of a trial.
#[derive(Clone, Debug)]
pub(super) struct TrialCounts<'a> {
    plan: Result<&'a Plan, Missing>,
    counts: Vec<Count>,
}

impl TrialCounts<'_> {
    /// Returns the page walks for data.
    pub(super) fn data_walks(&self) -> Value {
        let both = || Ok(self.total("dtlb_load_walks")? + self.total("dtlb_store_walks")?);
        match self.total("dtlb_walks") {
            Err(Missing::NotSupported { .. }) => both(),
            other => other,
        }
    }

    /// Returns the number of occurrences of an event in the whole trial.
    pub(super) fn total(&self, kind: &str) -> Value {
        let plan = self.plan.clone()?;
        let mut tallies = self.counts.iter().filter(|count| count.kind == kind);
        let first = tallies.next().ok_or_else(|| absent(plan, kind))?;
        let sum = tallies.fold(first.tally.clone(), |sum, more| sum.plus(&more.tally));
        match sum {
            Tally::Missing { missing } => Err(missing),
            // The time of the first counter is the total time; counters of several processor types share it.
            Tally::Counted {
                value, running_ns, ..
            } if whole(&first.tally, running_ns) => Ok(value as f64),
            Tally::Counted { .. } => Err(Missing::NeverScheduled),
        }
    }

    /// Returns the share of cycles with an active page walk for data.
    pub(super) fn data_walk_cycles(&self, host: &Host) -> Value {
        self.walk_cycles(MetricId::DataWalkCyclesRatio, &["dtlb", "dtlb_load"], host)
    }

    /// Returns the share of cycles with an active page walk for code.
    pub(super) fn code_walk_cycles(&self, host: &Host) -> Value {
        self.walk_cycles(MetricId::CodeWalkCyclesRatio, &["itlb"], host)
    }

    /// Computes the share within the group, so that it is also valid for part of the time.
    fn walk_cycles(&self, id: MetricId, sides: &[&str], host: &Host) -> Value {
        let plan = self.plan.clone()?;
        walk_cycles(plan, host).bound()?;
        match derive(&self.counts, None).remove(id.name()) {
            Some(Reading::Value { value }) => Ok(value),
            Some(Reading::Missing {
                missing: Missing::NotSupported { what },
            }) => Err(if waits(plan, sides) {
                Missing::NotItsTurn
            } else {
                Missing::NotSupported { what }
            }),
            Some(Reading::Missing { missing }) => Err(missing),
            _ => Err(Missing::NotAsked),
        }
    }
}

/// Returns true if another round counts the cycles of these walks.
fn waits(plan: &Plan, sides: &[&str]) -> bool {
    let kinds = sides
        .iter()
        .flat_map(|side| ["active", "pending"].map(|what| format!("{side}_walk_{what}")));
    kinds.into_iter().any(|kind| holds(plan, &kind))
}

fn holds(plan: &Plan, kind: &str) -> bool {
    let groups = plan.sources.iter().flat_map(|source| &source.groups);
    groups.flatten().any(|event| event.kind == kind)
}

fn absent(plan: &Plan, kind: &str) -> Missing {
    if holds(plan, kind) {
        return Missing::NotItsTurn;
    }
    Missing::NotSupported {
        what: format!("an event for {kind}"),
    }
}

/// Returns true if a counter ran at least 99 % of its enabled time: a multiplexed counter has seen only a part.
fn whole(first: &Tally, running_ns: u64) -> bool {
    match first {
        Tally::Counted { enabled_ns, .. } => {
            running_ns as f64 >= 0.99 * *enabled_ns as f64 && running_ns > 0
        }
        Tally::Missing { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use hugewise_observe::stat::Mode;
    use hugewise_observe::stat::kind::CYCLES;

    use super::*;
    use crate::perf::count::SourceGroups;
    use crate::perf::fit::{Chosen, Permitted};
    use crate::perf::open::{Code, Guests, HARDWARE};

    fn plan(groups: &[&[&str]]) -> Plan {
        let event = |kind: &&str| Chosen {
            kind: (*kind).to_owned(),
            event: kind.to_uppercase(),
            code: Code {
                source: HARDWARE,
                config: 0,
            },
        };
        let groups = groups.iter().map(|group| group.iter().map(event).collect());
        Plan {
            permitted: Permitted {
                mode: Mode::UserAndKernel,
                guests: Guests::Excluded,
            },
            sources: vec![SourceGroups {
                name: "cpu".to_owned(),
                family: Some("zen4".to_owned()),
                groups: groups.collect(),
            }],
            refused: Vec::new(),
        }
    }

    fn count(kind: &str, value: u64, running_ns: u64) -> Count {
        Count {
            kind: kind.to_owned(),
            event: kind.to_uppercase(),
            pmu: "cpu".to_owned(),
            group: 0,
            tally: Tally::Counted {
                value,
                enabled_ns: 1000,
                running_ns,
            },
        }
    }

    fn counted<'a>(plan: &'a Plan, counts: Vec<Count>) -> TrialCounts<'a> {
        TrialCounts {
            plan: Ok(plan),
            counts,
        }
    }

    #[test]
    fn totals_are_whole_or_missing() {
        let plan = plan(&[&[CYCLES, "dtlb_load_walks", "dtlb_store_walks"]]);
        let all = counted(
            &plan,
            vec![
                count(CYCLES, 10, 1000),
                count("dtlb_load_walks", 3, 1000),
                count("dtlb_store_walks", 4, 1000),
            ],
        );
        assert_eq!(all.total(CYCLES), Ok(10.0));
        assert_eq!(all.data_walks(), Ok(7.0));
        let shared = counted(&plan, vec![count(CYCLES, 5, 500)]);
        assert_eq!(shared.total(CYCLES), Err(Missing::NeverScheduled));
        let never = counted(&plan, vec![count(CYCLES, 0, 0)]);
        assert_eq!(never.total(CYCLES), Err(Missing::NeverScheduled));
    }

    #[test]
    fn sorts_of_processors_share_the_time() {
        let plan = plan(&[&[CYCLES]]);
        let mut atom = count(CYCLES, 2, 400);
        atom.pmu = "cpu_atom".to_owned();
        let both = counted(&plan, vec![count(CYCLES, 3, 600), atom]);
        assert_eq!(both.total(CYCLES), Ok(5.0));
    }

    #[test]
    fn what_another_round_counts_is_not_absent() {
        let plan = plan(&[&[CYCLES], &[CYCLES, "itlb_walks"]]);
        let first = counted(&plan, vec![count(CYCLES, 1, 1000)]);
        assert_eq!(first.total("itlb_walks"), Err(Missing::NotItsTurn));
        let why = first.total("dtlb_walks").unwrap_err();
        assert_eq!(
            why.to_string(),
            "not on this machine: an event for dtlb_walks"
        );
    }
}

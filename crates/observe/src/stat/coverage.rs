//! The part of a command's work seen by its counters.

use std::collections::BTreeMap;

use hugewise_base::missing::Missing;

use super::{Count, Tally};

/// Less CPU time is not conclusive, because the counters begin at the exec.
const ENOUGH_NS: u64 = 20_000_000;
/// The minimum share of CPU time for which counters are enabled if they missed no program.
const LEAST: f64 = 0.5;

/// Replaces the counts of a command by a reason if its counters were enabled for less than half of its CPU time. The
/// kernel disables events at the exec of a program with more privileges than its caller, or one that its caller must
/// not read.
pub fn check_coverage(counts: &mut [Count], cpu_ns: u64) {
    let mut enabled: BTreeMap<&str, BTreeMap<u32, u64>> = BTreeMap::new();
    for count in counts.iter() {
        if let Tally::Counted { enabled_ns, .. } = count.tally {
            // The events of a group count at the same time, and the groups one after the other.
            enabled
                .entry(&count.pmu)
                .or_default()
                .insert(count.group, enabled_ns);
        }
    }
    let longest = enabled
        .values()
        .map(|groups| groups.values().sum::<u64>())
        .max();
    let is_seen = |longest: u64| longest as f64 >= LEAST * cpu_ns as f64;
    if cpu_ns < ENOUGH_NS || longest.is_none_or(is_seen) {
        return;
    }
    for count in counts {
        count.tally = Tally::Missing {
            missing: Missing::NotCounted {
                obstacle: "the kernel takes perf events away from set-user-ID, set-group-ID and \
                           unreadable programs, and those with file capabilities"
                    .to_owned(),
            },
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn count(group: u32, enabled_ns: u64) -> Count {
        Count {
            kind: "cycles".to_owned(),
            event: "CYCLES".to_owned(),
            pmu: "cpu".to_owned(),
            group,
            tally: Tally::Counted {
                value: 9,
                enabled_ns,
                running_ns: enabled_ns,
            },
        }
    }

    fn is_kept(mut counts: Vec<Count>, cpu_ns: u64) -> bool {
        let before = counts.clone();
        check_coverage(&mut counts, cpu_ns);
        counts == before
    }

    #[test]
    fn counters_that_missed_a_program_have_no_value() {
        let mut lost = vec![count(0, 3 * MS), count(0, 3 * MS)];
        assert!(!is_kept(lost.clone(), 400 * MS));
        check_coverage(&mut lost, 400 * MS);
        assert!(
            lost.iter()
                .all(|count| matches!(count.tally, Tally::Missing { .. }))
        );
    }

    #[test]
    fn turns_of_groups_are_added_up_and_short_commands_are_left_alone() {
        assert!(is_kept(
            vec![count(0, 210 * MS), count(1, 180 * MS)],
            400 * MS
        ));
        assert!(is_kept(vec![count(0, MS)], 19 * MS));
        assert!(is_kept(Vec::new(), 400 * MS));
    }
}

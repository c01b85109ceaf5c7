//! Whether the flags ask what huge pages do to a command, and for nothing else.

use super::{Limits, Options};

impl Options {
    /// Returns true if no flag names a policy, a metric, a hook or anything else that only whole runs have.
    pub fn is_general(&self) -> bool {
        let Self {
            policy,
            matrix,
            program,
            baseline,
            system,
            fragment,
            host_memory,
            precision,
            min_rounds,
            limits: Limits { max_rounds, .. },
            preset,
            warmup,
            setup,
            prepare,
            conclude,
            cleanup,
            ignore_failure,
            output,
            timeout,
            exit_hold,
            own_cgroup,
            counters,
            server,
            stalls,
            metric,
            latency,
            judge_by,
            demands,
            // These mean the same inside runs.
            threshold: _,
            wait: _,
            seed: _,
            shell: _,
            stdin: _,
            directory: _,
            command: _,
        } = self;
        let chooses = !policy.is_empty()
            || !matrix.is_empty()
            || !program.is_empty()
            || baseline.is_some()
            || *system
            || fragment.is_some()
            || host_memory.is_some();
        let counts = [
            precision.is_some(),
            min_rounds.is_some(),
            max_rounds.is_some(),
        ];
        let counts = counts.contains(&true) || preset.is_some() || warmup.is_some();
        let hooks = [setup, prepare, conclude, cleanup];
        let surrounds = hooks.iter().any(|it| it.is_some())
            || *ignore_failure
            || output.is_some()
            || timeout.is_some()
            || own_cgroup.is_some()
            || server.service.is_some();
        let observes = [exit_hold.is_some(), counters.is_some(), stalls.is_some()];
        let judges = !metric.is_empty()
            || latency.is_some()
            || judge_by.is_some()
            || !demands.fail_if.is_empty();
        !(chooses || counts || surrounds || observes.contains(&true) || judges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Switch;

    #[test]
    fn a_flag_that_only_whole_runs_have_asks_for_them() {
        let plain = || Options {
            command: vec!["xz".into()],
            seed: Some(1),
            threshold: Some(0.02),
            ..Options::default()
        };
        assert!(plain().is_general());
        let others = [
            Options {
                policy: vec!["thp=never".parse().expect("a policy")],
                ..plain()
            },
            Options {
                system: true,
                ..plain()
            },
            Options {
                prepare: Some("sync".to_owned()),
                ..plain()
            },
            Options {
                limits: Limits {
                    max_rounds: Some(5),
                    ..Limits::default()
                },
                ..plain()
            },
            Options {
                counters: Some(Switch::Off),
                ..plain()
            },
        ];
        for other in others {
            assert!(!other.is_general(), "{other:?}");
        }
    }
}

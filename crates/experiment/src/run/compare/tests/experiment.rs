//! Experiments made by hand.

use std::collections::BTreeMap;

use crate::run::compare::*;
use crate::run::metric::Better;
use crate::run::plan::{Blocks, Bounds, HostMemory, JudgeBy, Plan, PrintedMetric, Slot};
use crate::run::policy::{Policy, Settings, Thp};
use crate::run::record::{Header, Record};
use crate::run::trial::{Outcome, ReadBack, Reading, Readings, Trial};
use crate::test_host::host;

pub(super) const MIB: f64 = 1_048_576.0;

pub(super) fn policy(name: &str, thp: Option<Thp>) -> Policy {
    let settings = Settings {
        thp,
        ..Settings::default()
    };
    Policy {
        name: name.to_owned(),
        settings,
    }
}

/// Policies `never` (the baseline), `always` and `again`, whose settings are the baseline's.
pub(super) fn plan() -> Plan {
    Plan {
        command: vec!["true".to_owned()],
        shell: false,
        programs: Vec::new(),
        policies: vec![
            policy("never", Some(Thp::Never)),
            policy("always", Some(Thp::Always)),
            policy("again", Some(Thp::Never)),
        ],
        not_tried: None,
        baseline: "never".to_owned(),
        seed: 7,
        bounds: Bounds {
            threshold: 0.01,
            precision: None,
            warmup_rounds: 0,
            min_rounds: 10,
            max_rounds: 40,
            max_time: None,
            least_rounds: None,
        },
        verdict_metric: "wall_seconds".to_owned(),
        judge_by: JudgeBy::Shape,
        latency: None,
        printed: vec![PrintedMetric {
            name: "ops".to_owned(),
            pattern: "([0-9]+) ops".to_owned(),
            unit: "1/s".to_owned(),
            better: Better::Higher,
        }],
        bench: None,
        service: None,
        fragment: None,
        host_memory: HostMemory::AsIs,
        blocks: Blocks::Shared,
        live: None,
    }
}

/// Runs `rounds` rounds of a plan; `fill` gives the readings of each trial.
pub(super) fn record_of(plan: Plan, rounds: u32, fill: impl Fn(&mut Trial, Slot)) -> Record {
    let mut record = Record::begin(Header {
        program: "test".to_owned(),
        made_by: Vec::new(),
        created_unix_ms: 0,
        host: host("madvise"),
        plan,
        realisations: BTreeMap::new(),
        settings_held_by: None,
        stdin_bytes: None,
        verification: None,
    });
    for round in 0..rounds {
        for slot in record.header.plan.round(round, |_| true) {
            let mut trial = Trial {
                index: record.trials.len() as u32,
                round,
                policy: record.header.plan.policies[slot.policy].name.clone(),
                role: slot.role,
                start: None,
                started_unix_ms: 0,
                outcome: Outcome::Exited { code: 0 },
                stderr_tail: None,
                readings: Readings::default(),
                read_back: ReadBack::default(),
                marks: Vec::new(),
                pacing: None,
                timeline: None,
                failure_ignored: false,
                outlived: 0,
                first_touch: None,
            };
            fill(&mut trial, slot);
            record.trials.push(trial);
        }
    }
    record
}

/// A number near 1 that differs from round to round and from trial to trial.
pub(super) fn wobble(trial: &Trial) -> f64 {
    let mut random = fastrand::Rng::with_seed(u64::from(trial.index) + 1);
    1.0 + 0.002 * (random.f64() - 0.5) + 0.01 * f64::from(trial.round)
}

pub(super) fn read(trial: &mut Trial, metric: &str, value: f64) {
    trial.readings.insert(metric.to_owned(), Reading::of(value));
}

/// `always` is a fifth faster and has huge pages; `again` is like the baseline.
pub(super) fn fast(trial: &mut Trial, slot: Slot) {
    let is_always = slot.policy == 1;
    let seconds = wobble(trial) * if is_always { 0.8 } else { 1.0 };
    read(trial, "wall_seconds", seconds);
    read(
        trial,
        "minor_faults_total",
        if is_always { 140.0 } else { 51_200.0 },
    );
    read(trial, "peak_rss_bytes", 800.0 * MIB);
    read(
        trial,
        "huge_anon_peak_bytes",
        if is_always { 790.0 * MIB } else { 0.0 },
    );
    read(trial, "thp_split_pmd_total", 0.0);
}

pub(super) fn the_table(record: &Record) -> Table {
    table(record, &Options::default()).expect("the plan is sound")
}

pub(super) fn row<'a>(table: &'a Table, metric: &str, policy: &str) -> &'a Comparison {
    let is_it = |row: &&Comparison| {
        row.metric == metric && row.policy == policy && row.statistic == Statistic::Center
    };
    table
        .comparisons
        .iter()
        .find(is_it)
        .expect("the row is there")
}

use std::collections::BTreeSet;

use hugewise_base::missing::Missing;
use hugewise_observe::progress::{
    Attempts, Because, Compactions, DelaySetting, DelaySettings, FORMAT, FillState, FillTarget,
    Limit, MissingPart, NextStart, Pace, Progress, ProgressInterval, ProgressPart, Remedy,
    TargetSource, TimeLeft, Unknown, Work,
};

use crate::documented::undocumented;

fn interval(forecast: TimeLeft, remedy: Remedy) -> ProgressInterval {
    ProgressInterval {
        to_seconds: 1.0,
        memory_bytes: 8 << 30,
        grown_bytes: 1 << 30,
        huge_share: Some(0.5),
        work: Work {
            compaction: Some(0.9),
            reclaim: Some(0.0),
            limit_reclaim: Some(0.0),
            user: 0.0,
            kernel: 1.0,
            active: 1.0,
        },
        attempts: Some(Attempts { all: 9, huge: 9 }),
        machine: Compactions::default(),
        free_huge_bytes: Some(4 << 30),
        state: FillState::Compacting,
        pace: Some(Pace {
            bytes_per_second: 1e9,
            low: 9e8,
            high: 1.1e9,
        }),
        target: Some(FillTarget {
            bytes: 16 << 30,
            source: TargetSource::Mappings,
        }),
        forecast,
        remedy: Some(remedy),
        ..ProgressInterval::default()
    }
}

fn example() -> Progress {
    let huge_faults = Remedy {
        setting: DelaySetting::Defrag {
            present: "madvise".to_owned(),
            value: "defer".to_owned(),
        },
        because: Because::HugeFaults {
            share: 0.9,
            huge_attempts: 1.0,
            success: Some(0.1),
        },
        next_start: Some(NextStart::SmallPages),
    };
    let at_limit = Remedy {
        setting: DelaySetting::Limit {
            folder: "sys/fs/cgroup/a".to_owned(),
            present: 1 << 30,
            needed: Some(2 << 30),
        },
        because: Because::AtLimit { share: 0.5 },
        next_start: None,
    };
    let known = TimeLeft::Known {
        seconds: 8.0,
        low: 7.0,
        high: Some(9.0),
    };
    let changed = TimeLeft::Unknown {
        why: Unknown::NotSteady { before: 1e8 },
    };
    Progress {
        format: FORMAT.to_owned(),
        kernel: "6.18".to_owned(),
        pid: 7,
        command: "server".to_owned(),
        started_unix_ms: 1,
        interval_seconds: 1.0,
        settings: DelaySettings {
            enabled: "madvise".to_owned(),
            defrag: "madvise".to_owned(),
            limit: Some(Limit {
                folder: "sys/fs/cgroup/a".to_owned(),
                bytes: 1 << 30,
            }),
        },
        intervals: vec![interval(changed, at_limit)],
        total: interval(known, huge_faults),
        missing: vec![MissingPart {
            part: ProgressPart::Mappings,
            why: Missing::not_permitted("CAP_SYS_PTRACE"),
        }],
    }
}

#[test]
fn its_page_names_all_fields() {
    let progress = serde_json::to_value(example()).unwrap();
    assert_eq!(
        undocumented(&["format-progress"], &[], &progress),
        BTreeSet::new()
    );
}

#[test]
fn json_keeps_everything() {
    let text = serde_json::to_string(&example()).unwrap();
    let read: Progress = serde_json::from_str(&text).unwrap();
    assert_eq!(read, example());
}

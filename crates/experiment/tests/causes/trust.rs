//! Facts about the trustworthiness of a run: its start, and its read-back.

use hugewise_experiment::run::cause::CauseId;
use hugewise_experiment::run::cause::facts::{InForce, in_force, not_applied};
use hugewise_experiment::run::policy::{Policy, Thp};
use hugewise_experiment::run::trial::ReadBack;

use super::judged::{always, figures, is_silent, judge, near};
use crate::sample::{self, huge_pages, small_pages, thp, with};

#[test]
fn short_workloads_are_mostly_their_start() {
    for (wall, is_very_short) in [(0.031, false), (0.004, true)] {
        let short = [("wall_seconds", wall), ("samples_total", 2.0)];
        let short = with(&small_pages(), &short);
        let arms = [
            (Policy::as_is(), short.clone()),
            (thp("thp=always", Thp::Always), short),
        ];
        let found = figures!(judge(&sample::record(&arms, 12)), WorkloadTooShort, Shown);
        near(found.wall_seconds, wall, wall / 100.0);
        assert_eq!(
            (found.is_very_short, found.samples),
            (is_very_short, Some(2.0))
        );
    }
    assert!(is_silent(&always(huge_pages()), CauseId::WorkloadTooShort));
}

#[test]
fn what_was_read_back_is_believed() {
    let mut record = always(small_pages());
    let all = InForce::ReadBack { read: 12, of: 12 };
    assert_eq!(in_force(&record, "thp=always"), Some(all));
    assert_eq!(not_applied(&record, "thp=always"), None);
    assert_eq!(
        in_force(&record, "as-is"),
        Some(InForce::NotReadable),
        "it sets nothing"
    );

    let trials = record.trials.iter_mut();
    for trial in trials.filter(|trial| trial.policy == "thp=always").take(4) {
        let path = "sys/kernel/mm/transparent_hugepage/enabled".to_owned();
        trial.read_back.files.insert(path, "never".to_owned());
    }
    let found = not_applied(&record, "thp=always").expect("four trials");
    assert_eq!((found.trials, found.of), (4, 12));
    assert_eq!(
        found.detail,
        "/sys/kernel/mm/transparent_hugepage/enabled was never instead of always"
    );

    for trial in &mut record.trials {
        trial.read_back = ReadBack::default();
    }
    assert_eq!(
        in_force(&record, "thp=always"),
        Some(InForce::Unread { of: 12 })
    );
    assert_eq!(in_force(&record, "nothing"), None);
}

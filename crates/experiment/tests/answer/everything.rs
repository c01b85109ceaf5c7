//! One answer with every field, every kind of doubt, and every kind of next step.

use std::collections::BTreeMap;
use std::time::Duration;

use hugewise_base::missing::Missing;
use hugewise_experiment::run::answer::*;
use hugewise_experiment::run::cause::CauseOutcome;
use hugewise_experiment::run::cause::facts::{
    MadeHuge, MechanismCost, MechanismFacts, NothingMade, Pool,
};
use hugewise_experiment::run::compare::{Preference, Runs, Statistic, Stratum, Warning, Why};
use hugewise_experiment::run::plan::HostMemory;
use hugewise_experiment::run::record::{RemovalReason, StopReason};
use hugewise_experiment::run::stats::Quantile;
use hugewise_experiment::run::trial::Clash;

use super::samples::{
    arm, cause, circumstances, claim, command, dict, open, programs, silent, with_own_metrics,
};

/// Returns an answer that contains everything.
pub fn everything() -> Answer {
    let base = dict();
    let mut claims = base.claims.clone();
    claims.extend(calls());
    let missing = Row {
        metric: "system_seconds".to_owned(),
        statistic: Statistic::Quantile(Quantile::P99),
        label: "system time, p99".to_owned(),
        first_screen: false,
        stays: false,
        cells: vec![Cell {
            arm: "thp=always".to_owned(),
            value: None,
            missing: Some(Missing::NotPermitted {
                grant: "CAP_PERFMON".to_owned(),
            }),
        }],
    };
    with_own_metrics(Answer {
        claims,
        rows: base.rows.iter().cloned().chain([missing]).collect(),
        arms: base.arms.iter().cloned().chain(arms()).collect(),
        choice: Some(Choice {
            conditions: vec![command("echo never > /sys/kernel/mm/ksm/run")],
            steps: vec![
                ManualStep::Call("prctl(PR_SET_THP_DISABLE)".to_owned()),
                ManualStep::CgroupLimits(vec!["MemoryMax=1G".to_owned()]),
                ManualStep::Prefix("numactl --membind 0".to_owned()),
                ManualStep::Mount("mount -o remount,huge=always /dev/shm".to_owned()),
                ManualStep::Arguments("-XX:+UseTransparentHugePages".to_owned()),
            ],
            commands: vec![
                command("MALLOC_ARENA_MAX=1 python3 dict.py"),
                Command {
                    as_root: true,
                    machine_wide: true,
                    ..command("echo 1 > /proc/sys/vm/compact_memory")
                },
            ],
            prices: vec![ClaimId(9)],
            preference: Some(Preference::LessMemory),
            ..base.choice.clone().unwrap()
        }),
        causes: vec![
            cause("thp=always", CauseOutcome::Shown),
            cause("thp=never", CauseOutcome::CannotTell),
        ],
        doubts: doubts(),
        next: next(),
        circumstances: vec![every_circumstance()],
        programs: programs().programs,
        ..base
    })
}

fn made_huge(nothing: NothingMade) -> MadeHuge {
    MadeHuge {
        bytes: 7.3e7,
        calls: 57.0,
        held_seconds: 0.281,
        longest_seconds: 0.0672,
        refused: BTreeMap::from([("EBUSY".to_owned(), 5e6)]),
        nothing: Some(nothing),
        beyond: vec!["a child ended first".to_owned()],
    }
}

fn strata() -> Vec<Stratum> {
    let stratum = |from_seconds, to_seconds, ratio| Stratum {
        from_seconds,
        to_seconds,
        trials: 23,
        ratio: Some(ratio),
        low: Some(0.51),
        high: Some(1.77),
    };
    vec![
        stratum(0.0, Some(4.5), 0.83),
        stratum(4.5, Some(9.5), 1.11),
        stratum(9.5, None, 1.29),
    ]
}

fn runs() -> Runs {
    Runs {
        of: 47,
        better: 31,
        worse: 13,
        better_ratio: Some(0.71),
        worse_ratio: Some(1.53),
        worse_at_most: 0.192,
        mean: Some(0.926),
        mean_low: Some(0.874),
        mean_high: Some(0.983),
    }
}

/// Every kind of call, of opponent and of reason that the other answers lack.
fn calls() -> Vec<Claim> {
    let made = |call| Claim {
        p: Some(0.017),
        warnings: vec![Warning::CutOff { rounds: 3 }],
        ..claim("thp=always", 0.86, [0.77, 0.95], 47, call)
    };
    let against = |against, call| Claim {
        contrast: Contrast {
            against,
            ..made(open()).contrast
        },
        budget: Budget::Own,
        ..made(call)
    };
    let needs = Needs {
        fewest_rounds: Some(6),
        seconds: Some(1260.0),
        starts: None,
    };
    let why = |why| silent("thp=never", Call::NotRun(why));
    let text = |text: &str| text.to_owned();
    vec![
        against(
            Against::OverheadControl(text("tracer=idle")),
            Call::RareSlow(runs()),
        ),
        against(
            Against::SmallPagesSameMalloc(text("jemalloc")),
            Call::Mixed(runs()),
        ),
        Claim {
            effect: Some(Effect::Points(-3.2)),
            ..against(Against::GainOfProgram(text("old")), Call::Lower)
        },
        against(Against::Program(text("old: as-is")), Call::Open(needs)),
        against(
            Against::OtherRecord,
            Call::DependsOnOrder {
                p: 0.014,
                strata: strata(),
            },
        ),
        why(Why::ReadBackDiffers {
            detail: text("always was read back"),
        }),
        why(Why::ProgramRefuses {
            act: text("redis-server calls prctl"),
        }),
        why(Why::NotMeasured {
            reason: text("no clock"),
        }),
        why(Why::ByMechanism {
            control: text("tracer=idle"),
        }),
        why(Why::LeftOut {
            reason: text("needs a pool"),
        }),
        why(Why::NoDirection),
        why(Why::NoRound),
        silent(
            "thp=never",
            Call::Failed(Why::EveryTrialFailed {
                first: text("exit code 3"),
            }),
        ),
        silent(
            "thp=never",
            Call::SamePages(Why::AsMuchHuge {
                bytes: [94_371_840.0, 96_468_992.0],
                faults: [3100.0, 3113.0],
            }),
        ),
        silent("thp=never", Call::NotApplied(Why::NoRound)),
    ]
}

fn arms() -> Vec<Arm> {
    let control = Arm {
        applied: Applied::Not {
            trials: 5,
            of: 19,
            detail: "madvise was read back".to_owned(),
        },
        taken: Some([17, 29]),
        made_huge: Some(made_huge(NothingMade::Refused(vec!["EAGAIN".to_owned()]))),
        huge_code: Some(made_huge(NothingMade::NoCode)),
        pool: Some(Pool {
            bytes: 1 << 29,
            used_bytes: Some(4e8),
        }),
        means: Some(MechanismFacts::Tracing {
            stops: 621.0,
            ranges: 87.0,
            beyond: vec!["one process is set-user-ID".to_owned()],
            cost: Some(MechanismCost {
                control: "tracer=idle".to_owned(),
                ratio: 1.064,
                interval: Some([1.021, 1.113]),
            }),
        }),
        dropped: Some((8, RemovalReason::Fails("it ends with code 7".to_owned()))),
        ..arm(
            "tracer=idle",
            ArmRole::OverheadControl,
            Mechanism::Tracer,
            -16.0,
        )
    };
    let left_out = |name: &str, why| Arm {
        means: Some(MechanismFacts::Preloading {
            trials: 59,
            instead_of_tracer: Some(Clash::Traces),
            cost: None,
        }),
        applied: Applied::Unknown,
        dropped: Some((8, why)),
        pages_only: false,
        ..arm(name, ArmRole::SmallPages, Mechanism::Preload, 0.0)
    };
    vec![
        control,
        left_out("a", RemovalReason::CannotAct("it has no heap".to_owned())),
        left_out(
            "b",
            RemovalReason::TellsNoMore("thp=never costs less".to_owned()),
        ),
        left_out(
            "e",
            RemovalReason::OurMeans {
                how: "exit status 42".to_owned(),
                clash: Clash::AsksForTracer,
            },
        ),
        left_out("c", RemovalReason::NoHugePage),
        left_out("d", RemovalReason::Decided),
    ]
}

fn unverified_counters() -> Doubt {
    Doubt::UnverifiedCounters {
        metrics: vec!["dtlb_walks_total".to_owned()],
        wrong: vec!["dtlb_load_walks".to_owned()],
        command: "hugewise doctor --verify-counters".to_owned(),
    }
}

/// Every kind of doubt.
pub fn doubts() -> Vec<Doubt> {
    [doubts_of_trials(), doubts_of_policies()].concat()
}

/// The doubts about trials, load and control.
fn doubts_of_trials() -> Vec<Doubt> {
    let text = |text: &str| text.to_owned();
    let arm = || text("malloc=thp");
    vec![
        Doubt::ControlFailed { claim: ClaimId(4) },
        Doubt::ControlWide { claim: ClaimId(4) },
        Doubt::NotApplied {
            arm: arm(),
            trials: 2,
            of: 37,
            detail: text("always was found"),
        },
        Doubt::NothingDecided,
        Doubt::ChosenAfterwards,
        Doubt::FailedTrials {
            by_arm: vec![(arm(), 11)],
            of: 41,
            first: text("signal 9"),
            said: Some(text("out of memory")),
        },
        Doubt::Disturbed {
            trials: 13,
            of: 33,
            kinds: vec![(text("steal"), 13)],
        },
        Doubt::TimeWithoutPages { claim: ClaimId(2) },
        Doubt::OnlyBackToBack {
            arm: arm(),
            claim: Some(ClaimId(1)),
            seconds: 4,
        },
        Doubt::MaybeSmall { claim: ClaimId(0) },
        Doubt::FaultsAfterSplits { share: 0.021 },
        Doubt::FewStarts {
            starts: 2,
            wanted: 5,
        },
        Doubt::LoadIsTheLimit {
            share: Some(0.943),
            parted: false,
        },
        Doubt::ClosedLoop {
            program: text("redis-benchmark"),
        },
        Doubt::NoLatencies {
            trials: 3,
            of: 43,
            why: text("the output has no percentile"),
        },
    ]
}

/// The doubts about policies and the record.
fn doubts_of_policies() -> Vec<Doubt> {
    let text = |text: &str| text.to_owned();
    let arm = || text("malloc=thp");
    vec![
        Doubt::MayDependOnOrder {
            arm: arm(),
            p: 0.031,
            strata: strata(),
        },
        Doubt::TakenByChance {
            arm: arm(),
            taken: Some([17, 29]),
            ratio: Some(0.68),
            glibc: text("glibc 2.41"),
            bound: true,
        },
        Doubt::MechanismCost {
            arm: arm(),
            claim: ClaimId(14),
        },
        Doubt::RareRunsUnseen {
            arm: arm(),
            at_most: 0.217,
        },
        Doubt::SomeRunsWorse {
            arm: arm(),
            worse: 9,
            of: 53,
            ratio: Some(1.37),
        },
        Doubt::Dropped {
            arm: arm(),
            rounds: 8,
            why: text("it ends with code 7"),
        },
        Doubt::LeftOut {
            arms: vec![arm(), text("thp=never")],
            why: text("2 rounds are incomplete"),
        },
        Doubt::NotOneExperiment {
            differences: vec![text("kernel 6.18 and 6.12"), text("2 and 4 CPUs")],
        },
        Doubt::VendorObjects {
            who: text("Redis (2024)"),
            program: text("redis-server"),
        },
        unverified_counters(),
        Doubt::Warning {
            text: text("the record has no end"),
        },
        Doubt::LeftBehind {
            text: text("enabled is always"),
        },
    ]
}

/// Every kind of next step.
pub fn next() -> Vec<Next> {
    let arm = || "thp=always".to_owned();
    let reaches = [
        PageReach::SmallPages,
        PageReach::Collapse,
        PageReach::System,
        PageReach::Allocator,
        PageReach::OwnSetting,
        PageReach::LeavesOn,
    ];
    let tries = reaches.map(|because| NextStep::TryPolicy {
        policy: "collapse=4s".to_owned(),
        because,
    });
    let policies = || vec!["hugetlb=2M".to_owned()];
    let steps = [
        NextStep::Decide { claim: ClaimId(0) },
        NextStep::TooLong { claim: ClaimId(0) },
        NextStep::AfterIdle { arm: arm() },
        NextStep::MoreStarts {
            claim: ClaimId(0),
            starts: 9,
        },
        NextStep::Continue,
        NextStep::TryPolicies {
            policies: policies(),
            impossible: true,
        },
        NextStep::TryPolicies {
            policies: policies(),
            impossible: false,
        },
        NextStep::WithoutMechanism { arm: arm() },
        NextStep::PagesAlone { arm: arm() },
        NextStep::JudgeTypical,
        NextStep::OtherMemory { idle_seconds: 0 },
        NextStep::OtherMemory { idle_seconds: 6 },
        NextStep::Verbose,
    ];
    let step = |step| Next {
        step,
        minutes: Some(21),
        command: Some(Command {
            as_root: true,
            machine_wide: true,
            ..command("hugewise run --system -- ./prog")
        }),
    };
    steps.into_iter().chain(tries).map(step).collect()
}

fn every_circumstance() -> Circumstances {
    Circumstances {
        host_memory: HostMemory::Rest(Duration::from_secs(4)),
        warmed_in_part: 7,
        fragment: Some(30),
        fragmented: Some([0.273, 0.338]),
        disturbance: Disturbance {
            trials: 13,
            kinds: BTreeMap::from([("steal".to_owned(), 13)]),
        },
        stopped: Some(StopReason::MaxTime),
        continued: vec![(11, 34)],
        settings_held_by: Some("tuned (812)".to_owned()),
        ran: Some("python3.12".to_owned()),
        earlier: vec!["3 sessions: −34 %".to_owned()],
        ..circumstances()
    }
}

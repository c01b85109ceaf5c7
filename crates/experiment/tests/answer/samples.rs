//! Handmade answers, one for each situation.

use std::collections::{BTreeMap, BTreeSet};

use hugewise_base::units::Unit;
use hugewise_experiment::run::answer::*;
use hugewise_experiment::run::cause::{Cause, CauseId, CauseOutcome, Kind, MemoryLimitReached};
use hugewise_experiment::run::compare::{Preference, Statistic, Why};
use hugewise_experiment::run::metric::{Better, Scope as MetricScope};
use hugewise_experiment::run::plan::{HostMemory, JudgeBy, Skip, Skipped};

const WALL: &str = "wall_seconds";
const MIB: f64 = 1_048_576.0;

/// Returns every sample with its name.
pub fn all() -> Vec<(&'static str, Answer)> {
    let all = [
        ("dict", dict()),
        ("redis", redis()),
        ("allocators", allocators()),
        ("same pages", same_pages()),
        ("bench", bench()),
        ("programs", programs()),
        ("records", records()),
        ("measured", measured()),
        ("failed", failed()),
        ("many policies", many_policies()),
        ("live", live()),
        ("inside", inside()),
    ];
    all.map(|(name, answer)| (name, with_own_metrics(answer)))
        .into()
}

/// The same with facts about only the metrics of its claims and rows.
pub fn with_own_metrics(mut answer: Answer) -> Answer {
    let claims = answer.claims.iter().map(|claim| &claim.contrast.metric);
    let named = claims.chain(answer.rows.iter().map(|row| &row.metric));
    let named: BTreeSet<String> = named.cloned().collect();
    answer.metrics.retain(|name, _| named.contains(name));
    answer.programs = answer.programs.into_iter().map(with_own_metrics).collect();
    answer.inside = answer
        .inside
        .map(|inside| Box::new(with_own_metrics(*inside)));
    answer
}

/// A claim about the wall time of an arm against the baseline.
pub fn claim(arm: &str, ratio: f64, ends: [f64; 2], rounds: u32, call: Call) -> Claim {
    Claim {
        contrast: Contrast {
            arm: arm.to_owned(),
            against: Against::Baseline,
            when: When::BackToBack,
            metric: WALL.to_owned(),
            statistic: Statistic::Center,
        },
        effect: Some(Effect::Ratio(ratio)),
        interval: Some(Interval {
            low: ends[0],
            high: ends[1],
            covers: Covers::Verdict,
        }),
        from: Some(0.224),
        to: Some(0.224 * ratio),
        rounds,
        agreeing: call.is_shown().then_some(rounds),
        call,
        budget: Budget::Verdict,
        p: None,
        warnings: Vec::new(),
    }
}

/// The same about another metric, without an error budget.
fn of(metric: &str, from: f64, claim: Claim) -> Claim {
    let to = match claim.effect {
        Some(Effect::Ratio(ratio)) => from * ratio,
        Some(Effect::Difference(more)) => from + more,
        _ => from,
    };
    Claim {
        contrast: Contrast {
            metric: metric.to_owned(),
            ..claim.contrast
        },
        from: Some(from),
        to: Some(to),
        agreeing: None,
        budget: Budget::Uncorrected,
        interval: claim.interval.map(|it| Interval {
            covers: Covers::Row,
            ..it
        }),
        ..claim
    }
}

fn against(against: Against, claim: Claim) -> Claim {
    Claim {
        contrast: Contrast {
            against,
            ..claim.contrast
        },
        budget: Budget::Own,
        ..claim
    }
}

/// An arm without an effect.
pub fn silent(arm: &str, call: Call) -> Claim {
    Claim {
        effect: None,
        interval: None,
        from: None,
        to: None,
        ..claim(arm, 1.0, [1.0, 1.0], 12, call)
    }
}

/// More huge pages than under the baseline.
fn more_huge(arm: &str, mib: f64) -> Claim {
    let call = if mib > 0.0 { Call::Higher } else { Call::Same };
    let base = Claim {
        effect: Some(Effect::Difference(mib * MIB)),
        interval: None,
        ..claim(arm, 1.0, [1.0, 1.0], 6, call)
    };
    of("huge_anon_peak_bytes", 0.0, base)
}

pub fn open() -> Call {
    Call::Open(Needs::default())
}

pub fn arm(name: &str, role: ArmRole, mechanism: Mechanism, more_mib: f64) -> Arm {
    Arm {
        name: name.to_owned(),
        role,
        mechanism,
        mode: "madvise".to_owned(),
        pages_only: true,
        trials: [12, 12],
        pages: Pages {
            huge_bytes: Some(more_mib * MIB),
            more_bytes: Some(more_mib * MIB),
        },
        applied: Applied::ReadBack(12),
        taken: None,
        dropped: None,
        made_huge: None,
        huge_code: None,
        pool: None,
        means: None,
    }
}

fn row(metric: &str, label: &str, cells: &[(&str, f64)]) -> Row {
    Row {
        metric: metric.to_owned(),
        statistic: Statistic::Center,
        label: label.to_owned(),
        first_screen: true,
        stays: false,
        cells: cells
            .iter()
            .map(|(arm, value)| Cell {
                arm: (*arm).to_owned(),
                value: Some(*value),
                missing: None,
            })
            .collect(),
    }
}

fn facts(label: &str, unit: Unit, better: Better) -> MetricFacts {
    MetricFacts {
        label: label.to_owned(),
        unit,
        better,
        scope: MetricScope::Tree,
    }
}

fn metrics() -> BTreeMap<String, MetricFacts> {
    use Better::{Higher, Lower, Neither};
    let rate = || Unit::Other("1/s".into());
    let all = [
        (WALL, "wall time", Unit::Seconds, Lower),
        ("user_seconds", "user time", Unit::Seconds, Lower),
        ("system_seconds", "system time", Unit::Seconds, Lower),
        ("peak_rss_bytes", "peak memory", Unit::Bytes, Lower),
        ("minor_faults_total", "minor faults", Unit::Count, Lower),
        ("huge_anon_peak_bytes", "huge pages", Unit::Bytes, Neither),
        (
            "set_throughput_per_second",
            "SET throughput",
            rate(),
            Higher,
        ),
        ("fork_seconds", "fork time", Unit::Seconds, Lower),
        ("set_latency_seconds", "SET latency", Unit::Seconds, Lower),
        ("alone_latency_seconds", "alone: p99", Unit::Seconds, Lower),
        (
            "forked_latency_seconds",
            "forked: p99",
            Unit::Seconds,
            Lower,
        ),
    ];
    let facts =
        all.map(|(name, label, unit, better)| (name.to_owned(), facts(label, unit, better)));
    facts.into_iter().collect()
}

pub fn circumstances() -> Circumstances {
    Circumstances {
        machine: Machine {
            kernel: "6.18.44".to_owned(),
            arch: "x86_64".to_owned(),
            hypervisor: Some("KVM".to_owned()),
            cpus: 2,
            thp: Some("madvise".to_owned()),
            defrag: Some("madvise".to_owned()),
            page_bytes: 4096,
            huge_page_bytes: Some(2_097_152),
            tunables: Default::default(),
        },
        rounds: 14,
        trials: 61,
        seconds: Some(84.0),
        seed: 4711,
        host_memory: HostMemory::Warm,
        warmed_in_part: 0,
        fragment: None,
        fragmented: None,
        disturbance: Disturbance::default(),
        stopped: None,
        continued: Vec::new(),
        settings_held_by: None,
        ran: None,
        measured_by: "hugewise 0.1.0".to_owned(),
        record: Some("last".to_owned()),
        earlier: Vec::new(),
    }
}

pub fn command(line: &str) -> Command {
    Command {
        line: line.to_owned(),
        as_root: false,
        machine_wide: false,
    }
}

fn machine_wide(line: &str) -> Command {
    Command {
        as_root: true,
        machine_wide: true,
        ..command(line)
    }
}

fn verbose(name: &str) -> Next {
    Next {
        step: NextStep::Verbose,
        minutes: None,
        command: Some(command(&format!("hugewise report -v {name}"))),
    }
}

pub fn cause(arm: &str, outcome: CauseOutcome) -> Cause {
    Cause {
        arm: Some(arm.to_owned()),
        outcome,
        id: CauseId::MemoryLimitReached,
        kind: Kind::MemoryLimitReached(MemoryLimitReached {
            reached: 6,
            read: 12,
            trials: 12,
            hits: 36,
            killed: 0,
        }),
    }
}

/// An answer without claims, choice, doubts and next steps.
fn bare(kind: SubjectKind, word: Word, baseline: &str) -> Answer {
    Answer {
        subject: Subject {
            kind,
            name: "dict.py".to_owned(),
            command: "python3 dict.py".to_owned(),
        },
        word,
        headline: Vec::new(),
        judged: Judged {
            metric: WALL.to_owned(),
            property: JudgeBy::Shape,
            threshold: 0.01,
            baseline: baseline.to_owned(),
            holds_for: Some(HoldsFor::Session),
        },
        arms: vec![arm(baseline, ArmRole::Baseline, Mechanism::Nothing, 0.0)],
        claims: Vec::new(),
        rows: Vec::new(),
        metrics: metrics(),
        choice: None,
        switchback: None,
        causes: Vec::new(),
        doubts: Vec::new(),
        next: vec![verbose("last")],
        circumstances: vec![circumstances()],
        inside: None,
        programs: Vec::new(),
    }
}

pub fn keep(is_decided: bool, baseline: &str) -> Choice {
    Choice {
        arm: is_decided.then(|| baseline.to_owned()),
        scope: ChoiceScope::AnyRun,
        mechanism: Mechanism::Nothing,
        commands: Vec::new(),
        steps: Vec::new(),
        conditions: Vec::new(),
        prices: Vec::new(),
        ties: Vec::new(),
        preference: None,
    }
}

/// A gain in runs that follow each other, and a loss after idle.
#[expect(clippy::too_many_lines, reason = "it is data")]
pub fn dict() -> Answer {
    let idle = Claim {
        contrast: Contrast {
            when: When::AfterIdle(4),
            ..claim("malloc=thp", 1.588, [1.31, 1.73], 8, Call::Worse).contrast
        },
        agreeing: Some(7),
        budget: Budget::Own,
        ..claim("malloc=thp", 1.588, [1.31, 1.73], 8, Call::Worse)
    };
    let itself = claim("as-is", 1.02, [0.964, 1.157], 14, open());
    let faults = Call::SamePages(Why::NothingHuge {
        faults: [57_000.0, 57_012.0],
    });
    let rival = Against::Rival("thp=always".to_owned());
    let claims = vec![
        claim("malloc=thp", 0.637, [0.293, 0.848], 6, Call::Better),
        idle,
        claim("thp=always", 0.609, [0.563, 0.704], 14, Call::Better),
        silent("thp=never", faults),
        against(Against::Itself, itself),
        of(
            "user_seconds",
            0.0841,
            claim("malloc=thp", 0.808, [0.61, 1.03], 6, open()),
        ),
        of(
            "user_seconds",
            0.0841,
            claim("thp=always", 0.794, [0.71, 0.93], 14, Call::Better),
        ),
        of(
            "system_seconds",
            0.146,
            claim("malloc=thp", 0.577, [0.31, 0.73], 6, Call::Better),
        ),
        of(
            "system_seconds",
            0.146,
            claim("thp=always", 0.515, [0.44, 0.61], 14, Call::Better),
        ),
        of(
            "peak_rss_bytes",
            171.0 * MIB,
            claim("malloc=thp", 1.003, [0.999, 1.006], 6, Call::Same),
        ),
        of(
            "peak_rss_bytes",
            171.0 * MIB,
            claim("thp=always", 0.9998, [0.998, 1.001], 14, Call::Same),
        ),
        more_huge("malloc=thp", 78.0),
        more_huge("thp=always", 78.0),
        against(rival, claim("malloc=thp", 1.02, [0.61, 1.38], 6, open())),
    ];
    let arms = |base: f64, malloc: f64, always: f64| {
        [
            ("as-is", base),
            ("malloc=thp", malloc),
            ("thp=always", always),
        ]
    };
    Answer {
        headline: vec![ClaimId(0), ClaimId(1)],
        rows: vec![
            row(WALL, "wall time", &arms(0.224, 0.143, 0.136)),
            row("user_seconds", "user time", &arms(0.0841, 0.068, 0.0668)),
            row(
                "system_seconds",
                "system time",
                &arms(0.146, 0.0842, 0.0752),
            ),
            row(
                "peak_rss_bytes",
                "peak memory",
                &arms(171.0 * MIB, 171.5 * MIB, 171.0 * MIB),
            ),
            row(
                "huge_anon_peak_bytes",
                "huge pages",
                &arms(0.0, 78.0 * MIB, 78.0 * MIB),
            ),
        ],
        arms: vec![
            arm("as-is", ArmRole::Baseline, Mechanism::Nothing, 0.0),
            arm("malloc=thp", ArmRole::Policy, Mechanism::Program, 78.0),
            arm("thp=always", ArmRole::Policy, Mechanism::Tracer, 78.0),
            arm("thp=never", ArmRole::Policy, Mechanism::Program, 0.0),
        ],
        choice: Some(Choice {
            arm: Some("malloc=thp".to_owned()),
            scope: ChoiceScope::BackToBack(4),
            mechanism: Mechanism::Program,
            conditions: Vec::new(),
            commands: vec![command(
                "GLIBC_TUNABLES=glibc.malloc.hugetlb=1 LD_BIND_NOW=1 python3 dict.py",
            )],
            steps: Vec::new(),
            prices: Vec::new(),
            ties: vec![Tie {
                arm: "thp=always".to_owned(),
                claim: ClaimId(13),
            }],
            preference: Some(Preference::ChangesProgramAlone),
        }),
        causes: vec![cause("malloc=thp", CauseOutcome::Shown)],
        doubts: vec![Doubt::OnlyBackToBack {
            arm: "malloc=thp".to_owned(),
            claim: Some(ClaimId(1)),
            seconds: 4,
        }],
        claims,
        ..bare(SubjectKind::Program, Word::Help, "as-is")
    }
}

/// A running process whose pages were switched.
pub fn live() -> Answer {
    let rate = "set_throughput_per_second";
    let help = claim("huge", 1.175, [1.126, 1.225], 6, Call::Better);
    let help = Claim {
        contrast: Contrast {
            metric: rate.to_owned(),
            ..help.contrast
        },
        from: Some(51_000.0),
        to: Some(59_925.0),
        ..help
    };
    Answer {
        headline: vec![ClaimId(0)],
        judged: Judged {
            metric: rate.to_owned(),
            property: JudgeBy::Typical,
            threshold: 0.01,
            baseline: "small".to_owned(),
            holds_for: Some(HoldsFor::Processes),
        },
        arms: vec![
            arm("small", ArmRole::Baseline, Mechanism::Switch, 0.0),
            arm("huge", ArmRole::Policy, Mechanism::Switch, 440.0),
        ],
        rows: vec![row(
            rate,
            "SET throughput",
            &[("small", 51_000.0), ("huge", 59_925.0)],
        )],
        choice: Some(Choice {
            arm: Some("huge".to_owned()),
            mechanism: Mechanism::Switch,
            commands: vec![command("hugewise advise -p 4711")],
            ..keep(true, "small")
        }),
        switchback: Some(Switchback {
            pids: vec![4711],
            starts: 0,
            cut: 3,
            source: "redis:6379".to_owned(),
            switched_bytes: 440.0 * MIB,
            share: Some(0.92),
            found_huge_bytes: 12.0 * MIB,
            left_out_bytes: 34.0 * MIB,
            skipped: vec![Skipped {
                why: Skip::Locked,
                blocks: 7,
            }],
            period_seconds: 0.6,
            settle_seconds: 0.05,
            switch_seconds: vec![0.041, 0.163],
            longest_call_seconds: Some(0.0012),
            shams: 13,
            lapses: 2,
            least_huge: Some(0.87),
            most_huge: Some(0.03),
        }),
        claims: vec![help],
        ..bare(SubjectKind::Live, Word::Help, "small")
    }
}

/// A service whose whole starts are open, with a gain inside them.
pub fn inside() -> Answer {
    let periods = live();
    let switchback = periods.switchback.clone().map(|it| Switchback {
        pids: Vec::new(),
        starts: 3,
        cut: 0,
        ..it
    });
    Answer {
        inside: Some(Box::new(Answer {
            subject: redis().subject,
            choice: None,
            next: Vec::new(),
            switchback,
            ..periods
        })),
        ..redis()
    }
}

/// A service whose judged metric is open, while another one is shown.
#[expect(clippy::too_many_lines, reason = "it is data")]
pub fn redis() -> Answer {
    let rate = "set_throughput_per_second";
    let judged = |claim: Claim| Claim {
        contrast: Contrast {
            metric: rate.to_owned(),
            ..claim.contrast
        },
        from: Some(53_268.0),
        to: Some(50_600.0),
        ..claim
    };
    let same = Call::SamePages(Why::NothingHuge {
        faults: [81_000.0, 81_020.0],
    });
    let fork = Claim {
        budget: Budget::Own,
        ..of(
            "fork_seconds",
            0.00695,
            claim("thp=always", 0.119, [0.091, 0.162], 10, Call::Better),
        )
    };
    let claims = vec![
        judged(claim("thp=always", 0.95, [0.83, 1.07], 10, open())),
        Claim {
            from: None,
            to: None,
            ..judged(silent("as-is", same))
        },
        against(
            Against::Itself,
            judged(claim("thp=never", 1.01, [0.87, 1.18], 10, open())),
        ),
        fork,
        of(
            "set_latency_seconds",
            0.000_795,
            claim("thp=always", 1.131, [0.98, 1.35], 10, open()),
        ),
        of(
            "peak_rss_bytes",
            210.0 * MIB,
            claim("thp=always", 1.029, [1.026, 1.046], 10, Call::Worse),
        ),
        more_huge("thp=always", 197.0),
        against(
            Against::Baseline,
            Claim {
                contrast: Contrast {
                    when: When::PerStart(5),
                    ..judged(claim("thp=always", 0.95, [0.9, 1.02], 5, open())).contrast
                },
                agreeing: Some(4),
                ..judged(claim("thp=always", 0.95, [0.9, 1.02], 5, open()))
            },
        ),
    ];
    let cells = |a: f64, b: f64| [("thp=never", a), ("thp=always", b)];
    Answer {
        headline: vec![ClaimId(0), ClaimId(3)],
        judged: Judged {
            metric: rate.to_owned(),
            ..bare(SubjectKind::Service, Word::Open, "thp=never").judged
        },
        rows: vec![
            row(rate, "SET throughput", &cells(53_268.0, 50_600.0)),
            row("fork_seconds", "fork time", &cells(0.00695, 0.000_827)),
            row(
                "set_latency_seconds",
                "SET latency",
                &cells(0.000_795, 0.000_899),
            ),
            row(
                "peak_rss_bytes",
                "peak memory",
                &cells(210.0 * MIB, 216.0 * MIB),
            ),
            row(
                "huge_anon_peak_bytes",
                "huge pages",
                &cells(0.0, 197.0 * MIB),
            ),
        ],
        arms: vec![
            arm("thp=never", ArmRole::Baseline, Mechanism::Program, 0.0),
            arm("thp=always", ArmRole::Policy, Mechanism::Machine, 197.0),
            arm("as-is", ArmRole::Policy, Mechanism::Nothing, 0.0),
        ],
        choice: Some(keep(false, "thp=never")),
        causes: vec![cause("thp=always", CauseOutcome::Shown)],
        doubts: vec![
            Doubt::ControlWide { claim: ClaimId(2) },
            Doubt::LoadIsTheLimit {
                share: None,
                parted: false,
            },
            Doubt::Disturbed {
                trials: 13,
                of: 33,
                kinds: vec![("steal".to_owned(), 13)],
            },
            Doubt::ClosedLoop {
                program: "redis-benchmark".to_owned(),
            },
            Doubt::NothingDecided,
        ],
        next: vec![
            Next {
                step: NextStep::Decide { claim: ClaimId(0) },
                minutes: Some(21),
                command: Some(command(
                    "hugewise run --continue examples/redis/record.jsonl.gz --max-time 21m",
                )),
            },
            verbose("examples/redis/record.jsonl.gz"),
        ],
        claims,
        ..bare(SubjectKind::Service, Word::Open, "thp=never")
    }
}

/// An allocator that gains, with undecided huge pages.
pub fn allocators() -> Answer {
    let alone = |arm: &str, other: &str, claim: Claim| {
        let small = Against::SmallPagesSameMalloc(other.to_owned());
        let mut alone = against(small, claim);
        alone.contrast.arm = arm.to_owned();
        alone
    };
    let (tc, mi) = ("tcmalloc+thp", "mimalloc+thp");
    let claims = vec![
        claim(tc, 0.746, [0.54, 0.87], 7, Call::Better),
        claim(mi, 0.548, [0.38, 0.83], 7, Call::Better),
        alone(tc, "tcmalloc", claim(tc, 0.91, [0.75, 1.1], 7, open())),
        alone(mi, "mimalloc", claim(mi, 0.69, [0.5, 0.92], 7, open())),
        against(
            Against::Itself,
            claim("glibc", 1.03, [0.78, 1.37], 7, open()),
        ),
        of(
            "peak_rss_bytes",
            806.0 * MIB,
            claim(tc, 1.085, [1.07, 1.1], 7, Call::Worse),
        ),
        of(
            "peak_rss_bytes",
            806.0 * MIB,
            claim(mi, 1.109, [1.09, 1.12], 7, Call::Worse),
        ),
        claim("tcmalloc", 0.9, [0.7, 1.2], 7, open()),
    ];
    let more_than_pages = |name: &str, role, more| Arm {
        pages_only: false,
        ..arm(name, role, Mechanism::Machine, more)
    };
    Answer {
        headline: vec![ClaimId(0), ClaimId(2)],
        rows: vec![
            row(
                WALL,
                "wall time",
                &[("glibc", 2.46), (tc, 1.84), (mi, 1.35)],
            ),
            row(
                "peak_rss_bytes",
                "peak memory",
                &[("glibc", 806.0 * MIB), (tc, 875.0 * MIB)],
            ),
        ],
        arms: vec![
            arm("glibc", ArmRole::Baseline, Mechanism::Nothing, 0.0),
            more_than_pages(tc, ArmRole::Policy, 10.0),
            more_than_pages(mi, ArmRole::Policy, 892.0),
            more_than_pages("tcmalloc", ArmRole::SmallPages, 0.0),
        ],
        choice: Some(Choice {
            arm: Some(tc.to_owned()),
            mechanism: Mechanism::Machine,
            commands: vec![
                machine_wide("echo always > /sys/kernel/mm/transparent_hugepage/enabled"),
                command(
                    "LD_PRELOAD=/usr/lib/libtcmalloc_minimal.so.4 target/examples-churn 800000",
                ),
            ],
            prices: vec![ClaimId(5)],
            ..keep(true, tc)
        }),
        doubts: vec![Doubt::ControlWide { claim: ClaimId(4) }],
        claims,
        ..bare(SubjectKind::Program, Word::NotAboutPages, "glibc")
    }
}

/// No policy changed a page.
pub fn same_pages() -> Answer {
    let same = || {
        Call::SamePages(Why::AsMuchHuge {
            bytes: [0.0, 0.0],
            faults: [812.0, 815.0],
        })
    };
    Answer {
        claims: vec![silent("thp=always", same()), silent("thp=never", same())],
        arms: vec![
            arm("as-is", ArmRole::Baseline, Mechanism::Nothing, 0.0),
            arm("thp=always", ArmRole::Policy, Mechanism::Tracer, 0.0),
            arm("thp=never", ArmRole::Policy, Mechanism::Program, 0.0),
        ],
        rows: vec![row(WALL, "wall time", &[("as-is", 0.5)])],
        choice: Some(keep(true, "as-is")),
        causes: vec![cause("thp=always", CauseOutcome::Shown)],
        next: vec![Next {
            step: NextStep::TryPolicy {
                policy: "malloc=thp".to_owned(),
                because: PageReach::Allocator,
            },
            minutes: None,
            command: Some(command("hugewise run --policy malloc=thp -- ./prog")),
        }],
        ..bare(SubjectKind::Program, Word::SamePages, "as-is")
    }
}

/// Cells of a bench.
pub fn bench() -> Answer {
    let of = |metric: &str, from: f64, made: Claim| Claim {
        agreeing: made.agreeing,
        budget: Budget::Own,
        ..of(metric, from, made)
    };
    let claims = vec![
        of(
            "alone_latency_seconds",
            576e-9,
            claim("2m", 0.662, [0.62, 0.74], 8, Call::Better),
        ),
        of(
            "forked_latency_seconds",
            5.24e-6,
            claim("2m", 1.015, [0.967, 1.052], 8, open()),
        ),
    ];
    let cells = |a: f64, b: f64| [("4k", a), ("2m", b)];
    Answer {
        subject: Subject {
            kind: SubjectKind::Bench,
            name: "fork".to_owned(),
            command: "hugewise bench fork".to_owned(),
        },
        headline: vec![ClaimId(0), ClaimId(1)],
        rows: vec![
            row(
                "alone_latency_seconds",
                "alone: p99",
                &cells(576e-9, 375e-9),
            ),
            row(
                "forked_latency_seconds",
                "forked: p99",
                &cells(5.24e-6, 5.3e-6),
            ),
        ],
        arms: vec![
            arm("4k", ArmRole::Baseline, Mechanism::Nothing, 0.0),
            arm("2m", ArmRole::Policy, Mechanism::Nothing, 64.0),
        ],
        claims,
        ..bare(SubjectKind::Bench, Word::Compared, "4k")
    }
}

/// Two programs, under two policies each.
pub fn programs() -> Answer {
    let part = |name: &str| Answer {
        subject: Subject {
            kind: SubjectKind::Program,
            name: name.to_owned(),
            command: format!("./{name} --size 3"),
        },
        headline: vec![ClaimId(0)],
        claims: vec![
            claim("thp=always", 0.803, [0.799, 0.807], 12, Call::Better),
            against(
                Against::Itself,
                claim("as-is", 1.0, [0.995, 1.005], 12, Call::Same),
            ),
        ],
        rows: vec![row(
            WALL,
            "wall time",
            &[("as-is", 4.21), ("thp=always", 3.38)],
        )],
        arms: vec![
            arm("as-is", ArmRole::Baseline, Mechanism::Nothing, 0.0),
            arm("thp=always", ArmRole::Policy, Mechanism::Machine, 806.0),
        ],
        choice: Some(Choice {
            arm: Some("thp=always".to_owned()),
            mechanism: Mechanism::Machine,
            commands: vec![machine_wide(
                "echo always > /sys/kernel/mm/transparent_hugepage/enabled",
            )],
            ..keep(true, "as-is")
        }),
        next: Vec::new(),
        circumstances: Vec::new(),
        ..bare(SubjectKind::Program, Word::Help, "as-is")
    };
    let new = |policy: &str, ratio: f64, ends: [f64; 2]| {
        let other = Against::Program(format!("old: {policy}"));
        against(
            other,
            claim(&format!("new: {policy}"), ratio, ends, 12, Call::Better),
        )
    };
    let gain = against(
        Against::GainOfProgram("old".to_owned()),
        Claim {
            effect: Some(Effect::Points(-3.16)),
            from: None,
            to: None,
            ..claim("new: thp=always", 1.0, [-4.61, -2.05], 12, Call::Worse)
        },
    );
    Answer {
        headline: vec![ClaimId(0), ClaimId(1), ClaimId(2)],
        claims: vec![
            new("as-is", 0.961, [0.953, 0.967]),
            new("thp=always", 0.992, [0.984, 0.9994]),
            gain,
        ],
        arms: [
            "old: as-is",
            "new: as-is",
            "old: thp=always",
            "new: thp=always",
        ]
        .map(|name| arm(name, ArmRole::Policy, Mechanism::Nothing, 0.0))
        .into(),
        programs: vec![part("old"), part("new")],
        ..bare(SubjectKind::Programs, Word::Compared, "old: as-is")
    }
}

/// Two records of one program.
pub fn records() -> Answer {
    let other = |made: Claim| Claim {
        budget: Budget::Uncorrected,
        ..against(Against::OtherRecord, made)
    };
    Answer {
        headline: vec![ClaimId(0), ClaimId(1)],
        claims: vec![
            other(claim("as-is", 1.001, [0.996, 1.006], 12, Call::Same)),
            other(claim("thp=always", 1.232, [1.227, 1.237], 12, Call::Worse)),
            other(of(
                "user_seconds",
                3.61,
                claim("as-is", 0.998, [0.994, 1.003], 12, Call::Same),
            )),
            other(of(
                "user_seconds",
                3.17,
                claim("thp=always", 1.0, [0.995, 1.003], 12, Call::Same),
            )),
        ],
        rows: vec![
            row(WALL, "wall time", &[("as-is", 0.224), ("thp=always", 0.18)]),
            row(
                "user_seconds",
                "user time",
                &[("as-is", 3.61), ("thp=always", 3.17)],
            ),
        ],
        arms: vec![
            arm("as-is", ArmRole::Baseline, Mechanism::Nothing, 0.0),
            arm("thp=always", ArmRole::Policy, Mechanism::Machine, 806.0),
        ],
        doubts: vec![Doubt::NotOneExperiment {
            differences: vec!["kernel 6.18.44 and 6.12.9".to_owned()],
        }],
        circumstances: vec![circumstances(), circumstances()],
        ..bare(SubjectKind::Records, Word::Compared, "as-is")
    }
}

/// One policy, so nothing is compared.
pub fn measured() -> Answer {
    Answer {
        rows: vec![
            row(WALL, "wall time", &[("thp=always", 3.38)]),
            row("user_seconds", "user time", &[("thp=always", 3.17)]),
        ],
        ..bare(SubjectKind::Program, Word::Measured, "thp=always")
    }
}

/// Every trial failed.
pub fn failed() -> Answer {
    let first = "could not be started: No such file or directory".to_owned();
    Answer {
        claims: vec![silent(
            "thp=always",
            Call::Failed(Why::EveryTrialFailed {
                first: first.clone(),
            }),
        )],
        arms: vec![
            arm("as-is", ArmRole::Baseline, Mechanism::Nothing, 0.0),
            Arm {
                trials: [0, 12],
                ..arm("thp=always", ArmRole::Policy, Mechanism::Machine, 0.0)
            },
        ],
        doubts: vec![Doubt::FailedTrials {
            by_arm: vec![("thp=always".to_owned(), 12)],
            of: 48,
            first,
            said: Some("prog: not found".to_owned()),
        }],
        ..bare(SubjectKind::Program, Word::Failed, "as-is")
    }
}

/// Nine policies with long names.
pub fn many_policies() -> Answer {
    let base = dict();
    let name = |index: usize| format!("thp=always,malloc=jemalloc,decay={index}");
    let ratio = |index: usize| 0.7 + index as f64 / 50.0;
    let walls = (0..9).map(|index| {
        let ends = [ratio(index) - 0.1, ratio(index) + 0.1];
        claim(&name(index), ratio(index), ends, 9, Call::Better)
    });
    let users = (0..9).map(|index| {
        let made = claim(&name(index), ratio(index), [0.5, 1.1], 9, open());
        of("user_seconds", 0.0841, made)
    });
    let arms = (0..9).map(|index| arm(&name(index), ArmRole::Policy, Mechanism::Preload, 90.0));
    Answer {
        headline: vec![ClaimId(0)],
        arms: base.arms[..1].iter().cloned().chain(arms).collect(),
        claims: walls.chain(users).collect(),
        choice: Some(keep(true, "as-is")),
        doubts: redis().doubts[3..].to_vec(),
        ..base
    }
}

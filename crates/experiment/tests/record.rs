//! The record: written data is read back, and damaged data is rejected.

use std::collections::{BTreeMap, BTreeSet};

use expect_test::expect;
use hugewise_base::histogram::distribution::{Distribution, Grain};
use hugewise_base::host::ThpDisable;
use hugewise_base::jsonl::LineError;
use hugewise_base::missing::Missing;
use hugewise_experiment::run::record;
use hugewise_experiment::run::record::{Inside, Line, Record};
use hugewise_experiment::run::trial::timeline::{
    Held, Requests, Second, Slowest, Timeline, Unrelated,
};
use hugewise_experiment::run::trial::{
    Advice, Clash, Collapsing, FirstTouch, Mark, Outcome, Pacing, Process, ProcessTree, ReadBack,
    Reading, Readings, Role, Tracing, Trial,
};
use proptest::prelude::*;

use crate::sample;

fn lines_of(record: &Record) -> Vec<String> {
    let mut lines = vec![record::to_line(&Line::Header(record.header.clone()))];
    lines.extend(
        record
            .trials
            .iter()
            .chain(&record.cold)
            .map(|trial| record::to_line(&Line::Trial(trial.clone()))),
    );
    if let Some(inside) = &record.inside {
        let plan = inside.header.plan.clone();
        lines.push(record::to_line(&Line::Inside(Inside { plan })));
        let periods = inside.trials.iter();
        lines.extend(periods.map(|period| record::to_line(&Line::Period(period.clone()))));
    }
    lines.extend(
        record
            .end
            .iter()
            .map(|end| record::to_line(&Line::End(end.clone()))),
    );
    lines
        .iter()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

fn bytes_of(record: &Record) -> Vec<u8> {
    let mut text = lines_of(record).join("\n");
    text.push('\n');
    text.into_bytes()
}

fn small_record() -> Record {
    let mut record = sample::record(
        &[(
            sample::thp("a", hugewise_experiment::run::policy::Thp::Never),
            sample::huge_pages(),
        )],
        3,
    );
    record.trials[1].stderr_tail = Some("überläuft \u{1F4A5}\n\"quoted\"".to_owned());
    record.trials[2].outcome = Outcome::Signalled { signal: 9 };
    record
}

/// All measurements stay, and everything that identifies the machine is removed.
#[test]
fn a_redacted_record_is_the_same_record() {
    let mut private = small_record();
    private.header.made_by = vec!["run".to_owned(), "/home/ann/prog".to_owned()];
    private.header.host.boot_line = "root=/dev/vda".to_owned();
    let tree = private.trials[0].read_back.tree.get_or_insert_default();
    let variable = ("MALLOC_CONF".to_owned(), "thp:never".to_owned());
    tree.largest.environment.extend([variable]);
    let (bytes, removed) = record::redact(&bytes_of(&private), record::Private::default()).unwrap();
    assert_eq!(
        removed.to_string(),
        "1 boot line, 1 home folder, 1 value of a variable, 1 end of stderr"
    );
    let mut expected = private;
    expected.header.made_by[1] = "~/prog".to_owned();
    expected.header.host.boot_line.clear();
    expected.trials[1].stderr_tail = None;
    let tree = expected.trials[0].read_back.tree.as_mut().unwrap();
    tree.largest
        .environment
        .insert("MALLOC_CONF".to_owned(), "…".to_owned());
    assert_eq!(record::parse(&bytes).unwrap(), expected);
}

#[test]
fn what_is_written_is_read() {
    let record = sample::clear_win();
    assert_eq!(record::parse(&bytes_of(&record)), Ok(record));
}

#[test]
fn periods_inside_servers_are_written_and_read_without_the_trials() {
    let record = sample::inside_server();
    let read = record::parse(&bytes_of(&record)).unwrap();
    assert_eq!(read, record);
    assert_eq!(read.trials.len(), 36);
    let inside = read.inside.expect("periods");
    assert_eq!(inside.trials.len(), 38);
    assert_eq!(inside.whole_rounds().len(), 9);
    assert_eq!(inside.header.plan.baseline, "small");
    assert_eq!(inside.header.host, record.header.host);
}

/// A record cut within the periods keeps those before, and a period needs the plan of its experiment.
#[test]
fn periods_belong_to_a_begin() {
    let record = sample::inside_server();
    let lines = lines_of(&record);
    let begin = lines
        .iter()
        .position(|it| it.contains("\"line\":\"inside\""));
    let begin = begin.expect("a begin");
    let cut = lines[..begin + 6].join("\n");
    let read = record::parse(cut.as_bytes()).unwrap();
    assert_eq!(read.inside.expect("periods").trials.len(), 5);
    let parse = |lines: &[&[String]]| record::parse(lines.concat().join("\n").as_bytes());
    let orphan = parse(&[&lines[..begin], &lines[begin + 1..]]);
    let error = orphan.unwrap_err().to_string();
    assert!(error.contains("a period before `inside`"), "{error}");
    let twice = parse(&[&lines[..=begin], &lines[begin..]]);
    let error = twice.unwrap_err().to_string();
    assert!(error.contains("a second begin inside"), "{error}");
    let foreign = lines[begin + 1].replace("\"policy\":\"", "\"policy\":\"other ");
    let error = parse(&[&lines[..=begin], &[foreign]])
        .unwrap_err()
        .to_string();
    assert!(error.contains("a period of policy"), "{error}");
}

#[test]
fn facts_that_are_missing_come_back_as_missing() {
    let mut record = small_record();
    record.header.host.thp = Err(Missing::not_supported("transparent huge pages"));
    assert_eq!(record::parse(&bytes_of(&record)), Ok(record));
}

#[test]
fn a_record_cut_at_any_byte_holds_only_whole_trials() {
    let record = small_record();
    let bytes = bytes_of(&record);
    let header = lines_of(&record)[0].len();
    for cut in 0..bytes.len() {
        match record::parse(&bytes[..cut]) {
            Ok(read) => {
                assert!(cut >= header, "a header of {header} bytes from {cut}");
                let whole = lines_of(&record)[1..]
                    .iter()
                    .scan(header, |end, line| {
                        *end += 1 + line.len();
                        Some(*end)
                    })
                    .filter(|&end| end <= cut)
                    .count();
                let expected = whole.min(record.trials.len());
                assert_eq!(read.trials[..], record.trials[..expected], "cut at {cut}");
                let complete = whole > record.trials.len();
                assert_eq!(read.end.is_some(), complete, "cut at {cut}");
                assert_eq!(read.warnings.is_empty(), complete, "cut at {cut}");
            }
            Err(error) => {
                assert!(cut < header, "cut at {cut}: {error}");
            }
        }
    }
}

#[test]
fn zeros_after_a_power_loss_are_a_torn_line() {
    let record = small_record();
    let lines = lines_of(&record);
    let mut bytes = format!("{}\n{}\n", lines[0], lines[1]).into_bytes();
    bytes.extend([0; 300]);
    let read = record::parse(&bytes).unwrap();
    assert_eq!(read.trials[..], record.trials[..1]);
    expect!["the record ends in the middle of line 3; the one trial before it is used"]
        .assert_eq(&read.warnings.join("\n"));
}

#[test]
fn every_error_names_the_place_and_the_fix() {
    let record = small_record();
    let lines = lines_of(&record);
    let unknown = lines[2].replacen("\"round\"", "\"runde\"", 1);
    let stranger = lines[2].replacen("\"policy\":\"a\"", "\"policy\":\"b\"", 1);
    let cases: [(&str, String); 11] = [
        ("empty", String::new()),
        ("text", "wall time 4.2 s\n".to_owned()),
        ("no header", format!("{}\n", lines[1])),
        ("other JSON", "{\"name\":\"x\"}\n".to_owned()),
        (
            "other version",
            lines[0].replacen("hugewise-record 1", "hugewise-record 2", 1),
        ),
        ("torn header", lines[0][..200].to_owned()),
        (
            "unknown field",
            format!("{}\n{}\n{unknown}\n{}\n", lines[0], lines[1], lines[3]),
        ),
        (
            "torn in the middle",
            format!("{}\n{}\n{}\n", lines[0], &lines[1][..100], lines[2]),
        ),
        ("strange policy", format!("{}\n{stranger}\n", lines[0])),
        ("two headers", format!("{}\n{}\n", lines[0], lines[0])),
        (
            "after the end",
            format!("{}\n{}\n{}\n", lines[0], lines[4], lines[1]),
        ),
    ];
    let said: Vec<String> = cases
        .iter()
        .map(|(name, text)| match record::parse(text.as_bytes()) {
            Ok(_) => panic!("{name} was read"),
            Err(error) => format!("{name}: {error}"),
        })
        .collect();
    expect![[r#"
        empty: the file is empty; give the file that `hugewise run --out` wrote
        text: not a record: its first line is not an object of JSON; give the file that `hugewise run --out` wrote
        no header: not a record: its header, the first line, is absent; give the file that `hugewise run --out` wrote
        other JSON: not a record: its first line is not a header; give the file that `hugewise run --out` wrote
        other version: a record of version 2, and this program reads version 1; read it with the program that wrote it (hugewise 0.1.0)
        torn header: the file ends in the middle of its first line: nothing was recorded; run it again
        unknown field: line 3, column 33: unknown field `runde`, expected one of `index`, `round`, `policy`, `role`, `start`, `started_unix_ms`, `outcome`, `failure_ignored`, `outlived`, `stderr_tail`, `readings`, `read_back`, `marks`, `pacing`, `timeline`, `first_touch`; the file was written by another version of hugewise, or it was changed or damaged: read it with the program that wrote it, restore it, or delete this line and what follows it to read the part before
        torn in the middle: line 2, column 100: EOF while parsing a string; the file was written by another version of hugewise, or it was changed or damaged: read it with the program that wrote it, restore it, or delete this line and what follows it to read the part before
        strange policy: line 2: a trial of policy `b`, which the plan does not have; the file was written by another version of hugewise, or it was changed or damaged: read it with the program that wrote it, restore it, or delete this line and what follows it to read the part before
        two headers: line 2: a second header; the file was written by another version of hugewise, or it was changed or damaged: read it with the program that wrote it, restore it, or delete this line and what follows it to read the part before
        after the end: line 3: a line follows the end; the file was written by another version of hugewise, or it was changed or damaged: read it with the program that wrote it, restore it, or delete this line and what follows it to read the part before"#]].assert_eq(&said.join("\n"));
}

#[test]
fn a_reading_that_is_no_number_is_written_as_unreadable() {
    let mut record = small_record();
    let readings = &mut record.trials[0].readings;
    readings.insert("user_seconds".to_owned(), Reading::of(f64::NAN));
    readings.insert(
        "p99".to_owned(),
        Reading::Values {
            values: vec![1.0, f64::INFINITY],
        },
    );
    let read = record::parse(&bytes_of(&record)).unwrap();
    for name in ["user_seconds", "p99"] {
        assert!(matches!(
            read.trials[0].readings[name],
            Reading::Missing {
                missing: Missing::Unreadable { .. }
            }
        ));
    }
}

/// The start of records before their first key was the format.
#[test]
fn an_old_header_is_read() {
    let record = small_record();
    let text = String::from_utf8(bytes_of(&record)).unwrap();
    let new = r#"{"format":"hugewise-record 1","#;
    assert!(text.starts_with(new), "{text}");
    let old = |version| {
        text.replacen(
            new,
            &format!(r#"{{"line":"header","version":{version},"#),
            1,
        )
    };
    assert_eq!(record::parse(old(1).as_bytes()), Ok(record));
    let newer = record::parse(old(2).as_bytes());
    assert!(
        matches!(newer, Err(LineError::OtherVersion { .. })),
        "{newer:?}"
    );
}

#[test]
fn errors_are_values() {
    assert_eq!(
        record::parse(b" \n\n"),
        Err(LineError::Empty {
            writer: "hugewise run --out"
        })
    );
}

fn number() -> impl Strategy<Value = f64> {
    prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO
}

fn missing() -> impl Strategy<Value = Missing> {
    prop_oneof![
        ".*".prop_map(|grant| Missing::NotPermitted { grant }),
        ".*".prop_map(|what| Missing::NotSupported { what }),
        Just(Missing::NoHardware),
        Just(Missing::TooShort),
        ".*".prop_map(|error| Missing::Unreadable { error }),
        any::<u64>().prop_map(|floor| Missing::BelowFloor { floor }),
        Just(Missing::NotPrinted),
        Just(Missing::NotAsked),
        Just(Missing::TrialFailed),
        Just(Missing::NotRun),
    ]
}

fn reading() -> impl Strategy<Value = Reading> {
    prop_oneof![
        number().prop_map(Reading::of),
        prop::collection::vec(number(), 1..5).prop_map(|values| Reading::Values { values }),
        prop::collection::vec(any::<u64>(), 0..9).prop_map(|all| {
            let mut histogram = Distribution::new(Grain::Bucket, 1_000);
            all.iter().for_each(|&ns| histogram.add(ns, ns % 5 + 1));
            Reading::Histogram {
                histogram: Box::new(histogram),
            }
        }),
        missing().prop_map(Reading::missing),
    ]
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        (0..256).prop_map(|code| Outcome::Exited { code }),
        (1..65).prop_map(|signal| Outcome::Signalled { signal }),
        Just(Outcome::TimedOut),
        ".*".prop_map(|error| Outcome::NotStarted { error }),
        ".*".prop_map(|error| Outcome::HookFailed { error }),
        any::<(u64, u64)>().prop_map(|(failed, sent)| Outcome::RequestsFailed { failed, sent }),
    ]
}

fn marks() -> impl Strategy<Value = Vec<Mark>> {
    let mark = prop_oneof![
        (".*", ".*", ".*").prop_map(|(path, expected, found)| Mark::SettingDrifted {
            path,
            expected,
            found
        }),
        any::<u32>().prop_map(|permille| Mark::OtherLoad { permille }),
        any::<u32>().prop_map(|permille| Mark::OtherServers { permille }),
        any::<u32>().prop_map(|permille| Mark::Steal { permille }),
        any::<u64>().prop_map(|free_huge_pages| Mark::Fragmented { free_huge_pages }),
        any::<u64>().prop_map(|major_faults| Mark::ColdCache { major_faults }),
        any::<u64>().prop_map(|pages| Mark::Swapped { pages }),
        any::<u64>().prop_map(|touch_us| Mark::ColdMemory {
            touch_us,
            quiet_us: 200
        }),
        ".*".prop_map(|detail| Mark::NotApplied { detail }),
    ];
    prop::collection::vec(mark, 0..3)
}

fn read_back() -> impl Strategy<Value = ReadBack> {
    let disable = prop_oneof![
        Just(ThpDisable::Off),
        Just(ThpDisable::Disabled),
        Just(ThpDisable::ExceptAdvised)
    ];
    (
        prop::collection::btree_map(".*", ".*", 0..3),
        prop::option::of(disable),
        prop::option::of(".*"),
        prop::option::of(any::<bool>()),
        prop::option::of(tree()),
        prop::option::of(tracing()),
    )
        .prop_map(
            |(files, thp_disable, allocator, library, tree, tracing)| ReadBack {
                files,
                thp_disable,
                allocator,
                library,
                runtimes: BTreeMap::new(),
                tree,
                tracing,
                ..ReadBack::default()
            },
        )
}

fn tracing() -> impl Strategy<Value = Tracing> {
    let made = || prop::option::of(collapsing());
    let beyond = prop::collection::vec(".*", 0..3);
    (any::<[u64; 4]>(), made(), made(), beyond).prop_map(
        |([ranges, bytes, stops, refused], collapsing, text, beyond)| Tracing {
            sites: Vec::new(),
            ranges,
            bytes,
            stops,
            refused,
            collapsing,
            text,
            clashes: match beyond.is_empty() {
                true => BTreeSet::new(),
                false => BTreeSet::from([Clash::OwnFilter, Clash::Traces]),
            },
            beyond,
        },
    )
}

fn collapsing() -> impl Strategy<Value = Collapsing> {
    let refused = prop::collection::btree_map("[A-Z]{1,6}", any::<u64>(), 0..3);
    (any::<[u64; 5]>(), refused).prop_map(
        |([passes, calls, bytes, held_ns, longest_ns], refused)| Collapsing {
            passes,
            calls,
            bytes,
            refused,
            held_ns,
            longest_ns,
        },
    )
}

fn tree() -> impl Strategy<Value = ProcessTree> {
    let advice = any::<[u64; 4]>().prop_map(
        |[anon_bytes, huge_bytes, no_huge_bytes, stack_bytes]| Advice {
            anon_bytes,
            huge_bytes,
            no_huge_bytes,
            stack_bytes,
            room_bytes: None,
        },
    );
    let process = (
        (".*", ".*", any::<u64>()),
        any::<Option<bool>>(),
        prop::option::of(advice),
        prop::collection::btree_map(".*", ".*", 0..3),
        prop::collection::btree_set(".*", 0..3),
    );
    let process =
        process.prop_map(
            |(named, thp_enabled, advice, environment, libraries)| Process {
                name: named.0,
                program: named.1,
                anon_bytes: named.2,
                thp_enabled,
                advice,
                environment,
                libraries,
            },
        );
    (any::<[u32; 2]>(), any::<u64>(), process).prop_map(|(counts, anon_bytes, largest)| {
        ProcessTree {
            processes: counts[0],
            thp_disabled: counts[1],
            anon_bytes,
            libraries: largest.libraries.clone(),
            largest,
        }
    })
}

fn slowest() -> impl Strategy<Value = Slowest> {
    let held = (
        any::<u64>(),
        0.0_f64..9e9,
        prop::collection::vec(any::<(u64, u64)>(), 0..4),
    );
    let held = held.prop_map(|(slow, slow_from_seconds, turned)| {
        Slowest::Held(Held {
            slow,
            slow_from_seconds,
            turned,
            ..Held::default()
        })
    });
    let lost = any::<u64>().prop_map(|lost| Slowest::CannotTell(Unrelated::StallsLost { lost }));
    prop_oneof![held, lost, Just(Slowest::default())]
}

prop_compose! {
    fn second()(
        to_seconds in 0.0_f64..1e6,
        minor_faults: Option<u64>,
        resident_bytes: Option<u64>,
        huge_bytes: Option<u64>,
        stalls in prop::collection::btree_map("[a-z_]{1,12}", 0.0_f64..1e6, 0..3),
        requests in prop::option::of((any::<u64>(), 0.0_f64..1e6)),
    ) -> Second {
        let requests = requests.map(|(count, max_seconds)| Requests {
            count, p50_seconds: max_seconds / 3.0, p99_seconds: max_seconds / 2.0, max_seconds,
            over_seconds: (count > 9).then_some(max_seconds),
        });
        Second { to_seconds, minor_faults, resident_bytes, huge_bytes, stalls, requests }
    }
}

prop_compose! {
    fn timeline()(
        seconds in prop::collection::vec(second(), 0..4),
        long_stalls in prop::collection::btree_map("[a-z_]{1,12}", any::<u64>(), 0..3),
        slowest in slowest(),
    ) -> Timeline {
        Timeline { seconds, long_stalls, slowest }
    }
}

prop_compose! {
    fn first_touch()(
        (bytes, huge_bytes, wanted_bytes) in (any::<u64>(), any::<u64>(), any::<Option<u64>>()),
        (seconds, cold_pages) in (0.0_f64..1e3, any::<u64>()),
        (cold_touch_seconds, warm_touch_seconds) in (
            prop::option::of(0.0_f64..1.0), prop::option::of(0.0_f64..1.0),
        ),
    ) -> FirstTouch {
        FirstTouch {
            bytes, wanted_bytes, huge_bytes, seconds, cold_pages, cold_touch_seconds,
            warm_touch_seconds,
        }
    }
}

prop_compose! {
    fn trial()(
        (index, round, started_unix_ms, failure_ignored, outlived) in
            (any::<u32>(), 0_u32..1000, any::<u64>(), any::<bool>(), any::<u32>()),
        start in prop::option::of(any::<u32>()),
        role in prop_oneof![Just(Role::Arm), Just(Role::Control)],
        outcome in outcome(),
        stderr_tail in prop::option::of(".*"),
        readings in prop::collection::btree_map("[a-z_]{1,12}", reading(), 0..6),
        read_back in read_back(),
        marks in marks(),
        pacing in prop::option::of(Just(Pacing::Closed)),
        timeline in prop::option::of(timeline()),
        first_touch in prop::option::of(first_touch()),
    ) -> Trial {
        Trial {
            index, round, policy: "a".to_owned(), role, start, started_unix_ms, outcome,
            stderr_tail,
            readings: Readings::from(readings), read_back, marks, pacing,
            timeline, first_touch, failure_ignored, outlived,
        }
    }
}

proptest! {
    #[test]
    fn any_trial_comes_back_as_it_was(
        trials in prop::collection::vec(trial(), 0..4),
        cold in prop::collection::vec(trial(), 0..2),
    ) {
        let mut record = small_record();
        record.cold = cold.into_iter().map(|trial| Trial { role: Role::Cold, ..trial }).collect();
        record.trials = trials;
        prop_assert_eq!(record::parse(&bytes_of(&record)), Ok(record));
    }

    #[test]
    fn no_bytes_are_too_strange(tail in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = record::parse(&tail);
        let mut bytes = lines_of(&small_record())[0].clone().into_bytes();
        bytes.push(b'\n');
        bytes.extend(tail);
        if let Ok(record) = record::parse(&bytes) {
            prop_assert!(record.trials.is_empty());
        }
    }
}

#[test]
fn a_policy_that_cannot_act_leaves_the_plan() {
    use hugewise_experiment::run::policy::Policy;
    use hugewise_experiment::run::record::{Removal, RemovalReason};

    let arms = [
        Policy::as_is(),
        sample::thp("b", hugewise_experiment::run::policy::Thp::Never),
    ];
    let record = sample::record(&arms.map(|policy| (policy, sample::huge_pages())), 2);
    let removal = Removal {
        round: 1,
        policy: "b".to_owned(),
        why: RemovalReason::CannotAct("x is static".to_owned()),
    };
    let line = record::to_line(&Line::Drop(removal.clone()));
    expect![[r#"
        {"line":"drop","round":1,"policy":"b","why":{"cannot_act":"x is static"}}
    "#]]
    .assert_eq(&line);
    let mut lines = lines_of(&record);
    let last = lines.len() - 1;
    lines.insert(last, line.trim_end().to_owned());
    let read = record::parse(lines.join("\n").as_bytes()).unwrap();
    let left: Vec<&str> = read
        .header
        .plan
        .policies
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    assert_eq!(left, ["as-is"]);
    assert_eq!(read.removals, [removal]);
    assert_eq!(read.trials, record.trials, "what ran stays");
    lines.insert(last, line.trim_end().to_owned());
    let twice = record::parse(lines.join("\n").as_bytes()).unwrap_err();
    assert!(
        twice.to_string().contains("the end of policy `b`"),
        "{twice}"
    );
}

#[test]
fn another_means_takes_the_place_of_the_first() {
    use hugewise_experiment::run::policy::realise::{Realisation, TreeTracer};
    use hugewise_experiment::run::policy::{Policy, Thp};
    use hugewise_experiment::run::record::ChangeOfMeans;

    let arms = [Policy::as_is(), sample::thp("b", Thp::Always)];
    let mut record = sample::record(&arms.map(|policy| (policy, sample::huge_pages())), 2);
    let traced = Realisation {
        tracer: TreeTracer::Huge,
        ..Realisation::default()
    };
    record.header.realisations.insert("b".to_owned(), traced);
    let change = ChangeOfMeans {
        round: 0,
        policy: "b".to_owned(),
        clash: Clash::Traces,
        realisation: Realisation {
            library: Some("/tmp/a.so".to_owned()),
            ..Realisation::default()
        },
    };
    let mut lines = lines_of(&record);
    let line = record::to_line(&Line::Means(change.clone()));
    lines.insert(1, line.trim_end().to_owned());
    let read = record::parse(lines.join("\n").as_bytes()).unwrap();
    assert_eq!(read.header.realisations["b"], change.realisation);
    assert_eq!(read.changes_of_means, [change]);
    let strange = line.replace("\"b\"", "\"c\"");
    lines.insert(1, strange.trim_end().to_owned());
    let error = record::parse(lines.join("\n").as_bytes()).unwrap_err();
    assert!(error.to_string().contains("another means of policy `c`"));
}

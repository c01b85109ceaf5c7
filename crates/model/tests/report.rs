//! Reports of records made by hand, in every format, against `fixtures/golden`.
//!
//! `UPDATE_EXPECT=1 cargo test -p hugewise-model --test report` rewrites the expected files;
//! read the difference before it is committed.

#![expect(clippy::unwrap_used, reason = "a panic is a test that fails")]

mod sample;

use expect_test::{expect, expect_file};
use hugewise_model::compare::{
    self, Across, Answer, Change, Comparison, Options, Scale, Statistic, Table, between,
};
use hugewise_model::findings;
use hugewise_model::latency::distribution::{Distribution, Grain};
use hugewise_model::metric::Better;
use hugewise_model::observation::{Mark, Missing, Outcome, Reading};
use hugewise_model::plan::PrintedMetric;
use hugewise_model::policy::{Malloc, Policy, Settings, Thp};
use hugewise_model::record::{self, Line, Record, StopReason};
use hugewise_model::report::advice::Advice;
use hugewise_model::report::{
    self, Color, Other, Report, Style, Verbosity, render_csv, render_json, render_markdown,
    render_text,
};
use hugewise_model::stats::Quantile;
use sample::{Figures, huge_pages, small_pages, table, thp, with};
use serde_json::Value;

fn golden(name: &str) -> std::path::PathBuf {
    fixture(&format!("golden/{name}"))
}

fn fixture(name: &str) -> std::path::PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../fixtures", name]
        .iter()
        .collect()
}

/// The record by way of its file, so that every golden report is one of a file.
fn by_file(name: &str, record: &Record) -> Record {
    let mut text = record::to_line(&Line::Header(record.header.clone())) + "\n";
    for trial in &record.trials {
        text += &(record::to_line(&Line::Trial(trial.clone())) + "\n");
    }
    if let Some(end) = &record.end {
        text += &(record::to_line(&Line::End(end.clone())) + "\n");
    }
    expect_file![fixture(&format!("runs/{name}.jsonl"))].assert_eq(&text);
    record::parse(text.as_bytes()).unwrap()
}

fn draw(report: &Report<'_>, style: &Style) -> String {
    let mut text = String::new();
    render_text(report, style, &mut text).unwrap();
    text
}

fn widest(text: &str) -> usize {
    text.lines()
        .map(|line| line.chars().count())
        .max()
        .unwrap_or(0)
}

/// Checks the text of a scenario, at 80 columns and when much is asked for, and returns it.
fn check(name: &str, record: &Record, table: Table) -> String {
    let record = by_file(name, record);
    let findings = findings::judge(&record, &table);
    let report = Report::new(&record, table, findings, Some(format!("{name}.jsonl")));
    let text = draw(&report, &Style::default());
    expect_file![golden(&format!("{name}.txt"))].assert_eq(&text);
    assert!(
        widest(&text) <= 80,
        "{name} is wider than 80 columns:\n{text}"
    );
    let style = Style {
        verbose: Verbosity::Verbose,
        ..Style::default()
    };
    let verbose = draw(&report, &style);
    assert!(
        widest(&verbose) <= 80,
        "{name}, verbose, is wider than 80 columns:\n{verbose}"
    );
    check_json(&report);
    text
}

/// What every JSON report must have, whatever happened.
fn check_json(report: &Report<'_>) {
    let mut text = String::new();
    render_json(report, &mut text).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    for field in [
        "format",
        "host",
        "policies",
        "baseline",
        "trials",
        "comparisons",
        "control",
        "verdict",
        "findings",
    ] {
        assert!(json.get(field).is_some(), "{field}");
    }
    assert_eq!(json["format"], "hugewise-report 1");
    let fields = |value: &Value, names: &[&str]| {
        for name in names {
            assert!(value.get(name).is_some(), "{name} in {value}");
        }
    };
    for trial in json["trials"].as_array().unwrap() {
        fields(trial, &["round", "policy", "readings"]);
        for reading in trial["readings"].as_object().unwrap().values() {
            if let Some(missing) = reading.get("missing") {
                fields(missing, &["why", "text"]);
            }
        }
    }
    let comparison = [
        "metric", "policy", "baseline", "ratio", "low", "high", "p", "n", "change",
    ];
    for row in json["comparisons"].as_array().unwrap() {
        fields(row, &comparison);
    }
    for row in json["summaries"].as_array().unwrap() {
        fields(row, &["metric", "policy", "median", "low", "high", "n"]);
    }
    fields(&json["verdict"], &["policies", "best"]);
    for finding in json["findings"].as_array().unwrap() {
        fields(finding, &["id", "outcome", "text", "evidence", "explain"]);
    }
    let mut csv = String::new();
    render_csv(report, &mut csv).unwrap();
    let readings: usize = report
        .record
        .trials
        .iter()
        .map(|trial| trial.readings.len())
        .sum();
    assert!(csv.lines().count() > readings, "a row for each reading");
    let mut markdown = String::new();
    render_markdown(report, &mut markdown).unwrap();
    assert!(
        markdown.starts_with("**"),
        "the answer comes first:\n{markdown}"
    );
}

fn comparison<'a>(table: &'a mut Table, metric: &str, policy: &str) -> &'a mut Comparison {
    table
        .comparisons
        .iter_mut()
        .find(|c| c.metric == metric && c.policy == policy)
        .unwrap()
}

#[test]
fn a_clear_win_in_every_format() {
    let record = sample::clear_win();
    let text = check("clear-win", &record, table(&record, 0.005));
    assert!(text.starts_with("thp=never makes no difference"), "{text}");

    let table = table(&record, 0.005);
    let findings = findings::judge(&record, &table);
    let report = Report::new(&record, table, findings, Some("clear-win.jsonl".to_owned()));
    let verbose = Style {
        verbose: Verbosity::Verbose,
        ..Style::default()
    };
    expect_file![golden("clear-win-verbose.txt")].assert_eq(&draw(&report, &verbose));
    let mut out = String::new();
    render_json(&report, &mut out).unwrap();
    expect_file![golden("clear-win.json")].assert_eq(&out);
    let mut out = String::new();
    render_csv(&report, &mut out).unwrap();
    expect_file![golden("clear-win.csv")].assert_eq(&out);
    let mut out = String::new();
    render_markdown(&report, &mut out).unwrap();
    expect_file![golden("clear-win.md")].assert_eq(&out);
}

#[test]
fn colour_adds_nothing_but_colour() {
    let record = sample::clear_win();
    let table = table(&record, 0.008);
    let findings = findings::judge(&record, &table);
    let report = Report::new(&record, table, findings, None);
    let coloured = draw(
        &report,
        &Style {
            color: Color::Always,
            ..Style::default()
        },
    );
    let mut bare = coloured.clone();
    for code in ["\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[32m"] {
        assert!(
            coloured.contains(code) || code == "\x1b[31m",
            "{code:?} is never used"
        );
        bare = bare.replace(code, "");
    }
    assert_eq!(bare, draw(&report, &Style::default()));
}

#[test]
fn one_policy_against_the_baseline_shows_intervals() {
    let record = sample::record(
        &[
            (thp("thp=never", Thp::Never), small_pages()),
            (thp("thp=always", Thp::Always), huge_pages()),
        ],
        12,
    );
    let text = check("two-policies", &record, table(&record, 0.008));
    assert!(text.contains('['), "{text}");
}

#[test]
fn no_effect_is_no_claim_about_speed() {
    let mut record = sample::record(
        &[
            (Policy::as_is(), small_pages()),
            (
                thp("thp=always", Thp::Always),
                with(&small_pages(), &[("wall_seconds", 4.2)]),
            ),
        ],
        12,
    );
    let mut table = table(&record, 0.004);
    table
        .verdict
        .policies
        .insert("thp=always".to_owned(), Answer::NoEffect);
    table.verdict.reasons.insert(
        "thp=always".to_owned(),
        "no page was huge under either; 51,200 against 51,200 minor faults".to_owned(),
    );
    sample::take_away(
        &mut record,
        &["huge_zero_exit_bytes"],
        &Missing::NotSupported {
            what: "PAGEMAP_SCAN (Linux 6.7)".to_owned(),
        },
    );
    let text = check("no-effect", &record, table);
    assert!(
        text.starts_with("thp=always had no effect on the pages of sort -n numbers.txt, so no"),
        "{text}"
    );
    assert!(text.contains("the kernel refused none"), "{text}");
    assert!(
        !text.contains("policy-had-no-effect"),
        "it is said once: {text}"
    );
}

#[test]
fn noise_says_how_much_more_is_needed() {
    let mut record = sample::record(
        &[
            (Policy::as_is(), small_pages()),
            (
                thp("thp=always", Thp::Always),
                with(&huge_pages(), &[("wall_seconds", 4.16)]),
            ),
        ],
        8,
    );
    for index in [1, 5, 9] {
        sample::mark(&mut record, index, Mark::Steal { permille: 31 });
    }
    sample::mark(&mut record, 5, Mark::OtherLoad { permille: 240 });
    record.end.as_mut().unwrap().reason = StopReason::MaxRounds;
    let mut table = table(&record, 0.045);
    comparison(&mut table, "wall_seconds", "thp=always").more_rounds = Some(41);
    table.verdict.best = None;
    let text = check("noise", &record, table);
    assert!(
        text.contains("about 41 more rounds would tell: --max-rounds 49"),
        "{text}"
    );
    assert!(text.contains("run-too-noisy"), "{text}");
}

#[test]
fn what_stopped_the_run_is_what_is_asked_for() {
    let mut record = sample::clear_win();
    let mut table = table(&record, 0.05);
    let open = comparison(&mut table, "wall_seconds", "thp=never");
    open.change = Change::CannotTell;
    let cases = [
        (
            StopReason::MaxTime,
            Some(5),
            "; about 5 more rounds would tell: a longer --max-time.",
        ),
        (
            StopReason::MaxTime,
            Some(50),
            "; about 50 more rounds would tell: --max-rounds 62 and a longer --max-time.",
        ),
        (
            StopReason::Interrupted,
            Some(1),
            "; about 1 more round would tell: let it run to its end.",
        ),
        (
            StopReason::MaxRounds,
            None,
            "another --threshold would tell sooner.",
        ),
    ];
    for (reason, more, expected) in cases {
        record.end.as_mut().unwrap().reason = reason;
        comparison(&mut table, "wall_seconds", "thp=never").more_rounds = more;
        let report = Report::new(&record, table.clone(), Vec::new(), None);
        let answer = report.answers().remove(0);
        assert!(answer.ends_with(expected), "{answer}");
    }
}

#[test]
fn what_the_correction_holds_back_is_shown_as_such() {
    let record = sample::clear_win();
    let mut table = table(&record, 0.005);
    comparison(&mut table, "minor_faults_total", "thp=always").change = Change::CannotTell;
    let report = Report::new(&record, table, Vec::new(), None);
    let text = draw(&report, &Style::default());
    assert!(text.contains("1340  ~ −97.4 %\n"), "{text}");
    assert!(text.contains("~ with a figure: clear by itself"), "{text}");
}

/// The columns, the words and the advice of another baseline are that one's.
#[test]
fn another_baseline_is_the_first_column() {
    let record = sample::clear_win();
    let options = Options {
        baseline: Some("thp=always".to_owned()),
        threshold: Some(0.05),
        ..Options::default()
    };
    let table = compare::table(&record, &options).unwrap();
    let findings = findings::judge(&record, &table);
    let report = Report::new(&record, table, findings, None);
    let text = draw(&report, &Style::default());
    assert!(text.starts_with("as-is is 24."), "{text}");
    assert!(text.contains("slower than thp=always"), "{text}");
    assert!(
        text.contains("Keep thp=always: nothing tried is better by more than 5 %."),
        "{text}"
    );
    assert!(
        text.contains("thp=always    as-is     change  thp=never     change\n"),
        "{text}"
    );
    check_json(&report);
}

#[test]
fn failed_trials_are_counted_and_quoted() {
    let mut record = sample::clear_win();
    for trial in record
        .trials
        .iter_mut()
        .filter(|t| t.policy == "thp=always")
        .take(3)
    {
        trial.outcome = Outcome::Signalled { signal: 9 };
        trial.stderr_tail = Some("sort: \u{1b}[31mcannot allocate memory\u{1b}[0m\n".to_owned());
        for reading in trial.readings.values_mut() {
            *reading = Reading::missing(Missing::TrialFailed);
        }
    }
    let text = check("failed-trials", &record, table(&record, 0.008));
    assert!(
        text.contains("Failed: 3 of 48 trials (3 under thp=always)"),
        "{text}"
    );
    assert!(
        !text.contains('\u{1b}'),
        "what a program wrote reaches the terminal as escapes"
    );
}

#[test]
fn every_trial_of_a_policy_may_fail() {
    let mut record = sample::clear_win();
    for trial in record
        .trials
        .iter_mut()
        .filter(|t| t.policy == "thp=always")
    {
        trial.outcome = Outcome::NotStarted {
            error: "No such file or directory (os error 2)".to_owned(),
        };
        trial.readings.clear();
    }
    record.end = None;
    record.warnings = vec!["the record has no end".to_owned()];
    let mut table = table(&record, 0.008);
    table.verdict.reasons.insert(
        "thp=always".to_owned(),
        "all of its trials failed".to_owned(),
    );
    let text = check("all-failed", &record, table);
    assert!(text.contains("all of its trials failed"), "{text}");
}

#[test]
fn percentiles_of_one_policy_lie_between_those_of_its_trials() {
    let mut record = sample::record(&[(Policy::as_is(), small_pages())], 7);
    for (index, trial) in (1..).zip(&mut record.trials) {
        let mut histogram = Distribution::new(Grain::Bucket, 1_000);
        for request in 1..=20_000_u64 {
            histogram.add(request * 100 * index, 1);
        }
        let reading = Reading::Histogram { histogram };
        trial.readings.insert("latency_seconds".to_owned(), reading);
    }
    let report = Report::new(&record, table(&record, 0.01), Vec::new(), None);
    let text = draw(&report, &Style::default());
    let rows: Vec<&str> = text
        .lines()
        .filter(|row| row.starts_with("latency"))
        .collect();
    expect![[r#"
        latency, p50      3.15 ms                   –   1.00 ms  7.01 ms
        latency, p90      9.04 ms                   –   1.80 ms  12.6 ms
        latency, p99      13.0 ms                   –   1.98 ms  13.9 ms
        latency, p99.9    13.9 ms                   –   2.00 ms  14.0 ms
        latency, max      8.00 ms  [2.00 ms, 14.0 ms]   2.00 ms  14.0 ms"#]]
    .assert_eq(&rows.join("\n"));
}

#[test]
fn a_single_policy_is_a_measurement() {
    let arms = [(thp("thp=always", Thp::Always), huge_pages())];
    let record = sample::record(&arms, 8);
    let text = check("single-policy", &record, table(&record, 0.01));
    let start =
        "sort -n numbers.txt under thp=always: wall time 3.38 s (median of 8 trials; 95 %: 3.3";
    assert!(text.replace('\n', " ").starts_with(start), "{text}");

    let few = sample::record(&arms, 5);
    let report = Report::new(&few, table(&few, 0.01), Vec::new(), None);
    let answer = report.answers().remove(0);
    assert!(
        answer.ends_with("(median of 5 trials; its interval needs 6)."),
        "{answer}"
    );
}

#[test]
fn an_ordinary_user_sees_what_to_grant() {
    let mut record = sample::clear_win();
    let root = Missing::NotPermitted {
        grant: "root".to_owned(),
    };
    sample::take_away(
        &mut record,
        &["huge_anon_peak_bytes", "peak_rss_bytes"],
        &root,
    );
    let old = Missing::NotSupported {
        what: "PAGEMAP_SCAN (Linux 6.7)".to_owned(),
    };
    sample::take_away(&mut record, &["huge_zero_exit_bytes"], &old);
    record.header.host.thp = Err(Missing::NotSupported {
        what: "transparent huge pages".to_owned(),
    });
    let text = check("ordinary-user", &record, table(&record, 0.008));
    assert!(text.contains("not measured ¹"), "{text}");
    assert!(text.contains("needs root"), "{text}");
}

#[test]
fn everything_may_be_missing() {
    let mut record = sample::clear_win();
    for trial in &mut record.trials {
        for reading in trial.readings.values_mut() {
            *reading = Reading::missing(Missing::TooShort);
        }
    }
    check("everything-missing", &record, table(&record, 0.008));
}

#[test]
fn long_names_and_five_policies_fit() {
    let long = |text: &str, kind| {
        thp(
            &format!("{text}-for-the-nightly-batch-of-the-western-region"),
            kind,
        )
    };
    let record = sample::record(
        &[
            (
                long("everything-as-the-machine-has-it", Thp::Inherit),
                small_pages(),
            ),
            (long("no-huge-pages-at-all", Thp::Never), small_pages()),
            (
                long("huge-pages-wherever-they-fit", Thp::Always),
                huge_pages(),
            ),
            (
                thp("thp=always", Thp::Always),
                with(&huge_pages(), &[("wall_seconds", 52.0)]),
            ),
            (
                thp("thp=madvise", Thp::Madvise),
                with(
                    &small_pages(),
                    &[("wall_seconds", 4.6), ("peak_rss_bytes", 1e9)],
                ),
            ),
        ],
        12,
    );
    let mut record = record;
    record.header.plan.command = vec!["/opt/vendor/bin/sort".to_owned(), "--key=".repeat(40)];
    let text = check("long-names", &record, table(&record, 0.008));
    assert!(text.contains("takes 12.3 times as long"), "{text}");
}

#[test]
fn five_policies_fit() {
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=never", Thp::Never), small_pages()),
        (thp("thp=madvise", Thp::Madvise), small_pages()),
        (thp("thp=always", Thp::Always), huge_pages()),
        (
            Policy {
                name: "malloc=thp".to_owned(),
                settings: Settings {
                    malloc: Some(Malloc::Thp),
                    ..Settings::default()
                },
            },
            with(
                &huge_pages(),
                &[("wall_seconds", 3.5), ("peak_rss_bytes", 9e8)],
            ),
        ),
    ];
    let record = sample::record(&arms, 12);
    check("five-policies", &record, table(&record, 0.008));
}

#[test]
fn a_win_with_a_loss_says_both() {
    let mut record = sample::record(
        &[
            (Policy::as_is(), with(&small_pages(), &[("p99_ms", 12.1)])),
            (
                thp("thp=always", Thp::Always),
                with(
                    &huge_pages(),
                    &[
                        ("peak_rss_bytes", 1.1e9),
                        ("p99_ms", 31.0),
                        ("thp_fault_fallback_total", 96.0),
                        ("thp_fault_fallback_charge_total", 12.0),
                        ("free_huge_pages_before_total", 310.0),
                    ],
                ),
            ),
        ],
        12,
    );
    record.header.plan.printed = vec![PrintedMetric {
        name: "p99_ms".to_owned(),
        pattern: "p99: ([0-9.]+)".to_owned(),
        unit: "ms".to_owned(),
        better: Better::Lower,
    }];
    let mut table = table(&record, 0.008);
    let mut printed = sample::comparison(&record, "p99_ms", "thp=always", 0.0);
    printed.change = Change::Higher;
    let tail = Comparison {
        statistic: Statistic::Quantile(Quantile::P99),
        metric: "wall_seconds".to_owned(),
        ratio: Some(1.31),
        low: Some(1.1),
        high: Some(1.6),
        baseline_value: Some(4.3),
        policy_value: Some(5.6),
        ..printed.clone()
    };
    table.comparisons.extend([printed, tail]);
    let text = check("win-with-a-loss", &record, table);
    assert!(text.contains("but worse in"), "{text}");
}

#[test]
fn two_records_go_by_their_names() {
    let arms = |always| {
        [
            (Policy::as_is(), small_pages()),
            (thp("thp=always", Thp::Always), always),
        ]
    };
    let before = sample::record(&arms(huge_pages()), 6);
    let mut after = sample::record(&arms(with(&huge_pages(), &[("wall_seconds", 3.1)])), 6);
    after.header.host.kernel = "6.19.10".to_owned();
    let other = Other {
        record: &after,
        names: ["before.jsonl".to_owned(), "after.jsonl".to_owned()],
    };
    let report = Report::between(&before, other, sample::table_between(&before, &after));
    let text = draw(&report, &Style::default());
    expect_file![golden("two-records.txt")].assert_eq(&text);
    assert!(
        text.contains("Under thp=always: after.jsonl is 8."),
        "{text}"
    );
    assert!(widest(&text) <= 80, "{text}");
    check_json(&report);
}

#[test]
fn doubts_of_two_records_are_those_of_both() {
    let arms = [(Policy::as_is(), small_pages())];
    let before = sample::record(&arms, 6);
    let mut after = sample::record(&arms, 6);
    after.warnings = vec!["the record has no end".to_owned()];
    after.trials[1].marks = marks();
    let other = Other {
        record: &after,
        names: ["before.jsonl".to_owned(), "after.jsonl".to_owned()],
    };
    let report = Report::between(&before, other, sample::table_between(&before, &after));
    let text = draw(&report, &Style::default());
    assert!(
        text.contains("were not shuffled against each other"),
        "{text}"
    );
    assert!(text.contains("\nafter.jsonl: Marked: 1 of"), "{text}");
    assert!(
        text.contains("\nafter.jsonl: Warning: the record has no end."),
        "{text}"
    );
    assert!(!text.contains("before.jsonl: "), "{text}");
}

/// A change is taken round by round, so the two medians beside it may give another one.
#[test]
fn a_change_that_its_medians_do_not_give_is_explained() {
    let said = "need not be the\n  change of the medians";
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), huge_pages()),
    ];
    let record = sample::record(&arms, 12);
    let table = table(&record, 0.002);
    let shown = |table: Table| {
        let report = Report::new(&record, table, Vec::new(), None);
        draw(&report, &Style::default())
    };
    assert!(!shown(table.clone()).contains(said));
    let mut apart = table;
    let wall = comparison(&mut apart, "wall_seconds", "thp=always");
    wall.ratio = wall.ratio.map(|ratio| ratio * 0.9);
    let text = shown(apart);
    assert!(text.contains(said), "{text}");
}

#[test]
fn changes_beside_zeros_have_a_prefix_that_suits_them() {
    let arms = [
        (
            Policy::as_is(),
            with(&small_pages(), &[("system_seconds", 0.0)]),
        ),
        (
            thp("thp=always", Thp::Always),
            with(&huge_pages(), &[("system_seconds", 0.0)]),
        ),
    ];
    let record = sample::record(&arms, 12);
    let mut table = table(&record, 0.005);
    let system = comparison(&mut table, "system_seconds", "thp=always");
    system.scale = Scale::Difference;
    system.change = Change::CannotTell;
    (system.ratio, system.difference) = (None, Some(0.0));
    (system.low, system.high) = (Some(-473e-6), Some(599e-6));
    let report = Report::new(&record, table, Vec::new(), None);
    let text = draw(&report, &Style::default());
    assert!(text.contains("~ [−473 µs, +599 µs]"), "{text}");
}

/// Two real shapes through the real comparison: the kernel was changed between the two runs.
#[test]
fn two_kernels_are_compared_only_when_asked() {
    let arms = |always: &Figures| {
        [
            (Policy::as_is(), small_pages()),
            (thp("thp=always", Thp::Always), always.clone()),
        ]
    };
    let before = sample::record(&arms(&huge_pages()), 12);
    let faster = with(
        &huge_pages(),
        &[("wall_seconds", 3.1), ("user_seconds", 2.9)],
    );
    let mut after = sample::record(&arms(&faster), 12);
    after.header.host.kernel = "6.19.10".to_owned();

    let refused = between(&before, &after, Across::Refused).unwrap_err();
    expect![[r#"
        the two records differ in more than what is compared (kernel: 6.18.44 → 6.19.10); allow that with --across if you mean to
    "#]]
    .assert_eq(&format!("{refused}\n"));

    let mut other_settings = before.clone();
    let host = &mut other_settings.header.host;
    let thp = host.thp.as_mut().expect("settings");
    thp.enabled = "always".to_owned();
    thp.khugepaged.insert("max_ptes_none".to_owned(), 0);
    thp.sizes.insert(64, "inherit".to_owned());
    let refused = between(&before, &other_settings, Across::Refused).unwrap_err();
    expect![[r#"
        the two records differ in more than what is compared (THP enabled: madvise → always; khugepaged/max_ptes_none: none → 0; hugepages-64kB: never → inherit); allow that with --across if you mean to
    "#]].assert_eq(&format!("{refused}\n"));

    let table = between(&before, &after, Across::Allowed).unwrap();
    let other = Other {
        record: &after,
        names: ["before.jsonl".to_owned(), "after.jsonl".to_owned()],
    };
    let report = Report::between(&before, other, table);
    let text = draw(&report, &Style::default());
    expect_file![golden("two-kernels.txt")].assert_eq(&text);
    assert!(widest(&text) <= 80, "{text}");
    assert!(text.contains("kernel: 6.18.44 → 6.19.10"), "{text}");
    check_json(&report);
}

#[test]
fn numbers_that_are_none_never_appear_in_json() {
    let mut record = sample::clear_win();
    record.trials[0]
        .readings
        .insert("user_seconds".to_owned(), Reading::of(f64::NAN));
    let mut table = table(&record, 0.008);
    table.comparisons[0].ratio = Some(f64::INFINITY);
    table.comparisons[0].low = Some(f64::NEG_INFINITY);
    let report = Report::new(&record, table, Vec::new(), None);
    let mut text = String::new();
    render_json(&report, &mut text).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["comparisons"][0]["ratio"], Value::Null);
    check_json(&report);
}

#[test]
fn no_field_of_a_record_is_undocumented() {
    let format = include_str!("../../../FORMAT.md");
    let mut names = std::collections::BTreeSet::new();
    let mut record = sample::clear_win();
    record.header.plan.printed.push(PrintedMetric {
        name: "rate".to_owned(),
        pattern: "([0-9]+)".to_owned(),
        unit: "1/s".to_owned(),
        better: Better::Higher,
    });
    record.trials[0].stderr_tail = Some("x".to_owned());
    record.trials[0].read_back.allocator = Some(String::new());
    record
        .end
        .as_mut()
        .unwrap()
        .left_behind
        .push("x".to_owned());
    for mark in marks() {
        record.trials[0].marks.push(mark);
    }
    record.trials[0].readings = missing()
        .into_iter()
        .enumerate()
        .map(|(index, missing)| (format!("wall_seconds_{index}"), Reading::missing(missing)))
        .collect();
    let lines = [
        record::to_line(&Line::Header(record.header.clone())),
        record::to_line(&Line::Trial(record.trials[0].clone())),
        record::to_line(&Line::Trial(record.trials[1].clone())),
        record::to_line(&Line::End(record.end.clone().unwrap())),
    ];
    for line in lines {
        fields(&serde_json::from_str(&line).unwrap(), &mut names);
    }
    assert!(names.len() > 60, "the sample has few fields: {names:?}");
    let unknown: Vec<&String> = names
        .iter()
        .filter(|name| !format.contains(&format!("`{name}`")))
        .collect();
    assert!(
        unknown.is_empty(),
        "FORMAT.md does not say what these are: {unknown:?}"
    );
}

fn marks() -> Vec<Mark> {
    let text = || "x".to_owned();
    vec![
        Mark::SettingDrifted {
            path: text(),
            expected: text(),
            found: text(),
        },
        Mark::OtherLoad { permille: 1 },
        Mark::Steal { permille: 1 },
        Mark::Fragmented { free_huge_pages: 1 },
        Mark::ColdCache { major_faults: 1 },
        Mark::Swapped { pages: 1 },
        Mark::NotApplied { detail: text() },
    ]
}

fn missing() -> Vec<Missing> {
    let text = || "x".to_owned();
    vec![
        Missing::NotPermitted { grant: text() },
        Missing::NotSupported { what: text() },
        Missing::NoHardware,
        Missing::TooShort,
        Missing::Unreadable { error: text() },
        Missing::BelowFloor { floor: 1 },
        Missing::NotPrinted,
        Missing::NotAsked,
        Missing::TrialFailed,
        Missing::NotRun,
    ]
}

/// Names of fields, and the words that stand for kinds. Maps from names or sizes to things are
/// left out below their own name: their keys are data.
fn fields(value: &Value, names: &mut std::collections::BTreeSet<String>) {
    const MAPS: &[&str] = &[
        "readings",
        "realisations",
        "files",
        "khugepaged",
        "sizes",
        "hugetlb",
        "allocators",
    ];
    const KINDS: &[&str] = &["line", "why", "hazard", "how", "role", "reason"];
    match value {
        Value::Array(items) => items.iter().for_each(|item| fields(item, names)),
        Value::Object(object) => {
            for (key, value) in object {
                names.insert(key.clone());
                match value {
                    Value::Object(map) if MAPS.contains(&key.as_str()) => {
                        map.values().for_each(|v| fields(v, names));
                    }
                    Value::String(kind) if KINDS.contains(&key.as_str()) => {
                        names.insert(kind.clone());
                    }
                    _ => fields(value, names),
                }
            }
        }
        _ => {}
    }
}

/// The record of a real run: its cells are rows, and each policy says what lay under them.
#[test]
fn a_bench_is_drawn_from_its_record() {
    let text = include_bytes!("../../../fixtures/benches/memory.jsonl");
    let record = record::parse(text).unwrap();
    let table = compare::table(&record, &Options::default()).unwrap();
    let findings = findings::judge(&record, &table);
    let report = Report::new(&record, table, findings, Some("memory.jsonl".to_owned()));
    let text = draw(&report, &Style::default());
    expect_file![golden("bench-memory.txt")].assert_eq(&text);
    assert!(widest(&text) <= 80, "{text}");
    assert!(report::advice::advice(&report).is_empty());
    let mut markdown = String::new();
    render_markdown(&report, &mut markdown).unwrap();
    expect_file![golden("bench-memory.md")].assert_eq(&markdown);
}

/// The report of a bench's record.
fn with_report<T>(name: &str, bytes: &[u8], look: impl FnOnce(&Report<'_>) -> T) -> T {
    let record = record::parse(bytes).unwrap();
    let table = compare::table(&record, &Options::default()).unwrap();
    let findings = findings::judge(&record, &table);
    look(&Report::new(
        &record,
        table,
        findings,
        Some(format!("{name}.jsonl")),
    ))
}

/// What the report of a bench's record shows, which is also what is frozen.
fn assert_drawn(name: &str, report: &Report<'_>) -> String {
    let text = draw(report, &Style::default());
    expect_file![golden(&format!("bench-{name}.txt"))].assert_eq(&text);
    assert!(widest(&text) <= 80, "{text}");
    text
}

/// What JSON says of latencies.
fn latencies(report: &Report<'_>) -> Value {
    let mut json = String::new();
    render_json(report, &mut json).unwrap();
    let mut json: Value = serde_json::from_str(&json).unwrap();
    json["latency"].take()
}

#[test]
fn curves_levels_reach_and_price_are_drawn_from_their_record() {
    let bytes = include_bytes!("../../../fixtures/benches/latency.jsonl");
    with_report("latency", bytes, |report| {
        assert_drawn("latency", report);
        let mut markdown = String::new();
        render_markdown(report, &mut markdown).unwrap();
        expect_file![golden("bench-latency.md")].assert_eq(&markdown);
        let told = latencies(report);
        for curve in told["curves"].as_array().unwrap() {
            assert!(curve["levels"].as_array().unwrap().len() >= 4, "{curve}");
        }
        let price = &told["prices"][0];
        assert_eq!(
            (&price["dear"], &price["cheap"]),
            (&"4k".into(), &"2m".into())
        );
    });
}

/// What the usual cells leave out is said where the table is, and a source of zeros is named.
#[test]
fn what_a_bench_leaves_out_is_said() {
    let bytes = include_str!("../../../fixtures/benches/memory.jsonl");
    let bytes = bytes
        .replacen(
            r#""bench":{"#,
            r#""bench":{"left_out":"Left out: --ops rmw.","#,
            1,
        )
        .replace("/untouched/", "/zeroed/");
    with_report("memory", bytes.as_bytes(), |report| {
        let text = draw(report, &Style::default());
        assert!(text.contains("\nLeft out: --ops rmw.\n"), "{text}");
        assert!(text.contains("copy libc 64 KiB zeroed"), "{text}");
    });
}

/// The record of a run that was cut off in its sixth round: one curve has rounds enough for
/// levels, the other has not.
#[test]
fn a_curve_with_too_few_rounds_has_no_levels() {
    let bytes = include_bytes!("../../../fixtures/benches/latency-cut-off.jsonl");
    with_report("latency-cut-off", bytes, |report| {
        assert_drawn("latency-cut-off", report);
        let curves = &latencies(report)["curves"];
        assert!(curves[0]["levels"].is_null() && curves[1]["levels"].is_array());
    });
}

#[test]
fn benches_of_heaps_forks_and_slabs_are_drawn_from_their_records() {
    let records: [(&str, &[u8]); 3] = [
        (
            "growth",
            include_bytes!("../../../fixtures/benches/growth.jsonl"),
        ),
        (
            "fork",
            include_bytes!("../../../fixtures/benches/fork.jsonl"),
        ),
        (
            "slab",
            include_bytes!("../../../fixtures/benches/slab.jsonl"),
        ),
    ];
    for (name, bytes) in records {
        with_report(name, bytes, |report| assert_drawn(name, report));
    }
}

#[test]
fn advice_is_found_under_its_name() {
    let record = sample::clear_win();
    let report = Report::new(&record, table(&record, 0.008), Vec::new(), None);
    let advice = report::advice::advice(&report);
    assert_eq!(advice[0].to_string(), "Best: thp=always.");
    let Advice::Command { command, .. } = &advice[1] else {
        panic!("{advice:?}")
    };
    assert_eq!(
        command,
        "hugewise exec --system --policy thp=always -- sort -n numbers.txt"
    );
}

#[test]
fn advice_can_be_pasted_whatever_the_names_are() {
    let settings = Settings {
        env: [("NOTE".to_owned(), "it's a b".to_owned())].into(),
        ..Settings::default()
    };
    let mine = Policy {
        name: "my own".to_owned(),
        settings,
    };
    let arms = [(Policy::as_is(), small_pages()), (mine, huge_pages())];
    let mut record = sample::record(&arms, 12);
    record.header.plan.shell = true;
    record.header.plan.command = vec!["sort -n < 'a b'".to_owned()];
    let report = Report::new(&record, table(&record, 0.008), Vec::new(), None);
    let command =
        "hugewise exec --policy 'env.NOTE=it'\\''s a b' -- /bin/sh -c 'sort -n < '\\''a b'\\'''";
    let advice = report::advice::advice(&report);
    assert_eq!(advice[1].to_string(), format!("Run it so: {command}"));
    let text = draw(&report, &Style::default());
    assert!(
        text.contains(&format!("Run it so:\n    {command}\n")),
        "{text}"
    );
}

/// Ctrl-C in the first round: of some policies there is no trial.
#[test]
fn a_policy_that_was_never_run_is_told_as_such() {
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), huge_pages()),
    ];
    let mut record = sample::record(&arms, 1);
    record.trials.retain(|trial| trial.policy == "as-is");
    let table = compare::table(&record, &Options::default()).unwrap();
    let text = draw(
        &Report::new(&record, table, Vec::new(), None),
        &Style::default(),
    );
    assert!(text.contains("\n¹ no trial of it was run\n"), "{text}");
    assert!(!text.contains("not asked for"), "{text}");
}

#[test]
fn a_floor_is_told_as_people_read_sizes() {
    let floor = 12_869_632;
    let told = Missing::BelowFloor { floor }.to_string();
    assert!(told.ends_with("(12.3 MiB)"), "{told}");
}

//! The answer: a win, a loss, both, neither, and not yet.

use expect_test::expect_file;
use hugewise_model::base::missing::Missing;
use hugewise_model::run::compare::{Answer, Change, Comparison, Options, Scale, Statistic, Table};
use hugewise_model::run::metric::Better;
use hugewise_model::run::plan::PrintedMetric;
use hugewise_model::run::policy::{Malloc, Policy, Thp};
use hugewise_model::run::record::StopReason;
use hugewise_model::run::report::Report;
use hugewise_model::run::stats::Quantile;
use hugewise_model::run::trial::{Mark, Reading};
use hugewise_model::run::{compare, findings};
use hugewise_model::text::{Color, Style, Verbosity};

use super::checked::{check, check_json, comparison, draw, golden, markdown};
use crate::sample::{self, huge_pages, small_pages, table, thp, with};

#[test]
fn a_clear_win_in_every_format() {
    let record = sample::clear_win();
    let text = check("clear-win", &record, table(&record, 0.005));
    assert!(
        text.starts_with(
            "Huge pages help sort -n numbers.txt: 19.5 % less wall time with thp=always"
        ),
        "{text}"
    );

    let table = table(&record, 0.005);
    let findings = findings::judge(&record, &table);
    let report = Report::new(&record, table, findings, Some("clear-win.jsonl".to_owned()));
    let verbose = Style {
        verbose: Verbosity::Verbose,
        ..Style::default()
    };
    expect_file![golden("clear-win-verbose.txt")].assert_eq(&draw(&report, &verbose));
    let out = report.json();
    expect_file![golden("clear-win.json")].assert_eq(&out);
    let out = report.csv();
    expect_file![golden("clear-win.csv")].assert_eq(&out);
    let out = markdown(&report);
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

/// 1 % more is 0.990 % less the other way: an end of −0.995 % lies beyond the threshold, and is written
/// as 0.9 %.
#[test]
fn an_effect_whose_shown_end_is_below_the_threshold_may_be_small() {
    let record = sample::record(
        &[
            (thp("thp=never", Thp::Never), small_pages()),
            (thp("thp=always", Thp::Always), huge_pages()),
        ],
        12,
    );
    let text = |nearest: f64| {
        let mut table = table(&record, 0.008);
        let rows = table.comparisons.iter_mut();
        for row in rows.filter(|row| row.metric == "wall_seconds") {
            (row.ratio, row.low, row.high) = (Some(0.985), Some(0.981), Some(nearest));
        }
        draw(
            &Report::new(&record, table, Vec::new(), None),
            &Style::default(),
        )
    };
    let remark = "though perhaps by less than 1 %";
    for (nearest, shown, is_small) in [
        (0.99005, "0.9 to 1.9 %", true),
        (0.9899, "1.0 to 1.9 %", false),
    ] {
        let text = text(nearest).replace('\n', " ");
        assert!(text.contains(shown), "{text}");
        assert_eq!(text.contains(remark), is_small, "{text}");
    }
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
        &Missing::not_supported("PAGEMAP_SCAN (Linux 6.7)"),
    );
    let text = check("no-effect", &record, table);
    assert!(
        text.starts_with(
            "Huge pages could not be tried on sort -n numbers.txt: no page was huge, because"
        ),
        "{text}"
    );
    let joined = text.replace('\n', " ");
    assert!(
        joined.contains("no anonymous mapping was eligible"),
        "{text}"
    );
    assert!(
        !text.contains("policy-had-no-effect"),
        "it is said once: {text}"
    );
}

#[test]
fn noise_is_named() {
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
    table.verdict.best = None;
    let text = check("noise", &record, table);
    // What is seen lies within the threshold: nobody is sent to decide it.
    assert!(
        !text.contains("--continue") && !text.contains("To decide"),
        "{text}"
    );
}

#[test]
fn too_few_rounds_say_how_many_are_needed() {
    let record = sample::clear_win();
    let mut table = table(&record, 0.05);
    let open = comparison(&mut table, "wall_seconds", "thp=always");
    (open.change, open.low, open.n) = (Change::CannotTell, None, 3);
    let answers = &mut table.verdict.policies;
    answers.insert("thp=always".to_owned(), Answer::NotDecided);
    let report = Report::new(&record, table, Vec::new(), None);
    let text = draw(&report, &Style::default());
    assert!(text.contains("−19.5 % ?"), "{text}");
    assert!(text.contains("? too few rounds of its own"), "{text}");

    let mut alone = record.clone();
    alone
        .header
        .plan
        .policies
        .retain(|policy| policy.name != "thp=always");
    alone.header.plan.policies[1].settings.malloc = Some(Malloc::Thp);
    for trial in alone
        .trials
        .iter_mut()
        .filter(|it| it.policy == "thp=never")
    {
        let huge = Reading::of(4e8);
        trial
            .readings
            .insert("huge_anon_peak_bytes".to_owned(), huge);
    }
    let mut table = sample::table(&alone, 0.05);
    let open = comparison(&mut table, "wall_seconds", "thp=never");
    (open.change, open.low, open.n) = (Change::CannotTell, None, 3);
    let answers = &mut table.verdict.policies;
    answers.insert("thp=never".to_owned(), Answer::NotDecided);
    let answer = Report::new(&alone, table, Vec::new(), None)
        .answers()
        .remove(0);
    assert!(
        answer.ends_with("An answer needs at least 5 rounds."),
        "{answer}"
    );
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
    assert!(
        text.starts_with("Huge pages help sort -n numbers.txt, keep them: 24."),
        "{text}"
    );
    assert!(text.contains("Also: as-is 24."), "{text}");
    assert!(
        text.contains("Stay with thp=always: nothing that was tried is better."),
        "{text}"
    );
    assert!(
        text.contains("thp=always    as-is        change  thp=never        change\n"),
        "{text}"
    );
    check_json(&report);
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
    let price = "at a price: 19.6 % less wall time with thp=always (95 %: 18.9 to 20.3 %), but peak memory +29.2 %";
    assert!(text.replace('\n', " ").contains(price), "{text}");
    assert!(!text.contains(": worse: "), "it is said once: {text}");
}

/// A change is taken round by round, so the two medians beside it may give another one: the first screen has the change
/// alone, and the details say why.
#[test]
fn a_change_that_its_medians_do_not_give_is_explained() {
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), huge_pages()),
    ];
    let record = sample::record(&arms, 12);
    let table = table(&record, 0.002);
    let shown = |table: Table, verbose| {
        let report = Report::new(&record, table, Vec::new(), None);
        let style = Style {
            verbose,
            ..Style::default()
        };
        draw(&report, &style)
    };
    let why = "change: the median of the rounds' changes";
    let wall = |text: &str| {
        let mut lines = text.lines().filter(|line| line.starts_with("wall time"));
        lines.next().unwrap_or_default().matches(" s ").count()
    };
    let told = |table: &Table| {
        let [brief, full] =
            [Verbosity::Normal, Verbosity::Verbose].map(|it| shown(table.clone(), it));
        let full = full.split_whitespace().collect::<Vec<_>>().join(" ");
        (wall(&brief), full.contains(why))
    };
    assert_eq!(told(&table), (2, false));
    let mut apart = table;
    let wall = comparison(&mut apart, "wall_seconds", "thp=always");
    wall.ratio = wall.ratio.map(|ratio| ratio * 0.9);
    assert_eq!(told(&apart), (1, true));
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
    assert!(text.contains("[−473 µs, +599 µs]"), "{text}");
}

/// Of the cycles saved page walks had more than half, of the wall time page faults less.
#[test]
fn the_cause_that_explains_more_comes_first() {
    let counted = |figures, walks, cycles, share| {
        let walks = [
            ("dtlb_walks_total", walks),
            ("cycles_total", cycles),
            ("data_walk_cycles_ratio", share),
        ];
        with(&figures, &walks)
    };
    let arms = [
        (Policy::as_is(), counted(small_pages(), 9e7, 12e9, 0.11)),
        (
            thp("thp=always", Thp::Always),
            counted(huge_pages(), 2e6, 10e9, 0.02),
        ),
    ];
    let record = sample::record(&arms, 12);
    let table = compare::table(&record, &Options::default()).unwrap();
    let found = findings::judge(&record, &table);
    let text = draw(&Report::new(&record, table, found, None), &Style::default());
    let place = |cause: &str| text.find(cause).unwrap_or_else(|| panic!("{text}"));
    let (walks, faults) = (place("cheaper page walks"), place("fewer page faults"));
    assert!(walks < faults, "{text}");
}

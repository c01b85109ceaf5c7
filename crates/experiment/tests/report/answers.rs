//! The answer: a win, a loss, both, neither, and not yet.

use expect_test::expect_file;
use hugewise_base::missing::Missing;
use hugewise_experiment::run::answer::{
    Against, Call, ChoiceScope, Doubt, Effect, Mechanism, Word,
};
use hugewise_experiment::run::cause::{CauseId, CauseOutcome};
use hugewise_experiment::run::compare::{
    self, Change, Comparison, Options, PolicyAnswer as Judgement, Scale, Statistic, Why,
};
use hugewise_experiment::run::metric::Better;
use hugewise_experiment::run::plan::PrintedMetric;
use hugewise_experiment::run::policy::{Policy, Thp};
use hugewise_experiment::run::record::StopReason;
use hugewise_experiment::run::report::Report;
use hugewise_experiment::run::stats::Quantile;
use hugewise_experiment::run::trial::Mark;
use hugewise_text::{Color, Style};

use super::checked::{
    answer_of, change, check, check_json, chosen, comparison, contrasts, draw, ends, golden,
    headline, judged, kinds, report, to_set,
};
use crate::sample::{self, huge_pages, small_pages, table, thp, with};

#[test]
fn a_clear_win_is_a_claim_a_choice_and_its_commands() {
    let record = sample::clear_win();
    let answer = check("clear-win", &record, table(&record, 0.005));
    assert_eq!(answer.word, Word::Help);
    assert_eq!(contrasts(&answer), [("thp=always", &Against::Baseline)]);
    let claim = headline(&answer)[0];
    assert_eq!(claim.call, Call::Better);
    assert_eq!((change(claim), ends(claim)), (-19.5, [-19.9, -19.1]));
    assert_eq!((claim.rounds, claim.agreeing), (12, Some(12)));
    let choice = answer.choice.as_ref().unwrap();
    assert_eq!(choice.arm.as_deref(), Some("thp=always"));
    assert_eq!(
        (choice.scope, choice.mechanism),
        (ChoiceScope::AnyRun, Mechanism::Machine)
    );
    let line = "echo always > /sys/kernel/mm/transparent_hugepage/enabled";
    assert_eq!(to_set(&answer), [line]);
    assert!(
        choice
            .commands
            .iter()
            .all(|it| it.as_root && it.machine_wide)
    );
    assert_eq!(kinds(&answer.doubts), [""; 0]);
    let report = Report::new(&record, table(&record, 0.005), None);
    expect_file![golden("clear-win.csv")].assert_eq(&report.csv());
}

#[test]
fn colour_adds_nothing_but_colour() {
    let record = sample::clear_win();
    let report = Report::new(&record, table(&record, 0.008), None);
    let style = Style {
        color: Color::Always,
        ..Style::default()
    };
    let coloured = draw(&report, &style);
    let mut bare = coloured.clone();
    for code in ["\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[32m"] {
        bare = bare.replace(code, "");
    }
    assert!(coloured.contains("\x1b[1m"), "{coloured}");
    assert_eq!(bare, draw(&report, &Style::default()));
}

/// An effect is compared with the threshold by its size, not by the size of its inverse.
#[test]
fn an_effect_whose_near_end_is_below_the_threshold_may_be_small() {
    let arms = [
        (thp("thp=never", Thp::Never), small_pages()),
        (thp("thp=always", Thp::Always), huge_pages()),
    ];
    let record = sample::record(&arms, 12);
    let may_be_small = |nearest: f64| {
        let mut table = table(&record, 0.008);
        let rows = table.comparisons.iter_mut();
        for row in rows.filter(|row| row.metric == "wall_seconds") {
            (row.ratio, row.low, row.high) = (Some(0.985), Some(0.981), Some(nearest));
        }
        let doubts = answer_of(&record, table).doubts;
        doubts
            .iter()
            .any(|it| matches!(it, Doubt::MaybeSmall { .. }))
    };
    assert!(may_be_small(0.990_05));
    assert!(!may_be_small(0.9899));
}

#[test]
fn the_baseline_is_the_one_of_the_plan() {
    let arms = [
        (thp("thp=never", Thp::Never), small_pages()),
        (thp("thp=always", Thp::Always), huge_pages()),
    ];
    let record = sample::record(&arms, 12);
    let answer = check("two-policies", &record, table(&record, 0.008));
    assert_eq!(
        (answer.word, answer.judged.baseline.as_str()),
        (Word::Help, "thp=never")
    );
    let claim = judged(&answer, "thp=always");
    assert_eq!((change(claim), ends(claim)), (-19.6, [-20.2, -18.9]));
}

#[test]
fn no_effect_is_no_claim_about_speed() {
    let arms = [
        (Policy::as_is(), small_pages()),
        (
            thp("thp=always", Thp::Always),
            with(&small_pages(), &[("wall_seconds", 4.2)]),
        ),
    ];
    let mut record = sample::record(&arms, 12);
    let mut table = table(&record, 0.004);
    let name = || "thp=always".to_owned();
    let why = Why::NothingHuge {
        faults: [51_200.0; 2],
    };
    table.verdict.policies.insert(name(), Judgement::NoEffect);
    table.verdict.reasons.insert(name(), why.clone());
    let unread = Missing::not_supported("PAGEMAP_SCAN (Linux 6.7)");
    sample::take_away(&mut record, &["huge_zero_exit_bytes"], &unread);
    let answer = check("no-effect", &record, table);
    assert_eq!(answer.word, Word::SamePages);
    assert_eq!(judged(&answer, "thp=always").call, Call::SamePages(why));
    let cause = &answer.causes[0];
    assert_eq!(
        (cause.id, cause.outcome),
        (CauseId::SamePages, CauseOutcome::Shown)
    );
    assert_eq!(cause.arm.as_deref(), Some("thp=always"));
    assert_eq!(chosen(&answer), Some("as-is"));
}

#[test]
fn nobody_is_sent_to_decide_an_effect_within_the_threshold() {
    let arms = [
        (Policy::as_is(), small_pages()),
        (
            thp("thp=always", Thp::Always),
            with(&huge_pages(), &[("wall_seconds", 4.19)]),
        ),
    ];
    let mut record = sample::record(&arms, 8);
    for index in [1, 5, 9] {
        sample::mark(&mut record, index, Mark::Steal { permille: 31 });
    }
    sample::mark(&mut record, 5, Mark::OtherLoad { permille: 240 });
    record.end.as_mut().unwrap().reason = StopReason::MaxRounds;
    let mut table = table(&record, 0.045);
    table.verdict.best = None;
    let answer = check("noise", &record, table);
    assert_eq!(answer.word, Word::Open);
    assert!(
        !answer.next.iter().any(|next| next.goes_on()),
        "{:#?}",
        answer.next
    );
    let disturbance = &answer.circumstances[0].disturbance;
    assert_eq!(disturbance.trials, 3);
}

/// The arms, the words and the choice follow the other baseline.
#[test]
fn another_baseline_comes_first() {
    let record = sample::clear_win();
    let options = Options {
        baseline: Some("thp=always".to_owned()),
        threshold: Some(0.05),
        ..Options::default()
    };
    let table = compare::table(&record, &options).unwrap();
    let report = Report::new(&record, table, None);
    let answer = report.answer();
    assert_eq!(answer.word, Word::Help);
    assert_eq!(answer.judged.baseline, "thp=always");
    let arms: Vec<&str> = answer.arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(arms, ["thp=always", "as-is", "thp=never"]);
    for arm in ["as-is", "thp=never"] {
        let claim = judged(answer, arm);
        assert_eq!(claim.call, Call::Worse);
        assert!((24.0..25.0).contains(&change(claim)), "{claim:?}");
    }
    assert_eq!(chosen(answer), Some("thp=always"));
    assert_eq!(to_set(answer), [""; 0]);
    let first = |at: usize| answer.rows[at].cells[0].arm.as_str();
    assert!((0..answer.rows.len()).all(|at| first(at) == "thp=always"));
    assert_eq!(kinds(&answer.doubts), ["chosen_afterwards"]);
    check_json(&report);
}

#[test]
fn a_win_with_a_loss_has_its_prices() {
    let worse = [
        ("peak_rss_bytes", 1.1e9),
        ("p99_ms", 31.0),
        ("thp_fault_fallback_total", 96.0),
        ("thp_fault_fallback_charge_total", 12.0),
        ("free_huge_pages_before_total", 310.0),
    ];
    let arms = [
        (Policy::as_is(), with(&small_pages(), &[("p99_ms", 12.1)])),
        (thp("thp=always", Thp::Always), with(&huge_pages(), &worse)),
    ];
    let mut record = sample::record(&arms, 12);
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
    let answer = check("win-with-a-loss", &record, table);
    assert_eq!(
        (answer.word, chosen(&answer)),
        (Word::Help, Some("thp=always"))
    );
    let prices = answer.choice.as_ref().unwrap().prices.iter();
    let prices = prices.map(|id| answer.claim(*id));
    let mut prices: Vec<(&str, f64)> = prices
        .map(|claim| {
            assert_eq!(claim.call, Call::Worse);
            (claim.contrast.metric.as_str(), change(claim))
        })
        .collect();
    prices.sort_by(|a, b| a.0.cmp(b.0));
    let expected = [
        ("p99_ms", 156.2),
        ("peak_rss_bytes", 29.2),
        ("wall_seconds", 31.0),
    ];
    assert_eq!(prices, expected);
}

#[test]
fn a_change_beside_zeros_is_a_difference() {
    let none = [("system_seconds", 0.0)];
    let arms = [
        (Policy::as_is(), with(&small_pages(), &none)),
        (thp("thp=always", Thp::Always), with(&huge_pages(), &none)),
    ];
    let record = sample::record(&arms, 12);
    let mut table = table(&record, 0.005);
    let system = comparison(&mut table, "system_seconds", "thp=always");
    system.scale = Scale::Difference;
    system.change = Change::CannotTell;
    (system.ratio, system.difference) = (None, Some(0.0));
    (system.low, system.high) = (Some(-473e-6), Some(599e-6));
    let answer = answer_of(&record, table);
    let id = answer.find(|claim| claim.contrast.metric == "system_seconds");
    let claim = answer.claim(id.unwrap());
    assert_eq!(claim.effect, Some(Effect::Difference(0.0)));
    let interval = claim.interval.unwrap();
    assert_eq!((interval.low, interval.high), (-473e-6, 599e-6));
    assert!(claim.call.is_open());
}

#[test]
fn causes_of_the_policy_of_the_answer_come_first() {
    let record = sample::clear_win();
    let report = report(&record);
    let causes = &report.answer().causes;
    assert_eq!(causes[0].id, CauseId::Breakdown);
    assert_eq!(causes[0].arm.as_deref(), Some("thp=always"));
    assert!(causes.is_sorted_by_key(|cause| cause.outcome));
}

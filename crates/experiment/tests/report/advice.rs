//! The choice and its commands, and next steps that reach more pages.

use hugewise_experiment::run::answer::{Answer, Doubt, ManualStep, NextStep, PageReach, Word};
use hugewise_experiment::run::compare::{PolicyAnswer as Judgement, Why};
use hugewise_experiment::run::policy::realise::EnvChange;
use hugewise_experiment::run::policy::{Need, Omission, Policy, Settings, Thp};
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::report::Report;
use hugewise_experiment::run::trial::{Reading, Trial};

use super::checked::{answer_of, steps, to_set};
use crate::sample::{self, Figures, huge_pages, small_pages, table, thp, with};

/// Returns the answer about `malloc=thp` under an old glibc with these variables, without a huge page in the first
/// `without` of twelve rounds.
fn of_old_glibc(variables: &[(&str, &str)], without: u32) -> Answer {
    let policy = || "malloc=thp".parse::<Policy>().unwrap();
    let arms = [(Policy::as_is(), small_pages()), (policy(), huge_pages())];
    let mut record = sample::record(&arms, 12);
    record.header.host.glibc = Some((2, 36));
    let set = |(name, value): &(&str, &str)| EnvChange::Set {
        name: (*name).to_owned(),
        value: (*value).to_owned(),
    };
    let own = record.header.realisations.get_mut("malloc=thp").unwrap();
    own.environment = variables.iter().map(set).collect();
    let missed = |trial: &&mut Trial| trial.policy == "malloc=thp" && trial.round < without;
    for trial in record.trials.iter_mut().filter(missed) {
        let none = Reading::of(0.0);
        let readings = &mut trial.readings;
        readings.insert("huge_anon_peak_bytes".to_owned(), none);
    }
    let table = table(&record, 0.008);
    answer_of(&record, table)
}

#[test]
fn an_old_glibc_takes_its_setting_by_chance() {
    let tunable = ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
    let by_chance = |variables: &[(&str, &str)], without| {
        let answer = of_old_glibc(variables, without);
        let found = answer.doubts.into_iter().find_map(|doubt| match doubt {
            Doubt::TakenByChance {
                taken,
                ratio,
                bound,
                glibc,
                ..
            } => {
                assert_eq!(glibc, "glibc 2.36");
                let percent = ratio.map(|ratio| ((ratio - 1.0) * 1000.0).round() / 10.0);
                Some((taken, percent, bound))
            }
            _ => None,
        });
        found.expect("it depends on chance")
    };
    let bound = [tunable, ("LD_BIND_NOW", "1")];
    assert_eq!(by_chance(&bound, 0), (Some([12, 12]), None, true));
    assert_eq!(by_chance(&bound, 3), (Some([9, 12]), Some(-19.6), true));
    assert_eq!(by_chance(&[tunable], 0), (Some([12, 12]), None, false));
    assert_eq!(
        by_chance(&[tunable], 3),
        (Some([9, 12]), Some(-19.6), false)
    );
    let line = "GLIBC_TUNABLES=glibc.malloc.hugetlb=1 LD_BIND_NOW=1 sort -n numbers.txt";
    assert_eq!(to_set(&of_old_glibc(&bound, 0)), [line]);
}

#[test]
fn a_command_can_be_pasted_whatever_the_names_are() {
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
    let set = EnvChange::Set {
        name: "NOTE".to_owned(),
        value: "it's a b".to_owned(),
    };
    let own = record.header.realisations.get_mut("my own").unwrap();
    own.environment = vec![set];
    let pasted = |line: &str| {
        let mut record = record.clone();
        record.header.plan.command = vec![line.to_owned()];
        let table = table(&record, 0.008);
        to_set(&answer_of(&record, table)).join("\n")
    };
    let by_shell = r#"NOTE='it'\''s a b' /bin/sh -c 'sort -n < '\''a b'\'' | tail'"#;
    assert_eq!(pasted("sort -n < 'a b' | tail"), by_shell);
    let as_it_is = r#"NOTE='it'\''s a b' redis-server --port {port} --save ''"#;
    assert_eq!(pasted("redis-server --port {port} --save ''"), as_it_is);
}

fn with_omission(arms: &[(Policy, Figures)]) -> Record {
    let mut record = sample::record(arms, 12);
    record.header.plan.not_tried = Some(Omission {
        policies: vec!["thp=always".to_owned()],
        needs: Need::Root,
    });
    record
}

/// Returns the answer of a record in which no policy changed a page.
fn without_effect(record: &Record, own: Option<&str>) -> Answer {
    let mut table = table(record, 0.004);
    let verdict = &mut table.verdict;
    let why = Why::NothingHuge {
        faults: [51_200.0; 2],
    };
    for (name, answer) in &mut verdict.policies {
        *answer = Judgement::NoEffect;
        verdict.reasons.insert(name.clone(), why.clone());
    }
    let own = own.map(|policy| policy.parse().expect("a policy"));
    let report = Report::new(record, table, None).with_own_setting(|_| own.clone());
    report.answer().clone()
}

fn tried(answer: &Answer) -> Vec<(&str, PageReach, &str)> {
    let tried = steps(answer).into_iter();
    let tried = tried.filter_map(|(step, command)| match step {
        NextStep::TryPolicy { policy, because } => Some((policy.as_str(), *because, command?)),
        _ => None,
    });
    tried.collect()
}

#[test]
fn a_policy_that_was_not_tried_is_a_step_with_its_command() {
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=never", Thp::Never), small_pages()),
    ];
    let answer = without_effect(&with_omission(&arms), None);
    assert_eq!(answer.word, Word::SamePages);
    let step = NextStep::TryPolicies {
        policies: vec!["thp=always".to_owned()],
        impossible: false,
    };
    let line = "sudo hugewise run --system -- sort -n numbers.txt";
    assert_eq!(steps(&answer), [(&step, Some(line))]);
}

/// No setting makes a page huge in a program smaller than a huge page.
#[test]
fn nothing_more_is_offered_to_a_program_smaller_than_a_page() {
    let small = || with(&small_pages(), &[("peak_rss_bytes", 1.2e6)]);
    let arms = [
        (Policy::as_is(), small()),
        (thp("thp=never", Thp::Never), small()),
    ];
    let record = sample::with_room(with_omission(&arms), 0);
    let answer = without_effect(&record, Some("args=--parallel=2"));
    assert_eq!((answer.word, steps(&answer)), (Word::SamePages, Vec::new()));
    // A large, sparsely touched mapping has room for many huge pages.
    let sparse = without_effect(
        &sample::with_room(record, 800 << 20),
        Some("args=--parallel=2"),
    );
    assert!(!steps(&sparse).is_empty());
}

/// No page was huge under the mode of the machine, which left only khugepaged.
fn unreached() -> Record {
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=never", Thp::Never), small_pages()),
        (thp("thp=always", Thp::Always), small_pages()),
    ];
    let mut record = sample::record(&arms, 12);
    record.header.host.can_trace = true;
    record.header.host.can_collapse = true;
    record
}

#[test]
fn policies_that_may_reach_more_memory_are_steps() {
    let own = Some("args=--parallel=2");
    let mut record = unreached();
    let answer = without_effect(&record, own);
    let collapse = (
        "collapse=every:250ms",
        PageReach::Collapse,
        "hugewise run --policy=collapse=every:250ms -- sort -n numbers.txt",
    );
    let setting = (
        "args=--parallel=2",
        PageReach::OwnSetting,
        "hugewise run --policy=args=--parallel=2 -- sort -n numbers.txt",
    );
    assert_eq!(tried(&answer), [collapse, setting]);
    assert_eq!(tried(&without_effect(&record, None)), [collapse]);

    // Existing arguments are no step.
    let mut other = record.clone();
    other.header.plan.shell = true;
    other.header.plan.command = vec!["sort --parallel=2 x".to_owned()];
    let found = without_effect(&other, own);
    assert!(
        tried(&found)
            .iter()
            .all(|(_, because, _)| *because == PageReach::Collapse)
    );

    // A policy already tried without effect is not suggested again.
    let later: Policy = "collapse=every:250ms".parse().expect("a policy");
    record.header.plan.policies[2].settings = later.settings;
    assert_eq!(tried(&without_effect(&record, own)), [setting]);
    let realisation = record.header.realisations.get_mut("thp=never");
    realisation.expect("a realisation").arguments = vec!["-x".to_owned()];
    assert_eq!(tried(&without_effect(&record, own)), []);
}

/// In a line with several commands, the position of the arguments is ambiguous.
#[test]
fn a_line_without_a_place_for_arguments_gets_none() {
    let mut record = unreached();
    record.header.plan.shell = true;
    record.header.plan.command = vec!["sort -n x | uniq".to_owned()];
    let answer = without_effect(&record, Some("args=--parallel=2"));
    let reaches: Vec<PageReach> = tried(&answer).iter().map(|it| it.1).collect();
    assert_eq!(reaches, [PageReach::Collapse]);
}

/// A limit and a call of the parent are separate steps, since no command does them.
#[test]
fn a_call_that_the_parent_makes_is_a_step() {
    let arms = [
        (Policy::as_is(), huge_pages()),
        (
            thp("thp=never", Thp::Never),
            with(&small_pages(), &[("wall_seconds", 3.0)]),
        ),
    ];
    let record = sample::record(&arms, 12);
    let table = table(&record, 0.004);
    let choice = answer_of(&record, table).choice.unwrap();
    let call = "prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) before exec".to_owned();
    assert_eq!(choice.steps, [ManualStep::Call(call)]);
    let lines: Vec<String> = choice.commands.into_iter().map(|it| it.line).collect();
    assert_eq!(
        lines,
        ["hugewise exec --policy thp=never -- sort -n numbers.txt"]
    );
}

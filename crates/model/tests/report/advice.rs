//! Advice: how it is found, and that it can be pasted.

use expect_test::expect;
use hugewise_model::run::compare::Answer;
use hugewise_model::run::findings;
use hugewise_model::run::policy::realise::EnvChange;
use hugewise_model::run::policy::{Need, Omission, Policy, Settings, Thp};
use hugewise_model::run::record::Record;
use hugewise_model::run::report;
use hugewise_model::run::report::Report;
use hugewise_model::run::report::advice::Advice;
use hugewise_model::run::trial::{Reading, Trial};
use hugewise_model::text::Style;

use super::checked::draw;
use crate::sample::{self, Figures, huge_pages, small_pages, table, thp, with};

#[test]
fn advice_is_found_under_its_name() {
    let record = sample::clear_win();
    let report = Report::new(&record, table(&record, 0.008), Vec::new(), None);
    let advice = report::advice::advice(&report);
    assert_eq!(
        advice[0].to_string(),
        "Recommended: thp=always. Machine-wide, for this run or until reboot:"
    );
    let Advice::Command(command) = &advice[1] else {
        panic!("{advice:?}")
    };
    assert_eq!(
        command,
        "hugewise exec --system --policy thp=always -- sort -n numbers.txt"
    );
}

/// What is said of an old glibc's `malloc=thp`, which sets these variables and got no huge page in the first `without` of
/// twelve rounds.
fn of_old_glibc(variables: &[(&str, &str)], without: u32) -> String {
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
        trial
            .readings
            .insert("huge_anon_peak_bytes".to_owned(), none);
    }
    let table = table(&record, 0.008);
    let findings = findings::judge(&record, &table);
    let report = Report::new(&record, table, findings, None);
    let advice = report::advice::advice(&report);
    let lines: Vec<String> = advice[1..3].iter().map(Advice::to_string).collect();
    lines.join("\n")
}

#[test]
fn what_an_old_glibc_needs_to_take_its_setting_is_said() {
    let tunable = ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
    let bound = [tunable, ("LD_BIND_NOW", "1")];
    expect![[r#"
        GLIBC_TUNABLES=glibc.malloc.hugetlb=1 LD_BIND_NOW=1 sort -n numbers.txt
        Keep LD_BIND_NOW=1: without it, glibc 2.36 misses the setting in some starts."#]]
    .assert_eq(&of_old_glibc(&bound, 0));
    expect![[r#"
        GLIBC_TUNABLES=glibc.malloc.hugetlb=1 LD_BIND_NOW=1 sort -n numbers.txt
        glibc 2.36 took it in 9 of 12 trials (−19.6 % in these), and some starts miss it; none with 2.38."#]]
    .assert_eq(&of_old_glibc(&bound, 3));
    expect![[r#"
        GLIBC_TUNABLES=glibc.malloc.hugetlb=1 sort -n numbers.txt
        glibc 2.36 took it in all 12 trials, but some starts may miss it; none with 2.38."#]]
    .assert_eq(&of_old_glibc(&[tunable], 0));
    expect![[r#"
        GLIBC_TUNABLES=glibc.malloc.hugetlb=1 sort -n numbers.txt
        glibc 2.36 took it in 9 of 12 trials (−19.6 % in these); with LD_BIND_NOW=1 it is all or none."#]]
    .assert_eq(&of_old_glibc(&[tunable], 3));
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
    record.header.plan.command = vec!["sort -n < 'a b' | tail".to_owned()];
    let set = EnvChange::Set {
        name: "NOTE".to_owned(),
        value: "it's a b".to_owned(),
    };
    let own = record.header.realisations.get_mut("my own").unwrap();
    own.environment = vec![set];
    let report = Report::new(&record, table(&record, 0.008), Vec::new(), None);
    let by_hand = r#"NOTE='it'\''s a b' /bin/sh -c 'sort -n < '\''a b'\'' | tail'"#;
    let advice = report::advice::advice(&report);
    assert_eq!(advice[1].to_string(), by_hand);
    let text = draw(&report, &Style::default());
    let shown = format!("It changes this program only:\n    {by_hand}\n");
    assert!(text.contains(&shown), "{text}");
    let mut one_program = record.clone();
    one_program.header.plan.command = vec!["redis-server --port {port} --save ''".to_owned()];
    let report = Report::new(&one_program, table(&record, 0.008), Vec::new(), None);
    let by_hand = r#"NOTE='it'\''s a b' redis-server --port {port} --save ''"#;
    assert_eq!(report::advice::advice(&report)[1].to_string(), by_hand);
}

/// What nothing was done for stands in the report, with the command that does it.
#[test]
fn what_was_not_tried_is_given_with_its_command() {
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=never", Thp::Never), small_pages()),
    ];
    let record = with_omission(&arms);
    let report = without_effect(&record);
    let text = draw(&report, &Style::default());
    assert!(
        text.starts_with(
            "Huge pages could not be tried on sort -n numbers.txt: no page was huge, because"
        ),
        "{text}"
    );
    let told = "\nNot tried: thp=always, a setting of the whole machine. To try:\n    sudo hugewise run \
                --system -- sort -n numbers.txt\n";
    assert!(text.contains(told), "{text}");
    let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
    assert_eq!(json["conclusion"]["huge_pages"], "not_tried");
    assert_eq!(
        json["not_tried"]["command"],
        "sudo hugewise run --system -- sort -n numbers.txt"
    );
}

fn with_omission(arms: &[(Policy, Figures)]) -> Record {
    let mut record = sample::record(arms, 12);
    record.header.plan.not_tried = Some(Omission {
        policies: vec!["thp=always".to_owned()],
        needs: Need::Root,
    });
    record
}

fn without_effect(record: &Record) -> Report<'_> {
    let mut table = table(record, 0.004);
    for answer in table.verdict.policies.values_mut() {
        *answer = Answer::NoEffect;
    }
    let findings = findings::judge(record, &table);
    Report::new(record, table, findings, None)
}

/// No setting makes a page huge in a program that is smaller than one.
#[test]
fn nothing_more_is_offered_to_a_program_smaller_than_a_page() {
    let small = || with(&small_pages(), &[("peak_rss_bytes", 1.2e6)]);
    let arms = [
        (Policy::as_is(), small()),
        (thp("thp=never", Thp::Never), small()),
    ];
    let record = with_omission(&arms);
    let text = draw(&without_effect(&record), &Style::default());
    assert!(text.contains("less than one huge page"), "{text}");
    assert!(!text.contains("Not tried"), "{text}");
}

/// No page was huge under the mode of the machine, for which khugepaged alone was left.
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

fn told(record: &Record) -> String {
    let mut table = table(record, 0.004);
    for answer in table.verdict.policies.values_mut() {
        *answer = Answer::NoEffect;
    }
    let findings = findings::judge(record, &table);
    let own = |program: &str| match program {
        "sort" => "args=--parallel=2".parse().ok(),
        _ => None,
    };
    let report = Report::new(record, table, findings, None).with_own_setting(own);
    draw(&report, &Style::default())
}

#[test]
fn what_may_reach_memory_that_no_mode_reached_is_said_once() {
    let mut record = unreached();
    let text = told(&record);
    let lead = "Memory in use can be made huge while the program runs:\n    hugewise run \
                --policy=collapse=every:250ms -- sort -n numbers.txt\nsort has a setting of its own, \
                --parallel=2:\n    hugewise run --policy=args=--parallel=2 -- sort -n numbers.txt\n";
    assert!(text.contains(lead), "{text}");
    assert_eq!(
        text.matches("khugepaged came too late").count(),
        1,
        "{text}"
    );
    // Columns of policies that did nothing would be read as effects.
    let (_, table) = text.split_once("\n\n").expect("a table");
    assert!(!table.contains("thp=always"), "{text}");

    // A line of which no program can be told names the place; arguments that are there are not named.
    let mut other = record.clone();
    other.header.plan.shell = true;
    other.header.plan.command = vec!["sort -n x | uniq".to_owned()];
    let text = told(&other);
    let how = "sort has a setting of its own, --parallel=2: write {args} where it belongs and run again \
               with --policy=args=--parallel=2.";
    assert!(unwrapped(&text).contains(how), "{text}");
    other.header.plan.command = vec!["sort --parallel=2 x".to_owned()];
    let text = told(&other);
    assert!(!text.contains("a setting of its own"), "{text}");

    // The same is not said again where it was tried in vain.
    let later: Policy = "collapse=every:250ms".parse().expect("a policy");
    record.header.plan.policies[2].settings = later.settings;
    let text = told(&record);
    assert!(!text.contains("Memory in use can be made huge"), "{text}");
    let realisation = record.header.realisations.get_mut("thp=never");
    realisation.expect("a realisation").arguments = vec!["-x".to_owned()];
    let text = told(&record);
    assert!(!text.contains("a setting of its own"), "{text}");
}

fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

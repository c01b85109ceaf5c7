//! What is recommended among equals, and what too few rounds and user time show.

use expect_test::expect;
use hugewise_model::run::compare::{self, Options};
use hugewise_model::run::policy::realise::{EnvChange, ThpPrctl, Tracer};
use hugewise_model::run::policy::{Malloc, Policy, Settings, Thp};
use hugewise_model::run::record::Record;
use hugewise_model::run::report::{self, Report};
use hugewise_model::run::trial::Reading;
use hugewise_model::text::Style;

use super::checked::draw;
use crate::sample::{self, huge_pages, small_pages, thp, with};

fn report(record: &Record) -> Report<'_> {
    let table = compare::table(record, &Options::default()).expect("a sound plan");
    Report::new(record, table, Vec::new(), None)
}

fn malloc() -> Policy {
    let settings = Settings {
        malloc: Some(Malloc::Thp),
        ..Settings::default()
    };
    Policy {
        name: "malloc=thp".to_owned(),
        settings,
    }
}

#[test]
fn of_equals_the_one_is_recommended_that_changes_the_program_only() {
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), huge_pages()),
        (malloc(), huge_pages()),
    ];
    let record = sample::record(&arms, 12);
    let report = report(&record);
    let lines = report::advice::advice(&report);
    let lines: Vec<String> = lines.iter().take(2).map(ToString::to_string).collect();
    expect![[r#"
        malloc=thp, not thp=always: it is per process, and the two are about equally good.
        Recommended: malloc=thp. It changes this program only:
    "#]]
    .assert_eq(&format!("{}\n", lines.join("\n")));
    let json: serde_json::Value = serde_json::from_str(&report.json()).expect("JSON");
    assert_eq!(json["verdict"]["best"], "malloc=thp");
    assert_eq!(json["verdict"]["equals"][0]["policy"], "thp=always");
    assert_eq!(json["verdict"]["preference"], "changes_program_alone");
}

/// A record of arguments that are best, of this command.
fn told(line: &[&str], policy: &str) -> Record {
    let policy: Policy = policy.parse().expect("a policy");
    let name = policy.name.clone();
    let arguments = policy.settings.args.clone();
    let arms = [(Policy::as_is(), small_pages()), (policy, huge_pages())];
    let mut record = sample::record(&arms, 12);
    record.header.plan.command = line.iter().map(|it| (*it).to_owned()).collect();
    let realisation = record.header.realisations.get_mut(&name);
    realisation.expect("a realisation").arguments = arguments;
    record
}

fn advised(record: &Record) -> String {
    let lines = report::advice::advice(&report(record));
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    format!("{}\n", lines.join("\n"))
}

#[test]
fn arguments_that_are_best_stand_in_the_whole_command() {
    let words = ["memcached", "-u", "nobody", "-m", "512"];
    let record = told(&words, "args=-L");
    expect![[r#"
        Recommended: args=-L. It changes this program only:
        memcached -L -u nobody -m 512
    "#]]
    .assert_eq(&advised(&record));

    let mut server = told(&["memcached -u nobody -p {port} -m 512"], "args=-L");
    server.header.plan.shell = true;
    expect![[r#"
        Recommended: args=-L. It changes this program only:
        memcached -L -u nobody -p {port} -m 512
    "#]]
    .assert_eq(&advised(&server));

    server.header.plan.command = vec!["cd /x && exec a {args} -p 1".to_owned()];
    expect![[r#"
        Recommended: args=-L. It changes this program only:
        /bin/sh -c 'cd /x && exec a -L -p 1'
    "#]]
    .assert_eq(&advised(&server));
}

/// Arguments do other things too, so their gain is not said to be that of huge pages.
#[test]
fn what_arguments_gain_is_said_of_them() {
    let record = told(&["memcached", "-u", "nobody", "-m", "512"], "args=-L");
    let report = report(&record);
    expect![[r#"
        args=-L takes 19.5 % less wall time than as-is for memcached -u nobody -m 512
        (95 %: 19.2 to 20.0 %).
        Recommended: args=-L. It changes this program only:
            memcached -L -u nobody -m 512
        How sure: at least 95 %; 12 of 12 rounds agree; control passed (−0.7 to +0.6 %).

                           as-is  args=-L                  change
        wall time         4.21 s   3.39 s  −19.5 % [−20.0, −19.2]
        user time         3.61 s   3.17 s  −12.1 % [−12.6, −11.7]
        system time       580 ms   190 ms  −67.2 % [−67.5, −67.0]
        minor faults      51,200     1340                 −97.4 %
        peak memory      812 MiB  818 MiB            same, +0.7 %
        huge pages seen        0  806 MiB               Δ+806 MiB
        same: within ±1 %; Δ absolute change

        Linux 6.18.44, VM (KVM), 2 CPUs, THP madvise, 12 rounds.
    "#]]
    .assert_eq(&draw(&report, &Style::default()));
    let json: serde_json::Value = serde_json::from_str(&report.json()).expect("JSON");
    assert_eq!(json["verdict"]["best"], "args=-L");
    let settings = &json["plan"]["policies"][1]["settings"];
    assert_eq!(settings["args"][0], "-L");
}

/// Where no setting of pages alone reaches the program, the run that tells the pages from the rest is named.
#[test]
fn what_else_arguments_do_is_told_apart_by_a_run_without_huge_pages() {
    let arguments: Policy = "args=-L".parse().expect("a policy");
    let always: Policy = "thp=always".parse().expect("a policy");
    let arms = [
        (Policy::as_is(), small_pages()),
        (always, small_pages()),
        (arguments, huge_pages()),
    ];
    let mut record = sample::record(&arms, 12);
    record.header.made_by = ["hugewise", "run", "--system", "--", "memcached"]
        .map(str::to_owned)
        .to_vec();
    let report = report(&record);
    let end = "It gives the program huge pages and changes more than these, so they may not be the reason.";
    let answer = report.answers()[0].clone();
    assert!(answer.ends_with(end), "{answer}");
    let line = "hugewise run --policy=thp=never,args=-L --policy=args=-L --system -- memcached";
    let advised = advised(&record);
    assert!(
        advised.ends_with(&format!(
            "2 more minutes tell whether its huge pages are the reason:\n{line}\n"
        )),
        "{advised}"
    );
}

/// With malloc=thp the heap grows in larger steps too, which alone may be what costs or saves time.
#[test]
fn advice_of_malloc_is_no_proof_of_what_huge_pages_do() {
    let arms = [(malloc(), huge_pages()), (Policy::as_is(), small_pages())];
    let slower = {
        let mut record = sample::record(&arms, 12);
        record.header.plan.baseline = "as-is".to_owned();
        for trial in &mut record.trials {
            let wall = if trial.policy == "as-is" { 3.0 } else { 4.0 };
            let wall = wall + f64::from(trial.index * 7 % 11) / 1000.0;
            let wall = Reading::of(wall);
            trial.readings.insert("wall_seconds".to_owned(), wall);
        }
        record.header.made_by = ["hugewise", "run", "--", "perl"]
            .map(str::to_owned)
            .to_vec();
        record
    };
    let answer = report(&slower).answers()[0].clone();
    assert!(answer.starts_with("malloc=thp takes 33"), "{answer}");
    assert!(answer.ends_with("either may be the reason."), "{answer}");
    let line =
        "hugewise run --policy=as-is --policy=malloc=thp --policy=thp=never,malloc=thp -- perl";
    let told = advised(&slower);
    assert!(told.ends_with(&format!(":\n{line}\n")), "{told}");
    let mut reading = slower;
    reading.header.stdin_bytes = Some(1);
    let told = advised(&reading);
    assert!(told.ends_with(&format!(":\n{line} < INPUT\n")), "{told}");
}

/// A memcached whose third policy is better and has the pages of the baseline.
fn better_without_pages(third: &str) -> Record {
    let policy: Policy = third.parse().expect("a policy");
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), huge_pages()),
        (policy, small_pages()),
    ];
    let mut record = sample::record(&arms, 12);
    for trial in &mut record.trials {
        let noise = f64::from(trial.index * 7 % 11);
        let wall = match trial.policy.as_str() {
            it if it == third => 3.0 + noise / 1000.0,
            _ => 4.0 + noise / 10.0,
        };
        let wall = Reading::of(wall);
        trial.readings.insert("wall_seconds".to_owned(), wall);
    }
    record.header.made_by = ["hugewise", "run", "--", "memcached"]
        .map(str::to_owned)
        .to_vec();
    record
}

#[test]
fn what_has_no_more_huge_pages_is_not_better_by_these() {
    let record = better_without_pages("args=-L");
    let answer = report(&record).answers()[0].clone();
    assert!(answer.starts_with("args=-L takes"), "{answer}");
    let end = "and not by huge pages: it made no more of them.";
    assert!(answer.ends_with(end), "{answer}");
    let advised = advised(&record);
    assert!(!advised.contains("reason"), "{advised}");
}

/// It was tried for its huge pages, and has none.
#[test]
fn a_malloc_that_makes_no_page_huge_is_not_recommended() {
    let record = better_without_pages("malloc=thp");
    let answers = report(&record).answers();
    let lead = "Not decided whether huge pages help";
    assert!(answers[0].starts_with(lead), "{answers:?}");
    assert!(answers[1].starts_with("Also: malloc=thp"), "{answers:?}");
    let advised = advised(&record);
    let stay = "Stay with as-is: malloc=thp made no page huge, so its gain has another reason, or is chance.";
    assert!(advised.starts_with(stay), "{advised}");
    assert!(!advised.contains("Recommended"), "{advised}");
}

/// A policy of pages alone that shows the same is the proof that it is the pages.
#[test]
fn advice_of_malloc_stands_for_huge_pages_beside_these_alone() {
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), huge_pages()),
        (malloc(), huge_pages()),
    ];
    let answer = report(&sample::record(&arms, 12)).answers()[0].clone();
    assert!(answer.starts_with("Huge pages help"), "{answer}");
    assert!(answer.contains("with malloc=thp"), "{answer}");
}

/// What huge pages do beside the same without is said of these, whatever else the policy sets.
#[test]
fn the_same_with_small_pages_is_a_baseline_like_any_other() {
    let arms = [
        (
            "thp=never,args=-L".parse().expect("a policy"),
            small_pages(),
        ),
        ("args=-L".parse().expect("a policy"), huge_pages()),
    ];
    let record = sample::record(&arms, 12);
    let answer = report(&record).answers()[0].clone();
    assert!(answer.starts_with("Huge pages help"), "{answer}");
    assert!(
        answer.contains("with args=-L than with thp=never,args=-L"),
        "{answer}"
    );
    let advised = advised(&record);
    assert!(
        advised.starts_with("Recommended: args=-L rather than thp=never,args=-L."),
        "{advised}"
    );
}

#[test]
fn a_long_command_is_not_repeated_for_its_arguments() {
    let long = "x".repeat(300);
    expect![[r#"
        Recommended: args=-L -v. It changes this program only:
        By hand: -L -v among its arguments.
    "#]]
    .assert_eq(&advised(&told(&["memcached", &long], "args=-L -v")));
}

/// `exec` would put them behind the shell.
#[test]
fn what_needs_hugewise_has_its_arguments_in_the_command() {
    let policy = "thp=always,args=-L";
    let mut record = told(&["memcached -m 512"], policy);
    record.header.plan.shell = true;
    let realisation = record.header.realisations.get_mut(policy);
    let realisation = realisation.expect("a realisation");
    realisation.files = Vec::new();
    realisation.prctl = ThpPrctl::Leave;
    realisation.tracer = Tracer::Huge;
    expect![[r#"
        Recommended: thp=always,args=-L. It changes this program only:
        hugewise exec --policy thp=always -- memcached -L -m 512
    "#]]
    .assert_eq(&advised(&record));
}

/// Who does not want a tracer asks about the policy that does without.
#[test]
fn what_needs_no_tracer_and_makes_as_many_pages_huge_is_named() {
    let advised_by = |pages: Vec<(&'static str, f64)>| {
        let arms = [
            (Policy::as_is(), small_pages()),
            (thp("thp=always", Thp::Always), huge_pages()),
            (malloc(), pages),
        ];
        let mut record = sample::record(&arms, 12);
        for trial in record
            .trials
            .iter_mut()
            .filter(|it| it.policy == "malloc=thp")
        {
            let wall = 4.0 + f64::from(trial.index * 7 % 11) / 10.0;
            let wall = Reading::of(wall);
            trial.readings.insert("wall_seconds".to_owned(), wall);
        }
        let always = record.header.realisations.get_mut("thp=always");
        let always = always.expect("a realisation");
        always.files = Vec::new();
        always.tracer = Tracer::Huge;
        let malloc = record.header.realisations.entry("malloc=thp".to_owned());
        malloc.or_default().files = Vec::new();
        advised(&record)
    };
    let named = "malloc=thp needs no tracer and makes as many pages huge, but is not decided.";
    let told = advised_by(huge_pages());
    assert!(told.starts_with("Recommended: thp=always"), "{told}");
    assert!(told.contains(named), "{told}");
    let told = advised_by(small_pages());
    assert!(!told.contains("needs no tracer"), "{told}");
}

/// What a tracer costs is no question where what it reached changed no page.
#[test]
fn a_sham_has_a_column_beside_what_it_explains() {
    let drawn = |always: Vec<(&'static str, f64)>| {
        // The trials of a program that allocates as its requests come differ in their faults.
        let idle = with(&small_pages(), &[("minor_faults_total", 30_000.0)]);
        let arms = [
            (Policy::as_is(), small_pages()),
            (thp("thp=always", Thp::Always), always),
            ("tracer=idle".parse().expect("a policy"), idle),
            ("args=-L".parse().expect("a policy"), huge_pages()),
        ];
        let mut record = sample::record(&arms, 12);
        for (policy, tracer) in [("thp=always", Tracer::Huge), ("tracer=idle", Tracer::Idle)] {
            let realisation = record.header.realisations.entry(policy.to_owned());
            let realisation = realisation.or_default();
            realisation.files = Vec::new();
            realisation.tracer = tracer;
        }
        for trial in record.trials.iter_mut() {
            let wall = 4.0 + f64::from(trial.index * 7 % 11) / 10.0;
            let wall = Reading::of(wall);
            trial.readings.insert("wall_seconds".to_owned(), wall);
        }
        draw(
            &report(&record),
            &Style {
                width: 120,
                ..Style::default()
            },
        )
    };
    let [with, without] = [huge_pages(), small_pages()].map(drawn);
    assert!(with.contains("  tracer=idle"), "{with}");
    assert!(!without.contains("  tracer=idle"), "{without}");
    assert!(without.contains("  args=-L"), "{without}");
}

/// `{args}` in the command is empty under a policy without arguments.
#[test]
fn a_place_for_arguments_is_no_word_of_a_command_to_paste() {
    let mut record = told(&["a", "{args}", "-n"], "env.A=1");
    let arguments = || vec!["-L".to_owned()];
    let baseline = record.header.realisations.get_mut("as-is");
    baseline.expect("a realisation").arguments = arguments();
    let name = "env.A=1";
    let realisation = record.header.realisations.get_mut(name);
    let set = EnvChange::Set {
        name: "A".to_owned(),
        value: "1".to_owned(),
    };
    realisation.expect("a realisation").environment = vec![set];
    expect![[r#"
        Recommended: env.A=1. It changes this program only:
        A=1 a -n
    "#]]
    .assert_eq(&advised(&record));
}

#[test]
fn too_few_rounds_still_say_what_they_show() {
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), huge_pages()),
    ];
    let said = |rounds| {
        let record = sample::record(&arms, rounds);
        format!("{}\n", report(&record).answers().join("\n"))
    };
    expect![[r#"
        Not decided whether huge pages help sort -n numbers.txt. With thp=always, provisional (2 rounds; at least 5 decide): wall time −19.6 to −19.2 %, lower in 2 of 2 rounds; user time −12.6 to −12.0 %, lower in 2 of 2 rounds. So few rounds may agree by chance.
    "#]].assert_eq(&said(2));
    expect![[r#"
        Not decided whether huge pages help sort -n numbers.txt. With thp=always, provisional (1 round; at least 5 decide): wall time −19.6 %; user time −12.6 %.
    "#]].assert_eq(&said(1));
}

/// Wall time that differs by up to a half from trial to trial, and user time that does not.
#[test]
fn user_time_is_said_where_wall_time_does_not_tell() {
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), huge_pages()),
    ];
    let mut record = sample::record(&arms, 12);
    for trial in &mut record.trials {
        let mut random = fastrand::Rng::with_seed(u64::from(trial.index));
        let wall = Reading::of(4.0 + 2.0 * random.f64());
        trial.readings.insert("wall_seconds".to_owned(), wall);
    }
    expect![[r#"
        Not decided whether huge pages help sort -n numbers.txt: −9.0 % with thp=always (95 %: −19 to +12 %). User time did change: −12.1 % (95 %: −12.6 to −11.7 %).
    "#]].assert_eq(&format!("{}\n", report(&record).answers().join("\n")));
}

#[test]
fn who_makes_the_program_is_heard_where_huge_pages_are_recommended() {
    let record = sample::clear_win();
    let told = |find: fn(&str) -> Option<String>| {
        let report = report(&record).with_objection(find);
        let lines = report::advice::advice(&report).into_iter();
        lines
            .map(|line| line.to_string())
            .collect::<Vec<_>>()
            .join("\n")
    };
    let by_vendor = told(|program| Some(format!("{program} (vendor, 2020-10-27)")));
    let lines = "sort (vendor, 2020-10-27) advises against huge pages:\nhugewise advise -v -- sort";
    assert!(by_vendor.contains(lines), "{by_vendor}");
    assert!(!told(|_| None).contains("advises against"));
}

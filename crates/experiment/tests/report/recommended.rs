//! The choice among equals, of arguments and of malloc, and the results of too few rounds and of user time.

use hugewise_experiment::run::answer::{
    Answer, Call, Covers, Doubt, ManualStep, Mechanism, NextStep, Word,
};
use hugewise_experiment::run::compare::Preference;
use hugewise_experiment::run::policy::realise::{EnvChange, ThpPrctl, TreeTracer};
use hugewise_experiment::run::policy::{Malloc, Policy, Settings, Thp};
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::trial::Reading;

use super::checked::{change, chosen, contrasts, headline, judged, report, steps, to_set};
use crate::sample::{self, huge_pages, small_pages, thp, with};

fn answer(record: &Record) -> Answer {
    report(record).answer().clone()
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

/// Gives every trial a different wall time.
fn retime(record: &mut Record, seconds: impl Fn(&str, f64) -> f64) {
    for trial in &mut record.trials {
        let wobble = f64::from(trial.index * 7 % 11);
        let wall = Reading::of(seconds(&trial.policy, wobble));
        trial.readings.insert("wall_seconds".to_owned(), wall);
    }
}

#[test]
fn of_equals_the_one_is_chosen_that_changes_the_program_only() {
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), huge_pages()),
        (malloc(), huge_pages()),
    ];
    let answer = answer(&sample::record(&arms, 12));
    assert_eq!(answer.word, Word::Help);
    let choice = answer.choice.as_ref().unwrap();
    assert_eq!(choice.arm.as_deref(), Some("malloc=thp"));
    assert_eq!(choice.mechanism, Mechanism::Program);
    assert_eq!(choice.preference, Some(Preference::ChangesProgramAlone));
    let [tie] = &choice.ties[..] else {
        panic!("{:#?}", choice.ties);
    };
    assert_eq!(tie.arm, "thp=always");
    assert_eq!(answer.claim(tie.claim).contrast.arm, "malloc=thp");
}

/// Returns a record of this command in which a policy is best.
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

#[test]
fn arguments_that_are_best_stand_in_the_whole_command() {
    let words = ["memcached", "-u", "nobody", "-m", "512"];
    let line = "memcached -L -u nobody -m 512";
    assert_eq!(to_set(&answer(&told(&words, "args=-L"))), [line]);

    let mut server = told(&["memcached -u nobody -p {port} -m 512"], "args=-L");
    server.header.plan.shell = true;
    let line = "memcached -L -u nobody -p {port} -m 512";
    assert_eq!(to_set(&answer(&server)), [line]);

    server.header.plan.command = vec!["cd /x && exec a {args} -p 1".to_owned()];
    let line = "/bin/sh -c 'cd /x && exec a -L -p 1'";
    assert_eq!(to_set(&answer(&server)), [line]);
}

/// Arguments have other effects too, so their gain is not attributed to huge pages.
#[test]
fn the_gain_of_arguments_is_not_about_pages() {
    let record = told(&["memcached", "-u", "nobody", "-m", "512"], "args=-L");
    let answer = answer(&record);
    assert_eq!(answer.word, Word::NotAboutPages);
    let claim = headline(&answer)[0];
    assert_eq!(
        (claim.contrast.arm.as_str(), &claim.call),
        ("args=-L", &Call::Better)
    );
    assert_eq!(change(claim), -19.5);
    assert_eq!(chosen(&answer), Some("args=-L"));
    assert!(!answer.arm("args=-L").unwrap().pages_only);
}

/// Returns the command that isolates the huge pages of a policy from its other effects.
fn alone(answer: &Answer) -> Option<(&str, &str)> {
    let mut found = steps(answer)
        .into_iter()
        .filter_map(|(step, line)| match step {
            NextStep::PagesAlone { arm } => Some((arm.as_str(), line?)),
            _ => None,
        });
    found.next()
}

/// If no setting that affects only pages reaches the program, the run that isolates the pages is a step.
#[test]
fn a_run_without_huge_pages_tells_them_from_the_rest() {
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
    let answer = answer(&record);
    assert_eq!(answer.word, Word::NotAboutPages);
    assert_eq!(contrasts(&answer)[0].0, "args=-L");
    let line = "hugewise run --policy=thp=never,args=-L --policy=args=-L --system -- memcached";
    assert_eq!(alone(&answer), Some(("args=-L", line)));
}

/// With malloc=thp the heap also grows in larger steps, which on its own may cost or save time.
#[test]
fn a_loss_with_malloc_is_no_proof_about_huge_pages() {
    let arms = [(malloc(), huge_pages()), (Policy::as_is(), small_pages())];
    let mut slower = sample::record(&arms, 12);
    slower.header.plan.baseline = "as-is".to_owned();
    retime(&mut slower, |policy, wobble| {
        let wall = if policy == "as-is" { 3.0 } else { 4.0 };
        wall + wobble / 1000.0
    });
    slower.header.made_by = ["hugewise", "run", "--", "perl"]
        .map(str::to_owned)
        .to_vec();
    let found = answer(&slower);
    assert_eq!(found.word, Word::NotAboutPages);
    let claim = judged(&found, "malloc=thp");
    assert_eq!((&claim.call, change(claim).round()), (&Call::Worse, 33.0));
    assert_eq!(chosen(&found), Some("as-is"));
    let line =
        "hugewise run --policy=as-is --policy=malloc=thp --policy=thp=never,malloc=thp -- perl";
    assert_eq!(alone(&found), Some(("malloc=thp", line)));
    slower.header.stdin_bytes = Some(1);
    let found = answer(&slower);
    let line = format!("{line} < INPUT");
    assert_eq!(alone(&found), Some(("malloc=thp", line.as_str())));
}

/// Returns a memcached record whose third policy is better and has the pages of the baseline.
fn better_without_pages(third: &str) -> Record {
    let policy: Policy = third.parse().expect("a policy");
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), huge_pages()),
        (policy, small_pages()),
    ];
    let mut record = sample::record(&arms, 12);
    retime(&mut record, |policy, wobble| match policy == third {
        true => 3.0 + wobble / 1000.0,
        false => 4.0 + wobble / 10.0,
    });
    record.header.made_by = ["hugewise", "run", "--", "memcached"]
        .map(str::to_owned)
        .to_vec();
    record
}

#[test]
fn a_policy_without_more_huge_pages_is_not_better_by_these() {
    let answer = answer(&better_without_pages("args=-L"));
    assert_eq!(answer.word, Word::NotAboutPages);
    assert_eq!(
        (contrasts(&answer)[0].0, chosen(&answer)),
        ("args=-L", Some("args=-L"))
    );
    let pages = answer.arm("args=-L").unwrap().pages;
    assert_eq!(pages.more_bytes, Some(0.0));
    assert_eq!(alone(&answer), None);
}

/// It was tried for its huge pages, but has none.
#[test]
fn a_malloc_that_makes_no_page_huge_is_not_chosen() {
    let answer = answer(&better_without_pages("malloc=thp"));
    assert_eq!((answer.word, chosen(&answer)), (Word::Open, None));
    assert_eq!(contrasts(&answer)[0].0, "thp=always");
    assert_eq!(judged(&answer, "malloc=thp").call, Call::Better);
    let doubted = answer.doubts.iter().find_map(|doubt| match doubt {
        Doubt::TimeWithoutPages { claim } => Some(answer.claim(*claim).contrast.arm.as_str()),
        _ => None,
    });
    assert_eq!(doubted, Some("malloc=thp"), "{:#?}", answer.doubts);
}

/// A policy that changes only pages and shows the same proves that pages are the reason.
#[test]
fn malloc_stands_for_huge_pages_beside_these_alone() {
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), huge_pages()),
        (malloc(), huge_pages()),
    ];
    let answer = answer(&sample::record(&arms, 12));
    assert_eq!(
        (answer.word, contrasts(&answer)[0].0),
        (Word::Help, "malloc=thp")
    );
}

/// A contrast with small pages and the same arguments isolates huge pages.
#[test]
fn the_same_with_small_pages_is_a_baseline_like_any_other() {
    let small = "thp=never,args=-L";
    let arms = [
        (small.parse().expect("a policy"), small_pages()),
        ("args=-L".parse().expect("a policy"), huge_pages()),
    ];
    let answer = answer(&sample::record(&arms, 12));
    assert_eq!(
        (answer.word, contrasts(&answer)[0].0),
        (Word::Help, "args=-L")
    );
    assert_eq!(
        (answer.judged.baseline.as_str(), chosen(&answer)),
        (small, Some("args=-L"))
    );
}

#[test]
fn arguments_of_a_long_command_are_a_step() {
    let long = "x".repeat(300);
    let answer = answer(&told(&["memcached", &long], "args=-L -v"));
    let choice = answer.choice.unwrap();
    assert_eq!(choice.commands, []);
    assert_eq!(choice.steps, [ManualStep::Arguments("-L -v".to_owned())]);
}

/// `exec` would put them after the shell.
#[test]
fn a_traced_policy_has_its_arguments_in_the_command() {
    let policy = "thp=always,args=-L";
    let mut record = told(&["memcached -m 512"], policy);
    record.header.plan.shell = true;
    let realisation = record.header.realisations.get_mut(policy);
    let realisation = realisation.expect("a realisation");
    realisation.files = Vec::new();
    realisation.prctl = ThpPrctl::Leave;
    realisation.tracer = TreeTracer::Huge;
    let line = "hugewise exec --policy thp=always -- memcached -L -m 512";
    let answer = answer(&record);
    assert_eq!(to_set(&answer), [line]);
    assert_eq!(answer.choice.unwrap().mechanism, Mechanism::Tracer);
}

/// A reader who does not want a tracer needs the result of the policy without one.
#[test]
fn an_open_policy_that_needs_no_tracer_and_has_as_many_huge_pages_is_to_be_decided() {
    let decided = |pages: Vec<(&'static str, f64)>| {
        let arms = [
            (Policy::as_is(), small_pages()),
            (thp("thp=always", Thp::Always), huge_pages()),
            (malloc(), pages),
        ];
        let mut record = sample::record(&arms, 12);
        retime(&mut record, |policy, wobble| match policy {
            "thp=always" => 3.38 + wobble / 1000.0,
            "as-is" => 4.21 + wobble / 1000.0,
            _ => 4.0 + wobble / 10.0,
        });
        let always = record.header.realisations.get_mut("thp=always");
        let always = always.expect("a realisation");
        always.files = Vec::new();
        always.tracer = TreeTracer::Huge;
        let answer = answer(&record);
        assert_eq!(chosen(&answer), Some("thp=always"));
        let steps = steps(&answer).into_iter();
        let claims = steps.filter_map(|(step, _)| match step {
            NextStep::Decide { claim } | NextStep::TooLong { claim } => Some(*claim),
            _ => None,
        });
        claims
            .map(|id| answer.claim(id).contrast.arm.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(decided(huge_pages()), ["malloc=thp"]);
    assert_eq!(decided(small_pages()), [""; 0]);
}

/// `{args}` in the command is empty under a policy without arguments.
#[test]
fn a_place_for_arguments_is_no_word_of_a_command_to_paste() {
    let mut record = told(&["a", "{args}", "-n"], "env.A=1");
    let baseline = record.header.realisations.get_mut("as-is");
    baseline.expect("a realisation").arguments = vec!["-L".to_owned()];
    let realisation = record.header.realisations.get_mut("env.A=1");
    let set = EnvChange::Set {
        name: "A".to_owned(),
        value: "1".to_owned(),
    };
    realisation.expect("a realisation").environment = vec![set];
    assert_eq!(to_set(&answer(&record)), ["A=1 a -n"]);
}

#[test]
fn too_few_rounds_still_show_their_range() {
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), huge_pages()),
    ];
    let seen = |rounds| {
        let answer = answer(&sample::record(&arms, rounds));
        assert_eq!((answer.word, chosen(&answer)), (Word::TooFewRounds, None));
        let claim = headline(&answer)[0].clone();
        let Call::Open(needs) = claim.call else {
            panic!("{claim:?}");
        };
        assert_eq!(needs.fewest_rounds, Some(5));
        let interval = claim.interval.unwrap();
        assert_eq!(interval.covers, Covers::Range);
        let ends = [interval.low, interval.high].map(super::checked::percent);
        (claim.rounds, claim.agreeing, ends)
    };
    assert_eq!(seen(2), (2, Some(2), [-19.6, -19.2]));
    assert_eq!(seen(1), (1, Some(1), [-19.6, -19.6]));
}

/// Wall time that differs by up to a half from trial to trial, and stable user time.
#[test]
fn user_time_is_in_the_headline_if_wall_time_does_not_tell() {
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
    let answer = answer(&record);
    assert_eq!(answer.word, Word::Open);
    let claims = headline(&answer);
    let told: Vec<(&str, f64)> = claims
        .iter()
        .map(|claim| (claim.contrast.metric.as_str(), change(claim)))
        .collect();
    assert_eq!(told, [("wall_seconds", -10.1), ("user_seconds", -12.1)]);
    assert!(claims[0].call.is_open());
    assert_eq!(claims[1].call, Call::Better);
}

#[test]
fn the_vendor_is_heard_if_huge_pages_are_chosen() {
    let record = sample::clear_win();
    let doubts = |find: fn(&str) -> Option<String>| {
        let report = report(&record).with_objection(find);
        report.answer().doubts.clone()
    };
    let objection = Doubt::VendorObjects {
        who: "sort (vendor, 2020-10-27)".to_owned(),
        program: "sort".to_owned(),
    };
    let by_vendor = doubts(|program| Some(format!("{program} (vendor, 2020-10-27)")));
    assert!(by_vendor.contains(&objection), "{by_vendor:#?}");
    assert!(!doubts(|_| None).contains(&objection));
}

/// An unchosen policy with huge pages needs no objection.
#[test]
fn the_vendor_is_not_heard_if_the_baseline_stays() {
    let arms = [
        (Policy::as_is(), small_pages()),
        (
            thp("thp=always", Thp::Always),
            with(&huge_pages(), &[("wall_seconds", 5.0)]),
        ),
    ];
    let record = sample::record(&arms, 12);
    let report = report(&record).with_objection(|_| Some("the vendor".to_owned()));
    assert_eq!(chosen(report.answer()), Some("as-is"));
    let heard = |doubt: &Doubt| matches!(doubt, Doubt::VendorObjects { .. });
    assert!(!report.answer().doubts.iter().any(heard));
}

//! Data read from a process outranks the machine settings, and the headline agrees with the rows.

use hugewise_advise::advice::{Advice, Observation, Part, advise, named};
use hugewise_advise::fact::{Facts, Value};
use hugewise_advise::knowledge::Knowledge;
use hugewise_advise::ruling::Standing;
use hugewise_text::{Style, to_text};

const MIB: f64 = 1_048_576.0;

fn host(mode: &str) -> Facts {
    let mut facts = Facts::default();
    facts.set("thp.enabled", mode);
    facts.set("kernel.version", "6.18");
    facts.set("arch", "x86_64");
    facts
}

/// The advice for a process with 171 MiB of anonymous memory and this amount of huge memory.
fn process(mode: &str, (name, version): (&str, &str), huge: f64, own: &[(&str, &str)]) -> Advice {
    let knowledge = Knowledge::compiled().expect("the knowledge is right");
    let mut facts = Facts::default();
    facts.set("process.anon.bytes", Value::Number(171.0 * MIB));
    facts.set("process.anon_huge.bytes", Value::Number(huge * MIB));
    facts.set("process.thp_disabled", false);
    for (name, value) in own {
        facts.set(*name, *value);
    }
    let subject = knowledge.subject(name).expect("a subject");
    let observed = Observation {
        pid: Some(7),
        name: name.to_owned(),
        parts: vec![Part::new(subject, Some(version.to_owned()))],
        facts,
        ..Observation::default()
    };
    advise(&knowledge, &host(mode), vec![observed], &[])
}

fn style(width: usize) -> Style {
    Style {
        width,
        ..Style::default()
    }
}

fn standing(advice: &Advice, id: &str) -> Standing {
    let mut rulings = advice.programs[0].rulings.iter();
    let ruling = rulings.find(|it| it.id == id);
    ruling.unwrap_or_else(|| panic!("no {id}")).standing
}

#[test]
fn huge_pages_that_a_process_has_are_not_kept_from_it_by_the_mode() {
    let redis = |huge| {
        process(
            "madvise",
            ("redis", "7.0"),
            huge,
            &[("conf.disable-thp", "no")],
        )
    };
    for rule in ["redis-disable-thp", "redis-madvise-host"] {
        assert_eq!(
            standing(&redis(156.0), rule),
            Standing::NotFollowed,
            "{rule}"
        );
        assert_eq!(standing(&redis(0.0), rule), Standing::Followed, "{rule}");
    }
}

#[test]
fn a_rule_and_its_contrary_are_not_both_so() {
    let rules = ["jemalloc-default-does-nothing", "jemalloc-always-bloat"];
    for (mode, conf, huge, followed) in [
        ("madvise", "thp:always", 156.0, [true, false]),
        ("always", "thp:never", 2.0, [false, true]),
        ("always", "", 156.0, [true, false]),
    ] {
        let advice = process(
            mode,
            ("jemalloc", "5.3.0"),
            huge,
            &[("env.MALLOC_CONF", conf)],
        );
        let found = rules.map(|rule| standing(&advice, rule) == Standing::Followed);
        assert_eq!(found, followed, "{mode} {conf}");
    }
}

#[test]
fn there_is_something_to_know_if_a_row_says_so() {
    let knowledge = Knowledge::compiled().expect("the knowledge is right");
    let headline = |app: &str| {
        let observed = named(&knowledge, app).expect("an application");
        let advice = advise(&knowledge, &host("madvise"), vec![observed], &[]);
        let text = to_text(&advice.document(), &style(80));
        let rows = text
            .lines()
            .filter(|line| line.starts_with("to know"))
            .count();
        (text.lines().next().unwrap_or_default().to_owned(), rows)
    };
    let (first, rows) = headline("go=1.21.0");
    assert_eq!(first, format!("Found: {rows} rule to know."));
    let (first, rows) = headline("go=1.24.0");
    assert_eq!((first.contains("to know"), rows), (false, 0), "{first}");
}

#[test]
fn a_missing_fact_has_no_name_of_the_program_itself() {
    let knowledge = Knowledge::compiled().expect("the knowledge is right");
    let observed = named(&knowledge, "redis=7.0.15").expect("an application");
    let advice = advise(&knowledge, &host("always"), vec![observed], &[]);
    let text = to_text(&advice.document(), &style(200));
    assert!(!text.contains("thp_disabled"), "{text}");
}

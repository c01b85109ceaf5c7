//! Advice for constructed facts: contradictions, states that break programs, and rules that a measurement refutes or
//! confirms.

use std::collections::BTreeSet;

use hugewise_advise::advice::{Advice, Observation, Part, advise, named};
use hugewise_advise::command::Command;
use hugewise_advise::fact::{Facts, Value};
use hugewise_advise::knowledge::Knowledge;
use hugewise_advise::measured::{Belief, Measurement, measurements};
use hugewise_advise::persistent::files;
use hugewise_advise::rule::Change;
use hugewise_advise::ruling::Standing;
use hugewise_experiment::run::record::parse;
use hugewise_text::{Style, Verbosity, to_text};

/// Knowledge about three programs, small enough to read next to the tests.
const KNOWLEDGE: &str = r#"
schema = 1
name = "NAME"
title = "Title"
kind = "application"

[[rule]]
id = "NAME-mode"
says = "Have MODE."
why = "A reason."
said = "2024"
checked = "2026-01-01"
by = "vendor"
sources = ["https://example.org/a"]
versions = ">= 2"
followed = 'thp.enabled == "MODE"'
effects = { wall = "better" }
experiment = "hugewise run -- NAME"

[rule.set]
SET
"#;

fn knowledge(programs: &[(&str, &str, &str)]) -> Knowledge {
    let mut knowledge = Knowledge::compiled().expect("the knowledge is right");
    for (name, mode, set) in programs {
        let text = KNOWLEDGE.replace("NAME", name).replace("MODE", mode);
        knowledge
            .extend(name, &text.replace("SET", set))
            .expect("the planted rule is right");
    }
    knowledge
}

fn host(mode: &str) -> Facts {
    let mut facts = Facts::default();
    facts.set("thp.enabled", mode);
    facts.set("kernel.version", "6.12");
    facts.set("arch", "x86_64");
    facts
}

fn running(knowledge: &Knowledge, pid: u32, name: &str, facts: &[(&str, Value)]) -> Observation {
    let mut own = Facts::default();
    for (name, value) in facts {
        own.set(*name, value.clone());
    }
    let subject = knowledge.subject(name).expect("a subject");
    Observation {
        pid: Some(pid),
        name: name.to_owned(),
        exe: Some(format!("/usr/bin/{name}")),
        parts: vec![Part::new(subject, Some("17.1".to_owned()))],
        facts: own,
        ..Observation::default()
    }
}

fn two(mode: &str, programs: &[(&str, &str, &str)]) -> Advice {
    let knowledge = knowledge(programs);
    let observed = programs.iter().zip(1..);
    let observed = observed.map(|((name, ..), pid)| running(&knowledge, pid, name, &[]));
    advise(&knowledge, &host(mode), observed.collect(), &[])
}

const ALWAYS: &str = "thp = { enabled = \"always\" }";
const NEVER: &str = "policy = \"thp=never\"";

#[test]
fn programs_that_want_different_modes_are_served_by_their_own_means() {
    let advice = two(
        "madvise",
        &[("aaa", "always", ALWAYS), ("bbb", "never", NEVER)],
    );
    let [contradiction] = &advice.contradictions[..] else {
        panic!("{:?}", advice.contradictions);
    };
    assert_eq!(contradiction.setting, "enabled");
    assert_eq!(contradiction.now.as_deref(), Some("madvise"));
    assert_eq!(contradiction.solution.as_deref(), Some("always"));
    let means: Vec<_> = contradiction
        .wishes
        .iter()
        .map(|wish| wish.own_means.as_deref())
        .collect();
    assert_eq!(means, [None, Some("hugewise exec --policy thp=never")]);
    let text = to_text(&advice.document(), &Style::default());
    assert!(
        text.contains("To do: set enabled to always; the last column serves bbb."),
        "{text}"
    );
}

#[test]
fn a_vendor_who_keeps_huge_pages_from_a_program_is_named() {
    let advice = two(
        "madvise",
        &[("aaa", "always", ALWAYS), ("bbb", "never", NEVER)],
    );
    let against = advice.programs.iter().map(|it| it.against_huge_pages());
    let against: Vec<_> = against
        .map(|found| found.map(|(title, ruling)| (title, ruling.id.as_str())))
        .collect();
    assert_eq!(against, [None, Some(("Title", "bbb-mode"))]);
}

#[test]
fn programs_that_all_have_what_they_want_are_no_contradiction() {
    let knowledge = knowledge(&[("aaa", "always", ALWAYS), ("bbb", "never", NEVER)]);
    let own = |pid, name: &str| running(&knowledge, pid, name, &[("thp.enabled", name_mode(name))]);
    let both = vec![own(1, "aaa"), own(2, "bbb")];
    let advice = advise(&knowledge, &host("madvise"), both, &[]);
    assert_eq!(advice.contradictions, []);
    assert_eq!(advice.programs[0].rulings[0].standing, Standing::Followed);
}

/// The mode under which each of the two programs gets the value it wants.
fn name_mode(name: &str) -> Value {
    if name == "aaa" { "always" } else { "never" }.into()
}

#[test]
fn without_means_of_their_own_there_is_no_setting_for_both() {
    let never = "thp = { enabled = \"never\" }";
    let advice = two(
        "madvise",
        &[("aaa", "always", ALWAYS), ("bbb", "never", never)],
    );
    assert_eq!(advice.contradictions[0].solution, None);
    let agreed = two(
        "madvise",
        &[("aaa", "never", NEVER), ("bbb", "never", never)],
    );
    assert!(agreed.contradictions.is_empty());
}

/// The result of `thp=never` for `aaa`.
fn measured(outcome: Change) -> Measurement {
    Measurement {
        record: "a.jsonl".to_owned(),
        unix_ms: 0,
        command: vec!["/opt/aaa".to_owned()],
        kernel: "6.12".to_owned(),
        policy: "thp=never".to_owned(),
        metric: "wall_seconds".to_owned(),
        change: Some([1.08, 1.05, 1.1]),
        outcome: Some(outcome),
        changed_no_page: false,
        prices: Vec::new(),
    }
}

#[test]
fn a_rule_is_refuted_or_confirmed_by_what_was_measured_here() {
    let knowledge = knowledge(&[("aaa", "never", NEVER)]);
    for (outcome, belief, standing, neglected) in [
        (Change::Worse, Belief::Refuted, Standing::Refuted, 0),
        (Change::None, Belief::Refuted, Standing::Refuted, 0),
        (Change::Better, Belief::Confirmed, Standing::NotFollowed, 1),
    ] {
        let observed = vec![running(&knowledge, 1, "aaa", &[])];
        let advice = advise(&knowledge, &host("always"), observed, &[measured(outcome)]);
        let ruling = &advice.programs[0].rulings[0];
        assert_eq!((ruling.belief, ruling.standing), (Some(belief), standing));
        assert_eq!(advice.neglected().count(), neglected, "{outcome:?}");
    }
    let elsewhere = Measurement {
        kernel: "6.1".to_owned(),
        ..measured(Change::Worse)
    };
    let observed = vec![running(&knowledge, 1, "aaa", &[])];
    let advice = advise(&knowledge, &host("always"), observed, &[elsewhere]);
    assert_eq!(advice.programs[0].rulings[0].belief, None);
}

/// With `madvise` on the machine, `thp=never` changes nothing for Python.
#[test]
fn a_policy_that_changed_no_page_is_no_measurement_of_its_time() {
    let kept = include_bytes!("../../../docs/records/python-dict.jsonl");
    let record = parse(&kept[..]).expect("good");
    let all = measurements(&record, "a.jsonl");
    let (same, changed): (Vec<_>, Vec<_>) = all.iter().partition(|it| it.changed_no_page);
    let policies: Vec<&str> = changed.iter().map(|it| it.policy.as_str()).collect();
    assert_eq!(policies, ["thp=always", "malloc=thp"]);
    let accounts: Vec<String> = same.iter().map(|it| it.account()).collect();
    assert_eq!(accounts, ["thp=never changed no page"]);
    assert!(same.iter().all(|it| it.outcome.is_none()));
}

#[test]
fn states_that_break_programs_are_found() {
    let knowledge = knowledge(&[]);
    let gib = |gib: f64| Value::Number(gib * f64::from(1 << 30));
    let breaks = |facts: &[(&str, Value)]| -> Vec<String> {
        let observed = vec![running(&knowledge, 1, "postgresql", facts)];
        let mut host = host("always");
        host.set("cgroup.hugetlb_accounting", true);
        host.set("hugetlb.pool.bytes", gib(1.0));
        let advice = advise(&knowledge, &host, observed, &[]);
        let found = advice.programs[0].standing(Standing::Breaks);
        found.map(|ruling| ruling.id.clone()).collect()
    };
    let full: &[(&str, Value)] = &[
        ("cgroup.memory.max.bytes", gib(1.0)),
        ("cgroup.memory.bytes", gib(0.95)),
        ("cgroup.anon_thp.bytes", gib(0.5)),
        ("process.hugetlb.bytes", gib(0.0)),
    ];
    assert_eq!(breaks(full), ["state-huge-pages-fill-limit"]);
    let pool: &[(&str, Value)] = &[
        ("cgroup.memory.max.bytes", gib(1.0)),
        ("cgroup.memory.bytes", gib(0.95)),
        ("cgroup.anon_thp.bytes", gib(0.0)),
        ("process.hugetlb.bytes", gib(0.5)),
    ];
    assert_eq!(breaks(pool), ["state-pool-counts-as-memory"]);
    let forbidden: &[(&str, Value)] = &[
        ("cgroup.hugetlb.max.bytes", gib(0.0)),
        ("conf.huge_pages", "try".into()),
    ];
    assert_eq!(breaks(forbidden).len(), 1, "SIGBUS of PostgreSQL");
    assert!(breaks(&[]).is_empty());
}

#[test]
fn advice_lasts_in_files_to_review() {
    let set = "policy = \"thp=never\"\nenv = { GODEBUG = \"disablethp=1\" }";
    let programs = [
        ("aaa", "always", ALWAYS),
        ("bbb", "never", set),
        ("ccc", "never", NEVER),
    ];
    let mut advice = two("madvise", &programs);
    let text = |advice: &Advice, end: &str| {
        let found = files(advice)
            .into_iter()
            .find(|file| file.path.ends_with(end));
        found.map(|file| file.text).unwrap_or_default()
    };
    assert!(
        text(&advice, "aaa-mode/etc/tmpfiles.d/hugewise-aaa-mode.conf")
            .ends_with("w /sys/kernel/mm/transparent_hugepage/enabled - - - - always\n")
    );
    assert!(
        text(&advice, "aaa-mode/etc/default/grub.d/hugewise-aaa-mode.cfg")
            .contains("transparent_hugepage=always")
    );
    assert!(text(&advice, "tuned.conf").contains("[vm]\ntransparent_hugepages=always\n"));
    assert!(
        text(
            &advice,
            "REPLACE-by-the-unit-of-bbb.d/hugewise-bbb-mode.conf"
        )
        .contains("Environment=\"GODEBUG=disablethp=1\"")
    );
    assert!(text(&advice, "bbb-mode/bbb.Dockerfile").contains("ENV GODEBUG=\"disablethp=1\""));
    assert!(text(&advice, "bbb-mode/bbb.kubernetes-pod.yaml").contains("name: GODEBUG, value:"));
    let unit = "REPLACE-by-the-unit-of-ccc.d/hugewise-ccc-mode.conf";
    assert!(text(&advice, unit).contains("hugewise exec --policy thp=never"));
    assert!(text(&advice, unit).contains("No unit of systemd is known for this program."));
    advice.programs[2].service = Some("own.service".to_owned());
    let unit = "system/own.service.d/hugewise-ccc-mode.conf";
    assert!(text(&advice, unit).contains("# Rule ccc-mode (vendor, 2024)."));
    assert!(!text(&advice, unit).contains("REPLACE"));
    advice.host.set("systemd.version", "260.1");
    assert!(text(&advice, unit).contains("MemoryTHP=disable"));
}

/// The C library reads `/etc/tunables.conf` since 2.44; lines after `[proc:NAME]` are limited to one executable.
#[test]
fn tunables_of_glibc_last_in_its_own_file() {
    let set = "policy = \"malloc=thp\"\n\
               env = { GLIBC_TUNABLES = \"glibc.malloc.hugetlb=1:glibc.elf.thp=1\" }";
    let knowledge = knowledge(&[("aaa", "never", set)]);
    let written = |glibc: Option<&str>| {
        let mut observed = running(&knowledge, 1, "aaa", &[]);
        let subject = knowledge.subject("glibc").expect("a subject");
        let version = glibc.map(str::to_owned);
        observed.parts.push(Part::new(subject, version));
        let advice = advise(&knowledge, &host("always"), vec![observed], &[]);
        let mut found = files(&advice).into_iter();
        let own = found.find(|file| {
            file.path
                .ends_with("tunables.conf.d/hugewise-aaa-mode.conf")
        });
        own.map(|file| file.text)
    };
    let text = written(Some("2.44-1")).expect("2.44 reads the file");
    assert!(
        text.ends_with("\n[proc:aaa]\nglibc.malloc.hugetlb=1\nglibc.elf.thp=1\n"),
        "{text}"
    );
    assert_eq!(written(Some("2.43")), None);
    assert_eq!(written(None), None);
}

#[test]
fn what_does_not_run_is_judged_by_its_version() {
    let knowledge = knowledge(&[("aaa", "never", NEVER)]);
    let observed = |text| named(&knowledge, text).unwrap();
    let of = |text| advise(&knowledge, &host("always"), vec![observed(text)], &[]);
    let standing = |advice: &Advice| {
        advice.programs[0]
            .rulings
            .iter()
            .map(|it| it.standing)
            .collect::<Vec<_>>()
    };
    assert_eq!(standing(&of("aaa=2.0")), [Standing::NotFollowed]);
    assert!(standing(&of("aaa=1.9")).is_empty());
    assert_eq!(standing(&of("aaa")), [Standing::Unknown]);
    assert!(named(&knowledge, "nothing=1").is_err());
}

#[test]
fn what_may_apply_to_an_application_is_on_the_first_screen_with_its_condition() {
    let knowledge = Knowledge::compiled().expect("the knowledge is right");
    let shown = |app: &str| {
        let app = named(&knowledge, app).expect("a subject");
        let advice = advise(&knowledge, &host("madvise"), vec![app], &[]);
        let style = Style {
            width: 200,
            ..Style::default()
        };
        to_text(&advice.document(), &style)
    };
    for (app, condition) in [
        ("java=25", "If its anonymous memory is at least 256 MiB: "),
        ("redis", "If its version is below 6.2: "),
    ] {
        let text = shown(app);
        assert!(text.contains(condition), "{app}: {text}");
    }
    let unknown = shown("redis");
    assert!(!unknown.contains("Nothing to do"), "{unknown}");
}

#[test]
fn an_application_has_the_names_that_people_call_it() {
    let knowledge = Knowledge::compiled().expect("the knowledge is right");
    for (word, subject) in [
        ("java", "jdk"),
        ("OpenJDK", "jdk"),
        ("postgres", "postgresql"),
    ] {
        let found = named(&knowledge, word).expect("a subject");
        assert_eq!(found.parts[0].subject, subject);
    }
    assert!(named(&knowledge, "nosuch").is_err());
}

#[test]
fn files_of_two_rules_never_have_one_name() {
    let own = "env = { A = \"1\" }\nconf = { file = \"app.conf\", line = \"a\" }";
    let programs = [
        ("aaa", "always", ALWAYS),
        ("bbb", "never", "thp = { defrag = \"never\" }"),
        ("ccc", "never", own),
        ("ddd", "always", own),
    ];
    let mut advice = two("madvise", &programs);
    for program in &mut advice.programs {
        program.service = Some("same.service".to_owned());
    }
    let files = files(&advice);
    // Files copied from the directories of all rules into one root.
    let places = files
        .iter()
        .filter_map(|file| file.path.split_once("/etc/"));
    let places: Vec<_> = places.map(|(_, place)| place).collect();
    let once: BTreeSet<_> = places.iter().collect();
    assert!(places.len() >= 6, "{places:?}");
    assert_eq!(once.len(), places.len(), "{places:?}");
    // A user's own file is never replaced.
    assert!(files.iter().all(|file| !file.path.ends_with("/app.conf")));
}

#[test]
fn a_name_cannot_add_lines_to_a_file() {
    let mut advice = two("madvise", &[("aaa", "never", NEVER)]);
    advice.programs[0].name = "x\nExecStartPre=/../evil".to_owned();
    for file in files(&advice) {
        assert!(!file.text.contains("\nExecStartPre"), "{}", file.text);
        assert!(
            !file.path.split('/').any(|part| part == ".."),
            "{}",
            file.path
        );
    }
}

/// The constructed rule with a premise, for a program in this mode.
fn with_premise(mode: &str, measured: &[Measurement]) -> Advice {
    let set = format!("{NEVER}\n");
    let text = KNOWLEDGE.replace("NAME", "aaa").replace("MODE", "never");
    let text = text.replace("SET", &set);
    let text = text.replace("why =", "premise = \"requests stall\"\nwhy =");
    let mut knowledge = Knowledge::compiled().expect("the knowledge is right");
    knowledge
        .extend("aaa", &text)
        .expect("the planted rule is right");
    let observed = vec![running(&knowledge, 1, "aaa", &[])];
    advise(&knowledge, &host(mode), observed, measured)
}

#[test]
fn what_rests_on_a_premise_may_apply_and_is_never_asked_for() {
    let advice = with_premise("always", &[]);
    let ruling = &advice.programs[0].rulings[0];
    assert_eq!(ruling.standing, Standing::Unknown);
    assert_eq!(ruling.condition.as_deref(), Some("requests stall"));
    assert_eq!(advice.neglected().count(), 0);
    assert_eq!(files(&advice), []);
    let text = to_text(&advice.document(), &Style::default());
    assert!(
        text.contains("may apply  If requests stall: Have never."),
        "{text}"
    );
    let followed = with_premise("never", &[]);
    assert_eq!(followed.programs[0].rulings[0].standing, Standing::Followed);
    let tried = with_premise("always", &[measured(Change::Better)]);
    let text = to_text(&tried.document(), &Style::default());
    let words: Vec<&str> = text.split_whitespace().collect();
    let row = "If requests stall: Have never. Tried here: better. [";
    assert!(words.join(" ").contains(row), "{text}");
}

#[test]
fn a_complaint_names_the_rule_and_what_is_not_so() {
    let advice = two("madvise", &[("aaa", "never", NEVER)]);
    assert_eq!(
        advice.complaints(),
        ["aaa-mode: Have never. [vendor, 2024] Here, for aaa (1): the THP mode is madvise."]
    );
    assert_eq!(
        two("never", &[("aaa", "never", NEVER)]).complaints(),
        [""; 0]
    );
}

#[test]
fn a_command_is_never_broken_and_is_that_of_the_process() {
    let mut advice = two("madvise", &[("aaa", "never", NEVER)]);
    let words = [
        "/opt/aaa",
        "--data",
        "/a/folder/with a blank/and/a/long/name",
    ];
    let words = words.map(str::to_owned);
    advice.programs[0].command = Command::of_process("/srv/a", &words);
    let text = |verbose| {
        let style = Style {
            verbose,
            ..Style::default()
        };
        to_text(&advice.document(), &style)
    };
    let line = "cd /srv/a && hugewise exec --policy thp=never -- /opt/aaa --data \
                '/a/folder/with a blank/and/a/long/name'";
    for shown in [text(Verbosity::Normal), text(Verbosity::Verbose)] {
        assert!(shown.lines().any(|shown| shown.trim() == line), "{shown}");
    }
}

#[test]
fn each_claim_says_whose_it_is() {
    let advice = two("madvise", &[("aaa", "never", NEVER)]);
    let style = Style {
        verbose: Verbosity::Verbose,
        ..Style::default()
    };
    let text = to_text(&advice.document(), &style);
    assert!(text.contains("the vendor says: less time\n"), "{text}");
    assert!(text.contains("never by us\n"), "{text}");
}

#[test]
fn its_page_names_all_fields() {
    let advice = two(
        "madvise",
        &[("aaa", "always", ALWAYS), ("bbb", "never", NEVER)],
    );
    let advice = serde_json::to_value(advice).expect("JSON");
    let own = ["host", "facts", "thp"];
    let unknown = crate::documented::undocumented(&["format-advise"], &own, &advice);
    assert_eq!(unknown, BTreeSet::new());
}

/// A rule about old versions only, or about some machines, is no objection for a program of unknown version.
#[test]
fn who_makes_a_program_may_keep_huge_pages_from_it() {
    let knowledge = Knowledge::compiled().expect("the knowledge");
    let against = |program: &str| knowledge.against_huge_pages(program);
    let redis = against("redis-server").expect("a vendor that does");
    assert_eq!(redis, "Redis (vendor, 2020-10-27)");
    for program in ["mongod", "memcached", "java", "unknown"] {
        assert_eq!(against(program), None, "{program}");
    }
}

#[test]
fn the_own_setting_of_a_program_is_a_policy() {
    let knowledge = Knowledge::compiled().expect("the knowledge");
    let own = |program: &str| knowledge.own_setting(program).map(|it| it.to_string());
    assert_eq!(own("memcached").as_deref(), Some("args=-L"));
    let flag = "java.UseTransparentHugePages=+";
    assert_eq!(own("java").as_deref(), Some(flag));
    // Its setting is in a file, and makes it worse.
    assert_eq!(own("redis-server"), None);
    assert_eq!(own("sort"), None);
}

/// The default policies of `run` include these arguments, at the cost of one trial per round.
#[test]
fn the_programs_with_arguments_of_their_own_are_known() {
    let all = Knowledge::compiled().expect("the knowledge");
    let detections = all.subjects().filter_map(|subject| subject.detect.as_ref());
    let told = |name: &String| {
        let own = Knowledge::of_executables(&[name]).expect("the knowledge of one program");
        let policy = own.own_arguments(&Facts::default())?;
        Some(format!("{name} {policy}"))
    };
    let told: BTreeSet<String> = detections.flat_map(|it| &it.exe).filter_map(told).collect();
    let expected = ["memcached args=-L", "node args=--use-largepages=on"];
    assert_eq!(told, expected.map(str::to_owned).into());
}

#[test]
fn arguments_that_a_program_has_in_other_words_are_not_its_policy() {
    let own = |name: &str, argv: &str| {
        let mut facts = Facts::default();
        facts.set("argv", argv);
        let knowledge = Knowledge::of_executables(&[name]).expect("the knowledge");
        knowledge.own_arguments(&facts).is_some()
    };
    assert!(own("memcached", "memcached -m 64"));
    assert!(!own("memcached", "memcached --enable-largepages -m 64"));
    assert!(!own("node", "node --use-largepages=silent app.js"));
    assert!(!own("sort", "sort -n"));
}

#[test]
fn arguments_that_may_help_are_named_with_the_experiment_that_tells() {
    let knowledge = Knowledge::compiled().expect("the knowledge");
    let told = |words: &str| {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let argv = ("argv", words.join(" ").into());
        let observation = Observation {
            pid: None,
            command: Some(Command {
                folder: None,
                words,
            }),
            ..running(&knowledge, 1, "memcached", &[argv])
        };
        let advice = advise(&knowledge, &host("madvise"), vec![observation], &[]);
        to_text(&advice.document(), &Style::default())
    };
    let text = told("memcached -m 64");
    let line = "hugewise run --policy=args=-L --load LOAD --service 'memcached -m 64'\n";
    assert!(
        text.contains("may apply  If its anonymous memory"),
        "{text}"
    );
    assert!(text.contains(line), "{text}");
    assert!(!told("memcached -m 64 -L").contains("args=-L"));
}

//! Two records against each other.

use expect_test::{expect, expect_file};
use hugewise_experiment::run::answer::{Against, Call, Covers, Doubt, SubjectKind, When, Word};
use hugewise_experiment::run::compare::{Across, Change, between, sessions};
use hugewise_experiment::run::policy::{Policy, Thp};
use hugewise_experiment::run::record::Record;
use hugewise_experiment::run::report::{Other, Report};
use hugewise_text::Style;

use super::checked::{change, check_json, draw, golden, headline, too_wide};
use super::documented::marks;
use crate::sample::{self, Figures, huge_pages, small_pages, thp, with};

/// Returns a record of as-is and `thp=always` with these figures.
fn of(always: Figures, rounds: u32) -> Record {
    let arms = [
        (Policy::as_is(), small_pages()),
        (thp("thp=always", Thp::Always), always),
    ];
    sample::record(&arms, rounds)
}

fn other(record: &Record) -> Other<'_> {
    Other {
        record,
        sides: ["before.jsonl", "after.jsonl"].map(|path| vec![path.to_owned()]),
    }
}

#[test]
fn each_policy_of_two_records_is_a_claim() {
    let before = of(huge_pages(), 6);
    let mut after = of(with(&huge_pages(), &[("wall_seconds", 3.1)]), 6);
    after.header.host.kernel = "6.19.10".to_owned();
    let table = sample::table_between(&before, &after);
    let report = Report::between(&before, other(&after), table);
    let answer = report.answer();
    assert_eq!(
        (answer.word, answer.subject.kind),
        (Word::Compared, SubjectKind::Records)
    );
    let claims = headline(answer);
    assert!(
        claims
            .iter()
            .all(|it| it.contrast.against == Against::OtherRecord)
    );
    let always = claims
        .iter()
        .find(|it| it.contrast.arm == "thp=always")
        .unwrap();
    assert_eq!((&always.call, change(always)), (&Call::Better, -8.3));
    assert_eq!(answer.circumstances.len(), 2);
    let style = Style::default();
    expect_file![golden("two-records.txt")].assert_eq(&draw(&report, &style));
    assert_eq!(too_wide(&report, &style), [""; 0]);
    check_json(&report);
}

/// Two real shapes through the real comparison: the kernel was changed between the two runs.
#[test]
fn two_kernels_are_compared_only_when_asked() {
    let before = of(huge_pages(), 12);
    let faster = [("wall_seconds", 3.1), ("user_seconds", 2.9)];
    let mut after = of(with(&huge_pages(), &faster), 12);
    after.header.host.kernel = "6.19.10".to_owned();

    let refused = between(&before, &after, Across::Refused).unwrap_err();
    expect![[r#"
        the two records differ in more than what is compared (kernel: 6.18.44 → 6.19.10); allow that with --across if you mean to
    "#]]
    .assert_eq(&format!("{refused}\n"));

    let table = between(&before, &after, Across::Allowed).unwrap();
    let report = Report::between(&before, other(&after), table);
    let doubt = Doubt::NotOneExperiment {
        differences: vec!["kernel: 6.18.44 → 6.19.10".to_owned()],
    };
    assert!(report.answer().doubts.contains(&doubt));
    assert_eq!(too_wide(&report, &Style::default()), [""; 0]);
    check_json(&report);
}

#[test]
fn doubts_of_two_records_are_those_of_both() {
    let arms = [(Policy::as_is(), small_pages())];
    let before = sample::record(&arms, 6);
    let mut after = sample::record(&arms, 6);
    let warning = "the record has no end".to_owned();
    after.warnings = vec![warning.clone()];
    for trial in &mut after.trials {
        trial.marks = marks();
    }
    let table = sample::table_between(&before, &after);
    let report = Report::between(&before, other(&after), table);
    let answer = report.answer();
    let differences = Vec::new();
    assert_eq!(answer.doubts[0], Doubt::NotOneExperiment { differences });
    assert!(answer.doubts.contains(&Doubt::Warning { text: warning }));
    let disturbed: Vec<u32> = answer
        .circumstances
        .iter()
        .map(|it| it.disturbance.trials)
        .collect();
    assert_eq!(disturbed, [0, after.trials.len() as u32]);
    let counted = |doubt: &Doubt| matches!(doubt, Doubt::Disturbed { .. });
    assert_eq!(answer.doubts.iter().filter(|it| counted(it)).count(), 1);
}

#[test]
fn settings_in_which_two_records_differ_are_named_one_by_one() {
    let before = sample::record(&[(Policy::as_is(), small_pages())], 6);
    let mut after = before.clone();
    let thp = after.header.host.thp.as_mut().unwrap();
    thp.enabled = "always".to_owned();
    thp.khugepaged.insert("max_ptes_none".to_owned(), 0);
    thp.sizes.insert(64, "inherit".to_owned());
    let refused = between(&before, &after, Across::Refused).unwrap_err();
    let told = "(THP enabled: madvise → always; khugepaged/max_ptes_none: none → 0; \
                hugepages-64kB: never → inherit)";
    assert!(refused.to_string().contains(told), "{refused}");
}

/// Sessions of one program differ by 3 %, and the trials of each by 0.1 %. Two sessions are no evidence; three against
/// three are tested as three values each.
#[test]
fn records_are_the_unit_where_several_are_compared() {
    let session = |wall: f64| of(with(&huge_pages(), &[("wall_seconds", wall)]), 6);
    let before = [3.00, 3.09, 2.95].map(session);
    let same = [3.02, 3.10, 2.93].map(session);
    let faster = [2.00, 2.06, 1.97].map(session);
    let row = |a: &[Record], b: &[Record]| {
        let table = sessions(a, b, Across::Refused).expect("alike");
        let rows = table.comparisons.into_iter();
        let mut rows = rows.filter(|it| it.metric == "wall_seconds" && it.policy == "thp=always");
        rows.next().expect("a row")
    };
    let found = row(&before, &same);
    assert_eq!((found.change, found.n), (Change::CannotTell, 3));
    let (low, high) = found.low.zip(found.high).expect("three a side");
    assert!(low < 0.95 && high > 1.05, "{low} {high}");
    let found = row(&before, &faster);
    assert_eq!(found.change, Change::Lower);
    let two = row(&before[..2], &faster);
    assert_eq!((two.low, two.p), (None, None));
}

#[test]
fn a_report_of_several_records_names_their_sides() {
    let session = |wall: f64| of(with(&huge_pages(), &[("wall_seconds", wall)]), 6);
    let before = [3.00, 3.09, 2.95].map(session);
    let after = [2.00, 2.06, 1.97].map(session);
    let table = sessions(&before, &after, Across::Refused).expect("alike");
    let sides = [["a1", "a2", "a3"], ["b1", "b2", "b3"]];
    let other = Other {
        record: &after[0],
        sides: sides.map(|side| side.map(str::to_owned).to_vec()),
    };
    let report = Report::between(&before[0], other, table);
    let claims = headline(report.answer());
    let always = claims.iter().find(|it| it.contrast.arm == "thp=always");
    let always = always.expect("a claim");
    assert_eq!(always.contrast.when, When::PerRecord([3, 3]));
    let interval = always.interval.expect("three a side");
    assert_eq!(
        (interval.covers, &always.call),
        (Covers::Sessions, &Call::Better)
    );
    let next = report
        .answer()
        .next
        .iter()
        .find_map(|it| it.command.as_ref());
    let line = next.map(|command| command.line.as_str());
    assert_eq!(line, Some("hugewise report -v a1 a2 a3 --against b1 b2 b3"));
    check_json(&report);
}

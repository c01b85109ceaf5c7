//! A policy that also changes malloc, against the same malloc with small pages.

use hugewise_experiment::run::answer::{Against, Answer, Call, Doubt, NextStep, Word};

use super::checked::{change, chosen, contrasts, ends, headline, report, steps, to_set};
use crate::sample::of_malloc;

const SMALL: &str = "thp=never,malloc=thp";

/// Returns the answer of a record in which as-is, `malloc=thp` and the same with small pages take these seconds.
fn answer(rounds: u32, seconds: [f64; 3], noise: f64) -> Answer {
    let record = of_malloc(rounds, seconds, noise);
    let report = report(&record).called(Some("last".to_owned()));
    report.answer().clone()
}

fn small() -> Against {
    Against::SmallPagesSameMalloc(SMALL.to_owned())
}

/// Checks that the first claim isolates huge pages and the second covers the policy, and returns both changes.
fn of_pages_alone(answer: &Answer, calls: [&Call; 2]) -> [f64; 2] {
    let both = [("malloc=thp", &small()), ("malloc=thp", &Against::Baseline)];
    assert_eq!(contrasts(answer), both);
    let claims = headline(answer);
    assert_eq!([&claims[0].call, &claims[1].call], calls);
    [change(claims[0]), change(claims[1])]
}

#[test]
fn huge_pages_help_though_the_policy_hurts() {
    let answer = answer(12, [4.0, 4.6, 5.4], 1.0);
    assert_eq!((answer.word, chosen(&answer)), (Word::Help, Some("as-is")));
    let changes = of_pages_alone(&answer, [&Call::Better, &Call::Worse]);
    assert_eq!(changes, [-14.7, 15.2]);
    assert_eq!(ends(headline(&answer)[0]), [-15.0, -14.5]);
}

#[test]
fn a_policy_that_is_better_by_its_huge_pages_is_chosen() {
    let answer = answer(12, [4.0, 3.6, 4.2], 1.0);
    assert_eq!(
        (answer.word, chosen(&answer)),
        (Word::Help, Some("malloc=thp"))
    );
    assert_eq!(contrasts(&answer)[0], ("malloc=thp", &Against::Baseline));
    assert_eq!(change(headline(&answer)[0]), -9.8);
    let line = "hugewise exec --policy malloc=thp -- sort -n numbers.txt";
    assert_eq!(to_set(&answer), [line]);
    let by_chance = |doubt: &Doubt| matches!(doubt, Doubt::TakenByChance { glibc, .. } if glibc == "glibc 2.36");
    assert!(answer.doubts.iter().any(by_chance), "{:#?}", answer.doubts);
}

#[test]
fn a_policy_may_be_open_whose_huge_pages_are_not() {
    let answer = answer(12, [4.0, 4.0, 5.0], 9.0);
    assert_eq!(answer.word, Word::Help);
    let claims = headline(&answer);
    assert_eq!(claims[0].contrast.against, small());
    assert_eq!((&claims[0].call, change(claims[0])), (&Call::Better, -18.7));
    assert!(claims[1].call.is_open());
    assert_eq!((change(claims[1]), chosen(&answer)), (1.8, None));
}

#[test]
fn a_policy_whose_huge_pages_are_open_is_not_about_pages() {
    let few = answer(6, [4.0, 3.4, 3.6], 1.0);
    assert_eq!(
        (few.word, chosen(&few)),
        (Word::NotAboutPages, Some("malloc=thp"))
    );
    let claims = headline(&few);
    assert_eq!(contrasts(&few)[0], ("malloc=thp", &Against::Baseline));
    assert_eq!((&claims[0].call, change(claims[0])), (&Call::Better, -15.1));
    assert_eq!(contrasts(&few)[1], ("malloc=thp", &small()));
    assert_eq!((claims[1].interval, change(claims[1])), (None, -5.4));
    let decide = |answer: &Answer, line: &str| {
        let steps = steps(answer);
        let found = steps.iter().find(|(_, command)| *command == Some(line));
        let Some((NextStep::Decide { claim }, _)) = found else {
            panic!("{steps:#?}");
        };
        assert_eq!(answer.claim(*claim).contrast.against, small());
    };
    decide(&few, "hugewise run --continue last --max-time 2m");

    let open = answer(12, [4.0, 3.3, 3.4], 9.0);
    assert_eq!(
        (open.word, chosen(&open)),
        (Word::NotAboutPages, Some("malloc=thp"))
    );
    let claims = headline(&open);
    assert_eq!((change(claims[0]), change(claims[1])), (-16.0, -1.4));
    assert_eq!(ends(claims[1]), [-5.2, 0.4]);
    decide(&open, "hugewise run --continue last --max-time 24m");
}

#[test]
fn huge_pages_hurt_though_the_policy_helps() {
    let found = answer(12, [4.0, 3.6, 3.2], 1.0);
    assert_eq!((found.word, chosen(&found)), (Word::Hurt, Some(SMALL)));
    let changes = of_pages_alone(&found, [&Call::Worse, &Call::Better]);
    assert_eq!(changes, [12.7, -9.8]);

    let both = answer(12, [4.0, 4.6, 4.2], 1.0);
    assert_eq!((both.word, chosen(&both)), (Word::Hurt, Some("as-is")));
    assert_eq!(contrasts(&both)[0], ("malloc=thp", &Against::Baseline));
    assert_eq!(change(headline(&both)[0]), 15.2);
}

#[test]
fn huge_pages_make_no_difference_though_malloc_does() {
    let answer = answer(40, [4.0, 3.6, 3.6], 1.0);
    assert_eq!(
        (answer.word, chosen(&answer)),
        (Word::NoDifference, Some("malloc=thp"))
    );
    let changes = of_pages_alone(&answer, [&Call::Same, &Call::Better]);
    assert_eq!(changes[1], -10.0);
}

/// If malloc cancels the gain of its huge pages, that gain is not small.
#[test]
fn a_policy_of_little_effect_says_little_of_huge_pages_that_may_do_more() {
    let found = answer(12, [4.0, 3.98, 3.98], 5.0);
    assert_eq!((found.word, chosen(&found)), (Word::Little, Some("as-is")));
    assert_eq!(change(headline(&found)[0]), 0.5);

    let alone = answer(12, [4.0, 3.98, 4.06], 5.0);
    assert_eq!(alone.word, Word::Help);
    assert_eq!(contrasts(&alone)[0].1, &small());
    assert_eq!(change(headline(&alone)[0]), -1.1);
    let may_be_small = |doubt: &Doubt| matches!(doubt, Doubt::MaybeSmall { .. });
    assert!(alone.doubts.iter().any(may_be_small), "{:#?}", alone.doubts);
}

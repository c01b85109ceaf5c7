//! What is said of a policy that changes malloc too, beside the same with small pages.

use expect_test::{Expect, expect};
use hugewise_model::run::compare::{self, Options};
use hugewise_model::run::record::Record;
use hugewise_model::run::report::Report;
use hugewise_model::text::Style;

use super::checked::draw;
use crate::sample::of_malloc;

/// The lines above the table.
fn check(record: &Record, expected: &Expect) {
    let table = compare::table(record, &Options::default()).expect("a sound plan");
    let report = Report::new(record, table, Vec::new(), None).called(Some("last".to_owned()));
    let text = draw(&report, &Style::default());
    let above = text.split("\n\n").next().unwrap_or_default();
    expected.assert_eq(&format!("{above}\n"));
}

#[test]
fn huge_pages_help_where_the_policy_hurts() {
    check(
        &of_malloc(12, [4.0, 4.6, 5.4], 1.0),
        &expect![[r#"
            Huge pages by themselves help sort -n numbers.txt: 14.7 % less wall time than
            the same malloc with small pages (95 %: 14.4 to 15.1 %). But malloc=thp also
            lets malloc grow the heap in larger steps, alone (thp=never,malloc=thp) 35.0 %
            more (95 %: 34.2 to 35.7 %). Together: 15.1 % more than as-is (95 %: 14.5 to
            15.7 %).
            Stay with as-is: nothing that was tried is better.
            How sure: at least 95 % for the huge pages alone; 12 of 12 rounds agree; control
                passed (−0.5 to +0.7 %).
        "#]],
    );
}

#[test]
fn what_is_better_by_its_huge_pages_is_said_to_be() {
    check(
        &of_malloc(12, [4.0, 3.6, 4.2], 1.0),
        &expect![[r#"
            Huge pages help sort -n numbers.txt: 9.9 % less wall time with malloc=thp (95 %:
            9.4 to 10.4 %).
            Recommended: malloc=thp. It changes this program only:
                hugewise exec --policy malloc=thp -- sort -n numbers.txt
            Some starts may miss it with glibc 2.36; none with 2.38.
            How sure: at least 95 %; 12 of 12 rounds agree; its huge pages alone 14.2 % less
                (95 %: 13.9 to 14.5 %); control passed (−0.5 to +0.7 %).
        "#]],
    );
}

#[test]
fn a_policy_may_be_open_whose_huge_pages_are_not() {
    check(
        &of_malloc(12, [4.0, 4.0, 5.0], 9.0),
        &expect![[r#"
            Huge pages by themselves help sort -n numbers.txt: 19.0 % less wall time than
            the same malloc with small pages (95 %: 17.4 to 21.6 %). But malloc=thp also
            lets malloc grow the heap in larger steps, alone (thp=never,malloc=thp) 24.8 %
            more (95 %: 18 to 31 %). Together, not decided: +1.1 % against as-is (95 %: −3.4
            to +5.4 %).
            Stay with as-is: no policy was shown to be better by wall time.
            Deciding malloc=thp would take over an hour more here; a quieter machine needs
                less.
            How sure: at least 95 % for the huge pages alone; 12 of 12 rounds agree;
                control: as-is against itself −3.6 to +5.6 %, too noisy to tell.
        "#]],
    );
}

#[test]
fn huge_pages_that_are_open_have_their_interval() {
    check(
        &of_malloc(6, [4.0, 3.4, 3.6], 1.0),
        &expect![[r#"
            malloc=thp takes 15.1 % less wall time than as-is for sort -n numbers.txt (95 %:
            14.4 to 15.7 %). It gives the program huge pages and lets malloc grow its heap
            in larger steps: either may be the reason. Its huge pages alone: −5.4 % (6
            rounds).
            Recommended: malloc=thp. It changes this program only:
                hugewise exec --policy malloc=thp -- sort -n numbers.txt
            Some starts may miss it with glibc 2.36; none with 2.38.
            About 2 more minutes decide whether its huge pages are the reason:
                hugewise run --continue last --max-time 2m
            How sure: at least 95 %; 6 of 6 rounds agree.
        "#]],
    );
    check(
        &of_malloc(12, [4.0, 3.3, 3.4], 9.0),
        &expect![[r#"
            malloc=thp takes 16.6 % less wall time than as-is for sort -n numbers.txt (95 %:
            13.0 to 20.3 %). It gives the program huge pages and lets malloc grow its heap
            in larger steps: either may be the reason. Its huge pages alone: −1.7 % (95 %:
            −4.9 to +0.3 %).
            Recommended: malloc=thp. It changes this program only:
                hugewise exec --policy malloc=thp -- sort -n numbers.txt
            Some starts may miss it with glibc 2.36; none with 2.38.
            About 11 more minutes, if −1.7 % holds, decide whether its huge pages are the
                reason:
                hugewise run --continue last --max-time 11m
            How sure: at least 95 %; 12 of 12 rounds agree; control passed, less than the
                effect (−3.6 to +5.6 %).
        "#]],
    );
}

#[test]
fn huge_pages_hurt_where_the_policy_helps() {
    check(
        &of_malloc(12, [4.0, 3.6, 3.2], 1.0),
        &expect![[r#"
            Huge pages by themselves hurt sort -n numbers.txt: 12.7 % more wall time than
            the same malloc with small pages (95 %: 12.2 to 13.0 %). But malloc=thp also
            lets malloc grow the heap in larger steps, alone (thp=never,malloc=thp) 20.0 %
            less (95 %: 19.6 to 20.5 %). Together: 9.9 % less than as-is (95 %: 9.4 to
            10.4 %).
            Recommended: thp=never,malloc=thp. It changes this program only:
                hugewise exec --policy thp=never,malloc=thp -- sort -n numbers.txt
            By hand: prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) before exec.
            Some starts may miss it with glibc 2.36; none with 2.38.
            How sure: at least 95 % for the huge pages alone; 12 of 12 rounds agree; control
                passed (−0.5 to +0.7 %).
        "#]],
    );
    check(
        &of_malloc(12, [4.0, 4.6, 4.2], 1.0),
        &expect![[r#"
            Huge pages hurt sort -n numbers.txt: 15.1 % more wall time with malloc=thp
            (95 %: 14.5 to 15.7 %).
            Stay with as-is: nothing that was tried is better.
            How sure: at least 95 %; 12 of 12 rounds agree; its huge pages alone 9.7 % more
                (95 %: 9.2 to 10.0 %); control passed (−0.5 to +0.7 %).
        "#]],
    );
}

#[test]
fn huge_pages_do_not_matter_where_malloc_does() {
    check(
        &of_malloc(40, [4.0, 3.6, 3.6], 1.0),
        &expect![[r#"
            Huge pages by themselves do not matter to sort -n numbers.txt: no difference
            within ±1 % (95 %: −0.3 to +0.3 %). But malloc=thp also lets malloc grow the
            heap in larger steps, alone (thp=never,malloc=thp) 10.0 % less (95 %: 9.7 to
            10.3 %). Together: 10.0 % less than as-is (95 %: 9.7 to 10.3 %).
            Recommended: malloc=thp. It changes this program only:
                hugewise exec --policy malloc=thp -- sort -n numbers.txt
            Some starts may miss it with glibc 2.36; none with 2.38.
            How sure: at least 95 % for the huge pages alone; control passed (−0.3 to
                +0.4 %).
        "#]],
    );
}

/// Where malloc takes back what its huge pages gain, these are not small.
#[test]
fn a_policy_that_hardly_matters_says_little_of_huge_pages_that_may() {
    check(
        &of_malloc(12, [4.0, 3.98, 3.98], 5.0),
        &expect![[r#"
            Huge pages hardly matter to sort -n numbers.txt: +0.1 % with malloc=thp (95 %:
            −2.4 to +2.6 %).
            Stay with as-is: at most 2.4 % may be gained.
            How sure: at least 95 % that it changes by less than 3 %; better or worse is not
                decided after 12 rounds; control: as-is against itself −2.1 to +3.1 %, too
                noisy to tell.
        "#]],
    );
    check(
        &of_malloc(12, [4.0, 3.98, 4.06], 5.0),
        &expect![[r#"
            Huge pages by themselves help sort -n numbers.txt: 1.3 % less wall time than the
            same malloc with small pages (95 %: 0.1 to 3.1 %). But malloc=thp also lets
            malloc grow the heap in larger steps. Together, not decided: +0.1 % against
            as-is (95 %: −2.4 to +2.6 %).
            Stay with as-is: at most 2.4 % may be gained.
            How sure: at least 95 % for the huge pages alone that they help, though perhaps
                by less than 1 %; 11 of 12 rounds agree; control: as-is against itself −2.1
                to +3.1 %, too noisy to tell.
        "#]],
    );
}

//! The headline for every word, and one line for every doubt and next step.

use hugewise_experiment::run::answer::{Answer, Call, ChoiceScope, ClaimId, Doubt, Needs, Word};

use super::everything::{doubts, everything, next};
use super::fields::unprinted;
use super::samples::{self, claim, keep};
use super::screens::screen;

/// Returns the text before `Do`, as one line.
fn headline(answer: &Answer) -> String {
    let screen = screen(answer);
    let lines = screen.lines().take_while(|line| !line.starts_with("Do"));
    lines.collect::<Vec<_>>().join(" ")
}

fn of(word: Word, call: Call) -> Answer {
    let base = samples::dict();
    let mut claims = base.claims.clone();
    claims[0] = claim("malloc=thp", 0.637, [0.293, 0.848], 6, call);
    Answer {
        word,
        claims,
        headline: vec![ClaimId(0)],
        choice: Some(keep(true, "as-is")),
        ..base
    }
}

#[test]
fn every_word_has_a_headline_of_its_own_with_its_figures() {
    let runs = || match &everything().claims.iter().find_map(|it| match &it.call {
        Call::Mixed(runs) => Some(runs.clone()),
        _ => None,
    }) {
        Some(runs) => runs.clone(),
        None => panic!("no mixed runs"),
    };
    let strata = everything().claims.iter().find_map(|it| match &it.call {
        Call::DependsOnOrder { .. } => Some(it.call.clone()),
        _ => None,
    });
    let few = Needs {
        fewest_rounds: Some(7),
        ..Needs::default()
    };
    let words = [
        (Word::Help, Call::Better, vec!["36 %", "malloc=thp"]),
        (Word::Hurt, Call::Worse, vec!["36 %", "malloc=thp"]),
        (
            Word::RareSlow,
            Call::RareSlow(runs()),
            vec!["13 of 47", "malloc=thp"],
        ),
        (
            Word::Mixed,
            Call::Mixed(runs()),
            vec!["−36.3 %", "−7.4 %", "malloc=thp"],
        ),
        (
            Word::DependsOnOrder,
            strata.unwrap(),
            vec!["−17.0 %", "+29.0 %", "4.50 s"],
        ),
        (Word::NoDifference, Call::Same, vec!["±1 %", "malloc=thp"]),
        (
            Word::Little,
            samples::open(),
            vec!["−36.3 % [−71, −15]", "malloc=thp"],
        ),
        (
            Word::Open,
            samples::open(),
            vec!["−36.3 % [−71, −15]", "malloc=thp"],
        ),
        (
            Word::TooFewRounds,
            Call::Open(few),
            vec!["36 %", "7 rounds", "malloc=thp"],
        ),
        (
            Word::NotAboutPages,
            Call::Better,
            vec!["36 %", "as-is (THP madvise)", "malloc=thp"],
        ),
    ];
    let mut seen = Vec::new();
    for (word, call, figures) in words {
        let text = headline(&of(word, call));
        for figure in figures {
            assert!(text.contains(figure), "{word:?}: {text}");
        }
        assert!(!seen.contains(&text), "{text}");
        seen.push(text);
    }
}

#[test]
fn a_condition_and_a_price_follow_from_the_choice() {
    let plain = |scope, prices: Vec<ClaimId>| {
        let mut answer = samples::dict();
        let choice = answer.choice.as_mut().unwrap();
        choice.scope = scope;
        choice.prices = prices;
        headline(&answer)
    };
    let limited = plain(ChoiceScope::BackToBack(4), vec![ClaimId(9)]);
    assert!(
        limited.contains("within 4 s") && limited.contains("59 % more"),
        "{limited}"
    );
    assert!(limited.contains("0.3 % more peak memory"), "{limited}");
    let priced = plain(ChoiceScope::AnyRun, vec![ClaimId(9)]);
    assert!(
        priced.contains("0.3 % more peak memory") && !priced.contains("4 s"),
        "{priced}"
    );
    let free = plain(ChoiceScope::AnyRun, Vec::new());
    assert!(!free.contains("peak memory"), "{free}");
}

#[test]
fn a_near_end_below_a_third_of_the_estimate_replaces_it() {
    let with_end = |high| {
        let mut answer = of(Word::Help, Call::Better);
        answer.claims[0] = claim("malloc=thp", 0.637, [0.293, high], 6, Call::Better);
        headline(&answer)
    };
    assert!(with_end(0.9).contains("10 to 71 %"), "{}", with_end(0.9));
    assert!(with_end(0.8).contains(" 36 %"), "{}", with_end(0.8));
}

#[test]
fn huge_pages_that_a_policy_takes_away_are_named() {
    let mut answer = of(Word::Help, Call::Worse);
    answer.arms[1].pages.more_bytes = Some(-1e8);
    assert!(headline(&answer).contains("without them (malloc=thp)"));
}

#[test]
fn the_control_never_contradicts_a_decided_claim() {
    let mut answer = samples::dict();
    assert!(screen(&answer).contains("passed"));
    answer.doubts = vec![Doubt::ControlWide { claim: ClaimId(4) }];
    let screen = screen(&answer);
    assert!(
        screen.contains("noisy") && !screen.contains("passed"),
        "{screen}"
    );
    assert!(screen.contains("[−71, −15] of malloc=thp"), "{screen}");
}

#[test]
fn machine_and_program_are_never_set_in_one_block() {
    let screen = screen(&samples::allocators());
    let lines: Vec<&str> = screen.lines().collect();
    let at = |text: &str| lines.iter().position(|line| line.contains(text)).unwrap();
    for command in ["LD_PRELOAD", "echo always"] {
        let above = lines[at(command) - 1];
        assert!(above.starts_with("Do"), "{above}");
    }
    assert!(screen.contains("hugewise advise --write"));
}

#[test]
fn a_doubt_is_one_sentence_with_all_its_figures() {
    let base = everything();
    for doubt in doubts() {
        let answer = Answer {
            doubts: vec![doubt.clone()],
            ..base.clone()
        };
        let screen = super::screens::verbose(&answer);
        let begin = screen.rfind("\nDoubts  ").unwrap() + 9;
        let end = screen[begin..].find("\nNext").unwrap();
        let text = screen[begin..begin + end]
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(!text.is_empty() && text != "none", "{doubt:?}");
        let json = serde_json::to_value(&doubt).unwrap();
        let kept = ["doubt", "claim"];
        assert_eq!(unprinted(&json, &text, &kept), [""; 0], "{text}");
        let evidence = text.split(" (").next().unwrap();
        assert!(evidence.split_whitespace().count() <= 25, "{text}");
    }
}

#[test]
fn a_next_step_has_its_time_and_its_command() {
    let base = everything();
    for step in next() {
        let answer = Answer {
            next: vec![step.clone()],
            ..base.clone()
        };
        let text = screen(&answer);
        let text = &text[text.rfind("\nNext    ").unwrap()..];
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let json = serde_json::to_value(&step).unwrap();
        let kept = ["step", "claim", "because", "idle_seconds"];
        assert_eq!(unprinted(&json, &text, &kept), [""; 0], "{text}");
    }
}

//! The files of `knowledge/`: each one parses, each rule has a source, a date and test cases, and the cases give the
//! expected results.

use std::collections::BTreeSet;

use hugewise_advise::fact::{Facts, Value, describe};
use hugewise_advise::knowledge::Knowledge;
use hugewise_advise::rule::{Case, Rule, Status};
use hugewise_advise::subject::Subject;
use hugewise_base::units::parse_size;
use hugewise_experiment::run::policy::Policy;

/// Ids of removed rules. They are never reused.
const GONE: [&str; 0] = [];

fn knowledge() -> Knowledge {
    Knowledge::compiled().expect("every file is right")
}

/// All mistakes of all rules that a check finds.
fn mistakes(check: impl Fn(&Subject, &Rule) -> Vec<String>) {
    let mut found = Vec::new();
    let knowledge = knowledge();
    for subject in knowledge.subjects() {
        for rule in &subject.rules {
            let own = check(subject, rule).into_iter();
            found.extend(own.map(|what| format!("{}: {}: {what}", subject.name, rule.id)));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn ids_are_unique_and_never_reused() {
    let knowledge = knowledge();
    let mut known: BTreeSet<&str> = GONE.into();
    for rule in knowledge.subjects().flat_map(|subject| &subject.rules) {
        assert!(known.insert(&rule.id), "{} is used twice", rule.id);
    }
    mistakes(|_, rule| {
        let others = rule.superseded_by.iter().chain(&rule.disputes);
        let lost = others.filter(|id| !known.contains(id.as_str()));
        lost.map(|id| format!("there is no rule {id}")).collect()
    });
}

#[test]
fn rules_have_sources_dates_and_sentences() {
    mistakes(|subject, rule| {
        let sentences = [Some(&rule.says), Some(&rule.why), rule.costs.as_ref()];
        let sentences = sentences.into_iter().flatten();
        let checks = [
            (rule.sources.is_empty(), "has no source"),
            (
                rule.sources.iter().any(|url| !is_address(url)),
                "a source is no https address",
            ),
            (!is_date(&rule.said, 1), "`said` is no date"),
            (!is_date(&rule.checked, 3), "`checked` is no day"),
            (rule.said > rule.checked, "was checked before it was said"),
            (
                sentences.clone().any(|text| !text.ends_with('.')),
                "a sentence has no full stop",
            ),
            (
                rule.says.chars().count() > 110,
                "`says` is longer than 110 characters",
            ),
            (
                rule.why.chars().count() > 220,
                "`why` is longer than 220 characters",
            ),
            (
                rule.experiment.is_some() == rule.untested.is_some(),
                "needs `experiment` or `untested`",
            ),
            (
                rule.compared.is_some() == rule.uncompared.is_some(),
                "needs `compared` or `uncompared`",
            ),
            (
                rule.compared
                    .as_ref()
                    .is_some_and(|with| with.ends_with('.')),
                "`compared` follows \"with\" and is no sentence",
            ),
            (
                rule.uncompared
                    .as_ref()
                    .is_some_and(|why| !why.ends_with('.')),
                "`uncompared` has no full stop",
            ),
            (
                (rule.status == Status::Superseded) != rule.superseded_by.is_some(),
                "`superseded_by` belongs to superseded",
            ),
            (
                rule.breaks && rule.followed.is_some(),
                "a state that breaks has no `followed`",
            ),
            (rule.cases.len() < 2, "has fewer than two cases"),
            (
                !rule.cases.iter().any(|case| case.verdict == "applies"),
                "no case applies",
            ),
            (
                rule.cases.iter().all(|case| case.verdict == "applies"),
                "all cases apply",
            ),
            (
                rule.versions
                    .as_ref()
                    .is_some_and(|range| !range.is_ordered(subject.order)),
                "bounds of `versions` are not ordered",
            ),
            (
                rule.kernel
                    .as_ref()
                    .is_some_and(|range| !range.is_ordered(subject.order)),
                "bounds of `kernel` are not ordered",
            ),
        ];
        let wrong = checks.into_iter().filter(|(wrong, _)| *wrong);
        wrong.map(|(_, what)| what.to_owned()).collect()
    });
}

/// A condition has to be evaluated. It is decided by facts (`when`) or by the reader (`premise`), and never hidden in a
/// clause of the sentence.
#[test]
fn what_a_rule_asks_for_has_its_condition_outside_of_the_sentence() {
    mistakes(|_, rule| {
        let mut words = rule.says.split_whitespace();
        let hidden = words.find(|word| ["where", "if", "when", "unless"].contains(word));
        let hidden = hidden.filter(|_| rule.followed.is_some() && rule.status == Status::Current);
        let premise = rule.premise.iter();
        let no_clause = premise.filter(|text| text.ends_with('.') || text.starts_with("if "));
        hidden
            .map(|word| format!("`says` has the condition \"{word} …\""))
            .into_iter()
            .chain(no_clause.map(|text| format!("{text:?} is no clause")))
            .collect()
    });
}

#[test]
fn recommended_policies_exist() {
    mistakes(|_, rule| {
        let policy = rule.set.as_ref().and_then(|set| set.policy.as_ref());
        let parsed = policy.map(|text| text.parse::<Policy>());
        let wrong = parsed.and_then(Result::err);
        wrong.into_iter().map(|why| why.to_string()).collect()
    });
}

#[test]
fn cases_come_out_as_they_say() {
    mistakes(|subject, rule| {
        let cases = rule.cases.iter().enumerate();
        cases
            .flat_map(|(place, case)| {
                let own = wrong_case(subject, rule, case).into_iter();
                own.map(move |what| format!("case {}: {what}", place + 1))
            })
            .collect()
    });
}

fn wrong_case(subject: &Subject, rule: &Rule, case: &Case) -> Vec<String> {
    let mut facts = Facts::default();
    let mut wrong = Vec::new();
    for (name, value) in &case.facts {
        match describe(name) {
            Some(_) => facts.set(name.clone(), sized(name, value)),
            None => wrong.push(format!("there is no fact `{name}`")),
        }
    }
    let applies = match rule.applies(&facts, subject.order).to_string().as_str() {
        "yes" => "applies".to_owned(),
        "no" => "does not apply".to_owned(),
        other => other.to_owned(),
    };
    let followed = rule.followed(&facts, subject.order);
    let followed = followed.map(|truth| truth.to_string());
    if applies != case.verdict {
        wrong.push(format!("{applies}, not {}", case.verdict));
    }
    if case.followed.is_some() && followed != case.followed {
        wrong.push(format!("followed: {followed:?}, not {:?}", case.followed));
    }
    wrong
}

/// Bytes can be written with a unit.
fn sized(name: &str, value: &Value) -> Value {
    match value {
        Value::Text(text) if name.ends_with(".bytes") => match parse_size(text) {
            Ok(bytes) => bytes.into(),
            Err(_) => value.clone(),
        },
        value => value.clone(),
    }
}

fn is_address(text: &str) -> bool {
    let rest = text.strip_prefix("https://");
    rest.is_some_and(|rest| rest.contains('.') && !rest.contains(char::is_whitespace))
}

/// A year, a month or a day, with at least this many components.
fn is_date(text: &str, least: usize) -> bool {
    let parts: Vec<_> = text.split('-').collect();
    let lengths = [4, 2, 2];
    let fits = |(place, part): (usize, &&str)| {
        part.len() == lengths[place] && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    (least..=3).contains(&parts.len()) && parts.iter().enumerate().all(fits)
}

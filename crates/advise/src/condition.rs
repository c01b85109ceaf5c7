//! Conditions over facts, with three truth values. A condition that depends on an unknown fact names it.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

use hugewise_text::wrap::capitalised;

use super::fact::{FactKind, Facts, Owner, Value, describe};
use super::version::{Order, Relation, Version};

mod parse;
mod remainder;
mod state;
mod words;

/// The truth value of a condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "answer", content = "missing")]
pub enum Truth {
    /// True.
    Yes,
    /// False.
    No,
    /// Undecided, because this fact is unknown.
    CannotTell(String),
}

impl Truth {
    /// Logical AND.
    #[must_use]
    pub fn and(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Self::No => Self::No,
            Self::Yes => other(),
            Self::CannotTell(fact) => match other() {
                Self::No => Self::No,
                _ => Self::CannotTell(fact),
            },
        }
    }

    /// Logical NOT.
    #[must_use]
    pub fn contrary(self) -> Self {
        match self {
            Self::Yes => Self::No,
            Self::No => Self::Yes,
            unknown => unknown,
        }
    }

    fn or(self, other: impl FnOnce() -> Self) -> Self {
        self.contrary().and(|| other().contrary()).contrary()
    }
}

impl From<bool> for Truth {
    fn from(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

impl fmt::Display for Truth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Yes => f.write_str("yes"),
            Self::No => f.write_str("no"),
            Self::CannotTell(fact) => write!(f, "cannot tell: {fact}"),
        }
    }
}

/// A condition over facts, such as `thp.enabled == "always" and app.version >= "7.0"`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Condition {
    text: String,
    root: Node,
}

#[derive(Clone, Debug)]
enum Node {
    Fact(String),
    Compare(String, Relation, Operand),
    OneOf(String, Vec<Value>),
    Contains(String, String),
    Not(Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
}

/// Returns a sentence that states that a fact is unknown.
#[must_use]
pub fn unknown(fact: &str) -> String {
    match describe(fact) {
        Some((FactKind::Boolean, _)) => {
            let asked = words::boolean(fact, remainder::Sense::Asked);
            format!("It is not known whether {asked}.")
        }
        _ => format!("{} is not known.", capitalised(&words::subject(fact))),
    }
}

/// The right side of a comparison.
#[derive(Clone, Debug)]
enum Operand {
    Value(Value),
    /// A multiple of another fact.
    Fact(f64, String),
}

/// The value of a fact, in words; `None` if it is unknown.
#[must_use]
pub fn state_of(fact: &str, facts: &Facts) -> Option<String> {
    state::state(fact, facts)
}

impl Condition {
    /// Evaluates the condition for these facts. `order` is the order of `app.version`.
    #[must_use]
    pub fn holds(&self, facts: &Facts, order: Order) -> Truth {
        self.root.holds(facts, order)
    }

    /// The unknown part of the condition, in words; `None` if everything is known.
    #[must_use]
    pub fn remainder(&self, facts: &Facts, order: Order) -> Option<String> {
        self.root.remainder(facts, order, remainder::Sense::Asked)
    }

    /// The facts that make the condition false, in words; empty if it is true.
    #[must_use]
    pub fn differences(&self, facts: &Facts, order: Order) -> Vec<String> {
        once_each(self.root.differences(facts, order))
    }

    /// The known facts that the condition uses, in words.
    #[must_use]
    pub fn state(&self, facts: &Facts) -> Vec<String> {
        let names = self.facts().into_iter();
        names.filter_map(|name| state::state(name, facts)).collect()
    }

    /// Names of the facts that the condition uses.
    #[must_use]
    pub fn facts(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.root.names(&mut names);
        names
    }

    /// Returns true if the condition uses a fact of a process.
    #[must_use]
    pub fn is_about_a_process(&self) -> bool {
        let names = self.facts();
        let owners = names.iter().filter_map(|name| describe(name));
        owners.into_iter().any(|(_, owner)| owner == Owner::Process)
    }
}

/// Removes duplicates.
pub(super) fn once_each(all: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut said = Vec::new();
    for words in all {
        if !said.contains(&words) {
            said.push(words);
        }
    }
    said
}

impl Node {
    fn holds(&self, facts: &Facts, order: Order) -> Truth {
        match self {
            Self::Fact(name) => known(facts, name, |value| value == &Value::Boolean(true)),
            Self::Compare(name, relation, operand) => {
                compare(facts, name, *relation, operand, order)
            }
            Self::OneOf(name, values) => known(facts, name, |value| {
                values
                    .iter()
                    .any(|one| order_of(name, value, one, order) == Some(Ordering::Equal))
            }),
            Self::Contains(name, part) => known(
                facts,
                name,
                |value| matches!(value, Value::Text(text) if text.contains(part.as_str())),
            ),
            Self::Not(inner) => inner.holds(facts, order).contrary(),
            Self::And(one, other) => one.holds(facts, order).and(|| other.holds(facts, order)),
            Self::Or(one, other) => one.holds(facts, order).or(|| other.holds(facts, order)),
        }
    }

    fn names<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Self::Fact(name) | Self::OneOf(name, _) | Self::Contains(name, _) => names.push(name),
            Self::Compare(name, _, operand) => {
                names.push(name);
                if let Operand::Fact(_, other) = operand {
                    names.push(other);
                }
            }
            Self::Not(inner) => inner.names(names),
            Self::And(one, other) | Self::Or(one, other) => {
                one.names(names);
                other.names(names);
            }
        }
    }
}

fn known(facts: &Facts, name: &str, holds: impl FnOnce(&Value) -> bool) -> Truth {
    match facts.get(name) {
        Some(value) => holds(value).into(),
        None => Truth::CannotTell(name.to_owned()),
    }
}

fn compare(
    facts: &Facts,
    name: &str,
    relation: Relation,
    operand: &Operand,
    order: Order,
) -> Truth {
    let Some(value) = facts.get(name) else {
        return Truth::CannotTell(name.to_owned());
    };
    let other = match operand {
        Operand::Value(value) => value.clone(),
        Operand::Fact(times, other) => match facts.get(other) {
            Some(Value::Number(number)) => Value::Number(times * number),
            Some(other) => other.clone(),
            None => return Truth::CannotTell(other.clone()),
        },
    };
    match order_of(name, value, &other, order) {
        Some(order) => relation.holds(order).into(),
        // The value does not match the kind of the fact, for example a version without a number.
        None => Truth::CannotTell(name.to_owned()),
    }
}

/// Compares two values of a fact; `None` if they are not comparable.
fn order_of(name: &str, one: &Value, other: &Value, order: Order) -> Option<Ordering> {
    let is_version = describe(name).is_some_and(|(kind, _)| kind == FactKind::Version);
    let order = match name {
        "app.version" => order,
        "version.jdk" => Order::Jdk,
        _ => Order::Dotted,
    };
    match (one, other) {
        (Value::Text(one), Value::Text(other)) if is_version => {
            Some(Version::parse(one, order)?.cmp(&Version::parse(other, order)?))
        }
        (Value::Text(one), Value::Text(other)) => Some(one.cmp(other)),
        (Value::Boolean(one), Value::Boolean(other)) => Some(one.cmp(other)),
        (Value::Number(one), Value::Number(other)) => one.partial_cmp(other),
        _ => None,
    }
}

impl TryFrom<String> for Condition {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let root = parse::parse(&text).map_err(|why| format!("`{text}`: {why}"))?;
        Ok(Self { text, root })
    }
}

impl From<Condition> for String {
    fn from(condition: Condition) -> Self {
        condition.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &str, facts: &[(&str, Value)]) -> String {
        let condition = Condition::try_from(text.to_owned()).unwrap();
        let mut all = Facts::default();
        for (name, value) in facts {
            all.set(*name, value.clone());
        }
        condition.holds(&all, Order::Dotted).to_string()
    }

    #[test]
    fn conditions_have_three_values() {
        let facts: &[(&str, Value)] = &[
            ("thp.enabled", "madvise".into()),
            ("app.version", "7.0.15".into()),
            ("process.anon.bytes", Value::Number(3e9)),
            ("memory.bytes", Value::Number(4e9)),
            ("host.virtual", true.into()),
            ("env.GODEBUG", "".into()),
            ("argv", "java -Xmx1g".into()),
        ];
        for (condition, expected) in [
            ("thp.enabled == \"madvise\"", "yes"),
            ("thp.enabled in [\"always\", \"madvise\"]", "yes"),
            ("thp.enabled != \"madvise\"", "no"),
            ("app.version >= \"7.0.9\" and app.version < \"7.2\"", "yes"),
            ("process.anon.bytes >= 1GiB", "yes"),
            ("process.anon.bytes > 0.5 * memory.bytes", "yes"),
            ("process.anon.bytes > memory.bytes", "no"),
            ("not host.virtual", "no"),
            ("env.GODEBUG == \"\"", "yes"),
            ("argv contains \"-Xmx\"", "yes"),
            ("swap.bytes > 0", "cannot tell: swap.bytes"),
            ("swap.bytes > 0 or host.virtual", "yes"),
            ("host.virtual or swap.bytes > 0", "yes"),
            ("swap.bytes > 0 and not host.virtual", "no"),
            (
                "not (swap.bytes > 0 and host.virtual)",
                "cannot tell: swap.bytes",
            ),
            (
                "vm.swappiness > 1 and swap.bytes > 0",
                "cannot tell: vm.swappiness",
            ),
            ("host.virtual == true", "yes"),
        ] {
            assert_eq!(holds(condition, facts), expected, "{condition}");
        }
    }

    #[test]
    fn what_is_not_known_is_left_in_words() {
        let mut facts = Facts::default();
        facts.set("thp.enabled", "madvise");
        for (condition, expected) in [
            ("thp.enabled == \"madvise\"", None),
            (
                "thp.enabled == \"madvise\" and process.anon.bytes >= 64MiB",
                Some("its anonymous memory is at least 64 MiB"),
            ),
            (
                "not (flag.UseZGC == \"true\" or has.jemalloc)",
                Some("-XX:+UseZGC is not given and it does not have jemalloc"),
            ),
            (
                "conf.huge_pages != \"\" and (argv contains \"-L\" or process.static)",
                Some(
                    "its setting huge_pages is set and \
                     (its command line contains -L or it is linked statically)",
                ),
            ),
            (
                "not process.anon_huge.bytes > 0",
                Some("it has no huge anonymous memory"),
            ),
            (
                "process.rss.bytes > 0.5 * memory.bytes",
                Some("its resident memory is above 0.5 times the memory of the machine"),
            ),
        ] {
            let parsed = Condition::try_from(condition.to_owned()).unwrap();
            let remainder = parsed.remainder(&facts, Order::Dotted);
            assert_eq!(remainder.as_deref(), expected, "{condition}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (condition, expected) in [
            ("", "ends early"),
            ("thp.enable == \"x\"", "there is no fact `thp.enable`"),
            ("thp.enabled", "`thp.enabled` is neither true nor false"),
            ("thp.enabled > 3", "`thp.enabled` is text"),
            ("memory.bytes > \"a\"", "`memory.bytes` is a number"),
            ("host.virtual and", "ends early"),
            ("host.virtual host.virtual", "unexpected `host.virtual`"),
            ("memory.bytes > 3XiB", "`XiB` is no unit"),
            ("argv contains \"x", "a quote is not closed"),
        ] {
            let error = Condition::try_from(condition.to_owned()).unwrap_err();
            assert!(error.contains(expected), "{condition}: {error}");
        }
    }
}

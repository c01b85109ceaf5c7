//! The unknown part of a condition, in words.

use super::words::{boolean, shown, subject};
use super::{Node, Operand};
use crate::condition::Truth;
use crate::fact::{Facts, Value};
use crate::version::{Order, Relation};

/// The parity of negations on the path to a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sense {
    Asked,
    Denied,
}

impl Sense {
    fn contrary(self) -> Self {
        match self {
            Self::Asked => Self::Denied,
            Self::Denied => Self::Asked,
        }
    }

    pub(super) fn pick<T>(self, asked: T, denied: T) -> T {
        match self {
            Self::Asked => asked,
            Self::Denied => denied,
        }
    }
}

impl Node {
    /// The unknown part, in words; `None` if the truth value is known.
    pub(super) fn remainder(&self, facts: &Facts, order: Order, sense: Sense) -> Option<String> {
        if !matches!(self.holds(facts, order), Truth::CannotTell(_)) {
            return None;
        }
        let of = |node: &Self| node.remainder(facts, order, sense);
        Some(match self {
            Self::Not(inner) => return inner.remainder(facts, order, sense.contrary()),
            Self::And(one, other) => joined(of(one), of(other), sense.pick("and", "or"))?,
            Self::Or(one, other) => joined(of(one), of(other), sense.pick("or", "and"))?,
            Self::Fact(name) => boolean(name, sense),
            Self::Compare(name, relation, operand) => {
                let relation = sense.pick(*relation, relation.contrary());
                if let Some(words) = phrase(name, relation, operand) {
                    return Some(words);
                }
                format!("{} {}", subject(name), compared(name, relation, operand))
            }
            Self::OneOf(name, values) => {
                let values: Vec<_> = values.iter().map(|value| shown(name, value)).collect();
                let among = sense.pick("is one of", "is none of");
                format!("{} {among} {}", subject(name), values.join(", "))
            }
            Self::Contains(name, part) => {
                let contains = sense.pick("contains", "does not contain");
                format!("{} {contains} {part}", subject(name))
            }
        })
    }
}

fn joined(one: Option<String>, other: Option<String>, word: &str) -> Option<String> {
    let group = |part: String| {
        let is_mixed = part.contains(if word == "and" { " or " } else { " and " });
        if is_mixed { format!("({part})") } else { part }
    };
    match (one, other) {
        (Some(one), Some(other)) => Some(format!("{} {word} {}", group(one), group(other))),
        (one, other) => one.or(other),
    }
}

/// A comparison with an idiomatic phrase: that something exists, or that a flag is given.
fn phrase(name: &str, relation: Relation, operand: &Operand) -> Option<String> {
    let is_zero = matches!(operand, Operand::Value(Value::Number(zero)) if *zero == 0.0);
    let has = match relation {
        Relation::Above if is_zero => "has",
        Relation::Equal | Relation::AtMost if is_zero => "has no",
        _ => "",
    };
    match (name, has) {
        ("process.anon_huge.bytes", "has" | "has no") => {
            Some(format!("it {has} huge anonymous memory"))
        }
        ("cgroup.anon_thp.bytes", "has" | "has no") => {
            Some(format!("its cgroup {has} huge anonymous memory"))
        }
        _ => flag(name, relation, operand),
    }
}

/// A JVM flag that is given or not.
fn flag(name: &str, relation: Relation, operand: &Operand) -> Option<String> {
    let flag = name.strip_prefix("flag.")?;
    let given = match operand {
        Operand::Value(Value::Text(text)) if text == "true" => relation,
        _ => return None,
    };
    match given {
        Relation::Equal => Some(format!("-XX:+{flag} is given")),
        Relation::Unequal => Some(format!("-XX:+{flag} is not given")),
        _ => None,
    }
}

fn compared(name: &str, relation: Relation, operand: &Operand) -> String {
    let other = match operand {
        Operand::Value(Value::Text(text)) if text.is_empty() => {
            let is_set = if relation == Relation::Equal {
                "is not set"
            } else {
                "is set"
            };
            return is_set.to_owned();
        }
        Operand::Value(value) => shown(name, value),
        Operand::Fact(times, other) if *times == 1.0 => subject(other),
        Operand::Fact(times, other) => format!("{times} times {}", subject(other)),
    };
    match (relation, operand) {
        (Relation::Above, Operand::Value(Value::Number(0.0))) => "is not 0".to_owned(),
        _ => format!("{} {other}", relation.words()),
    }
}

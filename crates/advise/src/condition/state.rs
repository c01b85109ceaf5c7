//! The known facts of a condition, in words.

use super::Node;
use super::remainder::Sense;
use super::words::{boolean, shown, subject};
use crate::condition::Truth;
use crate::fact::{Facts, Value};
use crate::version::Order;
use hugewise_text::wrap::plain;

impl Node {
    /// The facts that make the condition false.
    pub(super) fn differences(&self, facts: &Facts, order: Order) -> Vec<String> {
        if self.holds(facts, order) != Truth::No {
            return Vec::new();
        }
        match self {
            Self::And(one, other) | Self::Or(one, other) => {
                let mut all = one.differences(facts, order);
                all.extend(other.differences(facts, order));
                all
            }
            node => {
                let mut names = Vec::new();
                node.names(&mut names);
                let said = names.into_iter();
                said.filter_map(|name| state(name, facts)).collect()
            }
        }
    }
}

/// The value of a fact; `None` if it is unknown.
pub(super) fn state(name: &str, facts: &Facts) -> Option<String> {
    let value = facts.get(name)?;
    Some(match (value, name.strip_prefix("flag.")) {
        (Value::Boolean(true), _) => boolean(name, Sense::Asked),
        (Value::Boolean(false), _) => boolean(name, Sense::Denied),
        (Value::Text(text), Some(flag)) => given(flag, text),
        // A command can have many words, so only the tested content is reported.
        (Value::Text(_), _) if name == "argv" => return None,
        (Value::Text(text), _) if text.is_empty() => format!("{} is not set", subject(name)),
        (Value::Number(number), _) if *number == 0.0 && name.ends_with(".bytes") => none(name),
        (value, _) => plain(&format!("{} is {}", subject(name), shown(name, value))),
    })
}

/// States that there are no bytes of a kind.
fn none(name: &str) -> String {
    let subject = subject(name);
    match subject.strip_prefix("its ") {
        Some(own) => format!("it has no {own}"),
        None => format!("{subject} is empty"),
    }
}

/// How a JVM flag is written.
fn given(flag: &str, value: &str) -> String {
    match value {
        "" => format!("-XX:+{flag} is not given"),
        "true" => format!("-XX:+{flag} is given"),
        "false" => format!("-XX:-{flag} is given"),
        value => plain(&format!("-XX:{flag}={value} is given")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::condition::Condition;

    #[test]
    fn what_keeps_a_condition_from_holding_is_said() {
        let mut facts = Facts::default();
        facts.set("thp.enabled", "madvise");
        facts.set("thp.defrag", "defer+madvise");
        facts.set("khugepaged.max_ptes_none", 511_u64);
        facts.set("flag.", "");
        facts.set("process.hugetlb.bytes", 0_u64);
        facts.set("process.thp_disabled", false);
        facts.set("env.GODEBUG", "");
        for (condition, expected) in [
            (
                "thp.enabled == \"always\" and thp.defrag == \"defer+madvise\" and \
                 khugepaged.max_ptes_none == 0",
                &["the THP mode is madvise", "max_ptes_none is 511"][..],
            ),
            (
                "process.thp_disabled or flag.UseLargePages == \"true\" or env.GODEBUG == \"a\"",
                &[
                    "huge pages are not switched off for it",
                    "-XX:+UseLargePages is not given",
                    "its variable GODEBUG is not set",
                ],
            ),
            (
                "not thp.enabled == \"madvise\"",
                &["the THP mode is madvise"],
            ),
            ("thp.enabled == \"madvise\"", &[]),
            (
                "process.hugetlb.bytes > 0",
                &["it has no memory from the hugetlb pool"],
            ),
            ("swap.bytes > 0", &[]),
        ] {
            let parsed = Condition::try_from(condition.to_owned()).unwrap();
            assert_eq!(
                parsed.differences(&facts, Order::Dotted),
                expected,
                "{condition}"
            );
        }
    }
}

use super::realise::{EnvChange, Realisation};
use crate::run::trial::is_off;

/// The variables to set for a workload, in the order in which they are first changed.
///
/// `inherited` returns the parent's value. An appended entry comes last: of two settings of one glibc tunable, the
/// later one counts.
#[must_use]
pub fn environment(
    changes: &[EnvChange],
    inherited: impl Fn(&str) -> Option<String>,
) -> Vec<(String, String)> {
    let mut set: Vec<(String, String)> = Vec::new();
    for change in changes {
        let name = change.name();
        let at = set.iter().position(|(known, _)| known == name);
        let before = at.map_or_else(|| inherited(name), |at| Some(set[at].1.clone()));
        let after = change.after(before);
        match at {
            Some(at) => set[at].1 = after,
            None => set.push((name.to_owned(), after)),
        }
    }
    set
}

impl EnvChange {
    /// The name of the changed variable.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Set { name, .. } | Self::Prepend { name, .. } | Self::Append { name, .. } => name,
        }
    }

    /// The value set or added.
    #[must_use]
    pub fn value(&self) -> &str {
        match self {
            Self::Set { value, .. } | Self::Prepend { value, .. } | Self::Append { value, .. } => {
                value
            }
        }
    }

    fn after(&self, before: Option<String>) -> String {
        match (self, before) {
            (
                Self::Append {
                    separator, value, ..
                },
                Some(list),
            ) if !list.is_empty() => {
                format!("{list}{separator}{value}")
            }
            (
                Self::Prepend {
                    separator, value, ..
                },
                Some(list),
            ) if !list.is_empty() => {
                format!("{value}{separator}{list}")
            }
            (
                Self::Set { value, .. } | Self::Prepend { value, .. } | Self::Append { value, .. },
                _,
            ) => value.clone(),
        }
    }
}

impl Realisation {
    /// Returns true if the policy itself asks for the program's action against huge pages.
    #[must_use]
    pub fn asks_for_none(&self) -> bool {
        let mut changes = self.environment.iter();
        changes.any(|it| is_off(it.name(), it.value()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn append(name: &str, value: &str) -> EnvChange {
        EnvChange::Append {
            name: name.into(),
            separator: ':',
            value: value.into(),
        }
    }

    fn set(name: &str, value: &str) -> EnvChange {
        EnvChange::Set {
            name: name.into(),
            value: value.into(),
        }
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.into(), value.into())
    }

    #[test]
    fn lists_keep_what_they_held() {
        let parent = |name: &str| (name == "LIST").then(|| "a:b".to_owned());
        let changes = [append("LIST", "c"), append("NEW", "d"), append("NEW", "e")];
        let expected = [pair("LIST", "a:b:c"), pair("NEW", "d:e")];
        assert_eq!(environment(&changes, parent), expected);
    }

    #[test]
    fn what_is_put_before_comes_first() {
        let before = EnvChange::Prepend {
            name: "LIST".into(),
            separator: ':',
            value: "x".into(),
        };
        let parent = |_: &str| Some("a:b".to_owned());
        let changes = [append("LIST", "c"), before];
        assert_eq!(environment(&changes, parent), [pair("LIST", "x:a:b:c")]);
        assert_eq!(environment(&changes[1..], |_| None), [pair("LIST", "x")]);
    }

    #[test]
    fn an_empty_list_gets_no_separator() {
        let parent = |_: &str| Some(String::new());
        assert_eq!(environment(&[append("L", "x")], parent), [pair("L", "x")]);
    }

    #[test]
    fn the_last_setting_counts_and_keeps_its_place() {
        let changes = [
            set("A", "1"),
            set("B", "2"),
            set("A", "3"),
            append("A", "4"),
        ];
        let parent = |_: &str| Some("inherited".to_owned());
        let expected = [pair("A", "3:4"), pair("B", "2")];
        assert_eq!(environment(&changes, parent), expected);
    }
}

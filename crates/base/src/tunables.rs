//! Tunables of glibc that a program gets without a policy.
//!
//! Two places set them. `/etc/tunables.conf` (glibc 2.44) acts as soon as `ldconfig` has compiled it into
//! `/etc/ld.so.cache`. The variable `GLIBC_TUNABLES` is inherited from the parent.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The tunable that makes malloc request huge pages.
pub const MALLOC_HUGETLB: &str = "glibc.malloc.hugetlb";
/// The tunable that makes the loader request huge pages for read-only segments (glibc 2.44).
pub const ELF_THP: &str = "glibc.elf.thp";
/// The variable with tunables.
pub const VARIABLE: &str = "GLIBC_TUNABLES";

/// The place that sets a tunable.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub enum TunablePlace {
    /// The file of the machine, as `ldconfig` last read it.
    #[serde(rename = "/etc/tunables.conf")]
    File,
    /// The inherited environment.
    #[serde(rename = "GLIBC_TUNABLES")]
    Environment,
}

impl fmt::Display for TunablePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "/etc/tunables.conf",
            Self::Environment => VARIABLE,
        })
    }
}

/// One tunable and its value.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Tunable {
    /// Its name: `glibc.malloc.hugetlb`.
    pub name: String,
    /// Its value. A number of the file is decimal, as glibc stores it.
    pub value: String,
    /// The place that sets it.
    pub place: TunablePlace,
    /// The only program that gets it: a file name or an absolute path. `None` for all programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// True if the file forbids `GLIBC_TUNABLES` to override it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fixed: bool,
}

impl Tunable {
    /// Returns true if `program`, the path of an executable, gets it. An unknown program gets what all programs get.
    fn applies_to(&self, program: Option<&str>) -> bool {
        let (Some(pattern), Some(path)) = (&self.program, program) else {
            return self.program.is_none();
        };
        match pattern.starts_with('/') {
            true => pattern == path,
            false => path.rsplit('/').next() == Some(pattern),
        }
    }
}

/// `NAME=VALUE`
impl fmt::Display for Tunable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

/// The tunables of a machine in the order in which glibc applies them: those of the file, then those of the
/// environment.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(transparent)]
pub struct Tunables(Vec<Tunable>);

impl Tunables {
    /// The tunables of the file, followed by those of a variable in the form of `GLIBC_TUNABLES`.
    #[must_use]
    pub fn new(file: Vec<Tunable>, variable: Option<&str>) -> Self {
        let entries = variable.unwrap_or_default().split(':');
        let entries = entries.filter_map(|entry| entry.split_once('='));
        let own = entries.map(|(name, value)| Tunable {
            name: name.to_owned(),
            value: value.to_owned(),
            place: TunablePlace::Environment,
            program: None,
            fixed: false,
        });
        Self(file.into_iter().chain(own).collect())
    }

    /// Returns true if nothing is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over all entries.
    pub fn iter(&self) -> impl Iterator<Item = &Tunable> {
        self.0.iter()
    }

    /// Returns the tunables of one program by name; `program` is the path of its executable.
    ///
    /// The last entry of a name counts, and whether it is fixed (measured with glibc 2.44). A fixed value ignores the
    /// environment.
    #[must_use]
    pub fn of(&self, program: Option<&str>) -> BTreeMap<&str, &Tunable> {
        let mut set: BTreeMap<&str, &Tunable> = BTreeMap::new();
        for entry in self.0.iter().filter(|entry| entry.applies_to(program)) {
            let known = set.get(entry.name.as_str());
            let is_fixed = known.is_some_and(|known| known.fixed);
            if !(is_fixed && entry.place == TunablePlace::Environment) {
                set.insert(&entry.name, entry);
            }
        }
        set
    }

    /// Returns one tunable of an unknown program.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Tunable> {
        self.of(None).remove(name)
    }

    /// Returns the value of `GLIBC_TUNABLES` with the same effect on a program, without the file. `None` if it gets no
    /// tunable.
    #[must_use]
    pub fn variable(&self, program: Option<&str>) -> Option<String> {
        let entries: Vec<String> = self.of(program).values().map(ToString::to_string).collect();
        (!entries.is_empty()).then(|| entries.join(":"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> Tunable {
        let (program, rest) = match text.split_once(' ') {
            Some((program, rest)) => (Some(program.to_owned()), rest),
            None => (None, text),
        };
        let fixed = rest.starts_with('-');
        let (name, value) = rest.trim_start_matches('-').split_once('=').unwrap();
        Tunable {
            name: name.to_owned(),
            value: value.to_owned(),
            place: TunablePlace::File,
            program,
            fixed,
        }
    }

    fn seen(file: &[&str], variable: Option<&str>, program: &str) -> String {
        let file = file.iter().map(|text| entry(text)).collect();
        let all = Tunables::new(file, variable);
        all.variable(Some(program)).unwrap_or_default()
    }

    /// Each row was measured with glibc 2.44-3 of Debian: the program printed whether its heap was advised.
    #[test]
    fn entries_count_as_in_glibc() {
        let (zero, one) = (Some("h=0"), Some("h=1"));
        let rows: [(&[&str], Option<&str>, &str, &str); 12] = [
            (&["h=1"], None, "/usr/bin/t", "h=1"),
            (&["h=1"], zero, "/usr/bin/t", "h=0"),
            (&["-h=1"], zero, "/usr/bin/t", "h=1"),
            (&["h=1", "h=0"], None, "/usr/bin/t", "h=0"),
            (&["-h=1", "h=0"], one, "/usr/bin/t", "h=1"),
            (&["h=1", "t -h=0"], one, "/usr/bin/t", "h=0"),
            (&["h=1", "t -h=0"], None, "/usr/bin/other", "h=1"),
            (&["-h=1", "t h=0"], one, "/usr/bin/t", "h=1"),
            (&["-h=1", "t h=0"], zero, "/usr/bin/other", "h=1"),
            (&["/usr/bin/t h=1"], None, "/usr/bin/t", "h=1"),
            (&["/bin/t h=1"], None, "/usr/bin/t", ""),
            (&["t h=1"], None, "/usr/bin/other", ""),
        ];
        for (file, variable, program, expected) in rows {
            assert_eq!(
                seen(file, variable, program),
                expected,
                "{file:?} {program}"
            );
        }
    }

    #[test]
    fn an_unknown_program_gets_what_all_get() {
        let file = vec![entry("t h=2"), entry("e=1")];
        let all = Tunables::new(file, Some("h=1:nonsense"));
        assert_eq!(all.variable(None).as_deref(), Some("e=1:h=1"));
        assert_eq!(
            all.get("h").map(|it| it.place),
            Some(TunablePlace::Environment)
        );
        assert_eq!(Tunables::default().variable(None), None);
    }
}

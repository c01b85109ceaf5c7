//! `java.NAME=`, `go.NAME=`, …: settings of runtimes and allocators, their variables, and whether they took effect.
//!
//! To add a runtime, add a variant of `Runtime` with its variable, and a row of `KEYS` in `policy::keys`.
//! `linux::apply::runtime` asks the runtime for the value that it took.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};

use super::key::Key;
use super::realise::EnvChange;
use super::words::{Word, words};
use super::{Malloc, Settings};
use crate::base::tunables::{MALLOC_HUGETLB, Tunables, VARIABLE};

mod answers;
/// Settings that a program takes from its command line: `{postgres.huge_pages}`.
pub mod placeholders;

pub use answers::{Answers, complaints, not_taken, parse_flags, parse_tunables, tunables_answers};

words! {
    /// The owner of a setting.
    #[derive(PartialOrd, Ord)]
    pub enum Runtime {
        /// HotSpot: `-XX:` flags, by `JAVA_TOOL_OPTIONS`.
        Java,
        /// Go: `GOGC`, `GOMEMLIMIT` and similar, otherwise an entry of `GODEBUG`.
        Go,
        /// An entry of `MALLOC_CONF`.
        Jemalloc,
        /// `MIMALLOC_NAME`.
        Mimalloc,
        /// `TCMALLOC_NAME` (gperftools).
        Tcmalloc,
        /// An entry of `GLIBC_TUNABLES`.
        Glibc,
        /// PostgreSQL, by `{postgres.NAME}` in the command.
        Postgres,
        /// Redis, by `{redis.NAME}` in the command.
        Redis,
    }
}

impl Runtime {
    /// The runtime and the name of `java.UseLargePages`; `None` for keys of other kinds.
    pub(super) fn of_key(key: &str) -> Option<(Self, &str)> {
        let (row, name) = Key::find(key)?;
        Some((row.word().parse().ok()?, name))
    }

    /// Returns the value in its canonical form, or the error in it.
    pub(super) fn check(self, key: &str, value: &str) -> Result<String, String> {
        let parts = |c: char| c.is_whitespace() || c.is_control() || "\"'".contains(c);
        let separator = match self {
            Self::Glibc => Some(':'),
            Self::Go | Self::Jemalloc => Some(','),
            _ => None,
        };
        if value.is_empty() || value.contains(parts) || separator.is_some_and(|c| value.contains(c))
        {
            return Err(format!(
                "`{key}={value}`: expected one value, without spaces, quotes and separators"
            ));
        }
        let name = key.split_once('.').map_or(key, |(_, name)| name);
        match (self, value) {
            (Self::Java, "true" | "on") => Ok("+".to_owned()),
            (Self::Java, "false" | "off") => Ok("-".to_owned()),
            (Self::Go, _) => go_value(name, key, value),
            _ => Ok(value.to_owned()),
        }
    }

    /// The change of the environment for one setting.
    fn change(self, name: &str, value: &str) -> Option<EnvChange> {
        let append = |variable: &str, separator, value| EnvChange::Append {
            name: variable.to_owned(),
            separator,
            value,
        };
        let set = |variable: String| EnvChange::Set {
            name: variable,
            value: value.to_owned(),
        };
        Some(match self {
            Self::Java => append("JAVA_TOOL_OPTIONS", ' ', java_flag(name, value)),
            Self::Go if is_go_variable(name) => set(name.to_owned()),
            Self::Go => append("GODEBUG", ',', format!("{name}={value}")),
            Self::Jemalloc => append("MALLOC_CONF", ',', format!("{name}:{value}")),
            Self::Glibc => append("GLIBC_TUNABLES", ':', format!("glibc.{name}={value}")),
            Self::Mimalloc => set(format!("MIMALLOC_{}", name.to_ascii_uppercase())),
            Self::Tcmalloc => set(format!("TCMALLOC_{}", name.to_ascii_uppercase())),
            Self::Postgres | Self::Redis => return None,
        })
    }
}

/// `-XX:+NAME`, `-XX:-NAME` or `-XX:NAME=VALUE`.
fn java_flag(name: &str, value: &str) -> String {
    match value {
        "+" | "-" => format!("-XX:{value}{name}"),
        _ => format!("-XX:{name}={value}"),
    }
}

/// Returns true for `GOGC` and similar names, which are separate variables.
fn is_go_variable(name: &str) -> bool {
    let mut letters = name.chars();
    name.starts_with("GO") && letters.all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
}

/// The runtime of Go silently takes 100 for a `GOGC` that it cannot parse (`readGOGC`, runtime/mgcpacer.go), so it is
/// checked here first.
fn go_value(name: &str, key: &str, value: &str) -> Result<String, String> {
    let fault = |expected: &str| Err(format!("`{key}={value}`: expected {expected}"));
    let number = value.parse::<i32>().is_ok();
    match name {
        "GOGC" if !number && value != "off" => fault("a whole number or off"),
        "GOMEMLIMIT" if value != "off" => {
            let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            let unit = &value[digits.len()..];
            let known = ["", "B", "KiB", "MiB", "GiB", "TiB"].contains(&unit);
            if known && digits.parse::<u64>().is_ok() {
                return Ok(value.to_owned());
            }
            fault("off or a size such as 512MiB")
        }
        _ => Ok(value.to_owned()),
    }
}

/// By runtime, then by name.
pub type RuntimeSettings = BTreeMap<Runtime, BTreeMap<String, String>>;

impl Settings {
    /// `(runtime, name, value)` of every setting of a runtime.
    pub fn runtime_settings(&self) -> impl Iterator<Item = (Runtime, &str, &str)> {
        self.runtimes.iter().flat_map(|(&runtime, named)| {
            let named = named.iter();
            named.map(move |(name, value)| (runtime, name.as_str(), value.as_str()))
        })
    }

    /// The tunables of glibc that it sets, with their values. `malloc=` sets some too; `env.GLIBC_TUNABLES` replaces
    /// those of the environment.
    pub(super) fn tunables(&self) -> Vec<(String, String)> {
        let of_malloc = match self.malloc {
            Some(Malloc::Thp) => Some("1"),
            Some(Malloc::Hugetlb) => Some("2"),
            _ => None,
        };
        let of_malloc = of_malloc.map(|value| (MALLOC_HUGETLB.to_owned(), value.to_owned()));
        let keys = self.runtime_settings();
        let keys = keys.filter(|(runtime, ..)| *runtime == Runtime::Glibc);
        let keys = keys.map(|(_, name, value)| (format!("glibc.{name}"), value.to_owned()));
        let variable = Tunables::new(Vec::new(), self.env.get(VARIABLE).map(String::as_str));
        let variable = variable
            .iter()
            .map(|it| (it.name.clone(), it.value.clone()));
        let all = of_malloc.into_iter().chain(keys).chain(variable);
        all.collect()
    }

    /// The changes of the environment that they require, each with its key.
    pub(super) fn runtime_changes(&self) -> Vec<(String, EnvChange)> {
        self.runtime_settings()
            .filter_map(|(runtime, name, value)| {
                Some((key(runtime, name), runtime.change(name, value)?))
            })
            .collect()
    }
}

/// `java.UseLargePages`.
#[must_use]
pub fn key(runtime: Runtime, name: &str) -> String {
    format!("{}.{name}", runtime.word())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::policy::{Policy, environment};

    fn variables(policy: &str, inherited: &[(&str, &str)]) -> Vec<String> {
        let policy: Policy = policy.parse().unwrap_or_else(|error| panic!("{error}"));
        let changes: Vec<EnvChange> = policy
            .settings
            .runtime_changes()
            .into_iter()
            .map(|(_, change)| change)
            .collect();
        let parent = |name: &str| {
            let found = inherited.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let set = environment(&changes, parent).into_iter();
        set.map(|(name, value)| format!("{name}={value}")).collect()
    }

    #[test]
    fn what_the_user_has_set_already_is_kept() {
        let policy = "java.UseLargePages=on,java.MaxHeapSize=1g,go.disablethp=1,go.GOGC=off,\
                      jemalloc.thp=always,mimalloc.allow_large_os_pages=1,\
                      glibc.malloc.hugetlb=1,tcmalloc.memfs_malloc_path=/x";
        let inherited = [
            ("JAVA_TOOL_OPTIONS", "-ea"),
            ("GODEBUG", "madvdontneed=1"),
            ("MALLOC_CONF", "narenas:1"),
            ("GLIBC_TUNABLES", "glibc.malloc.arena_max=1"),
        ];
        assert_eq!(
            variables(policy, &inherited),
            [
                "JAVA_TOOL_OPTIONS=-ea -XX:MaxHeapSize=1g -XX:+UseLargePages",
                "GOGC=off",
                "GODEBUG=madvdontneed=1,disablethp=1",
                "MALLOC_CONF=narenas:1,thp:always",
                "MIMALLOC_ALLOW_LARGE_OS_PAGES=1",
                "TCMALLOC_MEMFS_MALLOC_PATH=/x",
                "GLIBC_TUNABLES=glibc.malloc.arena_max=1:glibc.malloc.hugetlb=1",
            ]
        );
    }

    #[test]
    fn faults_say_what_was_expected() {
        for (policy, word) in [
            ("java.X=", "one value"),
            ("java.X=a b", "one value"),
            ("glibc.malloc.x=1:glibc.y=2", "one value"),
            ("go.GOGC=fast", "a whole number or off"),
            ("go.GOMEMLIMIT=1GB", "512MiB"),
            ("java.X=1,java.X=2", "`java.X` is set twice"),
            ("jav.X=1", "did you mean `java.NAME`"),
        ] {
            let error = policy.parse::<Policy>().expect_err(policy).to_string();
            assert!(error.contains(word), "{policy}: {error}");
        }
    }
}

//! Environment variables that keep huge pages from a program's memory.

use std::collections::BTreeMap;

/// A variable, and the content that disables huge pages.
struct Switch {
    variable: &'static str,
    /// The value, or an entry in a comma-separated list.
    off: &'static str,
    /// The setting that keeps huge pages enabled.
    remedy: &'static str,
}

/// jemalloc (Rust's copy has a prefix) and Go advise `MADV_NOHUGEPAGE`; mimalloc calls `prctl(PR_SET_THP_DISABLE)`.
const SWITCHES: [Switch; 4] = [
    Switch {
        variable: "MALLOC_CONF",
        off: "thp:never",
        remedy: "MALLOC_CONF without thp:never",
    },
    Switch {
        variable: "_RJEM_MALLOC_CONF",
        off: "thp:never",
        remedy: "_RJEM_MALLOC_CONF without thp:never",
    },
    Switch {
        variable: "GODEBUG",
        off: "disablethp=1",
        remedy: "GODEBUG without disablethp=1",
    },
    Switch {
        variable: "MIMALLOC_ALLOW_THP",
        off: "0",
        remedy: "MIMALLOC_ALLOW_THP=1",
    },
];

/// The variables, for code that reads the environment of a process.
pub const OFF_VARIABLES: [&str; 4] = [
    SWITCHES[0].variable,
    SWITCHES[1].variable,
    SWITCHES[2].variable,
    SWITCHES[3].variable,
];

/// Returns true if a variable with this value disables huge pages.
pub(crate) fn is_off(variable: &str, value: &str) -> bool {
    find(variable, value).is_some()
}

/// Returns the setting that keeps huge pages enabled, if the environment disables them.
#[must_use]
pub fn off_remedy(environment: &BTreeMap<String, String>) -> Option<&'static str> {
    let mut variables = environment.iter();
    let found = variables.find_map(|(name, value)| find(name, value));
    found.map(|it| it.remedy)
}

fn find(variable: &str, value: &str) -> Option<&'static Switch> {
    let mut switches = SWITCHES.iter();
    switches.find(|it| it.variable == variable && value.split(',').any(|entry| entry == it.off))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_of_a_list_is_a_switch() {
        for (variable, value, remedy) in [
            (
                "MALLOC_CONF",
                "narenas:1,thp:never",
                Some("MALLOC_CONF without thp:never"),
            ),
            (
                "GODEBUG",
                "gctrace=1,disablethp=1",
                Some("GODEBUG without disablethp=1"),
            ),
            ("MIMALLOC_ALLOW_THP", "0", Some("MIMALLOC_ALLOW_THP=1")),
            ("GODEBUG", "disablethp=0", None),
            ("MALLOC_CONF", "metadata_thp:disabled", None),
            ("MIMALLOC_ALLOW_THP", "1", None),
        ] {
            let environment = BTreeMap::from([(variable.to_owned(), value.to_owned())]);
            assert_eq!(off_remedy(&environment), remedy, "{variable}={value}");
            assert_eq!(is_off(variable, value), remedy.is_some());
        }
    }
}

//! Units of randomisation.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, VariantNames};

/// The unit of randomisation of a plan.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    Serialize,
    Deserialize,
    PartialEq,
    Eq,
    Display,
    EnumString,
    VariantNames,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum UnitKind {
    /// A host, by its name; with its shared environment before a slash: `rack7/web-1`.
    #[default]
    Host,
    /// A service on a host: `search@web-1`.
    Service,
    /// A start of a process, with its host before a slash: `web-1/4711-1795239959`.
    Start,
    /// A pod, with its host before a slash: `web-1/search-5d9`.
    Pod,
}

impl UnitKind {
    /// Returns the cluster: the part of the name before the first slash, or for a service the part after the first `@`.
    /// A name without a separator is its own cluster.
    #[must_use]
    pub fn cluster(self, unit: &str) -> &str {
        let parted = match self {
            Self::Service => unit.split_once('@').map(|(_, host)| host),
            Self::Host | Self::Start | Self::Pod => unit.split_once('/').map(|(host, _)| host),
        };
        parted.unwrap_or(unit)
    }
}

/// The name of a unit in file names. A slash is replaced, because it would separate directories.
#[must_use]
pub fn file_name(unit: &str) -> String {
    unit.replace('/', "~")
}

/// Checks the name of a unit. It must be one word in a table, in a template and in a file path.
///
/// # Errors
/// Returns the mistake.
pub fn check_unit(unit: &str) -> Result<(), String> {
    let fault = |what: &str| Err(format!("the unit `{unit}` {what}"));
    if unit.is_empty() {
        return Err("a unit has no name".to_owned());
    }
    if unit.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return fault("has white space in it");
    }
    if unit.contains([',', '"', '\'']) {
        return fault("has a comma or a quotation mark in it");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_what_units_share() {
        for (kind, unit, cluster) in [
            (UnitKind::Host, "web-1", "web-1"),
            (UnitKind::Host, "rack7/web-1", "rack7"),
            (UnitKind::Service, "search@web-1", "web-1"),
            (UnitKind::Start, "web-1/47/11", "web-1"),
            (UnitKind::Pod, "web-1/search-5d9", "web-1"),
        ] {
            assert_eq!(kind.cluster(unit), cluster);
        }
    }

    #[test]
    fn a_unit_is_one_word() {
        assert_eq!(check_unit("rack7/web-1.example"), Ok(()));
        for unit in ["", "a b", "a,b", "a\nb", "it's"] {
            assert!(check_unit(unit).is_err(), "{unit}");
        }
    }
}

//! Why something is not known: a reading or a fact has a value or a [`Missing`] reason, never a
//! zero for "unknown".

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::bytes_text;

/// Who may read the memory of a process: a sentence (`PTRACE_MODE_READ`, Documentation/filesystems/proc.rst).
pub const READERS: &str = "Root, its own user and CAP_SYS_PTRACE may read it, unless a container or a security module \
     forbids it.";

/// A fact of the host, or the reason why it is not known.
pub type Fact<T> = Result<T, Missing>;

/// Why something was not measured. Each reason knows the least grant that would help.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, strum::EnumIter)]
#[serde(rename_all = "snake_case", tag = "why")]
pub enum Missing {
    /// The kernel refused; `grant` is the least privilege that would help.
    NotPermitted {
        /// What to grant, for example `root` or `CAP_SYS_ADMIN`.
        grant: String,
    },
    /// This kernel or machine does not have it.
    NotSupported {
        /// What is absent, for example `/proc/pagemap ioctl PAGEMAP_SCAN (Linux 6.7)`.
        what: String,
    },
    /// There are no hardware counters here.
    NoHardware,
    /// The counter was opened and never ran: other programs hold the hardware counters.
    NeverScheduled,
    /// There are fewer counters than events: this event was counted in other rounds, or never.
    NotItsTurn,
    /// The workload ended before it could be read.
    TooShort,
    /// The kernel returned text that does not parse.
    Unreadable {
        /// Path, line and field.
        error: String,
    },
    /// The value does not exceed what the measurement itself uses.
    BelowFloor {
        /// The floor, in bytes: sizes alone have one.
        floor: u64,
    },
    /// The workload printed nothing that matches.
    NotPrinted,
    /// It happened, but nothing counted it during the observed time.
    NotCounted {
        /// What stands in the way.
        obstacle: String,
    },
    /// The user switched it off, or the experiment does not need it.
    NotAsked,
    /// Too few values support such a figure. Only reports use it.
    TooFewValues,
    /// The trial failed, so its readings mean nothing.
    TrialFailed,
    /// The experiment ended before the first trial of the policy did. Only reports use it: a record
    /// has no such trial.
    NotRun,
}

impl Missing {
    /// This kernel or machine does not have `what`.
    pub fn not_supported(what: impl Into<String>) -> Self {
        Self::NotSupported { what: what.into() }
    }

    /// What was read does not parse: `error` names path, line and field.
    pub fn unreadable(error: impl Into<String>) -> Self {
        Self::Unreadable {
            error: error.into(),
        }
    }

    /// The kernel refused; `grant` is the least privilege that would help.
    pub fn not_permitted(grant: impl Into<String>) -> Self {
        Self::NotPermitted {
            grant: grant.into(),
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPermitted { grant } => write!(f, "not permitted; needs {grant}"),
            Self::NotSupported { what } => write!(f, "not on this machine: {what}"),
            Self::NoHardware => write!(f, "this machine has no hardware counters"),
            Self::NeverScheduled => write!(f, "other programs held the hardware counters"),
            Self::NotItsTurn => write!(f, "too few hardware counters for this event"),
            Self::TooShort => write!(f, "the workload ended before it could be read"),
            Self::Unreadable { error } => write!(f, "unreadable: {error}"),
            Self::BelowFloor { floor } => {
                let floor = bytes_text(*floor);
                write!(f, "below the measurement floor ({floor})")
            }
            Self::NotPrinted => write!(f, "the workload printed nothing that matches"),
            Self::NotCounted { obstacle } => write!(f, "not counted: {obstacle}"),
            Self::NotAsked => write!(f, "not requested"),
            Self::TooFewValues => write!(f, "too few runs for it"),
            Self::TrialFailed => write!(f, "the trial failed"),
            Self::NotRun => write!(f, "no trial was run"),
        }
    }
}

/// Serialises a [`Fact`] as its value or as `{"missing": …}`.
pub mod fact {
    use serde::de::{DeserializeOwned, Error};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    use super::{Fact, Missing};

    #[derive(Serialize)]
    #[serde(untagged)]
    enum Wire<'a, T> {
        Missing { missing: &'a Missing },
        Known(&'a T),
    }

    /// Writes the value, or the reason why there is none.
    ///
    /// # Errors
    ///
    /// Those of the serializer.
    pub fn serialize<T: Serialize, S: Serializer>(
        fact: &Fact<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match fact {
            Ok(known) => Wire::Known(known),
            Err(missing) => Wire::Missing { missing },
        }
        .serialize(serializer)
    }

    /// Reads either, by way of a [`Value`]: serde's own buffer for untagged enums refuses numbers as the
    /// keys of a map, which the folio sizes of [`crate::host::ThpSettings`] are.
    ///
    /// # Errors
    ///
    /// A value that is neither.
    pub fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Fact<T>, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match value.get("missing") {
            Some(missing) => Missing::deserialize(missing).map(Err),
            None => T::deserialize(value).map(Ok),
        }
        .map_err(D::Error::custom)
    }
}

/// Maps by number, whose keys JSON writes as text. Inside tagged and untagged enums serde hands
/// that text on as it is, and a plain map by number refuses it: so it is parsed here.
pub mod number_keys {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    /// Writes the numbers as text.
    ///
    /// # Errors
    ///
    /// Those of the serializer.
    pub fn serialize<V: Serialize, S: Serializer>(
        map: &BTreeMap<u64, V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(map.iter().map(|(key, value)| (key.to_string(), value)))
    }

    /// Reads the numbers from text.
    ///
    /// # Errors
    ///
    /// A key that is no number, and those of the deserializer.
    pub fn deserialize<'de, V: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<u64, V>, D::Error> {
        BTreeMap::<String, V>::deserialize(deserializer)?
            .into_iter()
            .map(|(key, value)| match key.parse() {
                Ok(number) => Ok((number, value)),
                Err(_) => Err(D::Error::custom(format!("the key `{key}` is no number"))),
            })
            .collect()
    }
}

//! Reasons for missing values: a reading or a fact has a value or a [`Missing`] reason, never a zero for "unknown".

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::bytes_text;

/// The readers of a process's memory, as a sentence (`PTRACE_MODE_READ`, Documentation/filesystems/proc.rst).
pub const READERS: &str = "Root, its own user and CAP_SYS_PTRACE may read it, unless a container or a security module \
     forbids it.";

/// A fact of the host, or the reason why it is unknown.
pub type Fact<T> = Result<T, Missing>;

/// The reason why a value was not measured. It includes the least privilege that would help.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, strum::EnumIter)]
#[serde(rename_all = "snake_case", tag = "why")]
pub enum Missing {
    /// The kernel refused; `grant` is the least privilege that would help.
    NotPermitted {
        /// The privilege to grant, for example `root` or `CAP_SYS_ADMIN`.
        grant: String,
    },
    /// This kernel or machine does not support it.
    NotSupported {
        /// The missing feature, for example `/proc/pagemap ioctl PAGEMAP_SCAN (Linux 6.7)`.
        what: String,
    },
    /// The machine has no hardware counters.
    NoHardware,
    /// The counter was opened and never ran: other programs use the hardware counters.
    NeverScheduled,
    /// The machine has fewer counters than events: this event was counted in other rounds, or never.
    NotItsTurn,
    /// The workload ended before the value could be read.
    TooShort,
    /// The kernel returned text that does not parse.
    Unreadable {
        /// Path, line and field.
        error: String,
    },
    /// The value does not exceed the overhead of the measurement.
    BelowFloor {
        /// The floor, in bytes; only sizes have one.
        floor: u64,
    },
    /// The workload printed no match.
    NotPrinted,
    /// The event happened, but nothing counted it during the observed time.
    NotCounted {
        /// The obstacle.
        obstacle: String,
    },
    /// The user disabled it, or the experiment does not need it.
    NotAsked,
    /// There are too few values for this figure. Only reports use it.
    TooFewValues,
    /// The trial failed, so its readings are meaningless.
    TrialFailed,
    /// The experiment ended before the first trial of the policy. Only reports use it: a record has no such trial.
    NotRun,
}

impl Missing {
    /// Creates [`Missing::NotSupported`]: this kernel or machine does not have `what`.
    pub fn not_supported(what: impl Into<String>) -> Self {
        Self::NotSupported { what: what.into() }
    }

    /// Creates the reason for unparsable input: `error` has path, line and field.
    pub fn unreadable(error: impl Into<String>) -> Self {
        Self::Unreadable {
            error: error.into(),
        }
    }

    /// Creates [`Missing::NotPermitted`]; `grant` is the least privilege that would help.
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

    /// Writes the value, or the reason for its absence.
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

    /// Reads either form through a [`Value`]. serde's own buffer for untagged enums refuses numbers as map keys, such
    /// as the folio sizes of [`crate::host::ThpSettings`].
    ///
    /// # Errors
    ///
    /// The input is neither form.
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

/// Maps with numeric keys, which JSON writes as text. Inside tagged and untagged enums serde passes on that text, and a
/// plain map with numeric keys refuses it, so this module parses it.
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
    /// A key is not a number, or the deserializer fails.
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

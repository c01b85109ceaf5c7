//! The state of free memory in the host before each trial.
//!
//! If a hypervisor has taken back free memory, it must allocate it again on the next touch, which costs milliseconds
//! for a huge page. So the time of a trial depends on what ran shortly before it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::host::Host;
use crate::base::units::parse_duration;

/// How to treat free memory that the hypervisor has taken back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum HostMemory {
    /// Do nothing: each trial gets the memory left by the previous one.
    #[default]
    AsIs,
    /// Memory is touched and freed right before each trial, so that the host backs it.
    Warm,
    /// Each trial begins after a pause of this length, in which the hypervisor takes free memory back.
    Rest(Duration),
}

impl HostMemory {
    /// The default for a host: warm memory if its hypervisor takes back free memory. Warming touches huge pages, for
    /// which the kernel may compact, so it is off if a fragmentation is requested.
    #[must_use]
    pub fn usual(host: &Host, fragment: Option<u32>) -> Self {
        match (host.taken_back_bytes(), fragment) {
            (Some(_), None) => Self::Warm,
            _ => Self::AsIs,
        }
    }

    /// The treatment, for a report; `None` if there was none.
    #[must_use]
    pub fn in_words(&self) -> Option<String> {
        match self {
            Self::AsIs => None,
            Self::Warm => Some("warm memory".to_owned()),
            Self::Rest(time) => {
                let seconds = time.as_secs_f64();
                Some(format!("{seconds} s of rest before trials"))
            }
        }
    }

    /// Returns true if nothing is done.
    #[must_use]
    pub fn is_as_is(&self) -> bool {
        *self == Self::AsIs
    }
}

impl fmt::Display for HostMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AsIs => f.write_str("as-is"),
            Self::Warm => f.write_str("warm"),
            Self::Rest(time) => write!(f, "rest:{}s", time.as_secs_f64()),
        }
    }
}

impl FromStr for HostMemory {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.strip_prefix("rest:")) {
            ("as-is", _) => Ok(Self::AsIs),
            ("warm", _) => Ok(Self::Warm),
            (_, Some(time)) => parse_duration(time).map(Self::Rest),
            _ => Err(format!(
                "`{text}` is not a state; write warm, rest:3s or as-is"
            )),
        }
    }
}

impl TryFrom<String> for HostMemory {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<HostMemory> for String {
    fn from(state: HostMemory) -> Self {
        state.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::host::Balloon;
    use crate::changed_host::Changed;
    use crate::test_host::host;

    #[test]
    fn a_state_is_written_as_it_is_read() {
        for text in ["as-is", "warm", "rest:2.5s", "rest:0s"] {
            let state: HostMemory = text.parse().unwrap();
            assert_eq!(state.to_string(), text);
        }
        let rest: HostMemory = "rest:500ms".parse().unwrap();
        assert_eq!(rest, HostMemory::Rest(Duration::from_millis(500)));
        for bad in ["", "hot", "rest", "rest:", "rest:x"] {
            assert!(bad.parse::<HostMemory>().is_err(), "{bad}");
        }
    }

    #[test]
    fn warm_is_usual_where_free_memory_is_taken_back() {
        let balloon = |reported_block_bytes| {
            host("madvise").with(|host| {
                host.balloon = Some(Balloon {
                    driver: "virtio_balloon".to_owned(),
                    reported_block_bytes,
                });
            })
        };
        let usual = HostMemory::usual;
        assert_eq!(usual(&balloon(Some(2 << 20)), None), HostMemory::Warm);
        assert_eq!(usual(&balloon(Some(2 << 20)), Some(80)), HostMemory::AsIs);
        assert_eq!(usual(&balloon(None), None), HostMemory::AsIs);
        assert_eq!(usual(&host("madvise"), None), HostMemory::AsIs);
    }
}

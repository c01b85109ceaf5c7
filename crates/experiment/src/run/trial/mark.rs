//! Disturbances of a trial.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::base::units::Unit;
use crate::text::number::{counted, quantity};

/// A disturbance of a trial.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, strum::EnumIter)]
#[serde(rename_all = "snake_case", tag = "hazard")]
pub enum Mark {
    /// Another program changed a setting while the trial ran.
    SettingDrifted {
        /// The file, relative to the root of the machine.
        path: String,
        /// Its value under the policy.
        expected: String,
        /// The value found.
        found: String,
    },
    /// Other programs used more than a tenth of the machine's processors.
    OtherLoad {
        /// Share of the processors' time, in thousandths.
        permille: u32,
    },
    /// The servers of the other policies, which should idle, used more than 5 % of the machine's
    /// processors.
    OtherServers {
        /// Share of the processors' time, in thousandths.
        permille: u32,
    },
    /// The hypervisor took more than 1 % of the machine's time.
    Steal {
        /// Share of the processors' time, in thousandths.
        permille: u32,
    },
    /// Few free huge blocks were left at the start of the trial.
    Fragmented {
        /// Free blocks of at least the huge-page size, in huge pages.
        free_huge_pages: u64,
    },
    /// Pages came from disk in this trial: its page cache was cold.
    ColdCache {
        /// Major faults.
        major_faults: u64,
    },
    /// Memory was slow to touch although it had been warmed right before the trial.
    ColdMemory {
        /// Time to touch a huge page, in microseconds.
        touch_us: u64,
        /// The same in quiet trials, in microseconds.
        quiet_us: u64,
    },
    /// Memory was swapped in or out while the trial ran.
    Swapped {
        /// Pages in and out.
        pages: u64,
    },
    /// The policy was not applied: the value read back differs from the value set.
    NotApplied {
        /// The value set and the value found.
        detail: String,
    },
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SettingDrifted {
                path,
                expected,
                found,
            } => {
                write!(
                    f,
                    "another program changed {path} from {expected} to {found}"
                )
            }
            Self::OtherLoad { permille } => {
                write!(
                    f,
                    "other programs used {:.1} % of the machine",
                    f64::from(*permille) / 10.0
                )
            }
            Self::OtherServers { permille } => {
                write!(
                    f,
                    "the servers of other policies used {:.1} % of the machine",
                    f64::from(*permille) / 10.0
                )
            }
            Self::Steal { permille } => {
                write!(
                    f,
                    "the hypervisor took {:.1} % of the time",
                    f64::from(*permille) / 10.0
                )
            }
            Self::Fragmented { free_huge_pages } => {
                let pages = counted(*free_huge_pages, "huge page");
                write!(f, "only {pages} free at the start")
            }
            Self::ColdCache { major_faults } => {
                write!(f, "{} read from disk", counted(*major_faults, "page"))
            }
            Self::ColdMemory { touch_us, quiet_us } => write!(
                f,
                "touching a huge page took {} after warming, usually {}",
                micros(*touch_us),
                micros(*quiet_us)
            ),
            Self::Swapped { pages } => write!(f, "{} swapped", counted(*pages, "page")),
            Self::NotApplied { detail } => write!(f, "the policy was not applied: {detail}"),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
fn micros(time: u64) -> String {
    quantity(&Unit::Seconds, time as f64 / 1e6)
}

impl Mark {
    /// The kind of [`Mark::NotApplied`].
    pub const NOT_APPLIED: &'static str = "policy not applied";

    /// Its kind, for people.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SettingDrifted { .. } => "setting changed",
            Self::OtherLoad { .. } => "other load",
            Self::OtherServers { .. } => "other servers",
            Self::Steal { .. } => "steal",
            Self::Fragmented { .. } => "fragmented memory",
            Self::ColdCache { .. } => "disk reads",
            Self::ColdMemory { .. } => "cold memory",
            Self::Swapped { .. } => "swap",
            Self::NotApplied { .. } => Self::NOT_APPLIED,
        }
    }
}

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A signal that asks a process to end.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String", into = "String")]
pub struct StopSignal(u8);

/// Signals that end programs. Their numbers are the same on all Linux architectures except Alpha, SPARC, MIPS and
/// PA-RISC (signal(7)).
const NAMES: [(&str, u8); 7] = [
    ("SIGHUP", 1),
    ("SIGINT", 2),
    ("SIGQUIT", 3),
    ("SIGKILL", 9),
    ("SIGUSR1", 10),
    ("SIGUSR2", 12),
    ("SIGTERM", 15),
];

impl StopSignal {
    /// Its number.
    #[must_use]
    pub fn number(self) -> u8 {
        self.0
    }
}

impl Default for StopSignal {
    fn default() -> Self {
        Self(15)
    }
}

impl fmt::Display for StopSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(_, number)| *number == self.0) {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

impl FromStr for StopSignal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let upper = text.trim().to_ascii_uppercase();
        let named = NAMES
            .iter()
            .find(|(name, _)| *name == upper || name.strip_prefix("SIG") == Some(&upper));
        let number = named.map(|(_, number)| *number);
        let number = number.or_else(|| upper.parse().ok().filter(|n| (1..=64).contains(n)));
        number.map(Self).ok_or_else(|| {
            format!("`{text}` is not a signal; write SIGTERM, SIGINT, SIGQUIT or a number")
        })
    }
}

impl From<StopSignal> for String {
    fn from(signal: StopSignal) -> Self {
        signal.to_string()
    }
}

impl TryFrom<String> for StopSignal {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_names_or_numbers() {
        for (text, number) in [("SIGINT", 2), ("term", 15), ("Quit", 3), ("34", 34)] {
            assert_eq!(
                text.parse::<StopSignal>().map(StopSignal::number),
                Ok(number)
            );
        }
        for bad in ["", "SIG", "0", "65", "-9", "TERMINATE"] {
            assert!(bad.parse::<StopSignal>().is_err(), "{bad}");
        }
        assert_eq!(StopSignal::default().to_string(), "SIGTERM");
        assert_eq!(StopSignal(34).to_string(), "34");
    }
}

//! A latency that a command of the plan prints.

use std::time::{Duration, Instant};

use hugewise_fleet::guardrail;
use hugewise_linux::spawn::printed;

use crate::stderr::message;

/// The time limit of the command, because the arm waits for it; after that it is killed with its children.
const PATIENCE: Duration = Duration::from_secs(5);

/// Tracks whether the command gives numbers, over all periods.
#[derive(Debug, Default)]
pub(super) struct Latency {
    blind: Option<Instant>,
}

impl Latency {
    /// The current latency in seconds; `None` if the command fails. A failure is reported once until the next number.
    pub(super) fn read(&mut self, asked: Option<&guardrail::Latency>) -> Option<f64> {
        let Some(asked) = asked else {
            self.blind = None;
            return None;
        };
        match run(&asked.command) {
            Ok(seconds) => {
                if self.blind.take().is_some() {
                    message("the command of p99 gives a number again");
                }
                Some(seconds)
            }
            Err(why) => {
                if self.blind.is_none() {
                    message(format_args!(
                        "the command of p99, {:?}: {why}; the arm is stopped when that lasts as \
                         long as the plan's lease",
                        asked.command
                    ));
                }
                self.blind.get_or_insert_with(Instant::now);
                None
            }
        }
    }

    /// Returns true if there was no number for longer than the lease: the arm must not continue unobserved.
    pub(super) fn is_blind(&self, lease: Duration) -> bool {
        self.blind.is_some_and(|since| since.elapsed() > lease)
    }
}

fn run(command: &[String]) -> Result<f64, String> {
    let text = printed(command, PATIENCE).map_err(|error| error.to_string())?;
    let text = text.trim();
    let seconds: Option<f64> = text.parse().ok();
    let finite = seconds.filter(|it| it.is_finite());
    finite.ok_or_else(|| format!("`{text}` is not a number of seconds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_fails_for_the_lease_is_blind_until_it_gives_a_number() {
        let asked = |line: &str| guardrail::Latency {
            command: ["sh", "-c", line].map(str::to_owned).into(),
            seconds: 1.0,
        };
        let mut latency = Latency::default();
        assert_eq!(latency.read(Some(&asked("exit 1"))), None);
        assert!(latency.is_blind(Duration::ZERO));
        assert!(!latency.is_blind(Duration::from_secs(3600)));
        assert_eq!(latency.read(Some(&asked("echo 0.5"))), Some(0.5));
        assert!(!latency.is_blind(Duration::ZERO));
    }

    fn sh(line: &str) -> Result<f64, String> {
        run(&["sh", "-c", line].map(str::to_owned))
    }

    #[test]
    fn a_command_prints_seconds_or_says_why_not() {
        assert_eq!(sh("echo 0.25"), Ok(0.25));
        assert_eq!(sh("sleep 100 & echo 3"), Ok(3.0));
        assert!(sh("echo soon").unwrap_err().contains("`soon`"));
        assert!(sh("echo inf").is_err());
        assert!(sh("exit 3").unwrap_err().contains('3'));
        assert!(run(&["/no/such/program".to_owned()]).is_err());
    }
}

//! Parses the output of guests.

use super::boot::Ended;
use super::kernels::Kernel;

/// The first word of each result line.
const MARK: &str = "guest ";
/// Printed after all tests; without it the guest died earlier.
const DONE: &str = "guest is done";

/// The outcome of a test in a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As it should.
    Passed,
    /// The test failed; contains the observation.
    Failed(String),
    /// The test could not be run; contains the missing requirement.
    Skipped(String),
}

/// One test of one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Result {
    /// `root` or `user`.
    pub user: String,
    /// The name of the test.
    pub test: String,
    /// How it ended.
    pub outcome: Outcome,
}

/// Returns the results of one kernel. A skip for a missing required capability is a failure, and so is a guest that did
/// not finish.
pub fn results(kernel: &Kernel, ended: &Ended) -> Vec<Result> {
    let mut results: Vec<Result> = ended
        .lines
        .iter()
        .filter_map(|line| result(kernel, line))
        .collect();
    results.insert(0, whole(ended));
    results
}

/// Returns the result of the guest as a whole.
fn whole(ended: &Ended) -> Result {
    let outcome = if ended.lines.iter().any(|line| line.starts_with(DONE)) {
        Outcome::Passed
    } else {
        let last: Vec<&str> = ended
            .lines
            .iter()
            .rev()
            .take(5)
            .map(String::as_str)
            .collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        let how = if ended.in_time {
            "it ended early"
        } else {
            "it did not end"
        };
        Outcome::Failed(format!("{how}; its last words: {}", last.join(" | ")))
    };
    Result {
        user: "root".to_owned(),
        test: "the guest: booted and came to its end".to_owned(),
        outcome,
    }
}

/// Returns the longest test of a guest with its seconds, as the guest prints it.
pub fn longest(ended: &Ended) -> Option<(f64, &str)> {
    let times = ended.lines.iter().filter_map(|line| {
        let start = line.find(MARK)?;
        let (_user, told) = line[start + MARK.len()..].split_once(' ')?;
        let (seconds, test) = told.strip_prefix("took ")?.split_once(' ')?;
        Some((seconds.parse().ok()?, test))
    });
    times.max_by(|a, b| f64::total_cmp(&a.0, &b.0))
}

fn result(kernel: &Kernel, line: &str) -> Option<Result> {
    // The console can add text before the mark.
    let start = line.find(MARK)?;
    let mut words = line[start + MARK.len()..].splitn(3, ' ');
    let (user, how, rest) = (words.next()?, words.next()?, words.next()?);
    if user != "root" && user != "user" {
        return None;
    }
    let (test, outcome) = match how {
        "passed" => (rest.to_owned(), Outcome::Passed),
        "failed" => told(rest, Outcome::Failed)?,
        "skipped" => skipped(kernel, user, rest)?,
        "has" => return None,
        "lacks" => lacking(kernel, user, rest)?,
        _ => return None,
    };
    Some(Result {
        user: user.to_owned(),
        test,
        outcome,
    })
}

/// `AREA: NAME: TEXT`.
fn told(rest: &str, outcome: impl FnOnce(String) -> Outcome) -> Option<(String, Outcome)> {
    let (area, rest) = rest.split_once(": ")?;
    let (name, text) = rest.split_once(": ")?;
    Some((format!("{area}: {name}"), outcome(text.to_owned())))
}

/// `AREA: NAME: CAPABILITY: WHY`.
fn skipped(kernel: &Kernel, user: &str, rest: &str) -> Option<(String, Outcome)> {
    let (test, outcome) = told(rest, Outcome::Skipped)?;
    let Outcome::Skipped(why) = outcome else {
        return None;
    };
    let capability = why.split(": ").next().unwrap_or_default();
    if kernel.requires(user, capability) {
        let text = format!("skipped, but this kernel must have {why}");
        return Some((test, Outcome::Failed(text)));
    }
    Some((test, Outcome::Skipped(why)))
}

/// Parses `CAPABILITY: WHY`, which only matters for a required capability.
fn lacking(kernel: &Kernel, user: &str, rest: &str) -> Option<(String, Outcome)> {
    let capability = rest.split(": ").next()?;
    kernel.requires(user, capability).then(|| {
        let text = format!("this kernel must have {rest}");
        (
            "capabilities: as declared".to_owned(),
            Outcome::Failed(text),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::kernels::kernels;

    fn of(lines: &[&str]) -> Vec<Result> {
        let kernel = kernels(&["x86_64 6.12".to_owned()], None)
            .unwrap()
            .remove(0);
        let ended = Ended {
            lines: lines.iter().map(ToString::to_string).collect(),
            in_time: true,
        };
        results(&kernel, &ended)
    }

    #[test]
    fn a_guest_that_died_has_failed() {
        let results = of(&["guest root passed a: b"]);
        assert!(matches!(&results[0].outcome, Outcome::Failed(text) if text.contains("a: b")));
        assert_eq!(of(&["guest is done 0"])[0].outcome, Outcome::Passed);
    }

    #[test]
    fn the_longest_test_is_named() {
        let lines = ["guest root took 1.5 a: b", "guest user took 20.0 c: d"];
        let ended = Ended {
            lines: lines.iter().map(ToString::to_string).collect(),
            in_time: true,
        };
        assert_eq!(longest(&ended), Some((20.0, "c: d")));
    }

    #[test]
    fn skips_of_what_must_be_there_are_failures() {
        let results = of(&[
            "guest root lacks pmu: ENOENT",
            "guest root lacks btf: ENOENT",
            "guest root skipped stat: cycles: pmu: ENOENT",
            "[    1.0] guest user skipped run: x y: btf: ENOENT",
            "guest root failed run: x y: 1 against 2: 3",
        ]);
        let outcomes: Vec<&Outcome> = results[1..].iter().map(|result| &result.outcome).collect();
        assert!(
            matches!(outcomes[0], Outcome::Failed(text) if text == "this kernel must have btf: ENOENT")
        );
        assert_eq!(outcomes[1], &Outcome::Skipped("pmu: ENOENT".to_owned()));
        assert!(matches!(outcomes[2], Outcome::Failed(_)));
        assert_eq!(outcomes[3], &Outcome::Failed("1 against 2: 3".to_owned()));
        assert_eq!(
            (results[3].user.as_str(), results[3].test.as_str()),
            ("user", "run: x y")
        );
    }
}

//! Policies that were not tried because of a missing permission that the user can give.

use serde::{Deserialize, Serialize};

use super::cannot_act::Heap;
use super::defaults::defaults;
use super::realise::Reach;
use crate::base::host::Host;
use crate::text::wrap::quoted;

/// Policies left out.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Omission {
    /// Their names.
    pub policies: Vec<String>,
    /// What they need.
    pub needs: Need,
}

/// The missing permission of a policy. All such policies change system-wide settings.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// `--system`.
    System,
    /// `--system`, and root.
    Root,
    /// A machine whose settings root can write, unlike a container.
    Machine,
}

impl Omission {
    /// Groups these policies, if there are any, for a host and a reach.
    #[must_use]
    pub fn of(policies: Vec<String>, host: &Host, reach: Reach) -> Option<Self> {
        let needs = match (host.user.can_write_thp, host.user.uid, reach) {
            (true, _, Reach::Process) => Need::System,
            (false, 0, _) => Need::Machine,
            _ => Need::Root,
        };
        (!policies.is_empty()).then_some(Self { policies, needs })
    }

    /// Why they were left out, as a clause: `thp=always, a setting of the whole machine`.
    #[must_use]
    pub fn reason(&self) -> String {
        let names = self.policies.join(" and ");
        let what = match self.policies.len() {
            1 => "a setting of the whole machine",
            _ => "settings of the whole machine",
        };
        let closed = match self.needs {
            Need::Machine => ", which cannot be changed here",
            Need::System | Need::Root => "",
        };
        format!("{names}, {what}{closed}")
    }

    /// The command that also tries them, built from the words of the original one; `None` if none can.
    #[must_use]
    pub fn command(&self, made_by: &[String]) -> Option<String> {
        let again = |lead| Some(format!("{lead}{}", rerun(made_by, &["--system"])));
        match self.needs {
            Need::System => again(""),
            Need::Root => again("sudo "),
            Need::Machine => None,
        }
    }
}

/// The policies missing from the [`defaults`] because `--system` or write permission is missing.
#[must_use]
pub fn omission(host: &Host, reach: Reach, heap: Heap) -> Option<Omission> {
    let mut writable = host.clone();
    writable.user.can_write_thp = true;
    let tried = defaults(host, reach, heap);
    let more = defaults(&writable, Reach::System, heap).into_iter();
    let more = more.filter(|policy| !tried.contains(policy));
    Omission::of(more.map(|policy| policy.name).collect(), host, reach)
}

/// Flags with a value that limit an experiment: replaced or dropped in a repetition.
const REPLACED: [&str; 3] = ["--max-time", "--max-rounds", "--out"];

/// Verbs that take no command: all of their words belong to hugewise.
const WITHOUT_COMMAND: [&str; 2] = ["bench", "live"];

/// The command line to repeat an experiment, with these flags after its verb.
#[must_use]
pub fn rerun(made_by: &[String], flags: &[&str]) -> String {
    rerun_without(made_by, &[], flags)
}

/// The same without some flags, which take values.
#[must_use]
pub fn rerun_without(made_by: &[String], left_out: &[&str], flags: &[&str]) -> String {
    let words: Vec<&str> = made_by.iter().skip(1).map(String::as_str).collect();
    let verbs = if words.first() == Some(&"bench") {
        2
    } else {
        1
    };
    let (verbs, words) = words.split_at(verbs.min(words.len()));
    let of_file = words.last().is_some_and(|word| word.ends_with(".toml"));
    let is_alone = of_file || verbs.iter().any(|verb| WITHOUT_COMMAND.contains(verb));
    // Without `--`, a flag may belong to the workload, unless a file defines the workload or there is none.
    let all = if is_alone { words.len() } else { 0 };
    let end = words.iter().position(|word| *word == "--").unwrap_or(all);
    let (own, workload) = words.split_at(end);
    let mut kept = Vec::new();
    let mut own = own.iter();
    while let Some(word) = own.next() {
        let (name, value) = word
            .split_once('=')
            .map_or((*word, None), |(a, b)| (a, Some(b)));
        if REPLACED.iter().chain(left_out).any(|it| *it == name) {
            let _ = value.or_else(|| own.next().copied());
        } else if !flags.contains(word) {
            kept.push(*word);
        }
    }
    let all = verbs.iter().chain(flags).chain(&kept).chain(workload);
    let words: Vec<String> = all.map(|word| quoted(word)).collect();
    format!("hugewise {}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changed_host::Changed;
    use crate::test_host::host;

    fn said(host: &Host, reach: Reach) -> (String, Option<String>) {
        let made_by = ["target/hugewise", "run", "--", "sort", "a b"].map(str::to_owned);
        let omission = omission(host, reach, Heap::Glibc).expect("something is left out");
        (omission.reason(), omission.command(&made_by))
    }

    #[test]
    fn what_is_left_out_is_named_with_the_command_that_tries_it() {
        let (reason, command) = said(&host("madvise"), Reach::Process);
        assert_eq!(reason, "thp=always, a setting of the whole machine");
        assert_eq!(
            command.as_deref(),
            Some("hugewise run --system -- sort 'a b'")
        );

        let user = host("never").unprivileged();
        let (reason, command) = said(&user, Reach::Process);
        assert_eq!(
            reason,
            "thp=madvise and thp=always, settings of the whole machine"
        );
        assert_eq!(
            command.as_deref(),
            Some("sudo hugewise run --system -- sort 'a b'")
        );

        let container = user.with(|host| host.user.uid = 0);
        let (reason, command) = said(&container, Reach::System);
        assert!(reason.ends_with("which cannot be changed here"), "{reason}");
        assert_eq!(command, None);

        assert_eq!(omission(&host("madvise"), Reach::System, Heap::Glibc), None);
        assert_eq!(omission(&host("always"), Reach::Process, Heap::Glibc), None);
    }

    #[test]
    fn a_command_is_given_again_without_its_limits() {
        let again = |line: &str, flags: &[&str]| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            rerun(&words, flags)
        };
        assert_eq!(
            again(
                "./hugewise run --max-rounds 7 --system -q -- x --out y",
                &["--system"]
            ),
            "hugewise run --system -q -- x --out y"
        );
        assert_eq!(
            again("hugewise run x --max-time 5", &["--max-time=5m"]),
            "hugewise run --max-time=5m x --max-time 5"
        );
        assert_eq!(
            again("hugewise bench memory --ops copy", &["--system"]),
            "hugewise bench memory --system --ops copy"
        );
        for (line, expected) in [
            (
                "hugewise live redis-server --max-time 60s",
                "hugewise live --max-time=5m redis-server",
            ),
            (
                "hugewise bench memory --ops copy --max-time=9s",
                "hugewise bench memory --max-time=5m --ops copy",
            ),
        ] {
            assert_eq!(again(line, &["--max-time=5m"]), expected);
        }
    }
}

//! What to do: the policy to choose, and the means that put it in force.

use std::fmt;

use super::Report;
use crate::base::host::ThpDisable;
use crate::run::compare::Answer;
use crate::run::policy::realise::{EnvChange, Realisation, ThpPrctl};
use crate::text::number::chosen_percent;
use crate::text::wrap::plain;

/// A line of advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advice {
    /// To be read.
    Sentence(String),
    /// To be copied into a shell.
    Command {
        /// What it is for.
        lead: String,
        /// The command, quoted for a shell where that is needed.
        command: String,
    },
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sentence(text) => f.write_str(text),
            Self::Command { lead, command } => write!(f, "{lead} {command}"),
        }
    }
}

/// The recommendation: what to choose, then how to set it. Empty where nothing is compared.
#[must_use]
pub fn advice(report: &Report<'_>) -> Vec<Advice> {
    let verdict = &report.table.verdict;
    // What is best for one loop is no advice for a program.
    let is_bench = report.record.header.plan.bench.is_some();
    if verdict.policies.is_empty() || report.other.is_some() || is_bench {
        return Vec::new();
    }
    match &verdict.best {
        None => vec![Advice::Sentence(
            "No recommendation: it cannot be told which policy is best.".to_owned(),
        )],
        Some(best) if *best == verdict.baseline => vec![Advice::Sentence(keep(report))],
        Some(best) => choose(report, best),
    }
}

fn keep(report: &Report<'_>) -> String {
    let verdict = &report.table.verdict;
    let open = verdict.policies.values().any(|a| *a == Answer::CannotTell);
    let rest = if open { ", as far as can be told" } else { "" };
    format!(
        "Keep {}: nothing tried is better by more than {} %{rest}.",
        plain(&verdict.baseline),
        chosen_percent(verdict.threshold)
    )
}

fn choose(report: &Report<'_>, best: &str) -> Vec<Advice> {
    let realisation = needed(report, best);
    let mut lines = vec![Advice::Sentence(format!("Best: {}.", plain(best)))];
    lines.extend(exec(report, best, &realisation));
    let means = describe(&realisation);
    if !means.is_empty() {
        let by_hand = format!("By hand: {}", means.join("; "));
        lines.push(Advice::Sentence(by_hand));
    }
    lines
}

/// Longer commands are left for the reader to put in.
const COMMAND_WIDTH: usize = 48;

/// The command that runs the workload under a policy. A name of the user's own is not what
/// `--policy` parses; the settings are.
fn exec(report: &Report<'_>, policy: &str, realisation: &Realisation) -> Option<Advice> {
    let plan = &report.record.header.plan;
    let policy = plan.policies.iter().find(|known| known.name == policy)?;
    let system = if realisation.files.is_empty() {
        ""
    } else {
        "--system "
    };
    let shell = ["/bin/sh", "-c"].map(str::to_owned);
    let lead: &[String] = if plan.shell { &shell } else { &[] };
    let words: Vec<String> = lead
        .iter()
        .chain(&plan.command)
        .map(|w| quoted(w))
        .collect();
    let words = words.join(" ");
    // The places of a service are filled in its trials alone.
    let workload = if plan.service.is_some() || words.chars().count() > COMMAND_WIDTH {
        "COMMAND"
    } else {
        &words
    };
    let settings = quoted(&policy.settings.to_string());
    Some(Advice::Command {
        lead: "Run it so:".to_owned(),
        command: format!("hugewise exec {system}--policy {settings} -- {workload}"),
    })
}

/// How a policy was reached, without what this machine did not need: clearing a switch that
/// no parent had set.
fn needed(report: &Report<'_>, policy: &str) -> Realisation {
    let header = &report.record.header;
    let mut realisation = header.realisations.get(policy).cloned().unwrap_or_default();
    if realisation.prctl == ThpPrctl::Clear && header.host.thp_disable == ThpDisable::Off {
        realisation.prctl = ThpPrctl::Leave;
    }
    realisation
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "=,.:_+-/@%".contains(c);
    if !word.is_empty() && word.chars().all(safe) {
        word.to_owned()
    } else {
        format!("'{}'", plain(word).replace('\'', "'\\''"))
    }
}

/// The means by which a policy is put in force, in plain words, in the order in which they
/// are used.
#[must_use]
pub fn describe(realisation: &Realisation) -> Vec<String> {
    let mut means: Vec<String> = prctl(realisation.prctl)
        .map(str::to_owned)
        .into_iter()
        .collect();
    means.extend(realisation.environment.iter().map(environment));
    means.extend(realisation.files.iter().map(|file| {
        format!(
            "echo {} > /{} (as root, for the whole machine)",
            quoted(&file.value),
            plain(&file.path)
        )
    }));
    means
}

fn prctl(prctl: ThpPrctl) -> Option<&'static str> {
    match prctl {
        ThpPrctl::Leave => None,
        ThpPrctl::Clear => {
            Some("prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0) before exec, should a parent have set it")
        }
        ThpPrctl::Disable => Some("prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) before exec"),
        ThpPrctl::ExceptAdvised => {
            Some("prctl(PR_SET_THP_DISABLE, 1, PR_THP_DISABLE_EXCEPT_ADVISED, 0, 0) before exec")
        }
    }
}

fn environment(change: &EnvChange) -> String {
    match change {
        EnvChange::Set { name, value } => format!("{}={}", plain(name), quoted(value)),
        EnvChange::Append {
            name,
            separator,
            value,
        } => format!(
            "append {} to {}, after `{}` when it is not empty",
            quoted(value),
            plain(name),
            plain(&separator.to_string())
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::policy::realise::FileWrite;

    #[test]
    fn means_are_said_in_order_and_can_be_pasted() {
        let realisation = Realisation {
            prctl: ThpPrctl::Disable,
            environment: vec![
                EnvChange::Set {
                    name: "A".to_owned(),
                    value: "it's".to_owned(),
                },
                EnvChange::Append {
                    name: "GLIBC_TUNABLES".to_owned(),
                    separator: ':',
                    value: "glibc.malloc.hugetlb=1".to_owned(),
                },
            ],
            files: vec![FileWrite {
                path: "sys/x".to_owned(),
                value: "always".to_owned(),
            }],
            preload: None,
        };
        let expected = [
            "prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) before exec",
            "A='it'\\''s'",
            "append glibc.malloc.hugetlb=1 to GLIBC_TUNABLES, after `:` when it is not empty",
            "echo always > /sys/x (as root, for the whole machine)",
        ];
        assert_eq!(describe(&realisation), expected);
        assert!(describe(&Realisation::default()).is_empty());
    }
}

//! What to set: the best policy, and how to apply it.

use std::fmt;

use super::Report;
use super::equals;
use crate::base::host::ThpDisable;
use crate::run::compare::Answer;
use crate::run::policy::realise::{EnvChange, Realisation, ThpPrctl, Tracer};
use crate::text::wrap::plain;

/// A line of advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advice {
    /// To be read.
    Sentence(String),
    /// To be copied into a shell, quoted where that is needed.
    Command(String),
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sentence(text) | Self::Command(text) => f.write_str(text),
        }
    }
}

/// What to choose, then how to set it. Empty where nothing is compared.
#[must_use]
pub fn advice(report: &Report<'_>) -> Vec<Advice> {
    let verdict = &report.table.verdict;
    // What is best for one loop is no advice for a program.
    let is_bench = report.record.header.plan.bench.is_some();
    if verdict.policies.is_empty() || report.other.is_some() || is_bench {
        return Vec::new();
    }
    match &verdict.best {
        Some(best) if *best != verdict.baseline => choose(report, best),
        _ => vec![Advice::Sentence(keep(report))],
    }
}

/// The baseline stays, where nothing is better.
fn keep(report: &Report<'_>) -> String {
    let verdict = &report.table.verdict;
    let baseline = plain(&verdict.baseline);
    let mut rows = report.table.comparisons.iter();
    if !rows.any(|row| row.metric == verdict.metric && row.n > 0) {
        return "No recommendation: nothing was compared.".to_owned();
    }
    let with = |wanted: &[Answer]| {
        let policies = verdict.policies.iter();
        let policies = policies.filter(|(_, answer)| wanted.contains(answer));
        let names: Vec<String> = policies.map(|(policy, _)| plain(policy)).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    if let Some(mixed) = with(&[Answer::Mixed]) {
        let record = report
            .record_path
            .as_deref()
            .map_or("RECORD".into(), quoted);
        return format!(
            "Keep {baseline}, unless rare slow runs do not matter to you. Mixed: {mixed}. To judge by \
             the usual run (typical) or the total (mean): hugewise report --judge-by typical {record}"
        );
    }
    let open = with(&[Answer::NotDecided, Answer::DependsOnOrder]);
    match open {
        None => format!("Keep {baseline}: nothing is better."),
        Some(open) => {
            format!("Keep {baseline}: nothing was shown to be better. Not decided: {open}.")
        }
    }
}

fn choose(report: &Report<'_>, best: &str) -> Vec<Advice> {
    let realisation = needed(report, best);
    let command = exec(report, best, &realisation);
    let means = describe(&realisation);
    let name = plain(best);
    let equals = equals::sentence(report);
    let word = match equals {
        Some(_) => "Recommended",
        None => "Best",
    };
    let mut lines: Vec<Advice> = equals.map(Advice::Sentence).into_iter().collect();
    lines.push(Advice::Sentence(match command {
        Some(_) => format!("{word}: {name}. Run with it:"),
        None => format!("{word}: {name}."),
    }));
    lines.extend(command);
    if !means.is_empty() {
        lines.push(Advice::Sentence(format!("By hand: {}", means.join("; "))));
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
    Some(Advice::Command(format!(
        "hugewise exec {system}--policy {settings} -- {workload}"
    )))
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
pub(super) fn quoted(word: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "=,.:_+-/@%".contains(c);
    if !word.is_empty() && word.chars().all(safe) {
        word.to_owned()
    } else {
        format!("'{}'", plain(word).replace('\'', "'\\''"))
    }
}

/// How a policy is applied by hand, in the order of the steps.
#[must_use]
pub fn describe(realisation: &Realisation) -> Vec<String> {
    let mut means: Vec<String> = prctl(realisation.prctl)
        .into_iter()
        .chain(tracer(realisation.tracer))
        .map(str::to_owned)
        .collect();
    means.extend(realisation.environment.iter().map(environment));
    means.extend(realisation.files.iter().map(|file| {
        format!(
            "echo {} > /{} (as root)",
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
            Some("prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0) before exec, if a parent set it")
        }
        ThpPrctl::Disable => Some("prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) before exec"),
        ThpPrctl::ExceptAdvised => {
            Some("prctl(PR_SET_THP_DISABLE, 1, PR_THP_DISABLE_EXCEPT_ADVISED, 0, 0) before exec")
        }
    }
}

fn tracer(tracer: Tracer) -> Option<&'static str> {
    match tracer {
        Tracer::None => None,
        Tracer::Idle => Some("madvise(MADV_NORMAL) after each large mmap, by a tracer"),
        Tracer::Huge => {
            Some("madvise(MADV_HUGEPAGE) after each large mmap: in the program, or by a tracer")
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
            "{}={} (if it is set already: append after `{}`)",
            plain(name),
            quoted(value),
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
            tracer: Tracer::Huge,
            files: vec![FileWrite {
                path: "sys/x".to_owned(),
                value: "always".to_owned(),
            }],
            preload: None,
        };
        let expected = [
            "prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) before exec",
            "madvise(MADV_HUGEPAGE) after each large mmap: in the program, or by a tracer",
            "A='it'\\''s'",
            "GLIBC_TUNABLES=glibc.malloc.hugetlb=1 (if it is set already: append after `:`)",
            "echo always > /sys/x (as root)",
        ];
        assert_eq!(describe(&realisation), expected);
        assert!(describe(&Realisation::default()).is_empty());
    }
}

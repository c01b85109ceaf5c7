//! What to set: the best policy, how to apply it, and what to run next.

use std::fmt;

use super::Report;
use super::answer::{judged, told};
use super::conclusion::{Conclusion, HugePages, can_only_be_small, conclude};
use super::equals;
use super::pages::{is_malloc_without_pages, more_huge_bytes};
use super::program_name;
use crate::base::host::ThpDisable;
use crate::base::shell;
use crate::run::compare::Answer;
use crate::run::findings::Context;
use crate::run::findings::host_cold_memory::is_for_back_to_back_runs;
use crate::run::findings::win_with_a_loss::prices;
use crate::run::policy::realise::{
    EnvChange, FileWrite, MemoryLimits, Realisation, ThpPrctl, Tracer,
};
use crate::run::policy::{Numa, Settings, environment};
use crate::text::wrap::{plain, quoted, quoted_words};

mod again;
pub(super) mod at_best;
mod by_chance;
pub(super) mod more_reach;
mod more_time;
pub(super) mod pages_alone;
mod switched_off;
mod untraced;
mod workload;

pub(super) use again::{at_rest, for_single_runs};
use workload::{with_arguments, with_own_input, workload};

/// A line of advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advice {
    /// To be read.
    Sentence(String),
    /// To be copied into a shell, quoted where that is needed.
    Command(String),
}

impl Advice {
    /// Whether it is the command by which the experiment goes on.
    pub(super) fn goes_on(&self) -> bool {
        matches!(self, Self::Command(line) if line.contains(" --continue "))
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sentence(text) | Self::Command(text) => f.write_str(text),
        }
    }
}

/// What to choose, how to set it, and what was not tried. Empty where nothing is compared.
#[must_use]
pub fn advice(report: &Report<'_>) -> Vec<Advice> {
    let verdict = &report.table.verdict;
    if verdict.policies.is_empty() || report.other.is_some() {
        return Vec::new();
    }
    if report.compares_programs() {
        return not_tried(report);
    }
    // What is best for one loop is no advice for a program.
    let is_bench = report.record.header.plan.bench.is_some();
    let mut lines = match best(report) {
        _ if is_bench => Vec::new(),
        Some(best) if *best != verdict.baseline => choose(report, best),
        _ => keep(report),
    };
    let without_tracer = match best(report) {
        // What is recommended has no tracer.
        Some(best) if *best != verdict.baseline && best != "thp=always" => Vec::new(),
        _ => again::without_tracer(report),
    };
    if !without_tracer.iter().any(|line| lines.contains(line)) {
        lines.extend(without_tracer);
    }
    if !lines.iter().any(Advice::goes_on) {
        lines.extend(again::after_interruption(report));
    }
    lines.extend(not_tried(report));
    let reads = |line| match line {
        Advice::Command(command) if measures_anew(&command) => {
            Advice::Command(with_own_input(report, command))
        }
        other => other,
    };
    lines.into_iter().map(reads).collect()
}

/// Whether a command is an experiment of its own, which needs what the first one read.
fn measures_anew(command: &str) -> bool {
    command.starts_with("hugewise run ") && !command.contains(" --continue ")
}

/// The policy to choose; `None` where it cannot be told.
pub(super) fn best<'a>(report: &'a Report<'_>) -> Option<&'a str> {
    report.table.verdict.best.as_deref()
}

/// The finding of a program that keeps huge pages from its own memory. Where no policy reaches it, more rounds, more reach
/// and other policies tell nothing more.
const SHUT_OUT: &str = "program-disables-thp";

/// The baseline stays, where nothing is better.
fn keep(report: &Report<'_>) -> Vec<Advice> {
    let verdict = &report.table.verdict;
    let baseline = plain(&verdict.baseline);
    let mut rows = report.table.comparisons.iter();
    if !rows.any(|row| row.metric == verdict.metric && row.n > 0) {
        let nothing = "No recommendation: nothing was compared.";
        return vec![Advice::Sentence(nothing.to_owned())];
    }
    let conclusion = conclude(report);
    let policy = conclusion.as_ref().and_then(|it| it.policy.as_ref());
    // One that was not in force has a reason in place of an answer.
    let reaches = policy.is_some_and(|policy| !verdict.reasons.contains_key(policy));
    if !reaches && report.findings.iter().any(|it| it.id == SHUT_OUT) {
        let stay = format!(
            "Stay with {baseline}: no policy reaches memory from which the program keeps huge pages."
        );
        let switched_off = switched_off::advice(report);
        let how = match switched_off.is_empty() {
            true => " Start it with the setting that leaves them on, and run again.",
            false => "",
        };
        let stay = Advice::Sentence(stay + how);
        return [vec![stay], switched_off].concat();
    }
    let with = |wanted: &[Answer]| {
        let mut policies = verdict.policies.values();
        policies.any(|answer| wanted.contains(answer))
    };
    let huge_pages = conclusion.as_ref().map(|it| it.huge_pages);
    // What a policy does as a whole may be open where its huge pages are not.
    let is_open = conclusion.as_ref().is_some_and(|it| {
        let answer = it.policy.as_ref().and_then(|it| verdict.policies.get(it));
        let row = it.policy.as_ref().and_then(|it| judged(report, it));
        let is_small = row.is_some_and(|row| can_only_be_small(report, &row));
        it.huge_pages == HugePages::NotDecided
            || it.beside_malloc && answer == Some(&Answer::NotDecided) && !is_small
    });
    let pages_alone = pages_alone::advice(report);
    let text = if huge_pages == Some(HugePages::NotTried) && pages_alone.is_empty() {
        return more_reach::advice(report);
    } else if with(&[Answer::Mixed]) {
        return unless_rare(report, &baseline);
    } else if with(&[Answer::NotDecided, Answer::DependsOnOrder])
        && huge_pages != Some(HugePages::DoNotMatter)
    {
        at_best::stay_for_now(report, &baseline)
    } else {
        Some(format!("Stay with {baseline}: {}.", why_stay(report)))
    };
    let mut lines: Vec<Advice> = text.map(Advice::Sentence).into_iter().collect();
    match pages_alone.is_empty() {
        true if is_open => lines.extend(more_time::advice(report)),
        _ => lines.extend(pages_alone),
    }
    lines.extend(switched_off::advice(report));
    lines
}

/// Why the baseline is the best of what was tried.
fn why_stay(report: &Report<'_>) -> String {
    let policies = &report.table.verdict.policies;
    let only = policies.iter().next().filter(|_| policies.len() == 1);
    match only {
        Some((policy, Answer::Worse)) => format!("{} is worse", plain(policy)),
        _ => "nothing that was tried is better".to_owned(),
    }
}

/// A larger share of slow runs is not rare.
const RARE: f64 = 0.25;

fn unless_rare(report: &Report<'_>, baseline: &str) -> Vec<Advice> {
    let verdict = &report.table.verdict;
    let mixed = verdict.runs.iter();
    let mixed = mixed.filter(|(policy, _)| verdict.policies.get(*policy) == Some(&Answer::Mixed));
    if let Some((policy, runs)) = mixed.max_by_key(|(_, runs)| runs.worse)
        && f64::from(runs.worse) > RARE * f64::from(runs.of)
    {
        return vec![Advice::Sentence(format!(
            "Stay with {baseline}: {} of {} runs were slower with {}.",
            runs.worse,
            runs.of,
            plain(policy)
        ))];
    }
    let record = report.word();
    let record = record.map_or("RECORD".into(), quoted);
    vec![
        Advice::Sentence(format!(
            "Stay with {baseline}, unless rare slow runs do not matter to you. To judge by the usual \
             run (typical) or the total (mean):"
        )),
        Advice::Command(format!("hugewise report --judge-by typical {record}")),
    ]
}

/// That a policy which is better is not to be set: it is there for its huge pages and made none, so that malloc's larger
/// steps are the reason, or chance, and the next experiment says which.
fn without_pages(report: &Report<'_>, best: &str) -> Option<Vec<Advice>> {
    if !is_malloc_without_pages(&Context::new(report.record, &report.table), best) {
        return None;
    }
    let stay = format!(
        "Stay with {}: {} made no page huge, so its gain has another reason, or is chance.",
        plain(&report.table.verdict.baseline),
        plain(best)
    );
    // Another policy that made pages huge is the open question.
    let of_another = more_time::advice(report);
    Some(match again::continued(report) {
        _ if !of_another.is_empty() => [vec![Advice::Sentence(stay)], of_another].concat(),
        Some(command) => vec![
            Advice::Sentence(format!("{stay} More rounds tell:")),
            Advice::Command(command),
        ],
        None => vec![Advice::Sentence(stay)],
    })
}

fn choose(report: &Report<'_>, best: &str) -> Vec<Advice> {
    if let Some(stay) = without_pages(report, best) {
        return stay;
    }
    let name = plain(best);
    let equals = equals::sentence(report);
    let mut lines: Vec<Advice> = equals.map(Advice::Sentence).into_iter().collect();
    if sets_nothing(report, best) {
        lines.push(Advice::Sentence(format!(
            "Recommended: {name}. There is nothing to set."
        )));
        return lines;
    }
    let needed = needed(report, best);
    // The command sets all of it; by hand, what all policies had is there already.
    let exec = exec(report, best, &needed);
    let (realisation, common) = apart(report, needed);
    let by_hand = by_hand(report, &realisation);
    let (scope, condition) = (scope(report, best), condition(report, best));
    let is_own = realisation.files.is_empty();
    let is_rather = is_own && condition.is_empty() && scope.is_empty();
    let rather = rather(report, &name).filter(|_| is_rather);
    let rather = rather.unwrap_or_default();
    // What else is said takes the place on the line.
    let is_short = [scope, &rather, &condition].iter().all(|it| it.is_empty());
    let reach = match (is_own, is_short) {
        (false, true) => "Machine-wide, for this run or until reboot:",
        (false, false) => "Machine-wide:",
        (true, true) => "It changes this program only:",
        (true, false) => "This program only:",
    };
    // Variables and arguments that anybody can set need no hugewise.
    let is_command = realisation.files.is_empty() && matches!(by_hand[..], [Advice::Command(_)]);
    lines.push(Advice::Sentence(format!(
        "Recommended{scope}: {name}{rather}{condition}. {reach}"
    )));
    lines.extend(exec.filter(|_| !is_command));
    lines.extend(by_hand);
    lines.extend(common.map(Advice::Sentence));
    lines.extend(by_chance::sentence(report, best).map(Advice::Sentence));
    lines.extend(untraced::advice(report, best));
    lines.extend(objection(report, best));
    lines.extend(pages_alone::advice(report));
    lines
}

fn sets_nothing(report: &Report<'_>, policy: &str) -> bool {
    let mut policies = report.record.header.plan.policies.iter();
    policies.any(|it| it.name == policy && it.settings == Settings::default())
}

/// That who makes the program advises against the huge pages that are recommended: they may know of a load that was
/// not tried.
fn objection(report: &Report<'_>, best: &str) -> Vec<Advice> {
    let gives_pages = more_huge_bytes(&Context::new(report.record, &report.table), best);
    let objection = report.against.as_ref();
    match objection.filter(|_| gives_pages.is_some_and(|it| it > 0.0)) {
        Some(objection) => vec![
            Advice::Sentence(format!("{} advises against huge pages:", plain(objection))),
            Advice::Command(format!(
                "hugewise advise -v -- {}",
                quoted(program_name(report.record))
            )),
        ],
        None => Vec::new(),
    }
}

/// More than so many characters of two names leave no room on the line.
const SHORT_NAMES: usize = 40;

/// ` rather than thp=never`: what is recommended was not shown to be better than what was not run.
fn rather(report: &Report<'_>, name: &str) -> Option<String> {
    let baseline = plain(&report.table.verdict.baseline);
    let is_short = name.chars().count() + baseline.chars().count() <= SHORT_NAMES;
    (baseline != "as-is" && is_short).then(|| format!(" rather than {baseline}"))
}

/// For which runs a policy is the one to choose.
fn scope(report: &Report<'_>, best: &str) -> &'static str {
    match is_for_back_to_back_runs(&report.findings, best) {
        true => " for back-to-back runs",
        false => "",
    }
}

/// At which price a policy is the one to choose.
fn condition(report: &Report<'_>, best: &str) -> String {
    let context = Context::new(report.record, &report.table);
    let prices = prices(&context, best).into_iter();
    let prices: Vec<String> = prices.map(|price| told(&context, price)).collect();
    let is_said_above = conclude(report).is_some_and(|it| it.policy.as_deref() == Some(best));
    match (prices.is_empty(), is_said_above) {
        (true, _) => String::new(),
        (false, true) => ", if you accept that price".to_owned(),
        (false, false) => format!(", if you accept {}", prices.join(", ")),
    }
}

/// A realisation without the settings of the machine that the baseline ran with as well, and a sentence
/// about those: they were the conditions of the experiment, not its result.
fn apart(report: &Report<'_>, mut realisation: Realisation) -> (Realisation, Option<String>) {
    let baseline = &report.table.verdict.baseline;
    let baseline = report.record.header.realisations.get(baseline);
    let (common, own): (Vec<FileWrite>, Vec<FileWrite>) = realisation
        .files
        .into_iter()
        .partition(|file| baseline.is_some_and(|it| it.files.contains(file)));
    realisation.files = own;
    let name = |file: &FileWrite| {
        let name = file.path.rsplit('/').next().unwrap_or(&file.path);
        format!("{}={}", plain(name), plain(&file.value))
    };
    let names: Vec<String> = common.iter().map(name).collect();
    let sentence = format!("Both ran with {} on the machine.", names.join(", "));
    (realisation, (!names.is_empty()).then_some(sentence))
}

/// What a missing right kept from being tried, with the command that would.
fn not_tried(report: &Report<'_>) -> Vec<Advice> {
    let header = &report.record.header;
    let Some(omission) = &header.plan.not_tried else {
        return Vec::new();
    };
    // No setting makes a page huge in a program that is smaller.
    let is_too_small =
        |it: &Conclusion| it.huge_pages == HugePages::DoNotMatter && it.policy.is_none();
    if conclude(report).is_some_and(|it| is_too_small(&it)) {
        return Vec::new();
    }
    let reason = plain(&omission.reason());
    match omission.command(&header.made_by) {
        None => vec![Advice::Sentence(format!("Not tried: {reason}."))],
        Some(command) => {
            let lead = format!("Not tried: {reason}. To try:");
            let in_words = again::with_system(report, "");
            given(lead, command, &in_words)
        }
    }
}

/// A command behind what it is for; one that is too long for a line is said in words.
pub(super) fn given(lead: String, command: String, in_words: &str) -> Vec<Advice> {
    given_within(LINE_WIDTH, lead, command, in_words)
}

/// The same for lines of this width.
fn given_within(width: usize, lead: String, command: String, in_words: &str) -> Vec<Advice> {
    if command.chars().count() > width {
        return vec![Advice::Sentence(format!("{lead} {in_words}."))];
    }
    vec![Advice::Sentence(lead), Advice::Command(command)]
}

/// A command on a line of a terminal of 80 columns.
const LINE_WIDTH: usize = 76;

/// Some commands are copied even where they take more than a line, but not two lines.
const COPIED: usize = 120;

/// The command that runs the workload under a policy, with its arguments in the workload; `None` where
/// these are all. A name of the user's own is not what `--policy` parses; the settings are.
fn exec(report: &Report<'_>, policy: &str, realisation: &Realisation) -> Option<Advice> {
    let plan = &report.record.header.plan;
    let policy = plan.policies.iter().find(|known| known.name == policy)?;
    let system = if realisation.files.is_empty() {
        ""
    } else {
        "--system "
    };
    let workload = workload(report, &policy.settings.args);
    let settings = Settings {
        args: Vec::new(),
        ..policy.settings.clone()
    };
    if settings == Settings::default() {
        return None;
    }
    let settings = quoted(&settings.to_string());
    Some(Advice::Command(format!(
        "hugewise exec {system}--policy {settings} -- {workload}"
    )))
}

/// The same without hugewise: lines to paste in their order, and a sentence on what no shell can do.
fn by_hand(report: &Report<'_>, realisation: &Realisation) -> Vec<Advice> {
    let files = realisation.files.iter().map(write).map(Advice::Command);
    let call = prctl(realisation.prctl).map(str::to_owned);
    let arguments = &realisation.arguments;
    let placed = with_arguments(report, arguments);
    let left = (placed.is_none() && !arguments.is_empty()).then(|| among_others(arguments));
    let told = call
        .into_iter()
        .chain(surroundings(realisation))
        .chain(left);
    let told = told.map(|step| Advice::Sentence(format!("By hand: {step}.")));
    let variables = environment(&realisation.environment, |_| None);
    let variables = variables.iter().map(|(name, value)| (&**name, &**value));
    let mut words = shell::environment(variables);
    let is_command = !words.is_empty() || placed.is_some();
    words.push(workload(report, arguments));
    // What a tracer does, no variable and no argument does.
    let command =
        (is_command && !realisation.is_traced()).then(|| Advice::Command(words.join(" ")));
    files.chain(command).chain(told).collect()
}

fn write(file: &FileWrite) -> String {
    shell::write(&file.path, &file.value)
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

/// How a policy is applied by hand, in the order of the steps.
#[must_use]
pub fn describe(realisation: &Realisation) -> Vec<String> {
    let mut means: Vec<String> = prctl(realisation.prctl)
        .into_iter()
        .chain(tracer(&realisation.tracer))
        .map(str::to_owned)
        .collect();
    means.extend(surroundings(realisation));
    means.extend(later(realisation));
    means.extend(realisation.environment.iter().map(variable));
    let arguments = &realisation.arguments;
    means.extend((!arguments.is_empty()).then(|| among_others(arguments)));
    let files = realisation.files.iter();
    means.extend(files.map(|file| format!("{} (as root)", write(file))));
    means
}

fn among_others(arguments: &[String]) -> String {
    format!("{} among its arguments", quoted_words(arguments))
}

/// What bounds the program's memory, and where it lies.
fn surroundings(realisation: &Realisation) -> impl Iterator<Item = String> {
    let MemoryLimits {
        max_bytes,
        high_bytes,
    } = realisation.limits;
    let max = max_bytes.map(|bytes| format!("MemoryMax={bytes}"));
    let high = high_bytes.map(|bytes| format!("MemoryHigh={bytes}"));
    let limits: Vec<String> = [max, high].into_iter().flatten().collect();
    let group = (!limits.is_empty()).then(|| {
        format!(
            "a cgroup of its own, as by systemd-run --scope -p {}",
            limits.join(" -p ")
        )
    });
    let numa = realisation.numa.as_ref().map(Numa::numactl);
    group.into_iter().chain(numa)
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

fn tracer(tracer: &Tracer) -> Option<&'static str> {
    match tracer {
        Tracer::None => None,
        Tracer::Idle => Some("madvise(MADV_NORMAL) after each large mmap, by a tracer"),
        Tracer::Huge => {
            Some("madvise(MADV_HUGEPAGE) after each large mmap: in the program, or by a tracer")
        }
        Tracer::Sites(_) => Some("madvise(2) after the mmap of each site, by a tracer"),
    }
}

/// What is made huge while the program runs.
fn later(realisation: &Realisation) -> impl Iterator<Item = String> {
    let collapse = realisation.collapse.map(|when| {
        let when = when.clause();
        format!("madvise(MADV_COLLAPSE) of memory in use {when}: in the program, or by a tracer")
    });
    let text =
        "its code in huge pages: by the program itself (node --use-largepages=on), or by a tracer";
    let text = realisation.text.map(|_| text.to_owned());
    collapse.into_iter().chain(text)
}

fn variable(change: &EnvChange) -> String {
    match change {
        EnvChange::Set { name, value } => shell::assignment(name, value),
        EnvChange::Append {
            name,
            separator,
            value,
        } => listed(name, value, "append after", *separator),
        EnvChange::Prepend {
            name,
            separator,
            value,
        } => listed(name, value, "put before it, with", *separator),
    }
}

fn listed(name: &str, value: &str, how: &str, separator: char) -> String {
    format!(
        "{} (if it is set already: {how} `{}`)",
        shell::assignment(name, value),
        plain(&separator.to_string())
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::policy::{Collapse, Text};

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
            collapse: Some(Collapse::After(std::time::Duration::from_secs(2))),
            text: Some(Text::Huge),
            arguments: vec!["-o".to_owned(), "a b".to_owned()],
            files: vec![FileWrite {
                path: "sys/x".to_owned(),
                value: "always".to_owned(),
            }],
            ..Realisation::default()
        };
        let expected = [
            "prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) before exec",
            "madvise(MADV_HUGEPAGE) after each large mmap: in the program, or by a tracer",
            "madvise(MADV_COLLAPSE) of memory in use after 2s: in the program, or by a tracer",
            "its code in huge pages: by the program itself (node --use-largepages=on), or by a tracer",
            "A='it'\\''s'",
            "GLIBC_TUNABLES=glibc.malloc.hugetlb=1 (if it is set already: append after `:`)",
            "-o 'a b' among its arguments",
            "echo always > /sys/x (as root)",
        ];
        assert_eq!(describe(&realisation), expected);
        assert!(describe(&Realisation::default()).is_empty());
    }
}

//! The next commands to run, the most useful first.

use super::circumstances::seconds;
use super::commands::with_input;
use super::doubts::STARTS;
use super::pages::{more_huge_bytes, same_huge_bytes};
use super::word::{Decision, best_end, smallness};
use super::{Work, program_name, verdict_of};
use crate::run::answer::next::{NextStep, PageReach};
use crate::run::answer::{Against, Call, Choice, Claim, ClaimId, Command, Needs, Next, When, Word};
use crate::run::cause::facts::not_reached;
use crate::run::cause::{Cause, CauseId, CauseOutcome, facts};
use crate::run::compare::medians::arm_trials;
use crate::run::compare::{Comparison, PolicyAnswer, Scale, fewest_rounds_of_single_runs};
use crate::run::metric::MetricId;
use crate::run::plan::arguments::in_line;
use crate::run::plan::{HostMemory, USUAL_TIME};
use crate::run::policy::realise::{Reach as Means, realise};
use crate::run::policy::{Omission, Policy, Settings, Thp, collapsed_later, rerun, rerun_without};
use crate::run::record::{COLD_REST, Header, Record, StopReason};
use crate::run::trial::remedy;
use crate::text::wrap::quoted;

/// No suggestion takes longer, in minutes.
const MOST_MINUTES: u64 = 60;
/// An effect of the observed size is decided once its interval is narrower by this factor.
const NARROWER: f64 = 1.3;
/// Runs of each after idle: if this many did not decide, as many again are unlikely to.
const ENOUGH_RUNS: u32 = 8;
/// Twenty rounds of the policy, the baseline and the control.
const ENOUGH_TRIALS: f64 = 60.0;
/// Flags that choose policies.
const POLICIES: [&str; 3] = ["--policy", "--matrix", "--baseline"];

/// All next steps.
pub(super) fn next(
    work: &Work<'_>,
    claims: &[Claim],
    decision: &Decision,
    choice: Option<&Choice>,
) -> Vec<Next> {
    let mut steps = Vec::new();
    let is_set = choice.is_some_and(|it| it.arm.as_deref().is_some_and(|arm| arm != work.baseline));
    if work.record().header.plan.live.is_some() {
        steps.extend(decide(work, claims, decision, is_set));
    } else if work.asks_about_pages() {
        let shut_out = !is_set && is_shut_out(work);
        steps.extend(leave_on(work).filter(|_| !is_set));
        steps.extend(pages_alone(work, claims, decision));
        steps.extend(decide(work, claims, decision, is_set).filter(|_| !shut_out));
        steps.extend(other_memory(work, decision));
        steps.extend(more_starts(work, claims, decision));
        steps.extend(judge_typical(work, decision));
        steps.extend(untraced(work, claims, choice));
        if !steps.iter().any(Next::goes_on) {
            steps.extend(after_idle(work, claims, choice));
        }
        if !shut_out {
            steps.extend(more_reach(work, decision));
        }
        steps.extend(without_mechanism(work, claims));
    }
    if !steps
        .iter()
        .any(|it: &Next| matches!(it.step, NextStep::Decide { .. }))
    {
        steps.extend(go_on(work));
    }
    steps.extend(not_tried(work));
    steps.extend(verbose(work));
    steps
}

fn step(step: NextStep, minutes: Option<u64>, command: Option<Command>) -> Next {
    Next {
        step,
        minutes,
        command,
    }
}

/// The time that would decide an open claim: of the word's policy, or of the one with the most to gain.
fn decide(work: &Work<'_>, claims: &[Claim], decision: &Decision, is_set: bool) -> Option<Next> {
    let is_open = matches!(
        decision.word,
        Word::Open | Word::TooFewRounds | Word::DependsOnOrder | Word::NotAboutPages
    );
    if is_set || !is_open {
        return None;
    }
    let of_word = || {
        let arm = decision.arm.as_deref()?;
        work.judged(arm).filter(|_| is_undecided(work, arm))
    };
    let row = most_to_gain(work).or_else(of_word)?;
    let claim = verdict_of(claims, &row.policy)?;
    more_rounds(work, &claims[claim.0], claim, &row)
}

/// Returns true if the program keeps huge pages from its memory, and no policy can change that.
fn is_shut_out(work: &Work<'_>) -> bool {
    let causes = crate::run::cause::causes(work.record(), work.table());
    let is_it = |cause: &Cause| {
        cause.id == CauseId::ProgramDisablesThp && cause.outcome == CauseOutcome::Shown
    };
    causes.iter().any(is_it) && work.table().verdict.reasons.len() == work.policies().count()
}

/// The same on other host memory, if the effect depends on what ran before.
fn other_memory(work: &Work<'_>, decision: &Decision) -> Option<Next> {
    let header = &work.record().header;
    let idle_seconds = match header.plan.host_memory {
        HostMemory::Warm => COLD_REST.as_secs(),
        HostMemory::AsIs | HostMemory::Rest(_) => 0,
    };
    let flag = match idle_seconds {
        0 => "--host-memory=warm".to_owned(),
        seconds => format!("--host-memory=rest:{seconds}s"),
    };
    let line = rerun_without(&header.made_by, &["--host-memory"], &[&flag]);
    let next = NextStep::OtherMemory { idle_seconds };
    (decision.word == Word::DependsOnOrder)
        .then(|| step(next, None, Some(with_input(header, line))))
}

/// A policy without a tracer that makes as many pages huge as the chosen one, if the choice is open.
fn untraced(work: &Work<'_>, claims: &[Claim], choice: Option<&Choice>) -> Option<Next> {
    const AS_MANY: f64 = 0.9;
    let best = choice?.arm.as_deref()?;
    let realisation = |policy: &str| work.record().header.realisations.get(policy);
    let more = more_huge_bytes(work.context, best).filter(|more| *more > 0.0)?;
    realisation(best).filter(|it| it.is_traced())?;
    let mut policies = work.policies().map(|policy| policy.name.as_str());
    let open = policies.find(|policy| {
        !work.record().header.plan.is_overhead_control(policy)
            && is_undecided(work, policy)
            && realisation(policy).is_some_and(|it| !it.is_traced() && it.files.is_empty())
            && more_huge_bytes(work.context, policy).is_some_and(|it| it >= AS_MANY * more)
    })?;
    let claim = verdict_of(claims, open)?;
    more_rounds(work, &claims[claim.0], claim, &work.judged(open)?)
}

fn is_undecided(work: &Work<'_>, arm: &str) -> bool {
    let verdict = &work.table().verdict;
    verdict.policies.get(arm) == Some(&PolicyAnswer::NotDecided)
        && !verdict.reasons.contains_key(arm)
}

/// The open policy with the most to gain, if that is at least as much as it may lose.
fn most_to_gain(work: &Work<'_>) -> Option<Comparison> {
    let plan = &work.record().header.plan;
    let open = work.policies().filter(|policy| {
        let untouched = more_huge_bytes(work.context, &policy.name) == Some(0.0);
        !plan.is_overhead_control(&policy.name) && !untouched && is_undecided(work, &policy.name)
    });
    let ends = open.filter_map(|policy| {
        let row = work.judged(&policy.name)?;
        let gain = best_end(work, &row)?.ln().abs();
        let width = row.high?.ln() - row.low?.ln();
        (2.0 * gain > width).then_some((gain, row))
    });
    ends.max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, row)| row)
}

/// The command that would decide a claim, if it is not too long.
fn more_rounds(work: &Work<'_>, claim: &Claim, id: ClaimId, row: &Comparison) -> Option<Next> {
    let needs = missing_seconds(work, claim, row).filter(|_| is_of_interest(work, claim, row))?;
    let minutes = minutes(needs).max(2);
    if minutes > MOST_MINUTES {
        return Some(step(NextStep::TooLong { claim: id }, Some(minutes), None));
    }
    let command = match continued_for(work, minutes) {
        Some(command) => command,
        None => {
            let header = &work.record().header;
            let limit = format!("--max-time={minutes}m");
            with_input(header, rerun(&header.made_by, &[&limit]))
        }
    };
    Some(step(
        NextStep::Decide { claim: id },
        Some(minutes),
        Some(command),
    ))
}

/// An effect within the threshold is not worth waiting for.
fn is_of_interest(work: &Work<'_>, claim: &Claim, row: &Comparison) -> bool {
    let threshold = work.table().verdict.threshold.ln_1p();
    too_few(claim).is_some()
        || row.low.is_none()
        || row.ratio.is_none_or(|ratio| ratio.ln().abs() > threshold)
}

/// The factor by which more rounds are needed, if there are too few to decide anything.
fn too_few(claim: &Claim) -> Option<f64> {
    match claim.call {
        Call::Open(Needs {
            fewest_rounds: Some(needed),
            ..
        }) => Some(f64::from(needed + 1) / f64::from(claim.rounds.max(1))),
        _ => None,
    }
}

/// Duration of the missing rounds in seconds: an interval narrows with the square root of the rounds.
fn missing_seconds(work: &Work<'_>, claim: &Claim, row: &Comparison) -> Option<f64> {
    let by_width = || {
        let (low, high) = row
            .low
            .zip(row.high)
            .filter(|_| row.scale == Scale::Ratio)?;
        let half = (high / low).ln() / 2.0;
        let wanted = row
            .ratio?
            .ln()
            .abs()
            .max(work.table().verdict.threshold.ln_1p());
        Some((NARROWER * half / wanted).powi(2))
    };
    // Two single runs a round have no interval before the fewest rounds that can decide.
    let by_count = || {
        let of_single_runs = row.baseline != work.table().verdict.baseline;
        let needed = f64::from(fewest_rounds_of_single_runs() + 1);
        (of_single_runs && row.n > 0).then(|| needed / f64::from(row.n))
    };
    let factor = too_few(claim).or_else(by_width).or_else(by_count)?;
    Some(seconds(work.record())? * (factor - 1.0).max(1.0))
}

/// The command that continues an experiment.
fn continued(work: &Work<'_>) -> Option<String> {
    let verb = work.record().header.made_by.get(1);
    let path = work.word().filter(|_| verb.is_some_and(|it| it == "run"));
    path.map(|path| format!("hugewise run --continue {}", quoted(path)))
}

/// The same for a given time.
fn continued_for(work: &Work<'_>, minutes: u64) -> Option<Command> {
    let command = continued(work)?;
    Some(Command::new(format!("{command} --max-time {minutes}m")))
}

/// Starts that show whether the effect on the judged metric generalises beyond the measured processes. The rounds of
/// one start give no evidence about that, however many there are.
fn more_starts(work: &Work<'_>, claims: &[Claim], decision: &Decision) -> Option<Next> {
    let arm = decision.arm.as_deref()?;
    let is_it = |claim: &Claim| {
        claim.contrast.arm == arm
            && claim.contrast.metric == work.table().verdict.metric
            && matches!(claim.contrast.when, When::PerStart(_))
    };
    let at = claims.iter().position(is_it)?;
    let known = claims[at].rounds;
    let starts = match claims[at].call {
        Call::Open(needs) => needs.starts.unwrap_or(STARTS).max(STARTS),
        _ => return None,
    };
    let missing = starts.checked_sub(known).filter(|it| *it > 0)?;
    let each = seconds(work.record())? / f64::from(known.max(1));
    let minutes = minutes(each * f64::from(missing)).max(1);
    let command = continued_for(work, minutes).filter(|_| minutes <= MOST_MINUTES);
    let claim = ClaimId(at);
    Some(step(
        NextStep::MoreStarts { claim, starts },
        Some(minutes),
        command,
    ))
}

fn go_on(work: &Work<'_>) -> Option<Next> {
    let end = work.record().end.as_ref();
    let is_cut = end.is_some_and(|end| end.reason == StopReason::Interrupted);
    let has_trials = work.record().header.plan.live.is_none();
    let command = continued(work).filter(|_| is_cut && has_trials)?;
    Some(step(NextStep::Continue, None, Some(Command::new(command))))
}

/// Runs after idle that were not measured, or did not decide.
fn after_idle(work: &Work<'_>, claims: &[Claim], choice: Option<&Choice>) -> Option<Next> {
    let choice = choice?;
    let arm = choice.arm.as_deref().filter(|arm| *arm != work.baseline)?;
    let is_idle = |claim: &&Claim| {
        matches!(claim.contrast.when, When::AfterIdle(_)) && claim.contrast.arm == arm
    };
    let known = claims.iter().find(is_idle);
    let rested = facts::rested(work.record(), work.baseline, arm)?;
    if rested.is_longer() || rested.is_shorter() {
        return None;
    }
    let runs = known.map_or(0, |claim| claim.rounds);
    let time = work
        .record()
        .time_of_more_cold_trials(arm)
        .filter(|_| runs < ENOUGH_RUNS);
    let next = NextStep::AfterIdle {
        arm: arm.to_owned(),
    };
    if let (Some(time), Some(command)) = (time, continued(work)) {
        let minutes = minutes(time.max(USUAL_TIME).as_secs_f64());
        return Some(step(next, Some(minutes), Some(Command::new(command))));
    }
    Some(measured_after_idle(work, arm, next))
}

fn minutes(seconds: f64) -> u64 {
    (seconds / 60.0).ceil() as u64
}

/// A separate experiment with all runs after idle.
fn measured_after_idle(work: &Work<'_>, arm: &str, next: NextStep) -> Next {
    let header = &work.record().header;
    let wall = work
        .context
        .medians
        .get(arm, MetricId::WallSeconds)
        .unwrap_or(0.0);
    let minutes = minutes((wall + COLD_REST.as_secs_f64()) * ENOUGH_TRIALS);
    let rest = format!("--host-memory=rest:{}s", COLD_REST.as_secs());
    let limit = format!("--max-time={minutes}m");
    let plan = &header.plan;
    let mut policies = plan.policies.iter();
    let is_usual = plan.policies[plan.baseline_index()].settings == Settings::default();
    let own = policies.find(|it| it.name == arm).filter(|_| is_usual);
    let own = own.map(|policy| format!("--policy={}", policy.settings));
    let flags: Vec<&str> = own
        .iter()
        .map(String::as_str)
        .chain([rest.as_str(), limit.as_str()])
        .collect();
    let left_out: &[&str] = match own {
        Some(_) => &["--host-memory", "--policy", "--matrix"],
        None => &["--host-memory"],
    };
    let line = rerun_without(&header.made_by, left_out, &flags);
    step(next, Some(minutes), Some(with_input(header, line)))
}

/// Judge by the typical run, if the slow runs are rare.
fn judge_typical(work: &Work<'_>, decision: &Decision) -> Option<Next> {
    let word = work.word().map_or("RECORD".into(), quoted);
    let goes_both_ways = matches!(decision.word, Word::RareSlow | Word::Mixed);
    goes_both_ways.then(|| {
        let line = format!("hugewise report --judge-by typical {word}");
        step(NextStep::JudgeTypical, None, Some(Command::new(line)))
    })
}

/// The same settings with small pages, for a policy that changes more than pages, or more rounds of both.
fn pages_alone(work: &Work<'_>, claims: &[Claim], decision: &Decision) -> Option<Next> {
    let arm = decision
        .arm
        .as_deref()
        .filter(|_| decision.word == Word::NotAboutPages)?;
    let header = &work.record().header;
    let mut policies = header.plan.policies.iter();
    let policy = policies.find(|it| it.name == arm && it.settings.thp.is_none())?;
    if more_huge_bytes(work.context, arm) == Some(0.0) {
        return None;
    }
    let is_alone = |claim: &Claim| {
        claim.contrast.arm == arm
            && matches!(claim.contrast.against, Against::SmallPagesSameMalloc(_))
    };
    if let Some(at) = claims.iter().position(is_alone) {
        let row = work
            .table()
            .pages_alone
            .iter()
            .find(|it| it.comparison.policy == arm)?;
        let more = more_rounds(work, &claims[at], ClaimId(at), &row.comparison);
        return more.filter(|_| claims[at].call.is_open());
    }
    let small = Settings {
        thp: Some(Thp::Never),
        ..policy.settings.clone()
    };
    // A malloc with small pages is dropped once its question is answered, unless it has a baseline.
    let baseline = work.context.settings(work.baseline);
    let settings = match policy.settings.malloc_alone() {
        Some(_) => vec![&baseline, &policy.settings, &small],
        None => vec![&small, &policy.settings],
    };
    let flags: Vec<String> = settings.iter().map(|it| format!("--policy={it}")).collect();
    let words: Vec<&str> = flags.iter().map(String::as_str).collect();
    let line = rerun_without(&header.made_by, &POLICIES, &words);
    let next = NextStep::PagesAlone {
        arm: arm.to_owned(),
    };
    let minutes = experiment_minutes(work, settings.len());
    Some(step(next, Some(minutes), Some(with_input(header, line))))
}

/// Approximate duration of an experiment with so many policies, if its trials take as long as these did.
fn experiment_minutes(work: &Work<'_>, policies: usize) -> u64 {
    let trials = work.record().trials.len().max(1) as f64;
    let trial = seconds(work.record()).unwrap_or(0.0) / trials;
    let round = trial * (policies + 1) as f64;
    let needed = round * f64::from(fewest_rounds_of_single_runs());
    minutes(needed.max(USUAL_TIME.as_secs_f64()))
}

/// The setting that keeps huge pages enabled in a program that disables them.
fn leave_on(work: &Work<'_>) -> Option<Next> {
    let header = &work.record().header;
    let reasons = &work.table().verdict.reasons;
    let found = header.plan.policies.iter().find_map(|policy| {
        reasons.get(&policy.name)?;
        let mut acts =
            arm_trials(work.record(), &policy.name).filter_map(|it| it.read_back.own_act());
        let program = acts.next()?.process().name.clone();
        let settings = left_on(&policy.settings, &program)?;
        policy.settings.args.is_empty().then_some(settings)
    })?;
    if !has_place(header, &found.args) {
        return None;
    }
    let line = rerun_without(&header.made_by, &POLICIES, &[&format!("--policy={found}")]);
    let next = NextStep::TryPolicy {
        policy: found.to_string(),
        because: PageReach::LeavesOn,
    };
    Some(step(
        next,
        Some(experiment_minutes(work, 2)),
        Some(with_input(header, line)),
    ))
}

/// The settings with the arguments that keep huge pages enabled in a program, if they are known.
fn left_on(settings: &Settings, program: &str) -> Option<Settings> {
    let arguments = remedy(program)?.split(' ').map(str::to_owned);
    Some(Settings {
        args: arguments.collect(),
        ..settings.clone()
    })
}

/// Returns true if the workload has a position for these arguments: a shell line may consist of several commands.
fn has_place(header: &Header, arguments: &[String]) -> bool {
    let fits = |line: &String| in_line(line, arguments).is_ok();
    !header.plan.shell || header.plan.command.iter().all(fits)
}

/// A policy that may affect pages that no other one did.
fn more_reach(work: &Work<'_>, decision: &Decision) -> Vec<Next> {
    let unreached = matches!(decision.word, Word::SamePages | Word::CouldNotTry);
    if !unreached || decision.arm.is_some() || smallness(work).is_some() {
        return Vec::new();
    }
    let header = &work.record().header;
    let try_it = |because, flag: &str, policy: &str| {
        let next = NextStep::TryPolicy {
            policy: policy.to_owned(),
            because,
        };
        step(
            next,
            None,
            Some(with_input(header, rerun(&header.made_by, &[flag]))),
        )
    };
    if same_huge_bytes(work.context).is_some() {
        return vec![try_it(
            PageReach::SmallPages,
            "--policy=thp=never",
            "thp=never",
        )];
    }
    let mut steps = Vec::new();
    if header.plan.not_tried.is_none() {
        steps.extend(
            other_policy(work.record())
                .map(|(because, flag, policy)| try_it(because, &flag, &policy)),
        );
    }
    if let Some(own) = own_setting(work) {
        steps.push(try_it(
            PageReach::OwnSetting,
            &format!("--policy={own}"),
            &own.to_string(),
        ));
    }
    steps
}

/// The program's setting, if it was not tried and is not in its command.
fn own_setting<'a>(work: &Work<'a>) -> Option<&'a Policy> {
    let header = &work.record().header;
    let policy = work.source.beside.own_setting.as_ref()?;
    let is_there = crate::run::plan::arguments::holds(&header.plan.command, &policy.settings.args);
    let is_told = header.fills_arguments() && !policy.settings.args.is_empty();
    let is_tried = header.realisations.contains_key(&policy.name);
    (!is_there && !is_told && !is_tried && has_place(header, &policy.settings.args))
        .then_some(policy)
}

fn other_policy(record: &Record) -> Option<(PageReach, String, String)> {
    let header = &record.header;
    let mut policies = header.plan.policies.iter();
    // It reaches all private memory: if it found nothing, no other setting does.
    if policies.clone().any(|it| it.settings.collapse.is_some()) {
        return None;
    }
    let later = collapsed_later();
    // An obstacle for one tracer is one for the other.
    let mut names = policies.clone().map(|it| &it.name);
    let is_closed = names.any(|name| not_reached(record, name).is_some());
    if !is_closed && realise(&later, &header.host, Means::Process).is_ok() {
        return Some((
            PageReach::Collapse,
            format!("--policy={later}"),
            later.to_string(),
        ));
    }
    let mut realisations = header.realisations.values();
    if realisations.any(|realisation| !realisation.tracer.is_none()) {
        return Some((
            PageReach::System,
            "--system".to_owned(),
            "thp=always".to_owned(),
        ));
    }
    let has_no_malloc = policies.all(|policy| policy.settings.malloc.is_none());
    has_no_malloc.then(|| {
        (
            PageReach::Allocator,
            "--policy=malloc=thp".to_owned(),
            "malloc=thp".to_owned(),
        )
    })
}

/// The same policy by the system-wide setting, if its tracer or library has a cost or it is open.
fn without_mechanism(work: &Work<'_>, claims: &[Claim]) -> Option<Next> {
    let header = &work.record().header;
    let best = work.table().verdict.best.as_deref();
    if best.is_some_and(|best| best != work.baseline && best != "thp=always") {
        return None;
    }
    let control = header.plan.policies.iter().find(|it| it.is_idle_means())?;
    let cost = verdict_of(claims, &control.name).map(|id| &claims[id.0])?;
    let untouched = more_huge_bytes(work.context, "thp=always") == Some(0.0);
    let is_open = is_undecided(work, "thp=always") && !untouched;
    if !is_open && !cost.call.is_shown() {
        return None;
    }
    let traced = Omission::of(vec!["thp=always".to_owned()], &header.host, Means::Process)?;
    let line = traced.command(&header.made_by)?;
    let always = Settings {
        thp: Some(Thp::Always),
        ..Settings::default()
    };
    let line = match left_on(&always, program_name(work.record())) {
        Some(settings) => {
            let flag = format!("--policy={settings}");
            rerun_without(&header.made_by, &POLICIES, &["--system", &flag])
        }
        None => line,
    };
    let next = NextStep::WithoutMechanism {
        arm: "thp=always".to_owned(),
    };
    Some(step(next, None, Some(as_root(with_input(header, line)))))
}

fn as_root(command: Command) -> Command {
    Command {
        as_root: true,
        machine_wide: true,
        ..command
    }
}

/// Policies not tried because of a missing permission.
fn not_tried(work: &Work<'_>) -> Option<Next> {
    let header = &work.record().header;
    let omission = header.plan.not_tried.as_ref()?;
    if work.asks_about_pages() && smallness(work).is_some() {
        return None;
    }
    let line = omission.command(&header.made_by);
    let next = NextStep::TryPolicies {
        policies: omission.policies.clone(),
        impossible: line.is_none(),
    };
    let command = line.map(|line| as_root(with_input(header, line)));
    Some(step(next, None, command))
}

/// The full report.
fn verbose(work: &Work<'_>) -> Option<Next> {
    let beside = work.source.beside;
    let quote = |paths: &[String]| paths.iter().map(|path| quoted(path)).collect();
    let names: Vec<String> = match (work.records_a_side(), work.source.other) {
        (Some(_), _) => {
            let [before, after] = beside
                .sides
                .each_ref()
                .map(|side| -> Vec<String> { quote(side) });
            [before, vec!["--against".to_owned()], after].concat()
        }
        (None, Some(_)) => quote(&beside.paths),
        (None, None) => work.word().map(quoted).into_iter().collect(),
    };
    let line = format!("hugewise report -v {}", names.join(" "));
    (!names.is_empty()).then(|| step(NextStep::Verbose, None, Some(Command::new(line))))
}

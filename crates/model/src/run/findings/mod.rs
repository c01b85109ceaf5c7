//! Why: rules that recognise a cause from the record, or say that they cannot.
//!
//! One file per rule. Each opens with what it claims, its evidence, what would refute it and
//! where to look next. A rule speaks of medians over successful trials, of differences in seconds
//! by means over paired rounds, and claims the cause of a difference only where the comparison is
//! decided.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::run::compare::Table;
use crate::run::record::Record;

mod alone;
mod arrival;
pub(crate) mod context;
mod coverage;

mod cheaper_walks;
mod collapsed_later;
mod copy_on_write_after_fork;
mod cost_moved_to_the_start;
mod equal_coverage;
mod fewer_faults_explain_gain;
mod heap_grew_in_steps;
pub(super) mod host_cold_memory;
mod huge_allocation_fell_back;
mod huge_code;
mod khugepaged_filled_gaps;
mod khugepaged_had_no_time;
mod load_was_the_limit;
mod made_huge;
mod means;
mod memory_bloat;
mod memory_limit_reached;
mod once_and_lasting;
mod paired;
mod policy_had_no_effect;
mod policy_not_applied;
mod pool_not_used;
mod program_disables_thp;
mod reached_by_preloading;
mod reached_by_tracing;
mod read_first_zero_page;
pub(super) mod rested_runs;
mod run_too_noisy;
mod slow_requests_stalled;
mod stalls_explain_loss;
mod taken_by_chance;
mod thread_stacks_grew;
mod translation;
mod user_time_fell;
mod where_the_time_went;
pub(crate) mod win_with_a_loss;
mod workload_too_short;
mod zeroing_ate_the_gain;

pub use context::{Context, Evidence};
pub(crate) use where_the_time_went::{signed, time_parts};

/// Every rule, in the order in which their findings are listed: first whether huge pages could reach
/// the program at all and the experiment can be believed, then whether the policies did anything and what a win costs, then causes, then
/// other costs.
pub static RULES: &[&dyn Rule] = &[
    &program_disables_thp::ProgramDisablesThp,
    &run_too_noisy::RunTooNoisy,
    &workload_too_short::WorkloadTooShort,
    &load_was_the_limit::LoadWasTheLimit,
    &policy_not_applied::PolicyNotApplied,
    &taken_by_chance::TakenByChance,
    &reached_by_tracing::ReachedByTracing,
    &pool_not_used::PoolNotUsed,
    &memory_limit_reached::MemoryLimitReached,
    &reached_by_preloading::ReachedByPreloading,
    &collapsed_later::CollapsedLater,
    &huge_code::HugeCode,
    &policy_had_no_effect::PolicyHadNoEffect,
    &equal_coverage::EqualCoverage,
    &win_with_a_loss::WinWithALoss,
    &heap_grew_in_steps::HeapGrewInSteps,
    &user_time_fell::UserTimeFell,
    &fewer_faults_explain_gain::FewerFaultsExplainGain,
    &cheaper_walks::CheaperWalks,
    &translation::Translation,
    &zeroing_ate_the_gain::ZeroingAteTheGain,
    &stalls_explain_loss::StallsExplainLoss,
    &slow_requests_stalled::SlowRequestsStalled,
    &where_the_time_went::WhereTheTimeWent,
    &host_cold_memory::HostColdMemory,
    &huge_allocation_fell_back::HugeAllocationFellBack,
    &khugepaged_had_no_time::KhugepagedHadNoTime,
    &read_first_zero_page::ReadFirstZeroPage,
    &cost_moved_to_the_start::CostMovedToTheStart,
    &copy_on_write_after_fork::CopyOnWriteAfterFork,
    &memory_bloat::MemoryBloat,
    &khugepaged_filled_gaps::KhugepagedFilledGaps,
    &thread_stacks_grew::ThreadStacksGrew,
    &once_and_lasting::OnceAndLasting,
];

/// Figures of the evidence that are a part of a gain.
const PARTS_OF_GAIN: [&str; 3] = [
    "user_share_of_gain",
    "kernel_share_of_gain",
    "walk_share_of_gain_at_most",
];

/// What a rule says of one experiment.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Finding {
    /// Name of the rule.
    pub id: String,
    /// Policy it speaks of, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// What came out.
    pub outcome: Outcome,
    /// For people: the claim in its first sentence, then the figures that it rests on.
    pub text: String,
    /// The figures: by metric, then by policy; other figures by their own name.
    pub evidence: Map<String, Value>,
    /// What the rule claims and what would refute it.
    #[serde(skip)]
    pub explanation: &'static str,
    /// Whether the answer to the question of the experiment tells it.
    #[serde(skip)]
    pub answers: bool,
}

impl Finding {
    /// What a rule has shown of a policy.
    pub(in crate::run) fn shown<'a>(all: &'a [Self], id: &str, policy: &str) -> Option<&'a Self> {
        let mut shown = all.iter().filter(|it| it.outcome == Outcome::Shown);
        shown.find(|it| it.id == id && it.policy.as_deref() == Some(policy))
    }

    /// The part of a gain in time that it explains, where it is known: of wall time, or of cycles.
    pub(in crate::run) fn part_of_gain(&self) -> Option<f64> {
        let mut parts = PARTS_OF_GAIN.iter();
        parts.find_map(|name| self.evidence.get(*name)?.as_f64())
    }

    /// Its first sentence: the claim. What follows in the text is evidence.
    #[must_use]
    pub fn headline(&self) -> String {
        match self.text.split_once(". ") {
            Some((first, _)) => format!("{first}."),
            None => format!("{}.", self.text.trim_end_matches('.')),
        }
    }

    /// The claim without the name of the policy that it begins with.
    #[must_use]
    pub fn claim(&self) -> String {
        let headline = self.headline();
        let named = self.policy.as_deref();
        let claim = named.and_then(|policy| headline.strip_prefix(policy)?.strip_prefix(": "));
        claim.unwrap_or(&headline).to_owned()
    }
}

/// What came out of a rule. The order is that in which findings are listed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The evidence is there.
    Shown,
    /// The evidence could not be read.
    CannotTell,
    /// The evidence was looked for and is not there.
    NotShown,
}

/// A cause that can be recognised.
pub trait Rule: Sync {
    /// Its name, in kebab case.
    fn id(&self) -> &'static str;
    /// What it claims, its evidence, what would refute it and where to look next: a paragraph
    /// for people.
    fn explain(&self) -> &'static str;
    /// Whether it explains the time of a program. A trial of a bench goes through cells of its own
    /// choosing, so that its time as a whole says nothing: such rules are not asked there.
    fn explains_programs(&self) -> bool {
        true
    }
    /// Whether what it shows is the reason of an answer, and told with it.
    fn answers(&self) -> bool {
        false
    }
    /// Whether what it says rests on huge pages that a policy gave: it is not asked where the program
    /// kept them from its memory.
    fn is_about_huge_pages(&self) -> bool {
        false
    }
    /// What it says of one experiment: one finding for each policy that it has something to
    /// say about, or one for the whole.
    fn check(&self, context: &Context<'_>) -> Vec<Finding>;
}

/// What all rules say of one experiment: shown first, then what cannot be told, then what was
/// looked for and not found.
#[must_use]
pub fn judge(record: &Record, table: &Table) -> Vec<Finding> {
    judge_by(record, table, &[RULES])
}

/// The same by several lists of rules.
#[must_use]
pub fn judge_by(record: &Record, table: &Table, rules: &[&[&dyn Rule]]) -> Vec<Finding> {
    // Rules compare policies: they are asked of each program by itself.
    if !record.header.plan.programs.is_empty() {
        return Vec::new();
    }
    let context = Context::new(record, table);
    let is_bench = record.header.plan.bench.is_some();
    let asked = rules
        .iter()
        .copied()
        .flatten()
        .filter(|rule| !(is_bench && rule.explains_programs()));
    let said = asked.flat_map(|rule| {
        let findings = rule.check(&context).into_iter();
        findings.filter(|finding| !(rule.is_about_huge_pages() && is_vain(&context, finding)))
    });
    let mut findings: Vec<Finding> = said.collect();
    findings.sort_by_key(|finding| finding.outcome);
    findings
}

/// Whether the program kept huge pages from its memory under a policy of which a finding speaks.
fn is_vain(context: &Context<'_>, finding: &Finding) -> bool {
    let speaks_of = |policy: &str| {
        let named = finding.policy.as_deref();
        named.is_none_or(|named| named == policy || context.baseline() == policy)
    };
    let policies = context.policies().iter().map(|policy| &policy.name);
    policies
        .filter(|policy| speaks_of(policy))
        .any(|policy| program_disables_thp::is_shut_out(context.record, policy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_named_once_and_explained() {
        let mut seen = std::collections::BTreeSet::new();
        for rule in RULES {
            assert!(seen.insert(rule.id()), "{} twice", rule.id());
            let legal = |c: char| c.is_ascii_lowercase() || c == '-';
            assert!(rule.id().chars().all(legal), "{}", rule.id());
            let text = rule.explain();
            for part in ["Claims", "Evidence", "Refuted", "Next"] {
                assert!(text.contains(part), "{} lacks {part}", rule.id());
            }
        }
    }
}

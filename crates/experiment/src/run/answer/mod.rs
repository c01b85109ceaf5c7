//! The answer of an experiment, as data.
//!
//! `Answer` is decided once, from the record and its comparisons. `words` contains every English phrase and `screen`
//! lays out rows; both read only the answer. Text, JSON, pages, exports and `--fail-if` read this one value.
//!
//! To add an effect, add a function to `build/claims.rs`. A doubt or a next step is a variant in `doubt.rs` or `next.rs`,
//! a function in `build/`, and its words in `words/`.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::run::cause::Cause;
use crate::run::compare::Statistic;
use crate::run::plan::JudgeBy;
use crate::run::stats::Quantile;

use crate::text::Verbosity;
use crate::text::document::Document;

mod arm;
mod build;
mod cell_view;
mod choice;
mod circumstances;
mod claim;
mod doubt;
pub(crate) mod next;
mod row;
mod screen;
mod switchback;
mod verbose;
pub(in crate::run) mod words;

pub use arm::{Applied, Arm, ArmRole, Pages};
pub use build::pages::changed_no_page;
pub use build::{Beside, Source, answer, describe, program_name};
pub use cell_view::{CellRow, CellView};
pub use choice::{Choice, ChoiceScope, Command, ManualStep, Mechanism, Tie};
pub use circumstances::{Circumstances, Disturbance, Machine};
pub use claim::{
    Against, Budget, Call, Claim, ClaimId, Contrast, Covers, Effect, Interval, Needs, When,
};
pub use doubt::Doubt;
pub use next::{Next, NextStep, PageReach};
pub use row::{Cell, MetricFacts, Row};
pub use switchback::Switchback;

/// Returns the answer as a document: one screen of the given width, or everything.
///
/// Markdown and pages have no width: they pass `usize::MAX`.
#[must_use]
pub fn document(answer: &Answer, width: usize, verbosity: Verbosity) -> Document {
    match verbosity {
        Verbosity::Normal => screen::document(answer, width),
        Verbosity::Verbose => verbose::document(answer),
    }
}

/// The answer to the question of one experiment.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Answer {
    /// The measured program, or the bench, programs or records in the comparison.
    pub subject: Subject,
    /// The verdict in one word.
    pub word: Word,
    /// The claims that support the word, the most important first.
    pub headline: Vec<ClaimId>,
    /// The judged metric.
    pub judged: Judged,
    /// The policies that ran, the baseline first, then in the order of the plan.
    pub arms: Vec<Arm>,
    /// Every effect that can be claimed; [`ClaimId`] is an index into it.
    pub claims: Vec<Claim>,
    /// The readings of each arm, metric by metric.
    pub rows: Vec<Row>,
    /// Facts about each metric in a row or a claim.
    pub metrics: BTreeMap<String, MetricFacts>,
    /// The settings to choose; `None` if nothing was compared.
    pub choice: Option<Choice>,
    /// The switched memory of a running process, and how it was switched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switchback: Option<Switchback>,
    /// Causes that the record shows, excludes or cannot decide, the most important first.
    pub causes: Vec<Cause>,
    /// Reasons not to rely on the answer, the most serious first.
    pub doubts: Vec<Doubt>,
    /// The next commands to run, the most useful first.
    pub next: Vec<Next>,
    /// Where and how it was measured; two if two records are compared.
    pub circumstances: Vec<Circumstances>,
    /// The lasting effect inside the servers, from periods under load; the claims above compare whole starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside: Option<Box<Self>>,
    /// The answer for each program, if several are compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<Self>,
}

/// The subject of the measurement.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Subject {
    /// The kind of the experiment.
    pub kind: SubjectKind,
    /// The name of the program, or of the bench suite.
    pub name: String,
    /// The command, quoted for a shell.
    pub command: String,
}

/// The kind of an experiment.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum SubjectKind {
    /// A program that runs to completion.
    Program,
    /// A server under a load.
    Service,
    /// An already running process, whose memory was switched.
    Live,
    /// The loops of a bench.
    Bench,
    /// Several programs against the first.
    Programs,
    /// Two records against each other.
    Records,
}

/// The verdict in one word.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// Huge pages help.
    Help,
    /// Huge pages hurt.
    Hurt,
    /// Some runs are slower with huge pages; the typical run is the same.
    RareSlow,
    /// Some runs are better and some are worse.
    Mixed,
    /// Better after some trials, worse after others.
    DependsOnOrder,
    /// The whole interval is within the threshold.
    NoDifference,
    /// The whole interval is within three thresholds; the direction is open.
    Little,
    /// Not decided.
    Open,
    /// Fewer rounds than any decision needs.
    TooFewRounds,
    /// No policy changed the pages of the program.
    SamePages,
    /// No policy that changes pages could be tried.
    CouldNotTry,
    /// A policy that changes more than pages is better or worse; the isolated effect of its pages is undecided.
    NotAboutPages,
    /// A single policy was measured, so nothing was compared.
    Measured,
    /// The workload failed, or nothing was measured.
    Failed,
    /// Programs, records or cells are compared; each claim has its own call.
    Compared,
}

/// The metric that decides.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Judged {
    /// Name of the metric.
    pub metric: String,
    /// The judged property of its runs.
    pub property: JudgeBy,
    /// The smallest effect of interest, as a share.
    pub threshold: f64,
    /// Name of the baseline.
    pub baseline: String,
    /// The scope of the judged metric's intervals; `None` without an interval.
    pub holds_for: Option<HoldsFor>,
}

/// The scope of an interval. A single session does not predict the result of another boot.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum HoldsFor {
    /// This session on this boot.
    Session,
    /// The processes of this session, which lived for several rounds.
    Processes,
    /// Sessions, each represented by one record.
    Sessions,
}

impl Judged {
    /// Returns the judged property of a metric's sample.
    #[must_use]
    pub fn statistic(&self) -> Statistic {
        match self.property {
            JudgeBy::P95 => Statistic::Quantile(Quantile::P95),
            JudgeBy::Shape | JudgeBy::Typical | JudgeBy::Mean => Statistic::Center,
        }
    }
}

impl Answer {
    /// Creates an answer with nothing but claims, for tests of code that reads claims.
    #[cfg(test)]
    pub(crate) fn of_claims(claims: Vec<Claim>) -> Self {
        Self {
            subject: Subject {
                kind: SubjectKind::Program,
                name: "sort".to_owned(),
                command: "sort".to_owned(),
            },
            word: Word::Open,
            headline: Vec::new(),
            judged: Judged {
                metric: "wall_seconds".to_owned(),
                property: JudgeBy::Shape,
                threshold: 0.01,
                baseline: "as-is".to_owned(),
                holds_for: None,
            },
            arms: Vec::new(),
            claims,
            rows: Vec::new(),
            metrics: BTreeMap::new(),
            choice: None,
            switchback: None,
            causes: Vec::new(),
            doubts: Vec::new(),
            next: Vec::new(),
            circumstances: Vec::new(),
            inside: None,
            programs: Vec::new(),
        }
    }

    /// Returns a claim by its identifier.
    #[must_use]
    pub fn claim(&self, id: ClaimId) -> &Claim {
        &self.claims[id.0]
    }

    /// Returns true for a doubt printed to stderr even without `--strict`: one that no row shows.
    #[must_use]
    pub fn warns_of(&self, doubt: &Doubt) -> bool {
        let is_row = |arm: &str| {
            let call = self.judged_claim(arm).map(|claim| &claim.call);
            matches!(call, Some(Call::NotApplied(_)))
        };
        match doubt {
            Doubt::ControlFailed { .. } => true,
            Doubt::NotApplied { arm, .. } => !is_row(arm),
            _ => false,
        }
    }

    /// Returns a doubt as one line of text.
    #[must_use]
    pub fn doubt_text(&self, doubt: &Doubt) -> String {
        words::doubt::doubt(self, doubt)
    }

    /// Returns an arm by its name.
    #[must_use]
    pub fn arm(&self, name: &str) -> Option<&Arm> {
        self.arms.iter().find(|arm| arm.name == name)
    }

    /// Returns the identifier of the first matching claim.
    #[must_use]
    pub fn find(&self, fits: impl Fn(&Claim) -> bool) -> Option<ClaimId> {
        self.claims.iter().position(fits).map(ClaimId)
    }

    /// Returns the claim that judged an arm against the baseline, in back-to-back runs.
    #[must_use]
    pub fn judged_claim(&self, arm: &str) -> Option<&Claim> {
        self.claims.iter().find(|claim| {
            claim.budget == Budget::Verdict
                && claim.contrast.arm == arm
                && claim.contrast.against == Against::Baseline
        })
    }
}

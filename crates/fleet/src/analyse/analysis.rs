//! The answers: each arm against the control, metric by metric, and the checks before them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::detectable_effect::Bar;
use super::foresight::Basis;
use super::loss::{ALARM, Loss};
use super::questions::Asked;
use super::randomisation_test::{Lot, Shuffle, draws};
use super::rerandomise::Redrawn;
use super::scale::Scale;
use super::shares::Shares;
use super::spending::Spending;
use super::tally::{Tally, Unit};
use crate::period::{GUARDRAILS, LATENCY, better};
use crate::plan::{Moment, Plan};
use hugewise_experiment::run::compare::PolicyAnswer;
use hugewise_experiment::run::metric::Better;
use hugewise_experiment::run::stats::holm;

const SEED: u64 = 0x666c_6565;

/// How p-values are drawn where arms take turns.
pub(super) const TURNS: &str = "the order of the turns";

/// What is asked of the rows.
#[derive(Clone, Debug)]
pub struct Question {
    /// The arm that the others are compared with.
    pub control: String,
    /// The metric that decides; the first that has a direction where none is named.
    pub metric: Option<String>,
    /// Directions that the user gave.
    pub better: BTreeMap<String, Better>,
    /// Effects of less are no difference, as a share.
    pub band: f64,
    /// How the error is spent over the looks, one after each stage.
    pub spending: Spending,
    /// The plan, for its own rule; without it arms are shuffled within strata.
    pub plan: Option<Plan>,
}

impl Question {
    /// Which direction of a metric is good: what the user said, else what is known of it.
    pub(super) fn better_of(&self, metric: &str) -> Better {
        let own = self.better.get(metric).copied();
        own.unwrap_or_else(|| better(metric))
    }

    fn takes_turns(&self) -> bool {
        let plan = self.plan.as_ref();
        plan.is_some_and(|plan| plan.switchback.is_some())
    }
}

/// What the rows say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// The experiment.
    pub experiment: String,
    /// The arm that the others are compared with.
    pub control: String,
    /// Effects of less are no difference.
    pub band: f64,
    /// Error that this look may make.
    pub level: f64,
    /// Error of this look for each guardrail.
    pub harm_level: f64,
    /// The metric that decides.
    pub metric: String,
    /// How p-values were drawn.
    pub lot: &'static str,
    /// Draws of each, at most.
    pub draws: u32,
    /// What was analysed.
    pub counts: Counts,
    /// Rows that came twice, and are counted once.
    pub repeated: u64,
    /// Digests of the plan's texts.
    pub plans: Vec<String>,
    /// Units by arm.
    pub units: BTreeMap<String, u64>,
    /// p-value of these numbers under the rule of the plan; without one, of even chances for units,
    /// or for clusters where none has several arms.
    pub units_p: Option<f64>,
    /// Units whose rows name several arms although arms take no turns.
    pub crossed: u64,
    /// Periods under an arm that proved it, missed it, and could not say.
    pub proofs: Proofs,
    /// Share of the time under an arm in which its settings were in force; `None` where no row
    /// knows it.
    pub exposure: Option<f64>,
    /// The other arms.
    pub arms: Vec<ArmReport>,
}

/// What was analysed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Rows; those that came twice once.
    pub rows: u64,
    /// Units that have an arm.
    pub units: u64,
    /// Their clusters.
    pub clusters: u64,
    /// Their strata.
    pub strata: u64,
}

/// Periods of a unit under an arm, by what the agent found of the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Proofs {
    /// They were in force.
    pub proved: u64,
    /// Something else was found.
    pub missed: u64,
    /// Nobody could say.
    pub unknown: u64,
}

impl Counts {
    fn of(tally: &Tally) -> Self {
        let [clusters, strata] = tally.groups();
        Self {
            rows: tally.rows - tally.repeated,
            units: tally.units.len() as u64,
            clusters: clusters as u64,
            strata: strata as u64,
        }
    }
}

impl Proofs {
    fn of(tally: &Tally) -> Self {
        let [proved, missed, unknown] = tally.proofs;
        Self {
            proved,
            missed,
            unknown,
        }
    }
}

/// One arm against the control.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArmReport {
    /// Its name.
    pub arm: String,
    /// The answer of the metric that decides.
    pub answer: PolicyAnswer,
    /// Why it is not decided, where a check forbids an answer.
    pub reason: Option<String>,
    /// All metrics.
    pub metrics: Vec<MetricReport>,
    /// Units that ended otherwise than they should.
    pub losses: Vec<Loss>,
    /// Units in which the kernel killed a process for want of memory; `None` where no row says it.
    pub kills: Option<Loss>,
    /// Effect on untreated units that have treated ones beside them.
    pub spill_over: Vec<MetricReport>,
}

/// What one metric says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// It is better than under the control.
    Better,
    /// It is worse.
    Worse,
    /// It differs by less than the threshold.
    NoDifference,
    /// The rows do not tell.
    NotDecided,
    /// No direction of it is good: what it shows is no answer.
    Fact,
}

impl Word {
    /// The answer of an arm by this metric.
    #[must_use]
    pub fn answer(self) -> PolicyAnswer {
        match self {
            Self::Better => PolicyAnswer::Better,
            Self::Worse => PolicyAnswer::Worse,
            Self::NoDifference => PolicyAnswer::NoDifference,
            Self::NotDecided | Self::Fact => PolicyAnswer::NotDecided,
        }
    }
}

/// One metric of one arm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricReport {
    /// Its name.
    pub metric: String,
    /// What it is compared on.
    pub scale: Scale,
    /// Which direction is good.
    pub better: Better,
    /// Mean under the control; `None` on the logarithmic scale.
    pub base: Option<f64>,
    /// Share on the logarithmic scale (−0.05 is five percent less), else the difference.
    pub effect: Option<f64>,
    /// Its interval at the level of this look.
    pub interval: Option<(f64, f64)>,
    /// Standard error on the scale: of logarithms where that is `log`.
    pub error: Option<f64>,
    /// Degrees of freedom of the interval.
    pub freedom: Option<f64>,
    /// p-value of no effect, by redrawn arms.
    pub p: Option<f64>,
    /// The larger of that and Student's, after Holm over all metrics with a direction and arms.
    pub p_adjusted: Option<f64>,
    /// What it says.
    pub answer: Word,
    /// Treated and control units, of a switchback pairs.
    pub units: [u64; 2],
    /// Variance by clusters over that of independent units.
    pub design_effect: Option<f64>,
    /// Slope of the units' values on their past.
    pub slope: Option<f64>,
    /// Of a guardrail: one-sided p-value of no harm.
    pub harm_p: Option<f64>,
    /// Of a switchback: how far the turn before reaches into the next, and its p-value after Holm over
    /// all metrics.
    pub carry_over: Option<(f64, f64)>,
    /// The smallest effect that 80 of 100 such experiments find, as `effect` has it; before the
    /// start from the units' past.
    pub detectable: Option<f64>,
    /// What that rests on.
    pub detectable_by: Option<Basis>,
}

impl Analysis {
    /// Analyses what was added up.
    #[must_use]
    pub fn of(tally: &Tally, question: &Question) -> Self {
        let level = question.spending.level(tally.stage);
        let arms = arms(tally, question);
        let family = claims(tally, question, arms.len());
        let bar = Bar {
            level,
            family,
            draws: draws(level, p_values(tally, question, family)),
        };
        let began: Vec<&Unit> = tally.units.iter().filter(|unit| unit.began).collect();
        let takes_turns = question.takes_turns();
        let mut units: BTreeMap<String, u64> = BTreeMap::new();
        for unit in &tally.units {
            *units.entry(unit.arm.clone()).or_default() += 1;
        }
        let shares = match question.plan.as_ref().filter(|_| !takes_turns) {
            Some(plan) => Shares::planned(&tally.units, plan),
            None => Shares::even(&tally.units),
        };
        let (exposed, looked) = tally.exposure;
        let metric = question
            .metric
            .clone()
            .unwrap_or_else(|| first(tally, question));
        let mut analysis = Self {
            experiment: tally.experiment.clone(),
            control: question.control.clone(),
            band: question.band,
            level,
            harm_level: question.spending.harm_level(),
            metric,
            draws: bar.draws,
            lot: match (takes_turns, &question.plan) {
                (true, _) => TURNS,
                (false, Some(_)) => "the rule of the plan",
                (false, None) => "a shuffle within strata",
            },
            repeated: tally.repeated,
            counts: Counts::of(tally),
            plans: tally.plans.iter().cloned().collect(),
            units_p: (!takes_turns).then(|| shares.p()).flatten(),
            crossed: match takes_turns {
                true => 0,
                false => began.iter().filter(|unit| unit.crossed).count() as u64,
            },
            proofs: Proofs::of(tally),
            exposure: (looked > 0).then(|| exposed / looked as f64),
            arms: Vec::new(),
            units,
        };
        let lots = lots(tally, question, &arms);
        for (arm, lot) in arms.iter().zip(lots) {
            let asked = Asked {
                tally,
                question,
                arm,
                bar,
                shares: &shares,
                takes_turns,
            };
            analysis.arms.push(asked.report(lot.as_ref()));
        }
        analysis.adjust();
        analysis.answer();
        analysis
    }

    /// Holm over the metrics that can be claimed, all arms together.
    fn adjust(&mut self) {
        let metrics = self.arms.iter_mut().flat_map(|arm| &mut arm.metrics);
        let mut family: Vec<&mut MetricReport> = metrics
            .filter(|it| it.better != Better::Neither && it.p_adjusted.is_some())
            .collect();
        let raw: Vec<f64> = family.iter().filter_map(|it| it.p_adjusted).collect();
        for (report, p) in family.iter_mut().zip(holm(&raw)) {
            report.p_adjusted = Some(p);
        }
        self.adjust_carry_over();
    }

    /// Holm over all metrics: each of them can say that the washout is too short.
    fn adjust_carry_over(&mut self) {
        let metrics = self.arms.iter_mut().flat_map(|arm| &mut arm.metrics);
        let mut family: Vec<&mut f64> = metrics
            .filter_map(|it| it.carry_over.as_mut().map(|(_, p)| p))
            .collect();
        let raw: Vec<f64> = family.iter().map(|p| **p).collect();
        for (p, adjusted) in family.iter_mut().zip(holm(&raw)) {
            **p = adjusted;
        }
    }

    /// Whether most units changed their arm where arms take no turns, as far as anybody said.
    fn takes_unknown_turns(&self) -> bool {
        let units: u64 = self.units.values().sum();
        2 * self.crossed > units
    }

    fn answer(&mut self) {
        let (level, band) = (self.level, self.band);
        let ratio = self.units_p.is_some_and(|p| p < ALARM);
        let turns = self.takes_unknown_turns();
        for arm in &mut self.arms {
            for report in arm.metrics.iter_mut().chain(&mut arm.spill_over) {
                report.answer = report.word(level, band);
            }
            let lost = arm.losses.iter().find(|loss| loss.is_alarm());
            arm.reason = match lost {
                Some(loss) => Some(format!(
                    "the arms did not keep their units: {} of {} {} under {}, {} of {} under {}",
                    loss.treated[0],
                    loss.treated[1],
                    loss.what,
                    arm.arm,
                    loss.control[0],
                    loss.control[1],
                    self.control,
                )),
                None if turns => {
                    let (crossed, all) = (self.crossed, self.counts.units);
                    Some(format!(
                        "{crossed} of {all} units changed their arm; arms that take turns are \
                         compared by their plan (--plan)"
                    ))
                }
                None if ratio => {
                    Some("the arms have not the units that the plan gives them".to_owned())
                }
                None => None,
            };
            let decides = arm.metrics.iter().find(|it| it.metric == self.metric);
            arm.answer = match arm.reason {
                Some(_) => PolicyAnswer::NotDecided,
                None => decides.map_or(PolicyAnswer::NotDecided, |it| it.answer.answer()),
            };
        }
    }
}

impl MetricReport {
    /// A claim needs both: the adjusted p-value, and an interval without zero. An effect that is
    /// shown to be smaller than the threshold is none, however sure it is.
    fn word(&self, level: f64, band: f64) -> Word {
        let (Some((low, high)), Some(p)) = (self.interval, self.p_adjusted) else {
            return Word::NotDecided;
        };
        let limit = self.limit(band);
        let is_within = low > -limit && high < limit;
        match self.better {
            _ if is_within => Word::NoDifference,
            Better::Lower if p <= level && high < 0.0 => Word::Better,
            Better::Higher if p <= level && low > 0.0 => Word::Better,
            Better::Lower if p <= level && low > 0.0 => Word::Worse,
            Better::Higher if p <= level && high < 0.0 => Word::Worse,
            Better::Neither => Word::Fact,
            _ => Word::NotDecided,
        }
    }

    /// The change that is none, as `effect` has it: a share of the mean under the control.
    fn limit(&self, band: f64) -> f64 {
        match self.scale {
            Scale::Log => band,
            Scale::Plain | Scale::Share => band * self.base.unwrap_or(0.0).abs(),
        }
    }

    /// Whether a guardrail was harmed, as far as this look can say.
    #[must_use]
    pub fn is_harmed(&self, level: f64) -> bool {
        self.harm_p.is_some_and(|p| p <= level)
    }
}

fn first(tally: &Tally, question: &Question) -> String {
    let named = question
        .better
        .keys()
        .find(|it| tally.metrics.contains_key(*it));
    let usual = tally.metrics.keys().find(|metric| *metric == LATENCY);
    let judged = |metric: &&String| {
        question.better_of(metric) != Better::Neither && !GUARDRAILS.contains(&metric.as_str())
    };
    let any = || tally.metrics.keys().find(judged);
    let chosen = named.or(usual).or_else(any);
    chosen
        .or(tally.metrics.keys().next())
        .cloned()
        .unwrap_or_default()
}

fn arms(tally: &Tally, question: &Question) -> Vec<String> {
    let mut arms: Vec<String> = tally.arms();
    if let Some(plan) = &question.plan {
        arms.extend(plan.arms.iter().map(|arm| arm.name.clone()));
    }
    arms.sort();
    arms.dedup();
    arms.retain(|arm| *arm != question.control);
    arms
}

/// How many changes can be claimed.
fn claims(tally: &Tally, question: &Question, arms: usize) -> usize {
    let names = tally.metric_names();
    let claims = names.filter(|it| question.better_of(it) != Better::Neither);
    claims.count() * arms
}

/// How many p-values are corrected for one another, at most: carry-over is looked for in all metrics.
fn p_values(tally: &Tally, question: &Question, claims: usize) -> usize {
    match question.takes_turns() {
        true => tally.metric_names().count(),
        false => claims,
    }
}

/// The lot of each arm against the control. Turns have a test of their own.
fn lots<'a>(
    tally: &'a Tally,
    question: &'a Question,
    arms: &'a [String],
) -> Vec<Box<dyn Lot + 'a>> {
    let keeps_arms = |plan: &&Plan| plan.switchback.is_none();
    let Some(plan) = question.plan.as_ref().filter(keeps_arms) else {
        let shuffle = |_| Box::new(Shuffle { seed: SEED }) as Box<dyn Lot + 'a>;
        return arms.iter().map(shuffle).collect();
    };
    let now = Moment((tally.end() as i64 - 1).min(plan.until.0 - 1));
    let lots = Redrawn::of_plan(plan, &tally.units, &question.control, arms, now);
    let boxed = lots
        .into_iter()
        .map(|lot| Box::new(lot) as Box<dyn Lot + 'a>);
    boxed.collect()
}

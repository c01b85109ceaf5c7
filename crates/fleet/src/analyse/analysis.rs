//! The answers: each arm against the control, metric by metric, after some checks.

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

/// How p-values are drawn if arms take turns.
pub(super) const TURNS: &str = "the order of the turns";

/// The question that the analysis answers.
#[derive(Clone, Debug)]
pub struct Question {
    /// The arm that the others are compared with.
    pub control: String,
    /// The primary metric; by default the first one with a direction.
    pub metric: Option<String>,
    /// Directions chosen by the user.
    pub better: BTreeMap<String, Better>,
    /// Smaller effects count as no difference, as a share.
    pub band: f64,
    /// How the error is spent over the looks, one after each stage.
    pub spending: Spending,
    /// The plan, whose assignment rule is used. Without it arms are shuffled within strata.
    pub plan: Option<Plan>,
}

impl Question {
    /// Returns the good direction of a metric: the user's choice, or else the known one.
    pub(super) fn better_of(&self, metric: &str) -> Better {
        let own = self.better.get(metric).copied();
        own.unwrap_or_else(|| better(metric))
    }

    fn takes_turns(&self) -> bool {
        let plan = self.plan.as_ref();
        plan.is_some_and(|plan| plan.switchback.is_some())
    }
}

/// The result of the analysis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// The experiment.
    pub experiment: String,
    /// The arm that the others are compared with.
    pub control: String,
    /// Smaller effects count as no difference.
    pub band: f64,
    /// The error that this look can spend.
    pub level: f64,
    /// The error that this look can spend for each guardrail.
    pub harm_level: f64,
    /// The primary metric.
    pub metric: String,
    /// How p-values were drawn.
    pub lot: &'static str,
    /// The maximum number of draws of each.
    pub draws: u32,
    /// The analysed data.
    pub counts: Counts,
    /// Duplicate rows, which are counted once.
    pub repeated: u64,
    /// Digests of the plan texts.
    pub plans: Vec<String>,
    /// Units by arm.
    pub units: BTreeMap<String, u64>,
    /// p-value of these numbers under the rule of the plan. Without a plan, under equal chances for units, or for
    /// clusters if no cluster has several arms.
    pub units_p: Option<f64>,
    /// Units whose rows name several arms although arms do not take turns.
    pub crossed: u64,
    /// Periods under an arm that proved it, missed it, or were inconclusive.
    pub proofs: Proofs,
    /// Share of the time under an arm in which its settings were active; `None` if no row has it.
    pub exposure: Option<f64>,
    /// The other arms.
    pub arms: Vec<ArmReport>,
}

/// The analysed data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Rows, without duplicates.
    pub rows: u64,
    /// Units that have an arm.
    pub units: u64,
    /// Their clusters.
    pub clusters: u64,
    /// Their strata.
    pub strata: u64,
}

/// Periods of a unit under an arm, by the settings that the agent found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Proofs {
    /// The settings of the arm were active.
    pub proved: u64,
    /// Other settings were found.
    pub missed: u64,
    /// Not known.
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
    /// The answer of the primary metric.
    pub answer: PolicyAnswer,
    /// Why there is no answer, if a check forbids one.
    pub reason: Option<String>,
    /// All metrics.
    pub metrics: Vec<MetricReport>,
    /// Units that ended abnormally.
    pub losses: Vec<Loss>,
    /// Units in which the kernel OOM-killed a process; `None` if no row reports it.
    pub kills: Option<Loss>,
    /// Effect on untreated units in clusters with treated ones.
    pub spill_over: Vec<MetricReport>,
}

/// The answer of one metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// Better than under the control.
    Better,
    /// Worse.
    Worse,
    /// The difference is smaller than the threshold.
    NoDifference,
    /// Not decided by the rows.
    NotDecided,
    /// No direction of the metric is good, so its change is not an answer.
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
    /// The scale of the comparison.
    pub scale: Scale,
    /// The good direction.
    pub better: Better,
    /// Mean under the control; `None` on the logarithmic scale.
    pub base: Option<f64>,
    /// A share on the logarithmic scale (−0.05 is 5 % less), otherwise the difference.
    pub effect: Option<f64>,
    /// Its interval at the level of this look.
    pub interval: Option<(f64, f64)>,
    /// Standard error on the scale: of logarithms if the scale is `log`.
    pub error: Option<f64>,
    /// Degrees of freedom of the interval.
    pub freedom: Option<f64>,
    /// p-value of no effect, by re-randomisation.
    pub p: Option<f64>,
    /// The larger of this and Student's p-value, Holm-adjusted over all metrics with a direction and all arms.
    pub p_adjusted: Option<f64>,
    /// The answer.
    pub answer: Word,
    /// Treated and control units; for a switchback, pairs.
    pub units: [u64; 2],
    /// The variance by clusters over the variance of independent units.
    pub design_effect: Option<f64>,
    /// Slope of the values on the pre-period values of the units.
    pub slope: Option<f64>,
    /// One-sided p-value of no harm, for a guardrail.
    pub harm_p: Option<f64>,
    /// Carry-over of a switchback from one turn into the next, and its p-value, Holm-adjusted over all metrics.
    pub carry_over: Option<(f64, f64)>,
    /// The smallest effect that 80 of 100 such experiments find, in the form of `effect`; before the start, from
    /// pre-period values.
    pub detectable: Option<f64>,
    /// The basis of that forecast.
    pub detectable_by: Option<Basis>,
}

impl Analysis {
    /// Analyses a tally.
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

    /// Holm's correction over the metrics that can be claimed, all arms together.
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

    /// Holm's correction over all metrics, because each of them can show that the washout is too short.
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

    /// Returns true if most units changed their arm, and the plan is not known to have turns.
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
    /// A claim needs both the adjusted p-value and an interval without zero. An effect within the threshold is no
    /// difference, however certain it is.
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

    /// The threshold for no difference, in the form of `effect`: a share of the mean under the control.
    fn limit(&self, band: f64) -> f64 {
        match self.scale {
            Scale::Log => band,
            Scale::Plain | Scale::Share => band * self.base.unwrap_or(0.0).abs(),
        }
    }

    /// Returns true if this look shows harm to a guardrail.
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

/// The number of changes that can be claimed.
fn claims(tally: &Tally, question: &Question, arms: usize) -> usize {
    let names = tally.metric_names();
    let claims = names.filter(|it| question.better_of(it) != Better::Neither);
    claims.count() * arms
}

/// The maximum number of p-values that are corrected together. Carry-over is tested in all metrics.
fn p_values(tally: &Tally, question: &Question, claims: usize) -> usize {
    match question.takes_turns() {
        true => tally.metric_names().count(),
        false => claims,
    }
}

/// The randomisation of each arm against the control. Turns have a separate test.
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

//! One arm against the control: each metric, lost units, and spill-over.

use std::collections::BTreeSet;

use super::analysis::{ArmReport, MetricReport, Question, Word};
use super::detectable_effect::{Bar, Expected, detectable};
use super::estimate::{Estimate, interval};
use super::foresight::{Basis, foresee};
use super::loss::Loss;
use super::randomisation_test::{Lot, Shuffle, randomisation_p};
use super::scale::Scale;
use super::shares::Shares;
use super::switchback::{self, Pairs, pairs};
use super::tally::{Tally, Time, Unit};
use crate::Ending;
use crate::period::{GUARDRAILS, OOM_KILLS};
use crate::unit::UnitKind;
use hugewise_experiment::run::compare::PolicyAnswer;
use hugewise_experiment::run::stats::holm;

const SPILL_OVER_SEED: u64 = 0x7370_696c;

/// One arm, with the question.
pub(super) struct Asked<'a> {
    pub(super) tally: &'a Tally,
    pub(super) question: &'a Question,
    pub(super) arm: &'a str,
    pub(super) bar: Bar,
    pub(super) shares: &'a Shares,
    pub(super) takes_turns: bool,
}

impl Asked<'_> {
    pub(super) fn report(&self, lot: &dyn Lot) -> ArmReport {
        let metrics = self.tally.metrics.keys();
        let metrics = metrics.map(|metric| match self.takes_turns {
            true => self.by_pairs(metric),
            false => self.by_units(metric, lot),
        });
        ArmReport {
            arm: self.arm.to_owned(),
            answer: PolicyAnswer::NotDecided,
            reason: None,
            metrics: metrics.collect(),
            losses: self.losses(),
            kills: self.kills(),
            spill_over: self.spill_over(),
        }
    }

    /// The side of a unit: true for the treated arm, false for the control, `None` for any other.
    fn side(&self, unit: &Unit) -> Option<bool> {
        match unit.arm.as_str() {
            arm if arm == self.arm => Some(true),
            arm if arm == self.question.control => Some(false),
            _ => None,
        }
    }

    fn by_units(&self, metric: &str, lot: &dyn Lot) -> MetricReport {
        let sample = self
            .tally
            .sample(metric, Time::During, |unit| self.side(unit));
        let estimate = sample.estimate();
        let mut report = self.blank(metric);
        if let Some(estimate) = &estimate {
            let p = randomisation_p(&sample, lot, self.bar.draws);
            report.take(estimate, p, self.bar.level);
            report.compare_with(sample.untreated());
            let guards = GUARDRAILS.contains(&metric);
            report.harm_p = guards.then(|| harm_p(estimate, p)).flatten();
        }
        let scattered = estimate.filter(|it| it.error > 0.0);
        let result = scattered.map(|it| (it, Basis::Result));
        let past = || foresee(self.tally, metric, |unit| self.side(unit));
        let forecast = if estimate.is_some() { result } else { past() };
        report.promise(
            forecast.map(|(it, basis)| (Expected::from(&it), basis)),
            self.bar,
        );
        report
    }

    fn by_pairs(&self, metric: &str) -> MetricReport {
        let mut report = self.blank(metric);
        let arms = [self.question.control.as_str(), self.arm];
        let found = pairs(self.tally, metric, arms, self.bar.draws);
        if let Some(found) = &found {
            report.take_pairs(found, self.bar.level);
        }
        let forecast = match found {
            Some(found) => found.again().zip(Some(Basis::Result)),
            None => self.foresee_turns(metric).zip(Some(Basis::Turns)),
        };
        let forecast = forecast.filter(|(it, _)| switchback::has_enough_pairs(it, self.bar));
        report.promise(forecast, self.bar);
        report
    }

    /// The forecast from pre-period values for all planned pairs of turns.
    fn foresee_turns(&self, metric: &str) -> Option<Expected> {
        let plan = self.question.plan.as_ref()?;
        switchback::foresee(self.tally, metric, plan.turns()?.pairs(plan.until))
    }

    /// Compares units of the control arm: those in clusters with treated units against the others.
    fn spill_over(&self) -> Vec<MetricReport> {
        let side = |unit: &Unit| {
            let is_control = unit.arm == self.question.control;
            unit.saturation
                .filter(|_| is_control)
                .map(|share| share > 0.0)
        };
        let report = |metric: &String| {
            let sample = self.tally.sample(metric, Time::During, side);
            let estimate = sample.estimate()?;
            let mut report = self.blank(metric);
            let shuffle = Shuffle {
                seed: SPILL_OVER_SEED,
            };
            report.take(
                &estimate,
                randomisation_p(&sample, &shuffle, self.bar.draws),
                self.bar.level,
            );
            report.compare_with(sample.untreated());
            Some(report)
        };
        let mut found: Vec<_> = self.tally.metrics.keys().filter_map(report).collect();
        let raw: Vec<f64> = found
            .iter()
            .map(|it| it.p_adjusted.unwrap_or(1.0))
            .collect();
        for (report, p) in found.iter_mut().zip(holm(&raw)) {
            report.p_adjusted = Some(p);
        }
        found
    }

    fn losses(&self) -> Vec<Loss> {
        let end = self.tally.end();
        let ended = |ending| move |unit: &Unit| unit.endings.contains(&ending);
        let out_of_memory = ended(Ending::OutOfMemory);
        let guardrail = ended(Ending::Guardrail);
        let mut losses = vec![
            self.loss("ran out of memory", |_, unit| out_of_memory(unit)),
            self.loss("met a guardrail", |_, unit| guardrail(unit)),
        ];
        if !self.units_end() {
            let vanished = self.loss("write no more", |_, unit| unit.has_vanished(end));
            losses.insert(0, vanished);
        }
        losses
    }

    /// Affected units by arm. A unit that never began is not lost.
    fn loss(&self, what: &'static str, happened: impl Fn(usize, &Unit) -> bool) -> Loss {
        let mut counts = [[0; 2]; 2];
        let mut lost = vec![false; self.tally.units.len()];
        for (at, unit) in self.tally.units.iter().enumerate() {
            let Some(treated) = self.side(unit).filter(|_| unit.began) else {
                continue;
            };
            lost[at] = happened(at, unit);
            let count = &mut counts[usize::from(treated)];
            count[0] += u64::from(lost[at]);
            count[1] += 1;
        }
        let [control, treated] = counts;
        let loss = Loss::new(what, treated, control).of(self.names(&lost));
        let arms = [self.arm, self.question.control.as_str()];
        match self.shares.draws_clusters() && lost.contains(&true) {
            true => match self.shares.loss_p(&lost, arms) {
                Some(p) => loss.by_clusters(self.clusters(&lost), p),
                None => loss,
            },
            false => loss,
        }
    }

    /// The names of the affected units.
    fn names(&self, lost: &[bool]) -> Vec<String> {
        let units = self.tally.units.iter().zip(lost);
        let own = units.filter(|(_, lost)| **lost);
        own.map(|(unit, _)| unit.name.clone()).collect()
    }

    /// The number of clusters with affected units.
    fn clusters(&self, lost: &[bool]) -> u64 {
        let units = self.tally.units.iter().zip(lost);
        let own = units.filter(|(_, lost)| **lost);
        let clusters: BTreeSet<usize> = own.map(|(unit, _)| unit.cluster).collect();
        clusters.len() as u64
    }

    /// Units under their arms in which the kernel OOM-killed a process. A single kill does not prove an effect, and is
    /// not random for its host either.
    fn kills(&self) -> Option<Loss> {
        let means = self.tally.metrics.get(OOM_KILLS)?;
        Some(self.loss("had OOM kills", |at, _| {
            means.get(&at).is_some_and(|it| it.during.mean > 0.0)
        }))
    }

    /// Returns true if every unit ends normally: starts of a process, and hosts that an agent visits once.
    fn units_end(&self) -> bool {
        let plan = self.question.plan.as_ref();
        let are_starts = plan.is_some_and(|plan| plan.unit == UnitKind::Start);
        are_starts || self.tally.units.iter().all(|unit| unit.periods == 1)
    }

    fn blank(&self, metric: &str) -> MetricReport {
        MetricReport {
            metric: metric.to_owned(),
            scale: self.tally.scale(metric),
            better: self.question.better_of(metric),
            base: None,
            effect: None,
            interval: None,
            error: None,
            freedom: None,
            p: None,
            p_adjusted: None,
            answer: Word::NotDecided,
            units: [0, 0],
            design_effect: None,
            slope: None,
            harm_p: None,
            carry_over: None,
            detectable: None,
            detectable_by: None,
        }
    }
}

/// One-sided p-value of no harm. Without scatter, Student's p-value is zero for any number of units, so the draws
/// decide.
fn harm_p(estimate: &Estimate, drawn: Option<f64>) -> Option<f64> {
    match estimate.error > 0.0 {
        true => Some(estimate.p_increase()),
        false if estimate.effect > 0.0 => drawn,
        false => Some(1.0),
    }
}

impl MetricReport {
    /// Adds an estimate, and its p-value by re-randomisation.
    fn take(&mut self, estimate: &Estimate, p: Option<f64>, level: f64) {
        self.size([estimate.effect, estimate.error, estimate.freedom], level);
        self.p = p;
        self.p_adjusted = p.map(|p| p.max(estimate.p()));
        self.units = estimate.units.map(|units| units as u64);
        self.design_effect = Some(estimate.design_effect);
        self.slope = Some(estimate.slope);
    }

    fn take_pairs(&mut self, found: &Pairs, level: f64) {
        self.size([found.effect, found.error, found.freedom()], level);
        self.p = Some(found.p);
        self.p_adjusted = Some(found.p);
        self.units = [found.pairs as u64; 2];
        self.compare_with(Some(found.base));
        let carried = found.carry_over.zip(found.carry_over_p);
        self.carry_over = carried.map(|(effect, p)| (self.scale.change(effect), p));
    }

    /// Adds the mean under the control, which the logarithmic scale does not need.
    fn compare_with(&mut self, base: Option<f64>) {
        self.base = base.filter(|_| self.scale != Scale::Log);
    }

    /// Adds the forecast for an expected experiment.
    fn promise(&mut self, expected: Option<(Expected, Basis)>, bar: Bar) {
        if let Some((expected, basis)) = expected
            && let Some(effect) = detectable(expected, bar)
        {
            self.detectable = Some(self.scale.change(effect));
            self.detectable_by = Some(basis);
        }
    }

    fn size(&mut self, size: [f64; 3], level: f64) {
        let [effect, error, freedom] = size;
        let (low, high) = interval(size, level);
        self.effect = Some(self.scale.change(effect));
        self.interval = Some((self.scale.change(low), self.scale.change(high)));
        self.error = Some(error);
        self.freedom = Some(freedom);
    }
}

//! One arm against the control: each metric, the units that were lost, and what spilled over.

use super::analysis::{ArmReport, MetricReport, Question};
use super::estimate::{Estimate, interval};
use super::forecast::{Bar, detectable};
use super::foresight::{Basis, foresee};
use super::lot::{Lot, Shuffle, randomisation_p};
use super::ratio::Loss;
use super::switchback::{Pairs, pairs};
use super::tally::{Tally, Time, Unit};
use crate::fleet::Ending;
use crate::fleet::period::GUARDRAILS;
use crate::fleet::unit::UnitKind;
use crate::run::compare::Answer;
use crate::run::stats::holm;

const SPILL_OVER_SEED: u64 = 0x7370_696c;

/// One arm under a question.
pub(super) struct Asked<'a> {
    pub(super) tally: &'a Tally,
    pub(super) question: &'a Question,
    pub(super) arm: &'a str,
    pub(super) bar: Bar,
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
            answer: Answer::NotDecided,
            reason: None,
            metrics: metrics.collect(),
            losses: self.losses(),
            spill_over: self.spill_over(),
        }
    }

    /// Whether a unit has the treated arm of the two.
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
            report.take(
                estimate,
                randomisation_p(&sample, lot, self.bar.draws),
                self.bar.level,
            );
            let guards = GUARDRAILS.contains(&metric);
            report.harm_p = guards.then(|| estimate.p_increase());
        }
        let result = estimate.map(|it| (it, Basis::Result));
        let forecast = result.or_else(|| foresee(self.tally, metric, |unit| self.side(unit)));
        if let Some((estimate, basis)) = forecast
            && let Some(effect) = detectable(&estimate, self.bar)
        {
            report.detectable = Some(report.scale.share(effect));
            report.detectable_by = Some(basis);
        }
        report
    }

    fn by_pairs(&self, metric: &str) -> MetricReport {
        let mut report = self.blank(metric);
        let arms = [self.question.control.as_str(), self.arm];
        if let Some(found) = pairs(self.tally, metric, arms, self.bar.draws) {
            report.take_pairs(&found, self.bar.level);
        }
        report
    }

    /// The units of the control arm: those in clusters with treated units against those without.
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
        let count = |treated: bool, happened: &dyn Fn(&Unit) -> bool| {
            let own = |unit: &&Unit| unit.began && self.side(unit) == Some(treated);
            let own: Vec<&Unit> = self.tally.units.iter().filter(own).collect();
            let lost = own.iter().filter(|unit| happened(unit)).count();
            [lost as u64, own.len() as u64]
        };
        let loss = |what, happened: &dyn Fn(&Unit) -> bool| {
            Loss::new(what, count(true, happened), count(false, happened))
        };
        let ended = |ending| move |unit: &Unit| unit.endings.contains(&ending);
        let mut losses = vec![
            loss("ran out of memory", &ended(Ending::OutOfMemory)),
            loss("met a guardrail", &ended(Ending::Guardrail)),
        ];
        if !self.units_end() {
            losses.insert(0, loss("write no more", &|unit| unit.has_vanished(end)));
        }
        losses
    }

    /// Whether units are starts of a process, of which each ends by itself.
    fn units_end(&self) -> bool {
        let plan = self.question.plan.as_ref();
        plan.is_some_and(|plan| plan.unit == UnitKind::Start)
    }

    fn blank(&self, metric: &str) -> MetricReport {
        MetricReport {
            metric: metric.to_owned(),
            scale: self.tally.scale(metric),
            better: self.question.better_of(metric),
            effect: None,
            interval: None,
            error: None,
            freedom: None,
            p: None,
            p_adjusted: None,
            answer: Answer::NotDecided,
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

impl MetricReport {
    /// Takes an estimate in, and its p-value by redrawn arms.
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
        let carried = found.carry_over.zip(found.carry_over_p);
        self.carry_over = carried.map(|(effect, p)| (self.scale.share(effect), p));
    }

    fn size(&mut self, size: [f64; 3], level: f64) {
        let [effect, error, freedom] = size;
        let (low, high) = interval(size, level);
        self.effect = Some(self.scale.share(effect));
        self.interval = Some((self.scale.share(low), self.scale.share(high)));
        self.error = Some(error);
        self.freedom = Some(freedom);
    }
}

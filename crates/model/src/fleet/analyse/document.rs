//! What an analysis says.

use super::{ALARM, Analysis, ArmUnits, Effect, Scale, Verdict};
use crate::run::compare::labels::effect_of_ratio;
use crate::text::document::{Block, Document, Paragraph, Section};
use crate::text::grid::{Align, Grid};
use crate::text::number::counted;

impl Analysis {
    /// The answer, the effects, the units of the arms, and what to know about them.
    #[must_use]
    pub fn document(&self) -> Document {
        let mut answer = Section::default();
        answer.push(Paragraph::new(self.answer()));
        for alarm in self.alarms() {
            answer.push(Paragraph::new(alarm).hang(4));
        }
        let mut tables = Section::default();
        tables.push_brief(self.effects(&|it| it.verdict != Verdict::NotDecided));
        tables.push_detail(self.effects(&|_| true));
        let mut arms = Section::default();
        arms.push(self.units());
        let mut notes = Section::default();
        notes.push(Block::Notes(self.notes()));
        Document::new([answer, tables, arms, notes])
    }

    /// What each arm changes.
    fn answer(&self) -> String {
        let arms = self.arms.iter().skip(1).map(|arm| {
            let own = self.effects.iter().filter(|it| it.arm == arm.arm);
            let shown = own.filter(|it| matches!(it.verdict, Verdict::Lower | Verdict::Higher));
            let metrics: Vec<String> = shown.map(Effect::brief).collect();
            match metrics.is_empty() {
                true => format!("{}: no effect is shown.", arm.arm),
                false => format!("{}: {}.", arm.arm, metrics.join("; ")),
            }
        });
        let arms = arms.collect::<Vec<_>>().join(" ");
        format!("{}, against {}. {arms}", self.experiment, self.arms[0].arm)
    }

    /// What makes the comparison doubtful.
    fn alarms(&self) -> Vec<String> {
        let mut alarms = Vec::new();
        if let Some(p) = self.sample_ratio_p.filter(|p| *p < ALARM) {
            alarms.push(format!(
                "Do not trust it yet: the arms do not have the numbers of units that the plan gives \
                 them (p = {p:.2e}). Find out which units write no rows, and why."
            ));
        }
        for arm in &self.arms {
            let Some(p) = arm.lost_p.filter(|p| *p < ALARM) else {
                continue;
            };
            alarms.push(format!(
                "{}: {} of {} units were stopped or fell silent, not as many as in {} (p = \
                 {p:.2e}). Units that are gone are a result, and the others are a selection.",
                arm.arm,
                arm.stopped + arm.vanished,
                arm.units,
                self.arms[0].arm,
            ));
        }
        alarms
    }

    fn effects(&self, shown: &dyn Fn(&Effect) -> bool) -> Grid {
        let heading = [
            "metric",
            "arm",
            "change",
            "interval",
            "p by rule",
            "can find",
        ];
        let right = Align::Right;
        let align = [Align::Left, Align::Left, right, right, right, right];
        let mut grid = Grid::headed(&heading).aligned(&align);
        for it in self.effects.iter().filter(|it| shown(it)) {
            grid.push([
                it.metric.clone(),
                it.arm.clone(),
                it.scale.text(it.change),
                format!("{} to {}", it.scale.text(it.low), it.scale.text(it.high)),
                format!("{:.3}", it.randomisation_p),
                it.scale.text(it.detectable),
            ]);
        }
        grid
    }

    fn units(&self) -> Grid {
        let heading = ["arm", "units", "stopped", "silent", "in force", "proved"];
        let right = Align::Right;
        let align = [Align::Left, right, right, right, right, right];
        let mut grid = Grid::headed(&heading).aligned(&align);
        for ArmUnits {
            arm,
            units,
            stopped,
            vanished,
            exposure,
            proved,
            ..
        } in &self.arms
        {
            grid.push([
                arm.clone(),
                units.to_string(),
                stopped.to_string(),
                vanished.to_string(),
                format!("{:.0} %", 100.0 * exposure),
                format!("{:.0} %", 100.0 * proved),
            ]);
        }
        grid
    }

    fn notes(&self) -> Vec<String> {
        let hidden = self
            .effects
            .iter()
            .filter(|it| it.verdict == Verdict::NotDecided)
            .count();
        let mut notes = Vec::new();
        if hidden > 0 {
            let effects = counted(hidden as u64, "effect");
            notes.push(format!("{effects} not decided; -v shows all of them."));
        }
        notes.push(format!(
            "All intervals together miss a true change in at most {:.0} % of experiments. p by rule: \
             the arms drawn again by the plan's own rule. Can find: the smallest rise that 80 of \
             100 such experiments find.",
            100.0 * self.alpha
        ));
        let adjusted = self.effects.iter().filter_map(|it| it.variance_left);
        let adjusted: Vec<f64> = adjusted.collect();
        if !adjusted.is_empty() {
            let mean = adjusted.iter().sum::<f64>() / adjusted.len() as f64;
            notes.push(format!(
                "The units' own past is taken out; {:.0} % of the variance is left on average.",
                100.0 * mean
            ));
        }
        if self.clustered {
            notes.push("Units of one cluster and arm count as one point.".to_owned());
        }
        if self.changed_arm > 0 {
            let units = counted(self.changed_arm, "unit");
            notes.push(format!(
                "{units} left out: their rows name more than one arm."
            ));
        }
        if self.plans > 1 {
            let plans = self.plans;
            notes.push(format!(
                "The rows were written under {plans} versions of the plan."
            ));
        }
        notes.extend(
            self.left_out
                .iter()
                .map(|it| format!("{} of {}: not compared: {}.", it.metric, it.arm, it.why)),
        );
        notes
    }
}

impl Effect {
    fn brief(&self) -> String {
        let [change, low, high] = [self.change, self.low, self.high].map(|it| self.scale.text(it));
        format!("{} {change} ({low} to {high})", self.metric)
    }
}

impl Scale {
    /// The word in files.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Relative => "relative",
            Self::Absolute => "absolute",
        }
    }

    fn text(self, change: f64) -> String {
        match self {
            Self::Relative => effect_of_ratio(1.0 + change),
            Self::Absolute => format!("Δ{change:+.3}").replace('-', "−"),
        }
    }
}

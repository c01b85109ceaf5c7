//! `--fail-if 'METRIC > +2%'`: a condition that fails a pipeline.
//!
//! A gate fails only if the whole interval supports it: a merely possible effect is no failure.

use std::fmt;
use std::str::FromStr;

use crate::run::answer::{Against, Answer, Claim, Covers, Effect, When};
use crate::run::compare::Statistic;
use crate::run::stats::Quantile;

/// One condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// The metric; for [`GateSubject::Interaction`], the word for it.
    pub metric: String,
    /// The subject of the condition.
    pub subject: GateSubject,
    /// The property of the metric: its centre, or the percentile after a dot, as in `latency_seconds.p99`.
    pub statistic: Statistic,
    /// The direction that fails: growth or shrinkage.
    pub direction: Direction,
    /// The largest allowed change from the baseline, as a share: 0.02 is 2 %.
    pub allowed: f64,
    text: String,
}

/// The subject of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateSubject {
    /// A metric of each policy against the baseline, or of each program against the first.
    Metric,
    /// The additional gain of a program from a policy over the first program's gain, in points.
    Interaction,
}

/// The word for [`GateSubject::Interaction`].
const INTERACTION: &str = "interaction";

/// The direction that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `>`: more than allowed fails.
    Above,
    /// `<`: less than allowed fails.
    Below,
}

/// The result of a gate for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// No policy crosses it.
    Open,
    /// The whole interval of these policies is beyond the limit.
    Closed(Vec<String>),
    /// The intervals of these policies contain the limit, or are missing.
    CannotTell(Vec<String>),
}

impl Gate {
    /// Judges every policy of the answer, or every interaction.
    #[must_use]
    pub fn judge(&self, answer: &Answer) -> Judgement {
        let (mut closed, mut unknown, mut seen) = (Vec::new(), Vec::new(), false);
        for (name, crossed) in self.verdicts(answer) {
            seen = true;
            match crossed {
                Some(true) => closed.push(name),
                Some(false) => {}
                None => unknown.push(name),
            }
        }
        if !closed.is_empty() {
            Judgement::Closed(closed)
        } else if !unknown.is_empty() || !seen {
            Judgement::CannotTell(unknown)
        } else {
            Judgement::Open
        }
    }

    /// The claims in the condition by name, each with whether it is beyond the limit.
    fn verdicts<'a>(
        &'a self,
        answer: &'a Answer,
    ) -> impl Iterator<Item = (String, Option<bool>)> + 'a {
        let claims = answer.claims.iter().filter(|claim| self.is_about(claim));
        claims.map(|claim| (claim.contrast.arm.clone(), self.crossed(claim)))
    }

    fn is_about(&self, claim: &Claim) -> bool {
        let contrast = &claim.contrast;
        let is_metric = contrast.metric == self.metric && contrast.statistic == self.statistic;
        match (self.subject, &contrast.against) {
            (GateSubject::Interaction, Against::GainOfProgram(_)) => true,
            (
                GateSubject::Metric,
                Against::Baseline | Against::Program(_) | Against::OtherRecord,
            ) => is_metric && matches!(contrast.when, When::BackToBack | When::PerRecord(_)),
            _ => false,
        }
    }

    fn crossed(&self, claim: &Claim) -> Option<bool> {
        let limit = match claim.effect? {
            Effect::Ratio(_) => 1.0 + self.allowed,
            Effect::Difference(_) => self.allowed * claim.from?,
            Effect::Points(_) => 100.0 * self.allowed,
        };
        let ends = claim.interval.filter(|it| it.covers != Covers::Range);
        self.beyond(ends.map(|it| (it.low, it.high)), limit)
    }

    /// Returns true if the whole interval is beyond the limit, false if no part of it is, and `None` otherwise.
    fn beyond(&self, interval: Option<(f64, f64)>, limit: f64) -> Option<bool> {
        let (low, high) = interval?;
        let (certainly, possibly) = match self.direction {
            Direction::Above => (low > limit, high > limit),
            Direction::Below => (high < limit, low < limit),
        };
        match (certainly, possibly) {
            (true, _) => Some(true),
            (false, false) => Some(false),
            (false, true) => None,
        }
    }
}

/// Splits a metric and the percentile after its name.
fn property(text: &str) -> (&str, Statistic) {
    let quantile = |word: &str| Quantile::ALL.into_iter().find(|it| it.word() == word);
    let found = text
        .rsplit_once('.')
        .and_then(|(metric, end)| Some((metric, Statistic::Quantile(quantile(end)?))));
    found.unwrap_or((text, Statistic::Center))
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Gate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault = || format!("`{text}` is not a condition; write METRIC > +2% or METRIC < -5%");
        let at = text.find(['<', '>']).ok_or_else(fault)?;
        let direction = if text[at..].starts_with('>') {
            Direction::Above
        } else {
            Direction::Below
        };
        let (metric, statistic) = property(text[..at].trim());
        let subject = match metric {
            INTERACTION => GateSubject::Interaction,
            _ => GateSubject::Metric,
        };
        let percent = text[at + 1..].trim().strip_suffix('%').ok_or_else(fault)?;
        let allowed: f64 = percent
            .trim()
            .replace('−', "-")
            .parse()
            .map_err(|_| fault())?;
        if metric.is_empty() || !allowed.is_finite() {
            return Err(fault());
        }
        Ok(Self {
            metric: metric.to_owned(),
            subject,
            statistic,
            direction,
            allowed: allowed / 100.0,
            text: text.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::answer::{Budget, Call, Contrast, Interval, Needs};

    fn claim(arm: &str, against: Against, effect: Effect, (low, high): (f64, f64)) -> Claim {
        Claim {
            contrast: Contrast {
                arm: arm.to_owned(),
                against,
                when: When::BackToBack,
                metric: "wall_seconds".to_owned(),
                statistic: Statistic::Center,
            },
            effect: Some(effect),
            interval: Some(Interval {
                low,
                high,
                covers: Covers::Verdict,
            }),
            from: Some(1.0),
            to: None,
            rounds: 10,
            agreeing: None,
            call: Call::Open(Needs::default()),
            budget: Budget::Verdict,
            p: None,
            warnings: Vec::new(),
        }
    }

    fn answer(low: f64, high: f64) -> Answer {
        let effect = Effect::Ratio(low.midpoint(high));
        Answer::of_claims(vec![claim(
            "thp=always",
            Against::Baseline,
            effect,
            (low, high),
        )])
    }

    #[test]
    fn a_gate_closes_only_on_the_whole_interval() {
        let gate: Gate = "wall_seconds > +2%".parse().expect("a gate");
        let always = vec!["thp=always".to_owned()];
        assert_eq!(
            gate.judge(&answer(1.03, 1.05)),
            Judgement::Closed(always.clone())
        );
        assert_eq!(
            gate.judge(&answer(1.01, 1.05)),
            Judgement::CannotTell(always)
        );
        assert_eq!(gate.judge(&answer(0.99, 1.01)), Judgement::Open);
    }

    #[test]
    fn shrinking_can_fail_too() {
        let gate: Gate = "wall_seconds < -5 %".parse().expect("a gate");
        assert!(matches!(
            gate.judge(&answer(0.80, 0.90)),
            Judgement::Closed(_)
        ));
        assert_eq!(gate.judge(&answer(0.96, 1.2)), Judgement::Open);
    }

    #[test]
    fn a_metric_that_was_not_compared_cannot_be_judged() {
        let gate: Gate = "minor_faults_total > 0%".parse().expect("a gate");
        assert_eq!(
            gate.judge(&answer(1.0, 1.0)),
            Judgement::CannotTell(Vec::new())
        );
    }

    #[test]
    fn an_interaction_is_judged_in_points() {
        let gate: Gate = "interaction < -2%".parse().expect("a gate");
        let judged = |low: f64, high: f64| {
            let against = Against::GainOfProgram("old".to_owned());
            let effect = Effect::Points(low.midpoint(high));
            let gain = claim("new with thp=always", against, effect, (low, high));
            gate.judge(&Answer::of_claims(vec![gain]))
        };
        let named = vec!["new with thp=always".to_owned()];
        assert_eq!(judged(-4.4, -2.1), Judgement::Closed(named.clone()));
        assert_eq!(judged(-4.4, -1.9), Judgement::CannotTell(named));
        assert_eq!(judged(-1.5, 3.0), Judgement::Open);
        assert_eq!(
            gate.judge(&answer(0.8, 0.9)),
            Judgement::CannotTell(Vec::new())
        );
    }

    #[test]
    fn bad_conditions_are_refused() {
        for bad in [
            "",
            "wall_seconds",
            "wall_seconds > 2",
            "> 2%",
            "x > two%",
            "x > inf%",
        ] {
            assert!(bad.parse::<Gate>().is_err(), "{bad}");
        }
    }
}

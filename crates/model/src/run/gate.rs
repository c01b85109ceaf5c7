//! `--fail-if 'METRIC > +2%'`: a condition on which a pipeline stops.
//!
//! A gate closes only when the interval says so: an effect that might be there is no failure.

use std::fmt;
use std::str::FromStr;

use crate::run::compare::{Comparison, Scale, Statistic, Table};
use crate::run::stats::Quantile;

/// One condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// The metric; of [`Subject::Interaction`] the word for it.
    pub metric: String,
    /// What it is about.
    pub subject: Subject,
    /// Which property of it: its centre, or the percentile that is named behind a dot, as in
    /// `latency_seconds.p99`.
    pub statistic: Statistic,
    /// Whether growth or shrinkage fails.
    pub direction: Direction,
    /// The change against the baseline that is still allowed, as a share: 0.02 is 2 %.
    pub allowed: f64,
    text: String,
}

/// What a condition is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A metric of each policy against the baseline, or of each program against the first.
    Metric,
    /// How many points more a program gains from a policy than the first program does.
    Interaction,
}

/// The word for [`Subject::Interaction`].
const INTERACTION: &str = "interaction";

/// Which change fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `>`: more than allowed fails.
    Above,
    /// `<`: less than allowed fails.
    Below,
}

/// What a gate says of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// No policy crosses it.
    Open,
    /// The whole interval of these policies is across.
    Closed(Vec<String>),
    /// The intervals of these policies hold the limit within them, or there are none.
    CannotTell(Vec<String>),
}

impl Gate {
    /// Judges every policy of the table, or every interaction.
    #[must_use]
    pub fn judge(&self, table: &Table) -> Judgement {
        let (mut closed, mut unknown, mut seen) = (Vec::new(), Vec::new(), false);
        for (name, crossed) in self.verdicts(table) {
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

    /// What it is about in the table by name, each with whether it is across.
    fn verdicts(&self, table: &Table) -> Vec<(String, Option<bool>)> {
        let interactions = table.interactions.iter().map(|it| {
            let name = format!("{} with {}", it.program, it.policy);
            let ends = it.low.zip(it.high);
            (name, self.beyond(ends, 100.0 * self.allowed))
        });
        let rows = table
            .comparisons
            .iter()
            .filter(|row| row.metric == self.metric && row.statistic == self.statistic);
        let rows = rows.map(|row| (row.policy.clone(), self.crossed(row)));
        match self.subject {
            Subject::Interaction => interactions.collect(),
            Subject::Metric => rows.collect(),
        }
    }

    fn crossed(&self, row: &Comparison) -> Option<bool> {
        let limit = match row.scale {
            Scale::Ratio => 1.0 + self.allowed,
            Scale::Difference => self.allowed * row.baseline_value?,
        };
        self.beyond(row.low.zip(row.high), limit)
    }

    /// Whether the whole interval is across the limit (yes), or none of it is (no).
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

/// A metric and the percentile behind its name.
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
            INTERACTION => Subject::Interaction,
            _ => Subject::Metric,
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
    use crate::run::compare::{Change, Gain, Interaction, Verdict};

    fn table(low: f64, high: f64) -> Table {
        Table {
            pages_alone: Vec::new(),
            comparisons: vec![Comparison {
                metric: "wall_seconds".to_owned(),
                statistic: Statistic::Center,
                policy: "thp=always".to_owned(),
                baseline: "as-is".to_owned(),
                baseline_value: Some(1.0),
                policy_value: Some(low.midpoint(high)),
                scale: Scale::Ratio,
                ratio: Some(low.midpoint(high)),
                difference: None,
                low: Some(low),
                high: Some(high),
                p: None,
                n: 10,
                change: Change::CannotTell,
                warnings: Vec::new(),
            }],
            control: None,
            interactions: Vec::new(),
            verdict: Verdict {
                metric: "wall_seconds".to_owned(),
                baseline: "as-is".to_owned(),
                threshold: 0.01,
                ..Verdict::default()
            },
        }
    }

    #[test]
    fn a_gate_closes_only_on_the_whole_interval() {
        let gate: Gate = "wall_seconds > +2%".parse().expect("a gate");
        let always = vec!["thp=always".to_owned()];
        assert_eq!(
            gate.judge(&table(1.03, 1.05)),
            Judgement::Closed(always.clone())
        );
        assert_eq!(
            gate.judge(&table(1.01, 1.05)),
            Judgement::CannotTell(always)
        );
        assert_eq!(gate.judge(&table(0.99, 1.01)), Judgement::Open);
    }

    #[test]
    fn shrinking_can_fail_too() {
        let gate: Gate = "wall_seconds < -5 %".parse().expect("a gate");
        assert!(matches!(
            gate.judge(&table(0.80, 0.90)),
            Judgement::Closed(_)
        ));
        assert_eq!(gate.judge(&table(0.96, 1.2)), Judgement::Open);
    }

    #[test]
    fn a_metric_that_was_not_compared_cannot_be_judged() {
        let gate: Gate = "minor_faults_total > 0%".parse().expect("a gate");
        assert_eq!(
            gate.judge(&table(1.0, 1.0)),
            Judgement::CannotTell(Vec::new())
        );
    }

    #[test]
    fn an_interaction_is_judged_in_points() {
        let gate: Gate = "interaction < -2%".parse().expect("a gate");
        let judged = |low: f64, high: f64| {
            let mut table = table(0.8, 0.9);
            table.interactions = vec![Interaction {
                program: "new".to_owned(),
                baseline_program: "old".to_owned(),
                policy: "thp=always".to_owned(),
                baseline: "as-is".to_owned(),
                gain: Gain::NotDecided,
                points: Some(low.midpoint(high)),
                low: Some(low),
                high: Some(high),
                n: 12,
            }];
            gate.judge(&table)
        };
        let named = vec!["new with thp=always".to_owned()];
        assert_eq!(judged(-4.4, -2.1), Judgement::Closed(named.clone()));
        assert_eq!(judged(-4.4, -1.9), Judgement::CannotTell(named));
        assert_eq!(judged(-1.5, 3.0), Judgement::Open);
        assert_eq!(
            gate.judge(&table(0.8, 0.9)),
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

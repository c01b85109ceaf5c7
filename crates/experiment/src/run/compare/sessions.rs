//! Comparison of several records with several others: the same policy before and after a change, with one value a
//! record.
//!
//! Two records of one program differ by more than the trials of each, so two records have no interval. With three or
//! more records a side, there is one between sessions.

use crate::run::compare::between::{Across, differences, of_both, sample};
use crate::run::compare::effect::{Effect, on, scale_of};
use crate::run::compare::rows::Estimate;
use crate::run::compare::verdict::word;
use crate::run::compare::{
    CompareError, Comparison, Judged, Scale, Statistic, Table, Verdict, Warning, columns,
};
use crate::run::record::Record;
use crate::run::stats::{ALPHA, Units, median};

/// Compares the records `after` with the records `before`, for each policy that all have. In every row `policy` and
/// `baseline` are that policy's name. The metric, the threshold and the wording come from the first plan of `after`.
///
/// # Errors
/// Fails if circumstances differ within a side or between them and this was not allowed (it lists each difference).
/// Also fails if a side has no record, or if no policy or verdict metric occurs in all.
pub fn sessions(
    before: &[Record],
    after: &[Record],
    across: Across,
) -> Result<Table, CompareError> {
    let (Some(first), Some(_)) = (before.first(), after.first()) else {
        return Err(CompareError::NothingInCommon);
    };
    let mut found: Vec<String> = Vec::new();
    for record in before.iter().chain(after) {
        let new = differences(first, record).into_iter();
        let new: Vec<String> = new.filter(|it| !found.contains(it)).collect();
        found.extend(new);
    }
    if across == Across::Refused && !found.is_empty() {
        let differences = found.join("; ");
        return Err(CompareError::Circumstances { differences });
    }
    let sides = Sides::of(before, after, &found)?;
    let threshold = sides.judged.threshold;
    let rows = sides.rows().into_iter();
    let comparisons: Vec<_> = rows.map(|row| row.finish(threshold)).collect();
    Ok(Table {
        pages_alone: Vec::new(),
        control: None,
        verdict: sides.verdict(&comparisons),
        comparisons,
        interactions: Vec::new(),
    })
}

struct Sides<'a> {
    before: Vec<Judged<'a>>,
    after: Vec<Judged<'a>>,
    policies: Vec<&'a str>,
    warnings: Vec<Warning>,
    /// The first record of `after`, whose plan decides.
    judged: Judged<'a>,
}

impl<'a> Sides<'a> {
    fn of(
        before: &'a [Record],
        after: &'a [Record],
        differences: &[String],
    ) -> Result<Self, CompareError> {
        type All<'a> = Result<Vec<Judged<'a>>, CompareError>;
        let judged =
            |records: &'a [Record]| -> All<'a> { records.iter().map(Judged::as_planned).collect() };
        let all: Vec<&Record> = before.iter().chain(after).collect();
        Ok(Self {
            before: judged(before)?,
            after: judged(after)?,
            policies: of_both(&all)?,
            warnings: Warning::of_circumstances(differences),
            judged: Judged::as_planned(&after[0])?,
        })
    }

    fn rows(&self) -> Vec<Estimate> {
        let records = self.before.iter().chain(&self.after).map(|it| it.record);
        columns::names(&records.collect::<Vec<_>>())
            .iter()
            .flat_map(|metric| self.policies.iter().map(|policy| self.row(metric, policy)))
            .collect()
    }

    fn row(&self, metric: &str, policy: &str) -> Estimate {
        let mut warnings = self.warnings.clone();
        let [a, b] = [&self.before, &self.after].map(|side| {
            let values = side.iter().filter_map(|judged| {
                let (values, found) = sample(&judged.rounds, policy, metric);
                warnings.extend(found);
                median(&values)
            });
            values.collect::<Vec<f64>>()
        });
        let claims = match metric == self.judged.metric {
            true => self.policies.len(),
            false => 1,
        };
        Estimate {
            metric: metric.to_owned(),
            statistic: Statistic::Center,
            policy: policy.to_owned(),
            baseline: policy.to_owned(),
            effect: of_records(&a, &b, claims).or_else(|| Effect::of_sessions(&a, &b)),
            n: a.len().min(b.len()) as u32,
            warnings,
        }
    }

    fn verdict(&self, comparisons: &[Comparison]) -> Verdict {
        let mut verdict = Verdict {
            metric: self.judged.metric.to_owned(),
            baseline: self.judged.baseline.name.clone(),
            threshold: self.judged.threshold,
            ..Verdict::default()
        };
        let rows = comparisons.iter();
        for row in rows.filter(|row| row.metric == self.judged.metric) {
            let answer = word(row.change, self.judged.better);
            verdict.policies.insert(row.policy.clone(), answer);
        }
        verdict
    }
}

/// The effect of two samples of records, as one of so many claims; `None` with fewer than three records a side.
fn of_records(a: &[f64], b: &[f64], claims: usize) -> Option<Effect> {
    let scale = scale_of(a.iter().chain(b).copied());
    let origin = if scale == Scale::Ratio { 1.0 } else { 0.0 };
    let [before, after] = [a, b].map(|values| {
        let scaled = values.iter().map(|&value| on(scale, origin, value));
        Units::of(&scaled.collect::<Vec<_>>())
    });
    let share = claims.max(1) as f64;
    let found = before?.to(&after?, ALPHA / share)?;
    Some(Effect {
        scale,
        baseline_value: median(a)?,
        policy_value: median(b)?,
        estimate: found.estimate,
        interval: Some(found.interval),
        p: Some((found.p * share).min(1.0)),
        fact: None,
    })
}

//! Rows from Prometheus: series that a recording rule derived from scraped data, summarised by period.
//!
//! The rule ([`SERIES`]) has already joined each value with the arm of its host. Three queries return the count, mean
//! and scatter of a period, so the single values stay on the server.

pub mod answer;
mod rows;

pub use answer::{Point, Series, names, range};
pub use rows::Gathered;

use super::plan::{Moment, Plan};
use super::schedule::next_change;

/// The series to read. Its labels are `experiment`, `unit`, `stratum`, `arm` and `metric`.
pub const SERIES: &str = "hugewise_fleet:value";

/// Periods per query. With ten thousand units the three responses have three million values.
pub const MOST_PERIODS: usize = 100;

/// Consecutive periods that are queried together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Start of the first period.
    pub first: Moment,
    /// Number of periods, at least 1.
    pub periods: i64,
    /// Length of each, in seconds.
    pub seconds: i64,
}

impl Stretch {
    /// The ends of the first and the last period. A value at a point in time covers the time before it.
    #[must_use]
    pub fn ends(&self) -> [Moment; 2] {
        let end = |periods| Moment(self.first.0 + periods * self.seconds);
        [end(1), end(self.periods)]
    }
}

/// The length of a period, in whole seconds as in Prometheus.
#[must_use]
pub fn seconds(plan: &Plan) -> i64 {
    i64::try_from(plan.period.as_secs())
        .unwrap_or(i64::MAX)
        .max(1)
}

/// The whole periods from `from` to the end of the plan or `now`, in batches. No period spans a change of the plan; the
/// incomplete rest before a change is omitted.
#[must_use]
pub fn stretches(plan: &Plan, from: Moment, now: Moment) -> Vec<Stretch> {
    let (seconds, end) = (seconds(plan), now.min(plan.until));
    let mut all = Vec::new();
    let mut at = from;
    while at < end {
        let change = next_change(plan, at).min(end);
        let whole = (change.0 - at.0) / seconds;
        for begun in (0..whole).step_by(MOST_PERIODS) {
            all.push(Stretch {
                first: Moment(at.0 + begun * seconds),
                periods: (whole - begun).min(MOST_PERIODS as i64),
                seconds,
            });
        }
        at = change;
    }
    all
}

/// A statistic to query for each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// Number of values.
    Count,
    /// Their mean.
    Mean,
    /// Their variance, divided by their number.
    Variance,
}

impl Statistic {
    /// All statistics, in the order of [`Gathered`].
    pub const ALL: [Self; 3] = [Self::Count, Self::Mean, Self::Variance];

    fn function(self) -> &'static str {
        match self {
            Self::Count => "count_over_time",
            Self::Mean => "avg_over_time",
            Self::Variance => "stdvar_over_time",
        }
    }

    /// The query in PromQL. Plan names contain no character that needs escaping.
    #[must_use]
    pub fn query(self, plan: &Plan, metric: &str) -> String {
        let (function, seconds) = (self.function(), seconds(plan));
        let metric = metric.replace('\\', r"\\").replace('"', "\\\"");
        let series = matching(plan, &format!(",metric=\"{metric}\""));
        format!("{function}({series}[{seconds}s])")
    }
}

/// All series of a plan.
#[must_use]
pub fn selector(plan: &Plan) -> String {
    matching(plan, "")
}

/// The series of a plan that also have these labels.
fn matching(plan: &Plan, labels: &str) -> String {
    format!("{SERIES}{{experiment=\"{}\"{labels}}}", plan.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(rest: &str) -> Plan {
        let arms =
            "[[arm]]\nname = 'a'\npolicy = 'as-is'\n[[arm]]\nname = 'b'\npolicy = 'thp=never'";
        format!("name = 'x'\nuntil = 100000\nperiod = '10s'\n{rest}\n{arms}")
            .parse()
            .expect(rest)
    }

    #[test]
    fn no_period_reaches_over_a_change_of_the_plan() {
        let plan = plan("starts = 1025");
        let all = stretches(&plan, Moment(1000), Moment(1052));
        let of = |it: &Stretch| (it.first.0, it.periods);
        assert_eq!(
            all.iter().map(of).collect::<Vec<_>>(),
            [(1000, 2), (1025, 2)]
        );
        assert_eq!(all[1].ends(), [Moment(1035), Moment(1045)]);
        assert_eq!(stretches(&plan, Moment(1000), Moment(1009)), []);
    }

    #[test]
    fn a_long_time_is_asked_for_in_parts() {
        let all = stretches(&plan(""), Moment(0), Moment(2505));
        let periods: i64 = all.iter().map(|it| it.periods).sum();
        assert_eq!((all.len(), periods), (3, 250));
        for pair in all.windows(2) {
            assert_eq!(pair[0].ends()[1], pair[1].first);
        }
    }

    #[test]
    fn a_question_names_the_series_and_its_window() {
        assert_eq!(
            Statistic::Mean.query(&plan(""), "p\"x"),
            "avg_over_time(hugewise_fleet:value{experiment=\"x\",metric=\"p\\\"x\"}[10s])"
        );
    }
}

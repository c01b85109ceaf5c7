//! Rows from Prometheus: what a recording rule made of scraped data, added up by period.
//!
//! The rule ([`SERIES`]) has already joined each value with the arm of its host. A period's count,
//! mean and scatter are three questions to the server, so that single values stay there.

pub mod answer;
mod rows;

pub use answer::{Point, Series, names, range};
pub use rows::Gathered;

use super::plan::{Moment, Plan};
use super::schedule::next_change;

/// The series that is read. Its labels are `experiment`, `unit`, `stratum`, `arm` and `metric`.
pub const SERIES: &str = "hugewise_fleet:value";

/// Periods of one question. With ten thousand units its three answers have three million values.
pub const MOST_PERIODS: usize = 100;

/// Periods that follow each other, one question each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Begin of the first.
    pub first: Moment,
    /// Number of periods, at least 1.
    pub periods: i64,
    /// Length of each, seconds.
    pub seconds: i64,
}

impl Stretch {
    /// The end of the first and of the last period: a value at a moment is about the time before.
    #[must_use]
    pub fn ends(&self) -> [Moment; 2] {
        let end = |periods| Moment(self.first.0 + periods * self.seconds);
        [end(1), end(self.periods)]
    }
}

/// How long each period is, in whole seconds as Prometheus counts them.
#[must_use]
pub fn seconds(plan: &Plan) -> i64 {
    i64::try_from(plan.period.as_secs())
        .unwrap_or(i64::MAX)
        .max(1)
}

/// The whole periods from `from` to the end of the plan or `now`, in stretches. No period goes
/// beyond a moment at which the plan changes: what is left before it is no whole period.
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

/// What is asked of each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// Number of values.
    Count,
    /// Their mean.
    Mean,
    /// Their variance, by their number.
    Variance,
}

impl Statistic {
    /// All of them, in the order of [`Gathered`].
    pub const ALL: [Self; 3] = [Self::Count, Self::Mean, Self::Variance];

    fn function(self) -> &'static str {
        match self {
            Self::Count => "count_over_time",
            Self::Mean => "avg_over_time",
            Self::Variance => "stdvar_over_time",
        }
    }

    /// The question in PromQL. Names of plans have no character that it would have to escape.
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

/// The series of a plan that have these labels too.
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

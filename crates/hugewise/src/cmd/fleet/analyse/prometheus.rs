//! Reads rows from a Prometheus server, metric by metric and a few periods at a time.

use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use hugewise_fleet::analyse::Tally;
use hugewise_fleet::plan::{Moment, Plan};
use hugewise_fleet::prometheus::{
    Gathered, MOST_PERIODS, Statistic, Stretch, names, range, seconds, selector, stretches,
};
use hyper::body::Bytes;

use super::assign::now;
use super::plan_file::PlanFile;
use crate::exit;
use crate::http::{Endpoint, Question, form};

/// The time limit of a query; the server's own limit is two minutes.
const PATIENCE: Duration = Duration::from_secs(130);
/// The size limit of a response, in bytes: one about ten thousand units takes at most a hundred megabytes.
const MOST_ANSWER: usize = 256 << 20;

/// Parses the server's address from a flag.
pub(super) fn endpoint(text: &str) -> Result<Endpoint, String> {
    Ok(text.parse::<Endpoint>()?.or(9090, ""))
}

/// Adds the rows of all metrics from `from` to the end of the plan, or to now.
pub(super) fn add(
    tally: &mut Tally,
    endpoint: &Endpoint,
    file: &PlanFile,
    from: Option<Moment>,
) -> Result<()> {
    let server = Server { endpoint };
    let plan = &file.plan;
    let end = now().min(plan.until);
    let from = begin(plan, from, end)?;
    let asked = || format!("--prometheus {endpoint}");
    let metrics = server.metrics(plan, [from, end]).with_context(asked)?;
    for metric in &metrics {
        for stretch in stretches(plan, from, end) {
            let gathered = server.gather(plan, metric, &stretch).with_context(asked)?;
            let rows = gathered.rows(plan, &file.digest, metric, &stretch);
            for row in rows.map_err(exit::usage)? {
                tally
                    .add(&row)
                    .map_err(|error| exit::usage(error.to_string()))?;
            }
        }
    }
    Ok(())
}

/// The default start is as long before the arms as their duration; before they begin it is as far back as one query
/// allows.
fn begin(plan: &Plan, from: Option<Moment>, end: Moment) -> Result<Moment> {
    let mirrored = |starts: Moment| match end > starts {
        true => Moment(starts.0 - (end.0 - starts.0)),
        false => Moment(end.0 - MOST_PERIODS as i64 * seconds(plan)),
    };
    let usual = || plan.starts.map(mirrored);
    from.or_else(usual)
        .ok_or_else(|| exit::usage("the plan does not say when it starts: give --from"))
}

struct Server<'a> {
    endpoint: &'a Endpoint,
}

impl Server<'_> {
    fn metrics(&self, plan: &Plan, time: [Moment; 2]) -> Result<Vec<String>> {
        let [start, end] = time.map(|it| it.0.to_string());
        let series = selector(plan);
        let fields = form(&[("match[]", &series), ("start", &start), ("end", &end)]);
        let path = format!("/api/v1/label/metric/values?{fields}");
        Ok(names(&self.ask(&path, None)?)?)
    }

    fn gather(&self, plan: &Plan, metric: &str, stretch: &Stretch) -> Result<Gathered> {
        let mut gathered = Gathered::default();
        for statistic in Statistic::ALL {
            let [start, end] = stretch.ends().map(|it| it.0.to_string());
            let fields = form(&[
                ("query", &statistic.query(plan, metric)),
                ("start", &start),
                ("end", &end),
                ("step", &stretch.seconds.to_string()),
            ]);
            let answer = self.ask("/api/v1/query_range", Some(&fields))?;
            gathered.add(statistic, range(&answer)?);
        }
        Ok(gathered)
    }

    fn ask(&self, path: &str, fields: Option<&str>) -> Result<Bytes> {
        let answer = self.endpoint.ask(Question {
            path: &format!("{}{path}", self.endpoint.path()),
            body: fields.map(|it| ("application/x-www-form-urlencoded", it)),
            patience: PATIENCE,
            most: MOST_ANSWER,
        })?;
        // If a query is wrong, the response explains it, also as JSON.
        let is_said = answer.body.starts_with(b"{");
        ensure!(
            answer.status.is_success() || is_said,
            anyhow!("the server answers {}", answer.status)
        );
        Ok(answer.body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_the_start_there_is_a_past_to_ask_for() {
        let text = "name = 'x'\nstarts = 100000\nuntil = 200000\nperiod = '60s'\n\
            [[arm]]\nname = 'a'\npolicy = 'as-is'\n[[arm]]\nname = 'b'\npolicy = 'thp=never'";
        let plan: Plan = text.parse().expect("a plan");
        let begin = |end| begin(&plan, None, Moment(end)).expect("a moment").0;
        assert_eq!(begin(99_958), 99_958 - 6000);
        assert_eq!(begin(100_300), 99_700);
    }
}

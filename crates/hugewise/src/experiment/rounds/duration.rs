//! Forecasts the duration of an experiment and describes it in words.

use std::time::Duration;

use hugewise_base::units::rough;
use hugewise_experiment::run::plan::Bounds;
use hugewise_text::number::counted;

/// The timing data of an experiment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forecast {
    /// The time since the experiment began.
    pub(super) elapsed: Duration,
    /// The time of the rest of the warm-up.
    pub(super) warm_up: Duration,
    /// The time of one trial.
    pub(super) trial: Duration,
    /// Trials per round.
    pub(super) slots: u32,
    /// Server starts between rounds.
    pub(super) starts: Starts,
    /// The time of trials that may follow the rounds.
    pub(super) behind: Duration,
}

/// Starts of all servers, each for a number of rounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Starts {
    /// The time of one start; zero if trials start their servers, or have none.
    pub(super) each: Duration,
    /// Rounds between two starts.
    pub(super) rounds: u32,
    /// Completed rounds.
    pub(super) done: u32,
}

impl Starts {
    /// The time for starts within this many more rounds, without the start before the first round.
    fn among(self, rounds: u32) -> Duration {
        let before = |round: u32| round.saturating_sub(1) / self.rounds.max(1);
        self.each * (before(self.done + rounds) - before(self.done))
    }
}

impl Forecast {
    /// The time of one round.
    pub(super) fn round(&self) -> Duration {
        self.trial * self.slots
    }

    /// The start of the next round, measured from the beginning of the experiment; the warm-up counts.
    fn begin(&self) -> Duration {
        self.elapsed + self.warm_up
    }

    /// The forecast if the remaining work takes this share of the time.
    pub(super) fn at_pace(self, share: f64) -> Self {
        Self {
            warm_up: self.warm_up.mul_f64(share),
            trial: self.trial.mul_f64(share),
            starts: Starts {
                each: self.starts.each.mul_f64(share),
                ..self.starts
            },
            ..self
        }
    }

    /// The end of this many more rounds, measured from the beginning of the experiment.
    pub(super) fn after(&self, rounds: u32) -> Duration {
        self.begin() + self.round() * rounds + self.starts.among(rounds)
    }

    /// How many more rounds fit into a time limit of the experiment.
    pub(super) fn rounds_in(&self, most: Duration) -> u32 {
        let left = most.saturating_sub(self.begin()).as_secs_f64();
        let mut rounds = (left / self.round().as_secs_f64().max(1e-9)) as u32;
        while rounds > 0 && self.after(rounds) > most {
            rounds -= 1;
        }
        rounds
    }

    /// The longest duration of the experiment, after this many rounds.
    pub(super) fn longest(&self, bounds: &Bounds, done: u32) -> Duration {
        let all = self.after(bounds.max_rounds.saturating_sub(done)) + self.behind;
        let least = bounds.least_rounds.unwrap_or(0).saturating_sub(done);
        let fewest = self.after(least);
        let most = bounds.max_time.map(|most| match bounds.least_rounds {
            Some(_) if fewest + self.behind > most => most.max(fewest) + self.behind,
            _ => most,
        });
        most.map_or(all, |most| most.min(all))
    }
}

/// Announces the experiment before the first round. `arms` describes what it compares; `fewest` rounds can decide.
pub(super) fn plan_text(
    forecast: &Forecast,
    arms: Option<&str>,
    bounds: &Bounds,
    fewest: u32,
) -> String {
    let trial = brief(forecast.trial);
    let Some(arms) = arms else {
        let longest = brief(forecast.longest(bounds, 0));
        return format!("1 policy, {trial} a trial: {longest} at most");
    };
    let needed = forecast.after(fewest);
    if let Some(short) = too_short(forecast, bounds, fewest) {
        return short;
    }
    if bounds.least_rounds.is_some() && bounds.max_time.is_some_and(|usual| needed > usual) {
        let behind = match forecast.behind {
            Duration::ZERO => String::new(),
            behind => format!(
                ", {} more for runs after a rest if a policy helps",
                rough(behind)
            ),
        };
        return format!(
            "{arms}, {trial} a trial: at least {fewest} rounds, about {}{behind}; --max-time stops \
             earlier, without an answer",
            rough(needed)
        );
    }
    format!(
        "{arms}, {trial} a trial: can decide from {} on, {}",
        rough(needed),
        in_all(forecast, bounds)
    )
}

/// Returns `about 90 s in all, up to 2 min with runs after a rest if a policy helps`.
fn in_all(forecast: &Forecast, bounds: &Bounds) -> String {
    // The fewest rounds that can decide are run even if they take longer than forecast.
    let bound = match bounds.least_rounds {
        Some(_) => "about",
        None => "at most",
    };
    let rounds_alone = Forecast {
        behind: Duration::ZERO,
        ..*forecast
    };
    let [with, without] = [forecast, &rounds_alone].map(|it| brief(it.longest(bounds, 0)));
    let behind = match with == without {
        true if forecast.behind.is_zero() => String::new(),
        true => ", with runs after a rest if a policy helps".to_owned(),
        false => format!(", up to {with} with runs after a rest if a policy helps"),
    };
    format!("{bound} {without} in all{behind}")
}

/// A warning if the limits are too low to decide.
fn too_short(forecast: &Forecast, bounds: &Bounds, fewest: u32) -> Option<String> {
    if bounds.max_rounds < fewest {
        return Some(format!(
            "--max-rounds {}: fewer than {fewest} rounds decide nothing; the report will show \
             estimates",
            bounds.max_rounds
        ));
    }
    let most = bounds.max_time.filter(|_| bounds.least_rounds.is_none())?;
    let fit = forecast.rounds_in(most);
    (fit < fewest).then(|| {
        format!(
            "{} allow {}; {fewest} can decide, in {}: --max-time {}, or drop a policy",
            brief(most),
            counted(fit.into(), "round"),
            rough(forecast.after(fewest)),
            flag(forecast.after(fewest))
        )
    })
}

/// The message that refuses a time limit shorter than one round.
pub(super) fn refusal(forecast: &Forecast, most: Duration, fewest: u32) -> String {
    format!(
        "{} allow no round: the warm-up takes {}, and a round of {} trials takes {}; --max-time {} \
         allows the {} that can decide",
        brief(most),
        brief(forecast.begin()),
        forecast.slots,
        brief(forecast.round()),
        flag(forecast.after(fewest)),
        counted(fewest.into(), "round")
    )
}

/// A time in the form of a flag, with a margin of a tenth.
fn flag(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s < 10.0 => format!("{:.0}s", (s * 1.1).ceil()),
        s if s < 600.0 => format!("{:.0}s", (s * 0.11).ceil() * 10.0),
        s => format!("{:.0}m", (s * 1.1 / 60.0).ceil()),
    }
}

/// `1.2 s`, `15 s`, `8 ms`.
fn brief(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s < 0.1 => format!("{:.0} ms", s * 1e3),
        s if s < 10.0 => format!("{s:.1} s"),
        _ => rough(time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUR: Option<&str> = Some("4 policies and the control");

    fn bounds(max_time: u64, least_rounds: Option<u32>) -> Bounds {
        Bounds {
            threshold: 0.01,
            precision: None,
            warmup_rounds: 1,
            min_rounds: 1,
            max_rounds: 400,
            max_time: Some(Duration::from_secs(max_time)),
            least_rounds,
        }
    }

    fn forecast(trial_ms: u64) -> Forecast {
        let trial = Duration::from_millis(trial_ms);
        Forecast {
            elapsed: trial * 4,
            warm_up: Duration::ZERO,
            trial,
            slots: 5,
            starts: Starts {
                each: Duration::ZERO,
                rounds: 1,
                done: 0,
            },
            behind: Duration::ZERO,
        }
    }

    /// A plan forecast 2 min 30 s for a server that took 3 min 18 s.
    #[test]
    fn the_starts_of_servers_take_their_time() {
        let before = forecast(2000);
        let starts = Starts {
            each: Duration::from_secs(12),
            rounds: 2,
            done: 0,
        };
        let with_starts = Forecast { starts, ..before };
        let more = |rounds| (with_starts.after(rounds) - before.after(rounds)).as_secs();
        assert_eq!([1, 2, 3, 4, 5, 7].map(more), [0, 0, 12, 12, 24, 36]);
        let later = Starts { done: 2, ..starts };
        assert_eq!(
            later.among(1),
            starts.each,
            "the next round begins with one"
        );
        let fit = |seconds| with_starts.rounds_in(Duration::from_secs(seconds));
        assert_eq!([18, 28, 38, 49, 50].map(fit), [1, 2, 2, 2, 3]);
        let text = plan_text(&with_starts, FOUR, &bounds(90, Some(6)), 6);
        assert!(
            text.contains("at least 6 rounds, about 1 min 40 s;"),
            "{text}"
        );
    }

    #[test]
    fn the_plan_says_when_there_is_an_answer_and_when_it_ends() {
        let text = plan_text(&forecast(1200), FOUR, &bounds(90, Some(6)), 6);
        assert_eq!(
            text,
            "4 policies and the control, 1.2 s a trial: can decide from 41 s on, about 90 s in all"
        );
        let text = plan_text(&forecast(15_000), FOUR, &bounds(90, Some(6)), 6);
        assert_eq!(
            text,
            "4 policies and the control, 15 s a trial: at least 6 rounds, about 8 min 30 s; \
             --max-time stops earlier, without an answer"
        );
    }

    #[test]
    fn what_follows_the_rounds_is_a_part_of_all() {
        let few = Bounds {
            max_rounds: 6,
            ..bounds(90, Some(6))
        };
        let text = |behind| {
            let forecast = Forecast {
                behind: Duration::from_secs(behind),
                ..forecast(200)
            };
            plan_text(&forecast, FOUR, &few, 6)
        };
        let says = |behind, end: &str| {
            let text = text(behind);
            assert!(text.ends_with(end), "{text}");
        };
        says(0, "about 6.8 s in all");
        says(
            34,
            "about 6.8 s in all, up to 41 s with runs after a rest if a policy helps",
        );
        says(
            300,
            "up to 5 min 10 s with runs after a rest if a policy helps",
        );
    }

    #[test]
    fn a_time_that_decides_nothing_names_one_that_would_do() {
        let text = plan_text(&forecast(4000), FOUR, &bounds(80, None), 6);
        assert_eq!(
            text,
            "80 s allow 3 rounds; 6 can decide, in 2 min 20 s: --max-time 150s, or drop a policy"
        );
        let text = refusal(&forecast(4000), Duration::from_secs(20), 6);
        assert_eq!(
            text,
            "20 s allow no round: the warm-up takes 16 s, and a round of 5 trials takes 20 s; \
             --max-time 150s allows the 6 rounds that can decide"
        );
    }

    /// The total is the same during the warm-up as after it: one run was announced with two times.
    #[test]
    fn the_rest_of_the_warm_up_counts() {
        let after = forecast(4000);
        let during = Forecast {
            elapsed: after.trial,
            warm_up: after.trial * 3,
            ..after
        };
        let most = Duration::from_secs(20);
        assert_eq!(refusal(&during, most, 6), refusal(&after, most, 6));
        let text = |it| plan_text(it, FOUR, &bounds(80, None), 6);
        assert_eq!(text(&during), text(&after));
        assert_eq!(during.rounds_in(most), 0);
        // A first trial on a cold cache proves nothing yet.
        assert_eq!(during.at_pace(0.5).rounds_in(most), 1);
    }
}

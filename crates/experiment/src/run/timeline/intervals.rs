//! Requests that a log aggregated, an interval at a time.

use std::collections::BTreeSet;

use super::join::{TrialSeconds, within};
use crate::base::histogram::distribution::{Distribution, Grain};
use crate::run::trial::RequestInterval;
use crate::run::trial::timeline::{Requests, Timeline, Unrelated};

/// A longer interval belongs to no second, in nanoseconds: logs written once a second can be late on a loaded machine.
const LONGEST_NS: u64 = 1_500_000_000;

/// An interval in monotonic time.
struct Placed<'a> {
    from: u64,
    to: u64,
    requests: &'a Distribution,
}

impl Placed<'_> {
    fn middle(&self) -> u64 {
        self.from + (self.to - self.from) / 2
    }
}

/// Assigns each interval to the second that contains its midpoint. Intervals are not spread: their figures apply to the
/// time that they cover.
pub(super) fn add(
    timeline: &mut Timeline,
    seen: &TrialSeconds,
    intervals: &[RequestInterval],
) -> Result<(), Unrelated> {
    let lengths = intervals.iter().map(RequestInterval::length_ns);
    let longest = lengths.max().unwrap_or(0);
    if longest > LONGEST_NS {
        let longest_ms = longest / 1_000_000;
        return Err(Unrelated::LongIntervals { longest_ms });
    }
    let placed = placed(seen, intervals)?;
    let mut from = 0;
    let last = timeline.seconds.len().saturating_sub(1);
    for (index, second) in timeline.seconds.iter_mut().enumerate() {
        let to = match index == last {
            true => u64::MAX,
            false => seen
                .began_ns
                .saturating_add((second.to_seconds * 1e9) as u64),
        };
        second.requests = summary(placed.iter().filter(|it| (from..to).contains(&it.middle())));
        from = to;
    }
    Ok(())
}

fn placed<'a>(
    seen: &TrialSeconds,
    intervals: &'a [RequestInterval],
) -> Result<Vec<Placed<'a>>, Unrelated> {
    if seen.clock.was_set() {
        return Err(Unrelated::ClockSet);
    }
    let place = |interval: &'a RequestInterval| {
        let placed = Placed {
            from: seen.clock.monotonic(interval.from_unix_ns)?,
            to: seen.clock.monotonic(interval.to_unix_ns)?,
            requests: &interval.requests,
        };
        (placed.from <= placed.to && within(seen, placed.middle())).then_some(placed)
    };
    let found: Vec<Placed<'_>> = intervals.iter().filter_map(place).collect();
    let requests = |all: &mut dyn Iterator<Item = &Distribution>| {
        all.fold(0, |sum: u64, it| sum.saturating_add(it.count()))
    };
    let all = requests(&mut intervals.iter().map(|it| &it.requests));
    let inside = requests(&mut found.iter().map(|it| it.requests));
    match found.len() == intervals.len() {
        true => Ok(found),
        false => Err(Unrelated::OtherClock {
            outside: all - inside,
            requests: all,
        }),
    }
}

/// The summary of the intervals in one second. Intervals for several kinds of requests cover the same time.
fn summary<'a>(intervals: impl Iterator<Item = &'a Placed<'a>>) -> Option<Requests> {
    let mut all: Option<Distribution> = None;
    let mut covered = BTreeSet::new();
    for interval in intervals {
        covered.insert((interval.from, interval.to));
        all.get_or_insert_with(|| Distribution::new(Grain::Bucket, 1))
            .merge(interval.requests);
    }
    let all = all.filter(|all| all.count() > 0)?;
    let covered: u64 = covered.iter().map(|(from, to)| to - from).sum();
    let seconds = |quantile: f64| all.quantile_ns(quantile).map(|ns| ns as f64 / 1e9);
    Some(Requests {
        count: all.count(),
        p50_seconds: seconds(0.5)?,
        p99_seconds: seconds(0.99)?,
        max_seconds: all.max_ns() as f64 / 1e9,
        over_seconds: (covered > 0).then_some(covered as f64 / 1e9),
    })
}

#[cfg(test)]
mod tests {
    use super::super::join;
    use super::super::tests::{OFFSET, SECOND, seen, why_not};
    use super::*;
    use crate::run::trial::Times;
    use crate::run::trial::timeline::Slowest;

    /// An interval that starts so many milliseconds after the beginning of the trial, with requests of these lengths.
    fn interval(begin_ms: u64, length_ms: u64, took_ns: &[u64]) -> RequestInterval {
        let from_unix_ns = OFFSET + 100 * SECOND + begin_ms * 1_000_000;
        let mut requests = Distribution::new(Grain::Bucket, 1);
        for took in took_ns {
            requests.add(*took, 1);
        }
        RequestInterval {
            from_unix_ns,
            to_unix_ns: from_unix_ns + length_ms * 1_000_000,
            requests,
        }
    }

    #[test]
    fn an_interval_is_in_the_second_of_its_middle() {
        let intervals = vec![
            interval(300, 1000, &[1000, 2000, 3000]),
            interval(1300, 1010, &[5000]),
            // The same time, for another kind of request.
            interval(1300, 1010, &[7000]),
            interval(2310, 400, &[9000, 9000]),
        ];
        let timeline = join(&seen(&[]), Ok(&Times::Intervals(intervals)));
        let of = |index: usize| {
            let it = timeline.seconds[index].requests?;
            Some((it.count, it.over_seconds?))
        };
        assert_eq!(of(0), Some((3, 1.0)));
        assert_eq!(of(1), Some((2, 1.01)));
        assert_eq!(of(2), Some((2, 0.4)));
        assert_eq!(of(3), None);
        let first = timeline.seconds[0].requests.unwrap();
        assert!((first.p50_seconds - 2e-6).abs() < 1e-8);
        assert_eq!(first.max_seconds, 3e-6);
        assert!(matches!(
            timeline.slowest,
            Slowest::CannotTell(Unrelated::NoTimes { .. })
        ));
    }

    #[test]
    fn what_has_no_second_is_not_spread() {
        let long = vec![interval(0, 1000, &[5]), interval(1000, 5000, &[5])];
        let timeline = join(&seen(&[]), Ok(&Times::Intervals(long)));
        assert!(timeline.seconds.iter().all(|it| it.requests.is_none()));
        assert_eq!(
            why_not(&timeline),
            &Unrelated::LongIntervals { longest_ms: 5000 }
        );
        let early = RequestInterval {
            from_unix_ns: 5,
            to_unix_ns: SECOND,
            ..interval(0, 0, &[5, 5])
        };
        let intervals = vec![early, interval(0, 1000, &[5])];
        let timeline = join(&seen(&[]), Ok(&Times::Intervals(intervals)));
        assert_eq!(
            why_not(&timeline),
            &Unrelated::OtherClock {
                outside: 2,
                requests: 3
            }
        );
    }
}

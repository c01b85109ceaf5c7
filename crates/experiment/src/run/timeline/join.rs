//! Requests and stalls on one clock.

use std::collections::BTreeMap;

use super::chance::{Circle, Stretch};
use super::intervals;
use crate::base::histogram::rank;
use crate::base::missing::Missing;
use crate::run::trial::timeline::{Held, LONG_NS, Requests, Slowest, Timeline, Unrelated};
use crate::run::trial::{Timed, Times};

/// One in this many requests is slow.
const ONE_IN: usize = 1000;
/// If more than one in this many is as slow as the last of these, the source's clock is too coarse.
const AT_MOST_ONE_IN: usize = 100;
/// The additional drift allowed between clocks: the largest slew of the kernel (500 ppm, `MAXFREQ` in
/// include/linux/timex.h), and a millisecond.
const SLEW: f64 = 500e-6;
const APART_NS: u64 = 1_000_000;

/// The observations of a trial while it ran; times in nanoseconds of the monotonic clock.
#[derive(Clone, Debug, Default)]
pub struct TrialSeconds {
    /// The seconds, still without their requests, and the number of long stalls.
    pub timeline: Timeline,
    /// When the load was released.
    pub began_ns: u64,
    /// Long stalls by metric, each from its begin to its end.
    pub stalls: BTreeMap<String, Vec<(u64, u64)>>,
    /// Number of long stalls dropped for lack of space.
    pub lost: u64,
    /// Why stalls are not timed, if so.
    pub untraced: Option<Missing>,
    /// The conversion of times since 1970 to the monotonic clock.
    pub clock: Clock,
}

/// The difference to subtract from a time since 1970 to get a time of the monotonic clock, in nanoseconds: at the start
/// of a trial and at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// The first reading, in monotonic time, and the difference then.
    pub first: (u64, u64),
    /// The same at the end.
    pub last: (u64, u64),
}

impl Clock {
    /// Returns true if the clock was set during the trial, other than by slewing.
    pub(super) fn was_set(self) -> bool {
        let span = self.last.0.saturating_sub(self.first.0);
        let allowed = (span as f64 * SLEW) as u64 + APART_NS;
        self.last.1.abs_diff(self.first.1) > allowed
    }

    /// A time since 1970 as one of the monotonic clock; `None` before its beginning.
    pub(super) fn monotonic(self, since_1970_ns: u64) -> Option<u64> {
        let at = since_1970_ns.checked_sub(self.first.1)?;
        let span = self.last.0.saturating_sub(self.first.0).max(1) as f64;
        let part = (at.saturating_sub(self.first.0) as f64 / span).clamp(0.0, 1.0);
        let drift = (self.last.1 as f64 - self.first.1 as f64) * part;
        at.checked_add_signed(-(drift as i64))
    }
}

/// The timeline of a trial, with the data of its latency source.
#[must_use]
pub fn join(seen: &TrialSeconds, times: Result<&Times, Unrelated>) -> Timeline {
    let mut timeline = seen.timeline.clone();
    let held = times.and_then(|times| match times {
        Times::Requests(requests) => {
            let placed = placed(seen, requests)?;
            add_requests(&mut timeline, seen.began_ns, &placed);
            held(seen, &placed)
        }
        Times::Intervals(counted) => {
            intervals::add(&mut timeline, seen, counted)?;
            let source = "an interval log".to_owned();
            Err(Unrelated::NoTimes { source })
        }
    });
    timeline.slowest = match held {
        Ok(held) => Slowest::Held(held),
        Err(why) => Slowest::CannotTell(why),
    };
    timeline
}

/// Returns true if a moment of the monotonic clock is within the trial, with a tolerance for clock differences.
pub(super) fn within(seen: &TrialSeconds, at: u64) -> bool {
    let (first, last) = (seen.clock.first.0, seen.clock.last.0);
    at + APART_NS >= first && at <= last.saturating_add(APART_NS)
}

/// The requests in monotonic time, by their ends.
fn placed(seen: &TrialSeconds, requests: &[Timed]) -> Result<Vec<Stretch>, Unrelated> {
    if seen.clock.was_set() {
        return Err(Unrelated::ClockSet);
    }
    let place = |request: &Timed| {
        let end = seen.clock.monotonic(request.ended_unix_ns)?;
        let begin = end.checked_sub(request.took_ns)?;
        (within(seen, begin) && within(seen, end)).then_some((begin, end))
    };
    let mut placed: Vec<Stretch> = requests.iter().filter_map(place).collect();
    let outside = requests.len() - placed.len();
    if outside > 0 {
        return Err(Unrelated::OtherClock {
            outside: outside as u64,
            requests: requests.len() as u64,
        });
    }
    placed.sort_unstable_by_key(|(_, end)| *end);
    Ok(placed)
}

/// Puts each request into the second in which it ended.
fn add_requests(timeline: &mut Timeline, began_ns: u64, placed: &[Stretch]) {
    let mut rest = placed;
    let last = timeline.seconds.len().saturating_sub(1);
    for (index, second) in timeline.seconds.iter_mut().enumerate() {
        let to = began_ns.saturating_add((second.to_seconds * 1e9) as u64);
        let count = match index == last {
            true => rest.len(),
            false => rest.partition_point(|(_, end)| *end < to),
        };
        let (these, later) = rest.split_at(count);
        second.requests = summary(these);
        rest = later;
    }
}

fn summary(requests: &[Stretch]) -> Option<Requests> {
    let mut took: Vec<u64> = requests.iter().map(|(begin, end)| end - begin).collect();
    took.sort_unstable();
    let count = took.len() as u64;
    let seconds = |share| {
        let at = rank(count, share) as usize - 1;
        took.get(at).map(|ns| *ns as f64 / 1e9)
    };
    Some(Requests {
        count,
        p50_seconds: seconds(0.5)?,
        p99_seconds: seconds(0.99)?,
        max_seconds: seconds(1.0)?,
        over_seconds: None,
    })
}

fn held(seen: &TrialSeconds, placed: &[Stretch]) -> Result<Held, Unrelated> {
    if let Some(missing) = &seen.untraced {
        let missing = missing.clone();
        return Err(Unrelated::NotTraced { missing });
    }
    if seen.lost > 0 {
        return Err(Unrelated::StallsLost { lost: seen.lost });
    }
    let slow = slowest(placed)?;
    let ends = placed.last().map(|(_, end)| *end);
    let begins = placed.iter().map(|(begin, _)| *begin).min();
    let span = begins.zip(ends).ok_or(Unrelated::Unread)?;
    let all: Vec<Stretch> = seen.stalls.values().flatten().copied().collect();
    let circle = Circle::new(span, &all).ok_or(Unrelated::Coarse)?;
    let meeting = |circle: &Circle| slow.iter().filter(|one| circle.meets(**one)).count() as u64;
    let by_cause = seen.stalls.iter().filter_map(|(metric, stalls)| {
        let count = meeting(&Circle::new(span, stalls)?);
        (count > 0).then(|| (metric.clone(), count))
    });
    let shortest = slow.iter().map(|(begin, end)| end - begin).min();
    Ok(Held {
        requests: placed.len() as u64,
        in_stall: placed.iter().filter(|one| circle.meets(**one)).count() as u64,
        slow: slow.len() as u64,
        slow_from_seconds: shortest.unwrap_or(0) as f64 / 1e9,
        slow_in_stall: meeting(&circle),
        slow_by_cause: by_cause.collect(),
        turned: circle.turned(&slow),
    })
}

/// The slowest thousandth, with all ties of its fastest member.
fn slowest(placed: &[Stretch]) -> Result<Vec<Stretch>, Unrelated> {
    let mut took: Vec<u64> = placed.iter().map(|(begin, end)| end - begin).collect();
    took.sort_unstable_by(|a, b| b.cmp(a));
    let wanted = placed.len().div_ceil(ONE_IN);
    let shortest = *took
        .get(wanted.saturating_sub(1))
        .ok_or(Unrelated::Unread)?;
    let slow = placed.iter().filter(|(begin, end)| end - begin >= shortest);
    let slow: Vec<Stretch> = slow.copied().collect();
    match slow.len() > wanted.max(placed.len() / AT_MOST_ONE_IN) {
        true => Err(Unrelated::Coarse),
        false => Ok(slow),
    }
}

impl TrialSeconds {
    /// Adds stalls long enough to be listed individually.
    pub fn add_stalls(&mut self, metric: &str, stalls: impl IntoIterator<Item = (u64, u64)>) {
        let of_metric = self.stalls.entry(metric.to_owned()).or_default();
        let long = stalls.into_iter().filter(|(_, ns)| *ns >= LONG_NS);
        of_metric.extend(long.map(|(begin, ns)| (begin, begin.saturating_add(ns))));
        let count = of_metric.len() as u64;
        self.timeline.long_stalls.insert(metric.to_owned(), count);
    }
}

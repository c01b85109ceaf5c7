//! Times a pass: calibrated, warmed up, repeated; the result is the median of the repeats.

use std::time::{Duration, Instant};

/// Minimum time of a repeat: ten thousand times that of a clock reading.
const SHORTEST: Duration = Duration::from_millis(2);
/// A pass longer than this is repeated less often.
const LONG: Duration = Duration::from_millis(50);
const REPEATS: usize = 5;
const REPEATS_OF_LONG: usize = 3;

/// The repeats of one measurement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Timed {
    /// Seconds of one pass, in each repeat, ascending.
    seconds: Vec<f64>,
    /// Passes of each repeat.
    passes: u64,
}

impl Timed {
    /// Seconds of one pass in the median repeat.
    pub(crate) fn median(&self) -> f64 {
        self.seconds[self.seconds.len() / 2]
    }

    /// Seconds of one pass in the fastest repeat, without the overhead of each repeat.
    pub(crate) fn fastest_without(&self, besides: f64) -> f64 {
        self.seconds[0] - besides / self.passes as f64
    }

    /// The number of repeats.
    pub(crate) fn repeats(&self) -> usize {
        self.seconds.len()
    }

    /// Longest minus shortest, divided by the median.
    pub(crate) fn spread(&self) -> f64 {
        let ends = [self.seconds.first(), self.seconds.last()].map(|end| *end.unwrap_or(&0.0));
        (ends[1] - ends[0]) / self.median()
    }
}

/// Times a pass. `run` does the given number of passes and returns their time.
///
/// The first pass warms up. Then the number of passes grows until a repeat is long enough. The number of repeats is
/// odd, so the median is one of them.
pub(crate) fn time(mut run: impl FnMut(u64) -> Duration) -> Timed {
    let (passes, took) = enough(&mut run, SHORTEST);
    let repeats = if took / u32::try_from(passes).unwrap_or(u32::MAX) > LONG {
        REPEATS_OF_LONG
    } else {
        REPEATS
    };
    repeated(&mut run, passes, repeats)
}

/// Repeats, with the fastest as the result: disturbances only make a repeat slower, so the fastest had the fewest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repeats {
    /// Minimum time of a repeat.
    shortest: Duration,
    count: usize,
}

impl Repeats {
    /// Many short ones, so that some are undisturbed.
    pub(crate) const MANY: Self = Self {
        shortest: Duration::from_millis(1),
        count: 11,
    };

    /// Five of this length, as in other programs: constant disturbances affect all of them.
    pub(crate) fn five_of(shortest: Duration) -> Self {
        Self { shortest, count: 5 }
    }
}

/// The same with these repeats.
pub(crate) fn time_fastest(repeats: Repeats, mut run: impl FnMut(u64) -> Duration) -> Timed {
    let (passes, _) = enough(&mut run, repeats.shortest);
    repeated(&mut run, passes, repeats.count)
}

/// Finds a number of passes that takes long enough; returns it with its time.
fn enough(run: &mut impl FnMut(u64) -> Duration, shortest: Duration) -> (u64, Duration) {
    run(1);
    let mut passes = 1;
    let mut took = run(passes);
    while took < shortest {
        let wanted = shortest.as_secs_f64() / took.as_secs_f64().max(1e-9) * 1.1;
        passes = (passes as f64 * wanted.clamp(2.0, 100.0)).ceil() as u64;
        took = run(passes);
    }
    (passes, took)
}

fn repeated(run: &mut impl FnMut(u64) -> Duration, passes: u64, repeats: usize) -> Timed {
    let mut seconds: Vec<f64> = (0..repeats)
        .map(|_| run(passes).as_secs_f64() / passes as f64)
        .collect();
    seconds.sort_by(f64::total_cmp);
    Timed { seconds, passes }
}

/// Seconds for one reading of the clock.
pub(crate) fn clock_seconds() -> f64 {
    time(|passes| {
        let began = Instant::now();
        for _ in 0..passes {
            std::hint::black_box(Instant::now());
        }
        began.elapsed()
    })
    .median()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeat_is_long_enough_and_the_median_is_one_of_them() {
        let mut longest = Duration::ZERO;
        let mut calls = 0;
        let timed = time(|passes| {
            calls += 1;
            let took = Duration::from_nanos(100 * passes + calls % 3);
            longest = longest.max(took);
            took
        });
        assert!(longest >= SHORTEST && longest < 3 * SHORTEST, "{longest:?}");
        assert_eq!(timed.repeats(), REPEATS);
        assert!((timed.median() - 100e-9).abs() < 1e-10, "{timed:?}");
        assert!(timed.spread() < 0.01);
    }

    #[test]
    fn the_fastest_repeat_is_free_of_what_disturbed_the_others() {
        let mut calls = 0;
        let timed = time_fastest(Repeats::MANY, |passes| {
            calls += 1;
            let disturbed = if calls % 3 == 0 { 1 } else { 5 };
            Duration::from_nanos(100 * passes * disturbed + 1000)
        });
        let without = timed.fastest_without(1e-6);
        assert!((without - 100e-9).abs() < 1e-12, "{without}");
        assert_eq!(timed.repeats(), Repeats::MANY.count);
    }

    #[test]
    fn repeats_are_as_many_and_as_long_as_was_asked() {
        let half = Duration::from_millis(500);
        let mut longest = Duration::ZERO;
        let timed = time_fastest(Repeats::five_of(half), |passes| {
            longest = longest.max(Duration::from_micros(passes));
            Duration::from_micros(passes)
        });
        assert_eq!(timed.repeats(), 5);
        assert!(longest >= half && longest < 2 * half, "{longest:?}");
    }

    #[test]
    fn a_long_pass_is_repeated_less_often() {
        assert_eq!(
            time(|_| Duration::from_millis(60)).repeats(),
            REPEATS_OF_LONG
        );
    }
}

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// Returns the time since 1970 (UTC); 0 if the clock is earlier.
#[must_use]
pub fn since_1970() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// Returns milliseconds since 1970 (UTC).
#[must_use]
pub fn unix_ms() -> u64 {
    u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX)
}

/// Converts a duration to nanoseconds; saturates after 584 years.
#[must_use]
pub fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the processor time used by all threads of this process so far, in nanoseconds.
#[must_use]
pub fn own_cpu_ns() -> u64 {
    read_ns(ClockId::ProcessCPUTime)
}

/// Returns the processor time used by this thread so far.
#[must_use]
pub fn thread_cpu() -> Duration {
    Duration::from_nanos(read_ns(ClockId::ThreadCPUTime))
}

/// Returns when the next reading of a periodic observer is due. It reads every `each`, but a reading at `now` that cost
/// `cost` of processor time delays the next one, so that reading takes at most 0.5 % of a processor.
#[must_use]
pub fn next_look(now: Duration, each: Duration, cost: Duration) -> Duration {
    const DEAR: u32 = 200;
    now + each.max(cost * DEAR)
}

/// Returns the monotonic clock, in nanoseconds. BPF programs and perf records use the same clock.
#[must_use]
pub fn monotonic_ns() -> u64 {
    read_ns(ClockId::Monotonic)
}

fn read_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    let part = |number: i64| u64::try_from(number).unwrap_or(0);
    part(now.tv_sec) * 1_000_000_000 + part(now.tv_nsec)
}

/// Returns the monotonic clock and its offset from the time since 1970, in nanoseconds: the closest of several paired
/// readings.
#[must_use]
pub fn monotonic_and_offset() -> (u64, u64) {
    const LOOKS: usize = 5;
    let look = |_| {
        let before = monotonic_ns();
        let real = nanoseconds(since_1970());
        let after = monotonic_ns();
        let now = before.midpoint(after);
        (after - before, (now, real.saturating_sub(now)))
    };
    let closest = (0..LOOKS).map(look).min_by_key(|(between, _)| *between);
    closest.map_or((0, 0), |(_, pair)| pair)
}

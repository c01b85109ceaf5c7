use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time since 1970 (UTC); nothing on a machine whose clock stands before that.
#[must_use]
pub fn since_1970() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// Milliseconds since 1970 (UTC).
#[must_use]
pub fn unix_ms() -> u64 {
    u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX)
}

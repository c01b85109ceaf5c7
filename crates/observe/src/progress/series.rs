//! The growth since the beginning, in increments of equal times whose number stays bounded.

use std::time::Duration;

use hugewise_stats::growth::Increment;

/// With this many increments, neighbours are joined.
const MOST: usize = 32;

/// The growth of memory since the first reading.
#[derive(Clone, Debug, Default)]
pub struct Series {
    increments: Vec<Increment>,
    /// The incomplete increment.
    open: Increment,
    /// The readings in a complete increment, as a power of two.
    doublings: u32,
    readings: u64,
    last: Option<(Duration, u64)>,
}

impl Series {
    /// Adds a reading of the memory, in bytes, at a time since some beginning.
    pub fn push(&mut self, at: Duration, bytes: u64) {
        let Some((before, had)) = self.last.replace((at, bytes)) else {
            return;
        };
        self.open.amount += bytes as f64 - had as f64;
        self.open.seconds += at.saturating_sub(before).as_secs_f64();
        self.readings += 1;
        if self.readings < 1 << self.doublings {
            return;
        }
        self.readings = 0;
        self.increments.push(std::mem::take(&mut self.open));
        if self.increments.len() == MOST {
            self.increments = self.increments.chunks(2).map(joined).collect();
            self.doublings += 1;
        }
    }

    /// The complete increments, in order, in bytes.
    #[must_use]
    pub fn increments(&self) -> &[Increment] {
        &self.increments
    }
}

fn joined(pair: &[Increment]) -> Increment {
    Increment {
        amount: pair.iter().map(|it| it.amount).sum(),
        seconds: pair.iter().map(|it| it.seconds).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn increments_stay_few_and_lose_nothing() {
        let mut series = Series::default();
        for step in 0..=1000_u64 {
            series.push(Duration::from_millis(100 * step), 5 << 20 | step << 10);
        }
        let increments = series.increments();
        assert!((MOST / 2..MOST).contains(&increments.len()));
        // Increments of 32 readings: 31 complete ones of the 1000.
        assert_eq!(increments.len(), 31);
        for it in increments {
            assert_eq!(it.amount, 32.0 * 1024.0);
            assert!((it.seconds - 3.2).abs() < 1e-9);
        }
    }

    #[test]
    fn one_reading_is_no_growth() {
        let mut series = Series::default();
        series.push(Duration::ZERO, 1 << 30);
        assert_eq!(series.increments(), []);
    }
}

//! The counted time of a unit: duplicate rows must not count twice.

/// Disjoint time spans in ascending order. Memory grows with gaps and not with rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Covered {
    spans: Vec<(f64, f64)>,
}

/// The minimum length of a row, so a row is never within the end of another.
const LEAST: f64 = 1e-3;
/// Seconds between consecutive periods, because starts are whole seconds.
const APART: f64 = 1.5;

impl Covered {
    /// Adds a period. Returns false if all of it was counted already.
    pub(super) fn add(&mut self, start: f64, seconds: f64) -> bool {
        let (mut start, mut end) = (start, start + seconds.max(LEAST));
        let apart = APART.min(seconds / 4.0);
        let first = self.spans.partition_point(|span| span.1 + apart < start);
        let after = self.spans.partition_point(|span| span.0 - apart <= end);
        let touched = self.spans.get(first..after).unwrap_or_default();
        if touched.iter().any(|span| span.0 <= start && end <= span.1) {
            return false;
        }
        for span in touched {
            (start, end) = (start.min(span.0), end.max(span.1));
        }
        self.spans.splice(first..after.max(first), [(start, end)]);
        true
    }

    /// The longest time from the end of one span to the start of the next, in seconds.
    pub(super) fn longest_gap(&self) -> f64 {
        let gaps = self.spans.windows(2).map(|pair| pair[1].0 - pair[0].1);
        gaps.fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Agents write the start in whole seconds, and periods last a little longer than the plan says.
    #[test]
    fn each_period_counts_once_in_any_order() {
        for length in [1.0, 1.07, 2.5, 300.2] {
            let starts: Vec<f64> = (0..50)
                .map(|at| (7.9 + f64::from(at) * (length + 0.01)).floor())
                .collect();
            let orders: [Vec<usize>; 3] = [
                (0..50).collect(),
                (0..50).rev().collect(),
                (0..50).map(|at| at * 7 % 50).collect(),
            ];
            for order in orders {
                let mut covered = Covered::default();
                for &at in &order {
                    assert!(
                        covered.add(starts[at], length),
                        "{length}: {at} of {order:?}"
                    );
                }
                for &at in &order {
                    assert!(!covered.add(starts[at], length), "{length}: {at} again");
                }
            }
        }
    }

    #[test]
    fn periods_that_follow_one_another_are_one_stretch() {
        let mut covered = Covered::default();
        for period in 0..1000 {
            covered.add((f64::from(period) * 300.3).floor(), 300.3);
        }
        assert_eq!(covered.spans.len(), 1);
        covered.add(400_000.0, 300.0);
        assert!(
            (covered.longest_gap() - 99_700.0).abs() < 1.0,
            "{covered:?}"
        );
    }
}

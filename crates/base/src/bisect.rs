//! Finds the change of an answer by bisection. The search ends for any numbers.

/// The precision of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// The maximum number of halvings.
    pub halvings: u32,
    /// Intervals of at most this length are not halved.
    pub width: f64,
}

impl Precision {
    /// Enough halvings for the ends to become adjacent floating-point numbers: each halving removes one of at most
    /// 2,098 binary places from the distance.
    pub const ENDLESS: u32 = 2_200;

    /// Limits the number of halvings; the search stops earlier if the ends are adjacent.
    #[must_use]
    pub const fn halvings(halvings: u32) -> Self {
        Self {
            halvings,
            width: 0.0,
        }
    }

    /// Halves until the ends differ by at most `width` or are adjacent.
    #[must_use]
    pub const fn width(width: f64) -> Self {
        Self {
            halvings: Self::ENDLESS,
            width,
        }
    }
}

/// Returns both ends of an interval in which `is_beyond` changes. It is assumed false at `near` and true at `far`;
/// either can be the larger one.
#[must_use]
pub fn bisect(
    mut near: f64,
    mut far: f64,
    precision: Precision,
    is_beyond: impl Fn(f64) -> bool,
) -> (f64, f64) {
    for _ in 0..precision.halvings {
        let middle = f64::midpoint(near, far);
        let is_new = middle > near.min(far) && middle < near.max(far);
        // A NaN distance is not halved either.
        let is_wide = (far - near).abs() > precision.width;
        if !(is_new && is_wide) {
            break;
        }
        match is_beyond(middle) {
            true => far = middle,
            false => near = middle,
        }
    }
    (near, far)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_place_is_between_the_ends() {
        let (near, far) = bisect(0.0, 16.0, Precision::width(0.25), |x| x >= 5.1);
        assert_eq!((near, far), (5.0, 5.25));
        let (near, far) = bisect(16.0, 0.0, Precision::halvings(3), |x| x <= 5.1);
        assert_eq!((near, far), (6.0, 4.0));
    }

    #[test]
    fn a_width_below_the_last_place_ends_with_neighbours() {
        let far = 2_f64.powi(50) + 1500.0;
        let (near, far) = bisect(2_f64.powi(50), far, Precision::width(1e-9), |x| {
            x > 2_f64.powi(50) + 7.1
        });
        assert_eq!(near.next_up(), far);
    }

    proptest! {
        #[test]
        fn a_search_ends_for_any_numbers(near: u64, far: u64, edge: u64, width: u64, halvings: u32) {
            let (near, far) = (f64::from_bits(near), f64::from_bits(far));
            let precision = Precision { halvings, width: f64::from_bits(width) };
            let calls = Cell::new(0);
            let found = bisect(near, far, precision, |x| {
                calls.set(calls.get() + 1);
                x > f64::from_bits(edge)
            });
            prop_assert!(calls.get() <= Precision::ENDLESS);
            if near.is_finite() && far.is_finite() {
                let ends = near.min(far)..=near.max(far);
                prop_assert!(ends.contains(&found.0) && ends.contains(&found.1));
            }
        }
    }
}

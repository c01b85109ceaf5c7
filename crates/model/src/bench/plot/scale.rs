//! Logarithmic axes: where a value lies, and which values are written beside them.

/// An axis that shows the values between its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// The axis of these values, all above 0; `None` of none. An axis of one value shows what
    /// lies around it.
    pub(super) fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let finite = values.filter(|value| value.is_finite() && *value > 0.0);
        let (low, high) = finite.fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let wide = if low < high { 1.0 } else { 1.5 };
        (high > 0.0).then_some(Self {
            low: low / wide,
            high: high * wide,
        })
    }

    /// Where a value lies, from 0 at the low end to 1 at the high one.
    pub(super) fn place(&self, value: f64) -> f64 {
        ((value / self.low).ln() / (self.high / self.low).ln()).clamp(0.0, 1.0)
    }

    /// The value that lies at a place.
    pub(super) fn value(&self, place: f64) -> f64 {
        self.low * (self.high / self.low).powf(place)
    }

    /// Powers of two on the axis, every second or every fourth where there are many.
    pub(super) fn powers_of_two(&self, most: usize) -> Vec<u64> {
        let all: Vec<u32> = (0..63)
            .filter(|&power| {
                let value = (1_u64 << power) as f64;
                value >= self.low * 0.999 && value <= self.high * 1.001
            })
            .collect();
        let step = all.len().div_ceil(most.max(1)).max(1).next_power_of_two();
        all.into_iter()
            .step_by(step)
            .map(|power| 1 << power)
            .collect()
    }

    /// 1, 2 and 5 times powers of ten on the axis, or powers of ten where those are enough.
    pub(super) fn round_values(&self) -> Vec<f64> {
        const ENOUGH: usize = 4;
        let of = |digits: &'static [f64]| -> Vec<f64> {
            let decades = (-12..16).map(|power| 10_f64.powi(power));
            let all = decades.flat_map(|decade| digits.iter().map(move |digit| digit * decade));
            all.filter(|&value| value >= self.low && value <= self.high)
                .collect()
        };
        let tens = of(&[1.0]);
        if tens.len() >= ENOUGH {
            tens
        } else {
            of(&[1.0, 2.0, 5.0])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_logarithmic() {
        let axis = Axis::of([4.0, 64.0, 16.0].into_iter()).unwrap();
        assert_eq!((axis.place(4.0), axis.place(64.0)), (0.0, 1.0));
        assert!((axis.place(16.0) - 0.5).abs() < 1e-12);
        assert!((axis.value(0.5) - 16.0).abs() < 1e-12);
        assert_eq!(axis.place(1000.0), 1.0);
        let one = Axis::of([3.0].into_iter()).unwrap();
        assert!((one.place(3.0) - 0.5).abs() < 1e-12);
        assert_eq!(Axis::of([0.0, f64::NAN].into_iter()), None);
    }

    #[test]
    fn marks_are_few_and_round() {
        let axis = Axis::of([4096.0, f64::from(1 << 30)].into_iter()).unwrap();
        assert_eq!(axis.powers_of_two(20).len(), 19);
        let some = axis.powers_of_two(6);
        assert_eq!(some[..2], [4096, 65_536]);
        assert!(some.len() <= 6);
        let axis = Axis::of([1.1e-9, 3e-9].into_iter()).unwrap();
        assert_eq!(axis.round_values().len(), 1);
        let axis = Axis::of([1e-9, 4e-7].into_iter()).unwrap();
        assert_eq!(axis.round_values().len(), 8);
    }
}

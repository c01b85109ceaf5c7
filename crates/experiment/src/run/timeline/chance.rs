//! The overlap of slow requests and stalls expected by chance.

/// A range of time, in nanoseconds; the end is exclusive.
pub(super) type Stretch = (u64, u64);

/// A range of time joined end to beginning, with its stalls.
///
/// Slow requests are long, and so overlap with stalls more often than others even if the two are independent; requests
/// and stalls both come in clusters. Rotating all stalls together preserves these properties, and breaks only the
/// relation.
#[derive(Clone, Debug)]
pub struct Circle {
    from: u64,
    length: u64,
    /// Sorted and disjoint, as distances from `from`.
    stalls: Vec<Stretch>,
}

impl Circle {
    /// The number of equal steps in one full rotation of the stalls. Equal steps form a group that includes the
    /// identity. So the share of steps that reach the observed value is an exact p-value (a randomisation test; Lehmann
    /// and Romano, Testing Statistical Hypotheses, 15.2).
    pub const STEPS: u64 = 1000;

    /// The time `from..to` with the parts of these stalls in it; `None` for an empty time.
    #[must_use]
    pub fn new((from, to): (u64, u64), stalls: &[(u64, u64)]) -> Option<Self> {
        let length = to.checked_sub(from).filter(|length| *length > 0)?;
        let within = |&(begin, end): &Stretch| {
            let (begin, end) = (begin.max(from), end.min(to));
            (begin < end).then(|| (begin - from, end - from))
        };
        let stalls = united(stalls.iter().filter_map(within).collect());
        Some(Self {
            from,
            length,
            stalls,
        })
    }

    /// Returns true if a request overlaps with a stall.
    #[must_use]
    pub fn meets(&self, (begin, end): (u64, u64)) -> bool {
        let last = self.from.saturating_add(self.length);
        let (begin, end) = (begin.max(self.from), end.min(last));
        begin < end && self.any(begin - self.from, end - self.from)
    }

    /// How many of these requests overlap with a stall after each step, the first of which is the identity: pairs of a
    /// number and its count, sorted by number.
    #[must_use]
    pub fn turned(&self, requests: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let mut counts = std::collections::BTreeMap::new();
        for step in 0..Self::STEPS {
            let met = requests.iter().filter(|one| self.meets_turned(**one, step));
            *counts.entry(met.count() as u64).or_insert(0) += 1;
        }
        counts.into_iter().collect()
    }

    /// Rotating the stalls forwards equals rotating the requests backwards.
    fn meets_turned(&self, (begin, end): Stretch, step: u64) -> bool {
        let last = self.from.saturating_add(self.length);
        let (begin, end) = (begin.max(self.from), end.min(last));
        if begin >= end {
            return false;
        }
        let back = (u128::from(self.length) * u128::from(step) / u128::from(Self::STEPS)) as u64;
        let begin_turned = (begin - self.from + self.length - back) % self.length;
        let end_turned = begin_turned + (end - begin);
        self.any(begin_turned, end_turned.min(self.length))
            || (end_turned > self.length && self.any(0, end_turned - self.length))
    }

    fn any(&self, begin: u64, end: u64) -> bool {
        let after = self.stalls.partition_point(|stall| stall.1 <= begin);
        self.stalls.get(after).is_some_and(|stall| stall.0 < end)
    }
}

/// Merges ranges so that they do not touch, in order.
fn united(mut stretches: Vec<Stretch>) -> Vec<Stretch> {
    stretches.sort_unstable();
    let mut apart: Vec<Stretch> = Vec::new();
    for (begin, end) in stretches {
        match apart.last_mut() {
            Some(last) if begin <= last.1 => last.1 = last.1.max(end),
            _ => apart.push((begin, end)),
        }
    }
    apart
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn turning_goes_around() {
        // A stall in the last tenth, a request in the first: they overlap after a rotation by between a tenth and a
        // fifth.
        let circle = Circle::new((1_000, 2_000), &[(1_900, 2_000)]).expect("a time");
        assert!(!circle.meets((1_000, 1_100)));
        assert!(circle.meets((1_950, 2_500)));
        let turned = circle.turned(&[(1_000, 1_100)]);
        assert_eq!(turned, [(0, 801), (1, 199)]);
    }

    /// The definition: nanosecond by nanosecond.
    fn plain(circle: &Circle, (begin, end): Stretch, step: u64) -> bool {
        let back = circle.length * step / Circle::STEPS;
        (begin..end).any(|at| {
            let at = (at - circle.from + circle.length - back) % circle.length;
            circle
                .stalls
                .iter()
                .any(|stall| (stall.0..stall.1).contains(&at))
        })
    }

    proptest! {
        #[test]
        fn it_is_the_definition(
            length in 1_u64..300,
            stalls in prop::collection::vec((0_u64..400, 1_u64..60), 0..6),
            request in (0_u64..300, 1_u64..80),
            step in 0..Circle::STEPS,
        ) {
            let stalls: Vec<Stretch> = stalls.iter().map(|&(at, long)| (at, at + long)).collect();
            let circle = Circle::new((50, 50 + length), &stalls).expect("not empty");
            let begin = 50 + request.0 % length;
            let request = (begin, (begin + request.1).min(50 + length));
            prop_assert_eq!(circle.meets_turned(request, step), plain(&circle, request, step));
            prop_assert_eq!(circle.meets(request), plain(&circle, request, 0));
        }
    }
}

//! Shares of a sample, with intervals.

use serde::{Deserialize, Serialize};

use hugewise_base::bisect::{Precision, bisect};

/// The observed frequency of an event, with an interval of its probability.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Of the sample.
    pub share: f64,
    /// The lower end of the interval of Wilson (1927) at 95 %.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// The quantile of the normal distribution for 2.5 % on each side.
const Z: f64 = 1.959_963_984_540_054;

/// Returns the share of `part` in `whole`, with the score interval of Wilson (Probable inference, the law of
/// succession, and statistical inference, JASA 22, 1927). Unlike the usual textbook interval, it is never empty at 0
/// and 1, and never extends beyond them.
///
/// If `whole` is 0, the interval is 0 to 1. The interval assumes independent events; if they occur in bursts, it is too
/// narrow.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of samples, far below 2^53"
)]
pub fn wilson(part: u64, whole: u64) -> Share {
    if whole == 0 {
        return Share {
            share: 0.0,
            low: 0.0,
            high: 1.0,
        };
    }
    let n = whole as f64;
    let share = part.min(whole) as f64 / n;
    let scale = 1.0 + Z * Z / n;
    let centre = (share + Z * Z / (2.0 * n)) / scale;
    let half = Z / scale * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    Share {
        share,
        low: (centre - half).max(0.0).min(share),
        high: (centre + half).min(1.0).max(share),
    }
}

/// The fractions of the wealth that bet against a too large share.
const STAKES: [f64; 3] = [1.0, 0.5, 0.25];

/// Returns the largest share of `hits` not refuted at level `alpha` after any of them. The test bets against each
/// share, as in Waudby-Smith and Ramdas (2024). Without a hit it is 28 % after 12 and 9 % after 40. The hits must be
/// independent.
#[must_use]
pub fn at_most(hits: &[bool], alpha: f64) -> f64 {
    let is_refuted = |share| is_refuted(hits, share, alpha);
    bisect(0.0, 1.0, Precision::halvings(40), is_refuted).1
}

/// Returns true if the mean wealth of bets that hits are rarer than `share` ever reached 1 / `alpha`.
fn is_refuted(hits: &[bool], share: f64, alpha: f64) -> bool {
    let mut wealth = [1.0; STAKES.len()];
    hits.iter().any(|&hit| {
        for (wealth, stake) in wealth.iter_mut().zip(STAKES) {
            let won = share - if hit { 1.0 } else { 0.0 };
            *wealth *= 1.0 + stake / (1.0 - share) * won;
        }
        wealth.iter().sum::<f64>() / STAKES.len() as f64 >= 1.0 / alpha
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Newcombe (Two-sided confidence intervals for the single proportion, Statistics in Medicine
    /// 17, 1998), table I, method 3.
    #[test]
    fn intervals_of_a_published_table() {
        for (part, whole, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
            (29, 29, 0.8830, 1.0),
        ] {
            let found = wilson(part, whole);
            assert!(
                (found.low - low).abs() < 6e-5,
                "{part} of {whole}: {found:?}"
            );
            assert!(
                (found.high - high).abs() < 6e-5,
                "{part} of {whole}: {found:?}"
            );
        }
    }

    #[test]
    fn nothing_is_known_of_nothing() {
        let found = wilson(0, 0);
        assert_eq!((found.low, found.high), (0.0, 1.0));
    }

    proptest! {
        #[test]
        fn an_interval_holds_its_share(part: u32, more: u32) {
            let found = wilson(u64::from(part), u64::from(part) + u64::from(more));
            prop_assert!(0.0 <= found.low && found.low <= found.share);
            prop_assert!(found.share <= found.high && found.high <= 1.0);
        }
    }
}

//! A fixed amount of computation, with a planted effect.

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::Trouble;
use crate::arguments::Arguments;
use crate::pace::steps;

/// The variable that plants an effect. A policy can set it, so that an experiment can search for the effect.
const EFFECT: &str = "HUGEWISE_LAB_WORK";

/// `work`: does `--steps` steps of computation; [`EFFECT`] multiplies them.
pub(crate) fn run(arguments: &mut Arguments) -> Result<ExitCode, Trouble> {
    let count = arguments.needed("--steps")?;
    arguments.finish()?;
    let effect = match std::env::var(EFFECT) {
        Ok(text) => Effect::parse(&text)
            .ok_or_else(|| Trouble::Usage(format!("{EFFECT} is FACTOR[:RUNS], not `{text}`")))?,
        Err(_) => Effect::NONE,
    };
    steps(effect.steps(count, lot()));
    Ok(ExitCode::SUCCESS)
}

/// A factor on the work, in one run of `runs`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Effect {
    factor: f64,
    runs: u64,
}

impl Effect {
    const NONE: Self = Self {
        factor: 1.0,
        runs: 1,
    };

    fn parse(text: &str) -> Option<Self> {
        let (factor, runs) = text.split_once(':').unwrap_or((text, "1"));
        let effect = Self {
            factor: factor.parse().ok()?,
            runs: runs.parse().ok()?,
        };
        (effect.factor >= 0.0 && effect.runs > 0).then_some(effect)
    }

    fn steps(self, count: usize, lot: u64) -> usize {
        match lot.is_multiple_of(self.runs) {
            true => (count as f64 * self.factor).round() as usize,
            false => count,
        }
    }
}

/// A number that differs between runs: clock and process id, mixed so that similar inputs give unrelated numbers (the
/// finaliser of SplitMix64).
fn lot() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_nanos() as u64);
    let mut mixed = now ^ (u64::from(std::process::id()) << 40);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_multiplies_the_work() {
        let steps = |text, lot| Effect::parse(text).expect("an effect").steps(1000, lot);
        assert_eq!(steps("1.02", 7), 1020);
        assert_eq!(
            [0, 1, 9, 10].map(|lot| steps("3:10", lot)),
            [3000, 1000, 1000, 3000]
        );
        for bad in ["", "fast", "-1", "3:0", "3:"] {
            assert_eq!(Effect::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn one_run_of_ten_is_drawn() {
        let hits = (0..2000).filter(|_| lot().is_multiple_of(10)).count();
        // 200 ± 13: six standard deviations.
        assert!((120..=280).contains(&hits), "{hits}");
    }
}

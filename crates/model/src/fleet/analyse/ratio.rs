//! The sample-ratio check: an arm must keep its units.

use serde::Serialize;
use statrs::distribution::{ChiSquared, ContinuousCDF};
use statrs::function::factorial::ln_binomial;

/// Below this p-value the arms have not the units that the plan gave them.
pub const ALARM: f64 = 0.001;

/// Units of two arms, and how many of them something happened to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Loss {
    /// What happened, in words that follow "units".
    pub what: &'static str,
    /// Treated units that it happened to, and all of them.
    pub treated: [u64; 2],
    /// The same of the control.
    pub control: [u64; 2],
    /// p-value of chance alone (Fisher's exact test).
    pub p: f64,
    /// Names of the units that it happened to.
    pub names: Vec<String>,
}

impl Loss {
    /// Tests whether both arms lost the same share.
    #[must_use]
    pub fn new(what: &'static str, treated: [u64; 2], control: [u64; 2]) -> Self {
        Self {
            what,
            treated,
            control,
            p: fisher(treated, control),
            names: Vec::new(),
        }
    }

    /// Names the units.
    #[must_use]
    pub fn of(self, names: Vec<String>) -> Self {
        Self { names, ..self }
    }

    /// Whether chance does not explain it.
    #[must_use]
    pub fn is_alarm(&self) -> bool {
        self.p < ALARM
    }
}

/// p-value of counts of units under the weights of their arms (Pearson's χ²). `None` where fewer
/// than two arms have a weight.
#[must_use]
pub fn ratio_p(counts: &[u64], weights: &[f64]) -> Option<f64> {
    let total: u64 = counts.iter().sum();
    let whole: f64 = weights.iter().sum();
    let mut distance = 0.0;
    let mut arms = 0_u32;
    for (&count, &weight) in counts.iter().zip(weights) {
        let expected = total as f64 * weight / whole;
        if expected > 0.0 {
            distance += (count as f64 - expected).powi(2) / expected;
            arms += 1;
        }
    }
    let freedom = f64::from(arms.checked_sub(1)?);
    Some(ChiSquared::new(freedom).ok()?.sf(distance))
}

/// Fisher's exact test, two-sided: all tables that are at most as likely.
fn fisher(treated: [u64; 2], control: [u64; 2]) -> f64 {
    let ([lost, all], [lost_control, all_control]) = (treated, control);
    let drawn = lost + lost_control;
    let chance = |lost: u64| {
        ln_binomial(all, lost) + ln_binomial(all_control, drawn - lost)
            - ln_binomial(all + all_control, drawn)
    };
    let own = chance(lost) + 1e-7;
    let tables = drawn.saturating_sub(all_control)..=drawn.min(all);
    let rare = tables.map(chance).filter(|it| *it <= own);
    rare.map(f64::exp).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fisher's tea: 3 of 4 and 1 of 4 give 34/70.
    #[test]
    fn the_tea_of_fisher() {
        let loss = Loss::new("lost", [3, 4], [1, 4]);
        assert!((loss.p - 34.0 / 70.0).abs() < 1e-9, "{loss:?}");
        assert!(Loss::new("lost", [30, 100], [2, 100]).is_alarm());
        assert!((Loss::new("lost", [0, 9], [0, 5]).p - 1.0).abs() < 1e-9);
    }

    #[test]
    fn counts_are_held_against_weights() {
        let p = ratio_p(&[60, 40], &[1.0, 1.0]).expect("two arms");
        assert!((p - 0.045_500_263_896_358_4).abs() < 1e-9, "{p}");
        assert!(ratio_p(&[900, 100], &[9.0, 1.0]).expect("two arms") > 0.99);
        assert_eq!(ratio_p(&[9], &[1.0]), None);
    }
}

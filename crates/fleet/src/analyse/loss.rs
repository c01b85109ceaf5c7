//! Lost units: an arm must keep its units.

use serde::Serialize;
use statrs::function::factorial::ln_binomial;

/// Below this p-value the units of an arm do not match the plan.
pub const ALARM: f64 = 0.001;

/// Units of two arms, and the number of affected ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Loss {
    /// The event, in words that follow "units".
    pub what: &'static str,
    /// Affected treated units, and all treated units.
    pub treated: [u64; 2],
    /// Affected control units, and all control units.
    pub control: [u64; 2],
    /// p-value of the difference by chance: Fisher's exact test, or re-randomisation if clusters are randomised.
    pub p: f64,
    /// Affected clusters of both arms; `None` if single units are randomised.
    pub clusters: Option<u64>,
    /// Names of the affected units.
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
            clusters: None,
            names: Vec::new(),
        }
    }

    /// Adds the names of the units.
    #[must_use]
    pub fn of(self, names: Vec<String>) -> Self {
        Self { names, ..self }
    }

    /// Replaces the p-value by that of re-randomised clusters.
    #[must_use]
    pub fn by_clusters(self, clusters: u64, p: f64) -> Self {
        Self {
            p,
            clusters: Some(clusters),
            ..self
        }
    }

    /// Returns true if chance does not explain the difference.
    #[must_use]
    pub fn is_alarm(&self) -> bool {
        self.p < ALARM
    }
}

/// Two-sided Fisher's exact test: the sum over all tables that are at most as likely.
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
}

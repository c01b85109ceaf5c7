//! Placebo switches: there and back, before a period that keeps its pages.

/// The chance of a placebo switch before a period whose blocks have the right pages already. Each one costs as much
/// as two switches.
pub const PLACEBO_CHANCE: f64 = 0.25;

/// Chooses the periods that begin with a placebo switch.
#[derive(Debug)]
pub struct Placebos {
    random: fastrand::Rng,
}

impl Placebos {
    /// Begins a sequence; the same seed gives the same one.
    #[must_use]
    pub fn with_seed(seed: u64) -> Self {
        Self {
            random: fastrand::Rng::with_seed(seed),
        }
    }

    /// Returns true if the next period that keeps its pages begins with a placebo switch.
    pub fn draw(&mut self) -> bool {
        self.random.f64() < PLACEBO_CHANCE
    }
}

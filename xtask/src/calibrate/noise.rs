//! Noise of the kinds seen on shared machines, as the logarithm of a trial's time.

use std::sync::OnceLock;

use fastrand::Rng;

/// A kind of noise. [`Noise::label`], which the table prints, describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// Independent lognormal, hardly any.
    Still,
    /// Independent lognormal.
    Independent,
    /// Independent lognormal, as on a busy machine.
    Busy,
    /// Each trial slower than the last.
    Drift,
    /// A wave of seventeen trials.
    Wave,
    /// Each trial depends on the last.
    Autocorrelated,
    /// Two speeds, as with and without a neighbour on the core.
    Bimodal,
    /// Student's t with two degrees of freedom: no variance.
    HeavyTails,
    /// Quiet, then busy for several trials.
    Bursts,
    /// Times of a Python program on a virtual machine, replayed in blocks.
    Recorded,
}

impl Noise {
    /// All kinds, in the order of the table.
    pub const ALL: [Self; 10] = [
        Self::Still,
        Self::Independent,
        Self::Busy,
        Self::Drift,
        Self::Wave,
        Self::Autocorrelated,
        Self::Bimodal,
        Self::HeavyTails,
        Self::Bursts,
        Self::Recorded,
    ];

    /// Returns the kind with its parameters.
    pub fn label(self) -> &'static str {
        match self {
            Self::Still => "independent, sd 0.3 %",
            Self::Independent => "independent, sd 2 %",
            Self::Busy => "independent, sd 5 %",
            Self::Drift => "sd 2 %, drifting 0.3 % a trial",
            Self::Wave => "sd 1 %, a wave of ±10 %, 17 trials long",
            Self::Autocorrelated => "AR(1), ρ 0.8, sd 3 %",
            Self::Bimodal => "sd 1 %, 3 in 10 trials +10 %",
            Self::HeavyTails => "Student t, 2 df, scale 2 %",
            Self::Bursts => "sd 1 %, bursts of +20 %, 4 trials long",
            Self::Recorded => "recorded (python3, VM), CV 9 %, lag-1 0.4",
        }
    }
}

/// One machine's noise, trial after trial in running order.
#[derive(Debug)]
pub struct Stream {
    noise: Noise,
    random: Rng,
    trials: f64,
    memory: f64,
    /// The start of the wave, in turns.
    phase: f64,
    is_busy: bool,
    /// The position in the replay of [`RECORDED`].
    replay: usize,
}

/// Times in seconds, in the order of measurement.
const RECORDED: &str = include_str!("noise/recorded.txt");
/// The mean length of a replayed block, in trials: the stationary bootstrap (Politis and Romano, 1994).
const BLOCK: f64 = 25.0;

fn recorded() -> &'static [f64] {
    static LOGS: OnceLock<Vec<f64>> = OnceLock::new();
    LOGS.get_or_init(|| {
        let values = RECORDED.lines().filter_map(|line| line.parse::<f64>().ok());
        let logs: Vec<f64> = values.map(f64::ln).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        logs.iter().map(|log| log - mean).collect()
    })
}

impl Stream {
    /// Creates the noise of one simulated machine.
    pub fn new(noise: Noise, seed: u64) -> Self {
        let mut random = Rng::with_seed(seed);
        let memory = 0.03 * normal(&mut random);
        let phase = Rng::with_seed(seed ^ 0xfa5e).f64();
        Self {
            phase,
            noise,
            random,
            trials: 0.0,
            memory,
            is_busy: false,
            replay: 0,
        }
    }

    /// Returns the logarithm of the factor on the next trial's time.
    pub fn draw(&mut self) -> f64 {
        self.trials += 1.0;
        let plain = normal(&mut self.random);
        match self.noise {
            Noise::Still => 0.003 * plain,
            Noise::Independent => 0.02 * plain,
            Noise::Busy => 0.05 * plain,
            Noise::Drift => 0.02 * plain + 0.003 * self.trials,
            Noise::Wave => {
                let turn = std::f64::consts::TAU * (self.trials / 17.0 + self.phase);
                0.01 * plain + 0.1 * turn.sin()
            }
            Noise::Autocorrelated => {
                self.memory = 0.8 * self.memory + 0.03 * 0.6 * plain;
                self.memory
            }
            Noise::Bimodal => 0.01 * plain + self.with_chance(0.3, 0.10),
            Noise::HeavyTails => 0.02 * plain / (-self.uniform().ln()).sqrt(),
            Noise::Bursts => 0.01 * plain + self.burst(),
            Noise::Recorded => self.replayed(),
        }
    }

    fn replayed(&mut self) -> f64 {
        let all = recorded();
        let starts_anew = self.trials <= 1.0 || self.uniform() < 1.0 / BLOCK;
        self.replay = match starts_anew {
            true => self.random.usize(0..all.len()),
            false => (self.replay + 1) % all.len(),
        };
        all[self.replay]
    }

    fn burst(&mut self) -> f64 {
        let turn = if self.is_busy { 0.25 } else { 0.05 };
        if self.uniform() < turn {
            self.is_busy = !self.is_busy;
        }
        if self.is_busy { 0.2 } else { 0.0 }
    }

    fn with_chance(&mut self, chance: f64, value: f64) -> f64 {
        if self.uniform() < chance { value } else { 0.0 }
    }

    /// Returns a number above 0 and at most 1.
    pub fn uniform(&mut self) -> f64 {
        uniform(&mut self.random)
    }
}

/// Returns a number above 0 and at most 1, so that it has a logarithm.
fn uniform(random: &mut Rng) -> f64 {
    1.0 - random.f64()
}

/// Returns a standard normal number, after Box and Muller.
pub(super) fn normal(random: &mut Rng) -> f64 {
    let radius = (-2.0 * uniform(random).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}

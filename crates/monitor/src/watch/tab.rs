//! The tabs of the screen.

/// A tab.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tab {
    /// The activity of the machine, and its processes.
    #[default]
    Overview,
    /// Counters and memory by folio size.
    Sizes,
    /// Free memory by node, zone and block size.
    FreeMemory,
    /// Cgroups as a tree.
    Groups,
    /// The memory of one process, with reasons.
    Process,
    /// How long the kernel stalls, by cause.
    Stalls,
    /// The running or the last experiment.
    Experiment,
}

impl Tab {
    /// All, in order.
    pub const ALL: [Self; 7] = [
        Self::Overview,
        Self::Sizes,
        Self::FreeMemory,
        Self::Groups,
        Self::Process,
        Self::Stalls,
        Self::Experiment,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Sizes => "Sizes",
            Self::FreeMemory => "Free memory",
            Self::Groups => "Cgroups",
            Self::Process => "Process",
            Self::Stalls => "Stalls",
            Self::Experiment => "Run",
        }
    }

    /// The tab this many places further, wrapping around.
    #[must_use]
    pub(super) fn stepped(self, step: usize) -> Self {
        let place = Self::ALL.iter().position(|tab| *tab == self).unwrap_or(0);
        Self::ALL[(place + step) % Self::ALL.len()]
    }
}

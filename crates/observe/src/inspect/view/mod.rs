//! Views of one process: memory by kind, the reason of every range, and a short form. All are rendered from one
//! [`Inspection`].

use serde::{Deserialize, Serialize};

use crate::address_space::Space;
use crate::forecast::Forecast;
use crate::inspect::reasons::{
    Code, Judgement, Settings, State, StepwiseGrowth, Wording, judge, recognise_growth,
};
use hugewise_text::document::Level;

mod benefit;
mod change;
mod coverage;
mod csv;
mod document;
mod map;
mod mappings;
mod memory;
mod page;
mod pick;
mod picture;
mod several;
mod summary;
mod waste;

pub use benefit::{Benefit, Measure};
pub use change::{Change, changes};
pub use csv::csv;
pub use map::map;
pub use pick::Glob;
pub use several::{Brief, several, several_csv};
pub use summary::{FolioBytes, ProcessSummary, ReasonBytes};

/// Name and version of the JSON form.
pub const FORMAT: &str = "hugewise-inspection 1";

/// One process, read and judged once. The JSON form is complete, so it can be read and judged again on another machine.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Inspection {
    /// [`FORMAT`].
    pub format: String,
    /// Memory by kind, and by reason.
    pub summary: ProcessSummary,
    /// The reason of every range, by ascending address.
    pub judgements: Vec<Judgement>,
    /// Mappings that appear to have grown in steps.
    pub growth: Vec<StepwiseGrowth>,
    /// The cost and possible benefit of huge pages, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
    /// Knowledge from outside about whether huge pages help the process. It contains a command line, so it is not
    /// exported from this machine.
    #[serde(skip)]
    pub benefit: Benefit,
    /// The settings of the machine and of the cgroup that applied to the process.
    pub settings: Settings,
    /// The address space as it was read.
    pub space: Space,
}

impl Inspection {
    /// Judges an address space.
    #[must_use]
    pub fn of(space: Space, settings: Settings) -> Self {
        Self::worded(space, settings, &Wording::All)
    }

    /// Judges an address space for one call of [`document`](Self::document) with the same arguments. Only the mappings
    /// that it shows get evidence and fixes.
    #[must_use]
    pub fn for_text(space: Space, settings: Settings, only: Option<&Glob>, level: Level) -> Self {
        let shown = match (only, level) {
            (None, Level::First) => Vec::new(),
            _ => mappings::picked(&space, only),
        };
        Self::worded(space, settings, &Wording::Only(shown))
    }

    /// Judges an address space, without evidence and fixes.
    #[must_use]
    pub fn in_short(space: Space, settings: Settings) -> Self {
        Self::worded(space, settings, &Wording::Only(Vec::new()))
    }

    fn worded(space: Space, settings: Settings, wording: &Wording) -> Self {
        let judgements = judge(&space, &settings, wording);
        Self {
            format: FORMAT.to_owned(),
            summary: ProcessSummary::of(&space, &judgements),
            growth: recognise_growth(&space, &judgements),
            judgements,
            forecast: None,
            benefit: Benefit::default(),
            settings,
            space,
        }
    }

    /// Returns the judgements of one mapping.
    pub fn of_mapping(&self, index: usize) -> &[Judgement] {
        let from = self.judgements.partition_point(|one| one.mapping < index);
        let to = self.judgements.partition_point(|one| one.mapping <= index);
        &self.judgements[from..to]
    }
}

/// Returns true if memory with this reason is small although it is in use.
#[must_use]
pub fn is_small(code: Code) -> bool {
    !matches!(
        code.state(),
        State::Huge | State::Explicit | State::HugeZero | State::Unused
    )
}

/// Returns true if memory with this reason is eligible for huge pages by all current settings.
#[must_use]
pub fn could_be_huge(code: Code) -> bool {
    code.state() == State::Eligible
}

//! What is said of one process: its memory by kind, the reason of every range, and the same in
//! short. One [`Inspection`], several forms.

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

/// One process, read once and judged. Its JSON form is complete: it can be read again and
/// judged again elsewhere.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Inspection {
    /// [`FORMAT`].
    pub format: String,
    /// Memory by kind, and by reason.
    pub summary: ProcessSummary,
    /// The reason of every range, by rising address.
    pub judgements: Vec<Judgement>,
    /// Mappings that look as if they had grown in steps.
    pub growth: Vec<StepwiseGrowth>,
    /// What huge pages would cost and could be worth, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
    /// Who knows whether huge pages help the process, which its memory does not tell. It names a
    /// command line and stays on this machine.
    #[serde(skip)]
    pub benefit: Benefit,
    /// What governed the process from outside.
    pub settings: Settings,
    /// What was seen.
    pub space: Space,
}

impl Inspection {
    /// Judges what was read.
    #[must_use]
    pub fn of(space: Space, settings: Settings) -> Self {
        Self::worded(space, settings, &Wording::All)
    }

    /// Judges what was read for one call of [`document`](Self::document) with the same choice:
    /// evidence and fixes are there for the mappings that it shows.
    #[must_use]
    pub fn for_text(space: Space, settings: Settings, only: Option<&Glob>, level: Level) -> Self {
        let shown = match (only, level) {
            (None, Level::First) => Vec::new(),
            _ => mappings::picked(&space, only),
        };
        Self::worded(space, settings, &Wording::Only(shown))
    }

    /// Judges what was read, without evidence and fixes.
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

    /// The judgements of one mapping.
    pub fn of_mapping(&self, index: usize) -> &[Judgement] {
        let from = self.judgements.partition_point(|one| one.mapping < index);
        let to = self.judgements.partition_point(|one| one.mapping <= index);
        &self.judgements[from..to]
    }
}

/// Whether memory with this reason is small although it is in use: what a reader looks for.
#[must_use]
pub fn is_small(code: Code) -> bool {
    !matches!(
        code.state(),
        State::Huge | State::Explicit | State::HugeZero | State::Unused
    )
}

/// Whether memory with this reason is eligible for huge pages by all that holds now.
#[must_use]
pub fn could_be_huge(code: Code) -> bool {
    code.state() == State::Eligible
}

//! What is said of one process: its memory by kind, the reason of every range, and the same in
//! short. One [`Inspection`](crate::observe::inspect::view::Inspection), several renderings.

use serde::{Deserialize, Serialize};

use crate::observe::address_space::Space;
use crate::observe::forecast::Forecast;
use crate::observe::inspect::reasons::{
    Code, Growth, Judgement, Settings, Told, judge, recognise_growth,
};
use crate::text::Verbosity;

mod change;
mod csv;
mod map;
mod markdown;
mod pick;
mod several;
mod summary;
mod text;

pub use change::{Change, changes};
pub use map::render_map;
pub use markdown::render_markdown;
pub use pick::Glob;
pub use several::{Brief, render_several, render_several_csv};
pub use summary::{FolioBytes, ReasonBytes, Summary};
pub use text::{render_summary, render_text};

pub use csv::render_csv;

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
    pub summary: Summary,
    /// The reason of every range, by rising address.
    pub judgements: Vec<Judgement>,
    /// Mappings that look as if they had grown in steps.
    pub growth: Vec<Growth>,
    /// What huge pages would cost and could be worth, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
    /// What governed the process from outside.
    pub settings: Settings,
    /// What was seen.
    pub space: Space,
}

impl Inspection {
    /// Judges what was seen.
    #[must_use]
    pub fn of(space: Space, settings: Settings) -> Self {
        Self::told(space, settings, &Told::All)
    }

    /// Judges what was seen for one call of [`render_text`] with the same choice: evidence and
    /// repair are there for the mappings that it shows.
    #[must_use]
    pub fn for_text(
        space: Space,
        settings: Settings,
        only: Option<&Glob>,
        verbose: Verbosity,
    ) -> Self {
        let shown = text::shown(&space, only, verbose);
        Self::told(space, settings, &Told::Only(shown))
    }

    /// Judges what was seen, without evidence and repair.
    #[must_use]
    pub fn in_short(space: Space, settings: Settings) -> Self {
        Self::told(space, settings, &Told::Only(Vec::new()))
    }

    fn told(space: Space, settings: Settings, told: &Told) -> Self {
        let judgements = judge(&space, &settings, told);
        Self {
            format: FORMAT.to_owned(),
            summary: Summary::of(&space, &judgements),
            growth: recognise_growth(&space, &judgements),
            judgements,
            forecast: None,
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

/// Whether memory with this reason is small although it is used: what a reader looks for.
#[must_use]
pub fn is_small(code: Code) -> bool {
    !matches!(
        code,
        Code::AlreadyPmd | Code::Hugetlb | Code::Untouched | Code::HugeZero | Code::NotMapped
    )
}

/// Whether memory with this reason could be huge by all that holds now.
#[must_use]
pub fn could_be_huge(code: Code) -> bool {
    code >= Code::Swapped && code < Code::Host4K
}

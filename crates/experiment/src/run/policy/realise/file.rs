//! `file=`: files that are read into large or small folios before the trial.

use super::{Draft, Reach};

pub(super) fn reach(draft: &mut Draft<'_>) {
    let Some(pages) = draft.policy.settings.file.clone() else {
        return;
    };
    if draft.reach == Reach::Machine {
        draft.obstacle(
            "file= reads the files before each trial, and running programs keep their pages",
            "use it with run or exec",
        );
    }
    draft.realisation.file = Some(pages);
}

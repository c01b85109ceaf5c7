//! `text=`: code in huge pages, copied by a tracer or in the page cache.

use super::{Draft, ThpPrctl};
use crate::base::host::ThpDisable;
use crate::run::policy::Text;

pub(super) fn reach(draft: &mut Draft<'_>) {
    let settings = &draft.policy.settings;
    draft.realisation.text = settings.text;
    if settings.text != Some(Text::File) {
        return;
    }
    if draft.host.thp.is_err() {
        draft.obstacle(
            "this kernel has no huge pages, of the page cache or other",
            "use a kernel with transparent huge pages",
        );
    }
    // The switch of a process also keeps its mappings of files from huge pages (Linux 6.12); the setting of the machine
    // does not.
    match (draft.realisation.prctl, draft.host.thp_disable) {
        (ThpPrctl::Disable, _) => leave_out(draft, "thp=never"),
        (ThpPrctl::ExceptAdvised, _) => leave_out(draft, "thp=madvise"),
        (ThpPrctl::Clear, _) | (ThpPrctl::Leave, ThpDisable::Off) => {}
        (ThpPrctl::Leave, _) => draft.obstacle(
            "this process inherited PR_SET_THP_DISABLE, which keeps huge pages of files from it",
            "add thp=always, which clears it, or start from a process without it",
        ),
    }
}

fn leave_out(draft: &mut Draft<'_>, mode: &str) {
    draft.obstacle(
        format!("{mode} keeps huge pages of files from the program too"),
        format!("leave {mode} or text=file out"),
    );
}

//! `collapse=` and `text=`: memory and code made huge by a tracer while the program runs.

use super::Draft;
use crate::run::policy::{Settings, Thp};

pub(super) fn reach(draft: &mut Draft<'_>) {
    let settings = &draft.policy.settings;
    let Some(key) = key(settings) else { return };
    if !draft.host.can_collapse {
        draft.obstacle(
            format!("this kernel has no MADV_COLLAPSE, which {key} needs"),
            "use Linux 6.1 or newer, with transparent huge pages",
        );
    }
    if !draft.host.can_trace {
        draft.obstacle(
            format!("workloads may not be traced here, which {key} needs"),
            "see what `hugewise doctor` says about ptrace",
        );
    }
    if settings.thp == Some(Thp::Never) {
        draft.obstacle(
            "thp=never keeps MADV_COLLAPSE from the program too",
            format!("leave thp=never or {key} out"),
        );
    } else if !draft.realisation.tracer.is_none() {
        // Its filter would need a tracer for each thread of the tree.
        draft.obstacle(
            format!(
                "thp=always or tracer=idle traces the whole program here, which {key} cannot join"
            ),
            "leave one of them out, or run as root with --system",
        );
    }
    draft.realisation.collapse = settings.collapse;
}

/// The first key that requires it.
fn key(settings: &Settings) -> Option<&'static str> {
    let collapse = settings.collapse.map(|_| "collapse");
    let text = settings.text.filter(|text| text.is_traced());
    collapse.or(text.map(|_| "text=huge"))
}

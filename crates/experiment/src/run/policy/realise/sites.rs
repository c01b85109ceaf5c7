//! `sites=`: a tracer advises each mapping by its site.

use super::{Draft, TreeTracer};
use crate::run::policy::{Text, Thp};

pub(super) fn reach(draft: &mut Draft<'_>) {
    let settings = &draft.policy.settings;
    let Some(choice) = settings.sites.clone() else {
        return;
    };
    if !draft.host.can_trace {
        draft.obstacle(
            "workloads may not be traced here, which sites needs",
            "see what `hugewise doctor` says about ptrace",
        );
    }
    let is_never = draft
        .host
        .thp
        .as_ref()
        .is_ok_and(|thp| thp.enabled == "never");
    if settings.thp == Some(Thp::Never) || (settings.thp.is_none() && is_never) {
        draft.obstacle(
            "sites advises memory, which has no effect where huge pages are off",
            "add thp=madvise, as root with --system",
        );
    }
    if !draft.realisation.tracer.is_none()
        || settings.collapse.is_some()
        || settings.text.is_some_and(Text::is_traced)
    {
        draft.obstacle(
            "sites uses its own tracer, which excludes any other",
            "leave sites or the other key out",
        );
    }
    draft.realisation.tracer = TreeTracer::Sites(choice);
}

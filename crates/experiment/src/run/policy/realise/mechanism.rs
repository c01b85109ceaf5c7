//! Mechanisms of `thp=always`: the system-wide setting, a tracer, or a preloaded library.

use super::{Draft, EnvChange, TreeTracer};
use crate::run::policy::words::Word;
use crate::run::policy::{Means, Thp};

/// The start of the library's variable: for real advice, and for its placebo.
const HUGE: &str = "huge";
const IDLE: &str = "idle";

/// `means=` is valid only with `thp=always`.
pub(super) fn check(draft: &mut Draft<'_>) {
    if draft.policy.settings.means.is_some() && draft.policy.settings.thp != Some(Thp::Always) {
        draft.obstacle(
            "means= applies only to thp=always",
            "write thp=always too, or leave means= out",
        );
    }
}

/// Advises the memory of the program if `thp=always` is reached that way on a machine whose huge pages are in `mode`.
/// Returns true if it is.
pub(super) fn advise(draft: &mut Draft<'_>, mode: &str) -> bool {
    match asked(draft, mode).unwrap_or_else(|| first(draft, mode)) {
        Means::Setting => return false,
        Means::Tracer => draft.realisation.tracer = TreeTracer::Huge,
        Means::Preload => preload(draft, HUGE),
    }
    true
}

/// The first available mechanism. Advice decides only if the machine gives huge pages to advised memory alone, and a
/// writable setting needs none.
fn first(draft: &Draft<'_>, mode: &str) -> Means {
    let may_write = draft.reach.has_settings() && draft.host.user.can_write_thp;
    if may_write || mode != "madvise" {
        Means::Setting
    } else if draft.host.can_trace {
        Means::Tracer
    } else if draft.host.library.is_some() {
        Means::Preload
    } else {
        Means::Setting
    }
}

/// The mechanism requested by the user, with its obstacles.
fn asked(draft: &mut Draft<'_>, mode: &str) -> Option<Means> {
    let means = draft.policy.settings.means?;
    if means == Means::Tracer && !draft.host.can_trace {
        cannot_trace(draft);
    }
    if means != Means::Setting && mode != "madvise" {
        draft.obstacle(
            format!(
                "means={} advises memory, which has no effect while the machine is set to `{mode}`",
                means.word()
            ),
            "leave means= out",
        );
    }
    Some(means)
}

fn cannot_trace(draft: &mut Draft<'_>) {
    draft.obstacle(
        "workloads may not be traced here",
        "see what `hugewise doctor` says about ptrace",
    );
}

/// `tracer=idle` and `preload=idle`; a policy that advises through the same mechanism needs no second one.
pub(super) fn reach_idle(draft: &mut Draft<'_>) {
    if draft.policy.settings.tracer.is_some() {
        if !draft.realisation.tracer.is_none() {
            draft.obstacle("thp=always is traced itself here", "leave tracer=idle out");
        } else if !draft.host.can_trace {
            cannot_trace(draft);
        }
        draft.realisation.tracer = TreeTracer::Idle;
    }
    if draft.policy.settings.preload.is_some() {
        if draft.realisation.library.is_some() {
            draft.obstacle(
                "thp=always preloads the library itself here",
                "leave preload=idle out",
            );
        }
        preload(draft, IDLE);
    }
}

/// Preloads the library that advises memory, before any other preloaded library.
fn preload(draft: &mut Draft<'_>, advice: &str) {
    const USUAL_PMD_BYTES: u64 = 2 << 20;
    let Some(path) = draft.host.library.clone() else {
        return draft.obstacle(
            "no library can be preloaded here",
            "see what `hugewise doctor` says about preloading",
        );
    };
    if draft.policy.settings.env.contains_key("LD_PRELOAD") {
        draft.obstacle(
            "`env.LD_PRELOAD` would take the library away that advises memory",
            "set LD_PRELOAD before hugewise instead",
        );
    }
    let block = draft.host.pmd_bytes().unwrap_or(USUAL_PMD_BYTES);
    draft.realisation.environment.extend([
        EnvChange::Prepend {
            name: "LD_PRELOAD".to_owned(),
            separator: ':',
            value: path.clone(),
        },
        EnvChange::Set {
            name: "HUGEWISE_PRELOAD".to_owned(),
            value: format!("{advice}:{block}"),
        },
    ]);
    draft.realisation.library = Some(path);
}

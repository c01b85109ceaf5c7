use std::collections::BTreeMap;
use std::time::Duration;

use super::cannot_act::Heap;
use super::realise::{Reach, Realisation, Unreachable, realise};
use super::words::{Preload, Text, Tracer, Word};
use super::{Collapse, Malloc, Policy, Runtime, Settings, Thp};
use crate::base::host::{Host, ThpDisable};
use crate::base::tunables::MALLOC_HUGETLB;

/// The default policies, if the user chooses none. First comes the machine as it is, then each reachable mode of
/// transparent huge pages that differs from it. Then comes the heap manager's setting, if it would act, and last their
/// [overhead controls](crate::run::plan::Plan::is_overhead_control). Arms identical to the machine as it is are left
/// out. If the machine gives no huge page and its setting may not be written, memory is made huge later.
#[must_use]
pub fn defaults(host: &Host, reach: Reach, heap: Heap) -> Vec<Policy> {
    let modes = [Thp::Never, Thp::Madvise, Thp::Always]
        .into_iter()
        .filter(|&mode| differs(host, mode))
        .map(thp);
    let mut policies = vec![Policy::as_is()];
    policies.extend(modes.chain(heap_advice(host, heap)));
    policies.retain(|policy| realise(policy, host, reach).is_ok());
    let is_always = |policy: &Policy| policy.settings.thp == Some(Thp::Always);
    if mode_in_force(host) == "never" && !policies.iter().any(is_always) {
        let later = collapsed_later();
        policies.extend(realise(&later, host, reach).is_ok().then_some(later));
    }
    let idle = policies
        .iter()
        .find_map(|policy| idle(&realise(policy, host, reach).ok()?));
    policies.extend(idle);
    let malloc_alone = policies.iter().filter_map(|it| it.settings.malloc_alone());
    let malloc_alone: Vec<Policy> = malloc_alone.map(Policy::of).collect();
    policies.extend(malloc_alone);
    policies
}

/// Collapses repeatedly, because before its first trial it is unknown how long a program runs and when it uses its
/// memory. The interval is short enough to show an effect in a program of one second. Already huge memory causes no
/// stop.
#[must_use]
pub(crate) fn collapsed_later() -> Policy {
    Policy::of(Settings {
        collapse: Some(Collapse::Every(Duration::from_millis(250))),
        ..Settings::default()
    })
}

/// The huge-page policies that need no choice by the user, with how each is reached.
#[must_use]
pub fn candidates(
    host: &Host,
    reach: Reach,
) -> Vec<(Policy, Result<Realisation, Vec<Unreachable>>)> {
    let heap = Policy::of(Settings {
        malloc: Some(Malloc::Thp),
        ..Settings::default()
    });
    let code = Policy::of(Settings {
        text: Some(Text::Huge),
        ..Settings::default()
    });
    let modes = [Thp::Never, Thp::Madvise, Thp::Always].map(thp);
    let loaded = host.glibc_elf_thp.then(code_by_loader);
    let policies = modes.into_iter().chain([heap, collapsed_later(), code]);
    let policies = policies.chain(loaded);
    policies
        .map(|policy| {
            let reached = realise(&policy, host, reach);
            (policy, reached)
        })
        .collect()
}

/// Code in huge pages by advice of the loader. It needs no tracer and keeps the pages of the file, but takes only
/// segments that are aligned in the file.
fn code_by_loader() -> Policy {
    let on = BTreeMap::from([("elf.thp".to_owned(), "1".to_owned())]);
    Policy::of(Settings {
        runtimes: BTreeMap::from([(Runtime::Glibc, on)]),
        ..Settings::default()
    })
}

/// The control for the cost of the mechanism by which a policy is reached.
fn idle(realisation: &Realisation) -> Option<Policy> {
    let settings = Settings::default();
    Some(Policy::of(if !realisation.tracer.is_none() {
        Settings {
            tracer: Some(Tracer::Idle),
            ..settings
        }
    } else if realisation.library.is_some() {
        Settings {
            preload: Some(Preload::Idle),
            ..settings
        }
    } else {
        return None;
    }))
}

/// The active mode for a program started with no setting.
#[must_use]
pub(crate) fn mode_in_force(host: &Host) -> &str {
    let Ok(thp) = &host.thp else {
        return "never";
    };
    match (host.thp_disable, thp.effective_pmd_mode()) {
        (ThpDisable::Disabled, _) => "never",
        (ThpDisable::ExceptAdvised, "always") => "madvise",
        (_, mode) => mode,
    }
}

/// Returns true if a program that asks for huge pages with no setting may get some.
#[must_use]
pub fn heeds_advice(host: &Host) -> bool {
    mode_in_force(host) != "never"
}

fn differs(host: &Host, mode: Thp) -> bool {
    let smaller = host.thp_disable != ThpDisable::Disabled
        && host
            .thp
            .as_ref()
            .is_ok_and(|thp| thp.enabled_mthp_sizes().next().is_some());
    mode_in_force(host) != mode.word() || (mode == Thp::Never && smaller)
}

fn thp(mode: Thp) -> Policy {
    Policy::of(Settings {
        thp: Some(mode),
        ..Settings::default()
    })
}

/// The setting by which the heap manager asks for huge pages, or stops asking if a tunable of the machine already makes
/// it ask.
fn heap_advice(host: &Host, heap: Heap) -> Option<Policy> {
    let own = |policy: &str| policy.parse().ok();
    let tunable = host.tunables.get(MALLOC_HUGETLB);
    let asks = tunable.is_some_and(|it| it.value != "0");
    (mode_in_force(host) == "madvise")
        .then(|| match heap {
            Heap::Glibc if asks => own("glibc.malloc.hugetlb=0"),
            Heap::Glibc => own("malloc=thp"),
            Heap::Jvm => own("java.UseTransparentHugePages=+"),
            Heap::Jemalloc => own("jemalloc.thp=always"),
        })
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::tunables::Tunables;
    use crate::changed_host::Changed;
    use crate::test_host::host;

    fn names(host: &Host, reach: Reach) -> String {
        let names: Vec<String> = defaults(host, reach, Heap::Glibc)
            .into_iter()
            .map(|policy| policy.name)
            .collect();
        names.join(" ")
    }

    #[test]
    fn the_heap_is_asked_by_who_makes_it() {
        let host = host("madvise").unprivileged();
        let last = |heap| {
            defaults(&host, Reach::Process, heap)
                .pop()
                .map(|it| it.name)
        };
        let names =
            [Heap::Glibc, Heap::Jvm, Heap::Jemalloc].map(|heap| last(heap).unwrap_or_default());
        let expected = [
            "thp=never,malloc=thp",
            "java.UseTransparentHugePages=+",
            "jemalloc.thp=always",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn a_heap_that_asks_already_is_compared_with_one_that_does_not() {
        let with = |variable: &str| {
            let host = host("madvise").unprivileged();
            let tunables = Tunables::new(Vec::new(), Some(variable));
            names(&host.with(|host| host.tunables = tunables), Reach::Process)
        };
        let asks = "as-is thp=never glibc.malloc.hugetlb=0 thp=never,glibc.malloc.hugetlb=0";
        assert_eq!(with("glibc.malloc.hugetlb=1"), asks);
        let usual = "as-is thp=never malloc=thp thp=never,malloc=thp";
        assert_eq!(with("glibc.malloc.hugetlb=0"), usual);
        assert_eq!(with("glibc.elf.thp=1"), usual);
    }

    #[test]
    fn the_loader_is_offered_if_it_can() {
        let offered = |host: Host| -> Vec<(String, bool)> {
            let all = candidates(&host, Reach::Process).into_iter();
            let all = all.map(|(policy, reached)| (policy.name, reached.is_ok()));
            all.filter(|(name, _)| name.starts_with("glibc.")).collect()
        };
        let with = |mode: &str| host(mode).with(|host| host.glibc_elf_thp = true);
        assert_eq!(offered(host("madvise")), []);
        for (mode, is_reached) in [("madvise", true), ("always", true), ("never", false)] {
            let expected = [("glibc.elf.thp=1".to_owned(), is_reached)];
            assert_eq!(offered(with(mode)), expected, "{mode}");
        }
    }

    #[test]
    fn what_the_host_allows_is_tried() {
        use Reach::{Process, System};
        let disabled = host("always").with(|host| host.thp_disable = ThpDisable::Disabled);
        let rows = [
            (
                host("always").unprivileged(),
                Process,
                "as-is thp=never thp=madvise",
            ),
            (host("always").old(), Process, "as-is thp=never"),
            (host("always").old(), System, "as-is thp=never thp=madvise"),
            (
                host("madvise").unprivileged(),
                Process,
                "as-is thp=never malloc=thp thp=never,malloc=thp",
            ),
            (
                host("madvise"),
                System,
                "as-is thp=never thp=always malloc=thp thp=never,malloc=thp",
            ),
            (
                host("madvise").unprivileged(),
                System,
                "as-is thp=never malloc=thp thp=never,malloc=thp",
            ),
            (host("never"), Process, "as-is"),
            (host("never").size(64, "always"), Process, "as-is thp=never"),
            (host("never"), System, "as-is thp=madvise thp=always"),
            (
                host("madvise").unprivileged().traceable(),
                Process,
                "as-is thp=never thp=always malloc=thp tracer=idle thp=never,malloc=thp",
            ),
            (
                host("madvise").unprivileged().preloading(),
                Process,
                "as-is thp=never thp=always malloc=thp preload=idle thp=never,malloc=thp",
            ),
            (
                host("madvise").traceable(),
                System,
                "as-is thp=never thp=always malloc=thp thp=never,malloc=thp",
            ),
            (
                host("never").unprivileged().traceable(),
                Process,
                "as-is collapse=every:250ms",
            ),
            (
                host("never").traceable(),
                System,
                "as-is thp=madvise thp=always",
            ),
            (
                host("never")
                    .traceable()
                    .with(|host| host.can_collapse = false),
                Process,
                "as-is",
            ),
            (host("x").without_thp(), System, "as-is"),
            (disabled, Process, "as-is thp=madvise thp=always"),
        ];
        for (host, reach, expected) in rows {
            assert_eq!(names(&host, reach), expected, "{host:?} {reach:?}");
        }
    }
}

use super::defaults::mode_in_force;
use super::key::{Acts, Key};
use super::keys::KEYS;
use super::parse::{kib_text, one_of};
use super::realise::{BIND_NOW, Reach, ThpPrctl, realise};
use super::{Malloc, Policy, Runtime, Settings, Thp};
use crate::base::host::{Host, HugetlbPool};
use crate::base::tunables::{ELF_THP, MALLOC_HUGETLB, Tunable};

/// Doubts about the results of `policy` on `host`: texts to print after its name. They do not stop a run.
#[must_use]
pub fn warnings(policy: &Policy, host: &Host) -> Vec<String> {
    let settings = &policy.settings;
    [
        the_switch_is_wide(policy, host),
        idle_under_never(settings),
        followers(settings, host),
        khugepaged_is_slow(settings),
        pool_may_run_out(settings),
        nobody_asks_for_the_pool(settings),
        the_pool_is_empty(settings, host),
        one_node(settings, host),
        asked_for_already(settings, host),
        part_of_as_is(settings, host),
        told_already(settings, host),
        left_to_chance(policy, host),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// `PR_SET_THP_DISABLE` applies to all sizes (Documentation/admin-guide/mm/transhuge.rst).
fn the_switch_is_wide(policy: &Policy, host: &Host) -> Option<String> {
    let thp = host.thp.as_ref().ok()?;
    let given: Vec<u64> = thp.enabled_mthp_sizes().collect();
    let open = |kib: &u64| thp.effective_mode(*kib) == Some("always");
    let realisation = realise(policy, host, Reach::System).ok()?;
    match realisation.prctl {
        ThpPrctl::Disable if !given.is_empty() => Some(format!(
            "it also stops the multi-size pages that the machine gives ({}), and MADV_COLLAPSE",
            sizes_text(given)
        )),
        ThpPrctl::ExceptAdvised if given.iter().any(open) => Some(format!(
            "it is reached by the switch of the process, which keeps {} for advised memory too",
            sizes_text(given.into_iter().filter(open))
        )),
        _ => None,
    }
}

fn sizes_text(sizes: impl IntoIterator<Item = u64>) -> String {
    let sizes: Vec<String> = sizes.into_iter().map(kib_text).collect();
    sizes.join(", ")
}

fn idle_under_never(settings: &Settings) -> Option<String> {
    let making = KEYS.iter().filter(|key| key.acts == Acts::Making);
    let is_set = making
        .clone()
        .any(|key| key.entries(settings).next().is_some());
    (settings.thp == Some(Thp::Never) && is_set).then(|| {
        let keys: Vec<&str> = making.map(Key::word).collect();
        let keys = one_of(&keys);
        format!("under thp=never the program gets no huge page on which {keys} could act")
    })
}

/// Sizes set to `inherit` follow the file that `thp=` may have to write.
fn followers(settings: &Settings, host: &Host) -> Option<String> {
    let mode = match settings.thp? {
        Thp::Always => "always",
        Thp::Madvise => "madvise",
        Thp::Never | Thp::Inherit => return None,
    };
    let thp = host.thp.as_ref().ok()?;
    let pmd_kib = thp.pmd_bytes / 1024;
    let sizes = thp
        .sizes
        .iter()
        .filter(|&(&kib, own)| own == "inherit" && kib != pmd_kib)
        .filter(|(kib, _)| !settings.mthp.contains_key(kib))
        .map(|(&kib, _)| kib);
    let sizes = sizes_text(sizes);
    (mode_in_force(host) != mode && !sizes.is_empty())
        .then(|| format!("the sizes on `inherit` follow it: {sizes}"))
}

/// 16 MiB every ten seconds by default (`pages_to_scan`, `scan_sleep_millisecs`). A user who sets less than a second of
/// sleep is aware of this.
fn khugepaged_is_slow(settings: &Settings) -> Option<String> {
    let sleep = settings.khugepaged.get("scan_sleep_millisecs");
    let is_hurried = sleep.is_some_and(|&sleep| sleep < 1000);
    (!settings.khugepaged.is_empty() && !is_hurried).then(|| {
        "khugepaged serves the whole machine, in minutes; a short run does not show its settings"
            .to_owned()
    })
}

/// The first trial shows whether a program has no glibc malloc, or ignores preloaded libraries.
fn pool_may_run_out(settings: &Settings) -> Option<String> {
    (settings.malloc == Some(Malloc::Hugetlb)).then(|| {
        "glibc falls back to ordinary pages without a word once the pool is empty".to_owned()
    })
}

/// Settings that make a program take its memory from a hugetlb pool.
const USERS: [&str; 5] = [
    "malloc=hugetlb",
    "glibc.malloc.hugetlb=",
    "java.UseLargePages=+",
    "mimalloc.allow_large_os_pages=1",
    "postgres.huge_pages=",
];

/// Values of these settings that use no pool.
const NO_USERS: [&str; 3] = [
    "glibc.malloc.hugetlb=0",
    "glibc.malloc.hugetlb=1",
    "postgres.huge_pages=off",
];

/// A pool is useless to a program that does not request its pages.
fn nobody_asks_for_the_pool(settings: &Settings) -> Option<String> {
    let has_pool = settings.hugetlb.values().any(|&pages| pages > 0);
    (has_pool && !settings.of_program().any(|it| asks_for_the_pool(&it))).then(|| {
        "only a program that asks for its pages uses the pool (MAP_HUGETLB, SHM_HUGETLB, \
         hugetlbfs); malloc=hugetlb lets the malloc of glibc ask"
            .to_owned()
    })
}

/// With an empty pool, a program continues with ordinary pages, or fails. `malloc=hugetlb` is refused in this case.
fn the_pool_is_empty(settings: &Settings, host: &Host) -> Option<String> {
    let mut entries = settings.of_program();
    let asks = settings.malloc != Some(Malloc::Hugetlb) && entries.any(|it| asks_for_the_pool(&it));
    let gives = |pool: &HugetlbPool| pool.free.saturating_add(pool.overcommit) > pool.reserved;
    let is_empty = settings.hugetlb.is_empty() && !host.hugetlb.values().any(gives);
    (asks && is_empty).then(|| {
        "no hugetlb pool of this machine has a free page, so that the program gets ordinary \
         pages or fails; add hugetlb=2M:N, with --system"
            .to_owned()
    })
}

/// Returns true if an entry makes a program take its memory from a pool. Tunables of glibc may be inside their
/// variable.
fn asks_for_the_pool(entry: &str) -> bool {
    let tunables = entry.strip_prefix("env.GLIBC_TUNABLES=");
    tunables.unwrap_or(entry).split(':').any(|part| {
        let is_user = USERS.iter().any(|user| part.starts_with(user));
        is_user && !NO_USERS.contains(&part)
    })
}

fn one_node(settings: &Settings, host: &Host) -> Option<String> {
    (settings.numa.is_some() && host.numa_nodes <= 1)
        .then(|| "this machine has one memory node, so that it changes nothing".to_owned())
}

/// The tunable changes nothing if it is the default. Not relevant if the policy sets the machine's mode: glibc reads it
/// when the program starts.
fn asked_for_already(settings: &Settings, host: &Host) -> Option<String> {
    let asked = settings.malloc == Some(Malloc::Thp) && settings.thp.is_none();
    (asked && host.malloc_advises_by_itself()).then(|| {
        "malloc advises its heap by itself on this machine, so that this is what as-is does too; \
         glibc.malloc.hugetlb=0 stops it"
            .to_owned()
    })
}

/// The tunables of huge pages that programs get without a policy.
fn inherited_tunables(host: &Host) -> impl Iterator<Item = &Tunable> {
    let of_all = host.tunables.of(None).into_values();
    let of_some = host.tunables.iter().filter(|it| it.program.is_some());
    let is_known = |it: &&Tunable| [MALLOC_HUGETLB, ELF_THP].contains(&it.name.as_str());
    of_all.chain(of_some).filter(is_known)
}

/// Names the place of a tunable, and its program if only one gets it.
fn sets(tunable: &Tunable) -> String {
    let program = tunable.program.as_ref();
    let program = program.map_or_else(String::new, |name| format!(" for {name}"));
    format!("{} sets {tunable}{program}", tunable.place)
}

fn part_of_as_is(settings: &Settings, host: &Host) -> Option<String> {
    let is_as_is = *settings == Settings::default();
    let mut set = inherited_tunables(host).filter(|it| is_as_is && it.value != "0");
    let tunable = set.next()?;
    Some(format!("{}, which is part of it", sets(tunable)))
}

/// A policy changes nothing if all its tunables have their values already.
fn told_already(settings: &Settings, host: &Host) -> Option<String> {
    let asked = settings.tunables();
    let is_same = |it: &&Tunable| {
        let mut asked = asked.iter();
        asked.any(|(name, value)| (name, value) == (&it.name, &it.value))
    };
    let tunable = inherited_tunables(host).find(is_same)?;
    let is_all = asked.len() == 1 && settings.of_program().count() == 1 && settings.thp.is_none();
    is_all.then(|| {
        format!(
            "{}, so that this is what as-is does too; {}=0 stops it",
            sets(tunable),
            tunable.name
        )
    })
}

/// Warns that some starts ignore a policy's glibc tunable unless functions are bound at the start.
#[must_use]
pub fn left_to_chance(policy: &Policy, host: &Host) -> Option<String> {
    let glibc = advice_by_chance(policy, host)?;
    let realisation = realise(policy, host, Reach::System).ok()?;
    (!realisation.binds_at_start()).then(|| {
        format!("{glibc} takes it in some starts only; with {BIND_NOW}=1 in all or in none")
    })
}

/// The glibc version that applies a policy's tunable only in some starts, unless its functions are bound at the start;
/// see [`Host::malloc_takes_advice_by_chance`].
#[must_use]
pub fn advice_by_chance(policy: &Policy, host: &Host) -> Option<String> {
    let settings = &policy.settings;
    let tunable = settings.runtime_settings().any(|(runtime, name, value)| {
        (runtime, name, value) == (Runtime::Glibc, "malloc.hugetlb", "1")
    });
    let asked = tunable || settings.malloc == Some(Malloc::Thp);
    let (major, minor) = host.glibc?;
    (asked && host.malloc_takes_advice_by_chance()).then(|| format!("glibc {major}.{minor}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::tunables::{TunablePlace, Tunables};
    use crate::changed_host::Changed;
    use crate::test_host::host;

    #[test]
    fn doubts_leave_the_name_to_who_prints_them() {
        let rows = [
            (
                "thp=never",
                host("always").size(64, "always"),
                "(64K), and MADV_COLLAPSE",
            ),
            ("thp=never,defrag=always", host("always"), "could act"),
            (
                "thp=always",
                host("never").size(64, "inherit"),
                "follow it: 64K",
            ),
            ("khugepaged.defrag=0", host("always"), "in minutes"),
            (
                "thp=madvise",
                host("always").size(64, "always"),
                "keeps 64K for advised memory",
            ),
            ("malloc=hugetlb", host("always"), "once the pool is empty"),
            ("hugetlb=2M:4", host("always"), "only a program that asks"),
            ("numa=bind:0", host("always"), "one memory node"),
        ];
        for (text, host, word) in rows {
            let said = warnings(&text.parse().unwrap(), &host);
            assert_eq!(said.len(), 1, "{text}: {said:?}");
            assert!(said[0].contains(word), "{said:?}");
            assert!(!said[0].contains(text), "{said:?}");
        }
    }

    #[test]
    fn an_empty_pool_is_named_to_whoever_asks_it() {
        let of = |text: &str, free: u64| {
            let host = host("madvise").with(|host| {
                let pool = HugetlbPool {
                    free,
                    ..crate::test_host::pool(4, 0)
                };
                host.hugetlb.insert(2 << 20, pool);
            });
            let said = warnings(&text.parse().unwrap(), &host);
            said.iter().any(|doubt| doubt.contains("has a free page"))
        };
        for text in [
            "env.GLIBC_TUNABLES=glibc.malloc.hugetlb=2",
            "glibc.malloc.hugetlb=2",
            "java.UseLargePages=+",
        ] {
            assert!(of(text, 0), "{text}");
            assert!(!of(text, 1), "{text}");
        }
        for text in [
            "env.GLIBC_TUNABLES=glibc.malloc.hugetlb=1",
            "glibc.malloc.hugetlb=2,hugetlb=2M:4",
            "env.A=1",
        ] {
            assert!(!of(text, 0), "{text}");
        }
    }

    #[test]
    fn advice_that_is_left_to_chance_is_named() {
        let of = |text: &str, glibc| {
            let mut host = host("madvise");
            host.glibc = Some(glibc);
            advice_by_chance(&text.parse().unwrap(), &host).is_some()
        };
        for text in ["malloc=thp", "glibc.malloc.hugetlb=1"] {
            assert!(of(text, (2, 36)), "{text}");
            assert!(!of(text, (2, 41)), "{text}");
        }
        assert!(!of("glibc.malloc.hugetlb=2", (2, 36)));
    }

    #[test]
    fn nothing_is_left_to_chance_where_functions_are_bound_at_the_start() {
        let rows = [
            ("malloc=thp", false),
            ("malloc=thp,env.LD_BIND_NOW=", true),
            ("glibc.malloc.hugetlb=1", true),
            ("glibc.malloc.hugetlb=1,env.LD_BIND_NOW=1", false),
        ];
        for (text, expected) in rows {
            let mut host = host("madvise");
            host.glibc = Some((2, 36));
            let policy: Policy = text.parse().unwrap();
            let doubts = warnings(&policy, &host);
            assert_eq!(!doubts.is_empty(), expected, "{text}: {doubts:?}");
            let realised = realise(&policy, &host, Reach::Process).unwrap();
            assert_eq!(realised.binds_at_start(), !expected, "{text}");
        }
    }

    #[test]
    fn what_as_is_includes_is_named() {
        let of = |text: &str, program: Option<&str>, variable| {
            let entry = Tunable {
                name: MALLOC_HUGETLB.to_owned(),
                value: "1".to_owned(),
                place: TunablePlace::File,
                program: program.map(str::to_owned),
                fixed: false,
            };
            let tunables = Tunables::new(vec![entry], variable);
            let host = host("madvise").with(|host| host.tunables = tunables);
            warnings(&text.parse().unwrap(), &host)
        };
        let file = "/etc/tunables.conf sets glibc.malloc.hugetlb=1";
        let same = "so that this is what as-is does too; glibc.malloc.hugetlb=0 stops it";
        assert_eq!(
            of("as-is", None, None),
            [format!("{file}, which is part of it")]
        );
        assert_eq!(of("malloc=thp", None, None), [format!("{file}, {same}")]);
        let tunable = of("glibc.malloc.hugetlb=1", Some("redis-server"), None);
        assert_eq!(tunable, [format!("{file} for redis-server, {same}")]);
        let by_environment = of("as-is", None, Some("glibc.malloc.hugetlb=2"));
        let expected = "GLIBC_TUNABLES sets glibc.malloc.hugetlb=2, which is part of it";
        assert_eq!(by_environment, [expected]);
        let off = Some("glibc.malloc.hugetlb=0");
        assert!(of("as-is", None, off).is_empty() && of("malloc=thp", None, off).is_empty());
        assert!(of("glibc.malloc.hugetlb=0", None, None).is_empty());
        assert!(of("thp=always,malloc=thp", None, None).is_empty());
    }

    #[test]
    fn advice_that_malloc_gives_unasked_is_named() {
        let of = |text: &str, arch: &str| {
            let mut host = host("madvise");
            (host.glibc, host.arch) = (Some((2, 43)), arch.to_owned());
            let said = warnings(&text.parse().unwrap(), &host);
            said.iter().any(|doubt| doubt.contains("as-is does too"))
        };
        assert!(of("malloc=thp", "aarch64"));
        assert!(!of("malloc=thp,thp=always", "aarch64"));
        assert!(!of("malloc=default", "aarch64"));
        assert!(!of("malloc=thp", "x86_64"));
    }

    #[test]
    fn a_plain_policy_is_not_doubted() {
        let host = host("madvise").size(64, "always");
        for text in [
            "as-is",
            "thp=madvise",
            "thp=always",
            "malloc=default",
            "env.A=1",
        ] {
            let said = warnings(&text.parse().unwrap(), &host);
            assert_eq!(said, [""; 0], "{text}");
        }
    }
}

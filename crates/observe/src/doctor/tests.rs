//! Each rule on a machine with its problem, and no remark on a machine without it.

use std::collections::BTreeMap;

use super::{Examination, Facts, Feature, Severity, Support, TmpfsMount, diagnose};
use crate::test_host::host;
use hugewise_base::host::{Balloon, Host, HugetlbPool, ThpDisable, ThpSettings};
use hugewise_base::missing::Missing;
use hugewise_base::tunables::{MALLOC_HUGETLB, Tunable, TunablePlace, Tunables};
use hugewise_base::units::MIB;

/// A bare machine without any problem.
fn healthy() -> Examination {
    let wall_time = Support::Yes {
        found: String::new(),
    };
    Examination {
        host: healthy_host(),
        ladder: BTreeMap::from([(Feature::WallTime, wall_time)]),
        facts: Facts::default(),
    }
}

fn healthy_host() -> Host {
    Host {
        cpus: 8,
        governor: Some("performance".to_owned()),
        thp: Ok(usual_settings()),
        hugetlb: BTreeMap::new(),
        glibc: Some((2, 41)),
        glibc_elf_thp: false,
        tunables: Default::default(),
        free_blocks: vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1000],
        ..host("madvise")
    }
}

fn usual_settings() -> ThpSettings {
    ThpSettings {
        enabled: "madvise".to_owned(),
        defrag: "madvise".to_owned(),
        zero_page: true,
        pmd_bytes: 2 * MIB,
        shmem_enabled: Some("advise".to_owned()),
        khugepaged: BTreeMap::from([("max_ptes_none".to_owned(), 64), ("defrag".to_owned(), 1)]),
        sizes: BTreeMap::from([(64, "never".to_owned()), (2048, "inherit".to_owned())]),
        shmem_sizes: BTreeMap::new(),
    }
}

fn settings(seen: &mut Examination) -> &mut ThpSettings {
    seen.host.thp.as_mut().unwrap()
}

/// The remarks after one change, as `severity id`.
fn after(change: impl FnOnce(&mut Examination)) -> Vec<String> {
    let mut seen = healthy();
    change(&mut seen);
    let diagnosis = diagnose(&seen);
    let all = diagnosis.hazards.iter().chain(&diagnosis.settings);
    let mut ids = Vec::new();
    for remark in all {
        assert!(!remark.evidence.is_empty(), "{} has no evidence", remark.id);
        ids.push(remark.id.clone());
    }
    ids
}

#[test]
fn a_healthy_machine_gets_no_remark() {
    assert!(after(|_| ()).is_empty());
}

#[test]
fn hazards_are_found_one_by_one() {
    assert_each([
        (
            after(|seen| seen.host.thp_disable = ThpDisable::Disabled),
            "inherited-thp-disable",
        ),
        (
            after(|seen| seen.host.hypervisor = Some("KVM".to_owned())),
            "virtual-machine",
        ),
        (
            after(|seen| {
                seen.host.balloon = Some(Balloon {
                    driver: "virtio_balloon".to_owned(),
                    reported_block_bytes: Some(2 * MIB),
                });
            }),
            "free-page-reporting",
        ),
        (
            after(|seen| seen.host.free_blocks = vec![100_000, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
            "fragmented",
        ),
        (after(|seen| seen.host.load_1min = 2.0), "other-load"),
        (after(|seen| seen.facts.steal_share = Some(0.05)), "steal"),
        (
            after(|seen| seen.facts.swap_used_bytes = Some(1)),
            "swap-in-use",
        ),
        (
            after(|seen| seen.host.governor = Some("powersave".to_owned())),
            "governor",
        ),
        (
            after(|seen| {
                seen.host.cgroup.limit_bytes = Some(100);
                seen.facts.cgroup_used_bytes = Some(90);
            }),
            "cgroup-limit",
        ),
    ]);
}

#[test]
fn khugepaged_needs_eleven_minutes_for_a_gibibyte_by_default() {
    let mut seen = healthy();
    let khugepaged = &mut settings(&mut seen).khugepaged;
    khugepaged.insert("pages_to_scan".to_owned(), 4096);
    khugepaged.insert("scan_sleep_millisecs".to_owned(), 10_000);
    let remark = &diagnose(&seen).hazards[0];
    assert!(remark.meaning.contains("1.6 MiB/s"), "{}", remark.meaning);
    assert!(
        remark.meaning.contains("11 min per GiB"),
        "{}",
        remark.meaning
    );
}

#[test]
fn settings_are_found_one_by_one() {
    assert_each([
        (
            after(|seen| {
                let error = "enabled: torn".to_owned();
                seen.host.thp = Err(Missing::Unreadable { error });
            }),
            "settings-unreadable",
        ),
        (
            after(|seen| {
                settings(seen).enabled = "never".to_owned();
                settings(seen).shmem_enabled = None;
                settings(seen).sizes.insert(64, "always".to_owned());
            }),
            "size-overrides-never",
        ),
        (
            after(|seen| {
                settings(seen).sizes.insert(2048, "never".to_owned());
                settings(seen).shmem_enabled = None;
            }),
            "pmd-size-silenced",
        ),
        (
            after(|seen| settings(seen).defrag = "always".to_owned()),
            "defrag-always",
        ),
        (
            after(|seen| settings(seen).zero_page = false),
            "zero-page-off",
        ),
        (
            after(|seen| settings(seen).shmem_enabled = Some("never".to_owned())),
            "shmem-apart",
        ),
        (
            after(|seen| {
                settings(seen).enabled = "never".to_owned();
                settings(seen).shmem_enabled = None;
                let found = String::new();
                seen.ladder
                    .insert(Feature::Collapse, Support::Yes { found });
            }),
            "never-is-not-never",
        ),
        (
            after(|seen| seen.facts.thp_read_only = Some(true)),
            "settings-read-only",
        ),
    ]);
}

#[test]
fn khugepaged_and_pools_are_found_one_by_one() {
    assert_each([
        (
            after(|seen| {
                seen.facts.shrink_underused = Some(true);
                settings(seen)
                    .khugepaged
                    .insert("max_ptes_none".to_owned(), 511);
            }),
            "shrinker-disarmed",
        ),
        (
            after(|seen| {
                settings(seen).khugepaged.insert("defrag".to_owned(), 0);
            }),
            "khugepaged-never-compacts",
        ),
        (
            after(|seen| {
                let pool = HugetlbPool {
                    total: 4,
                    free: 4,
                    reserved: 0,
                    overcommit: 0,
                };
                seen.host.hugetlb.insert(2 * MIB, pool);
            }),
            "idle-hugetlb-pool",
        ),
        (
            after(|seen| {
                let khugepaged = &mut settings(seen).khugepaged;
                khugepaged.insert("pages_to_scan".to_owned(), 1_000_000);
                khugepaged.insert("scan_sleep_millisecs".to_owned(), 0);
            }),
            "khugepaged-full-speed",
        ),
    ]);
}

/// A program that took a small part of a pool keeps the rest from all others.
#[test]
fn a_pool_that_is_mostly_unused_is_idle() {
    let fix = |free: u64, reserved: u64| {
        let mut seen = healthy();
        let pool = HugetlbPool {
            total: 571,
            free,
            reserved,
            overcommit: 0,
        };
        seen.host.hugetlb.insert(2 * MIB, pool);
        let diagnosis = diagnose(&seen);
        let mut all = diagnosis.hazards.iter().chain(&diagnosis.settings);
        let idle = all.find(|it| it.id == "idle-hugetlb-pool")?;
        Some((idle.meaning.clone(), idle.remedy.clone()))
    };
    let (meaning, remedy) = fix(514, 0).expect("514 of 571 are free");
    assert!(meaning.starts_with("1 GiB are reserved"), "{meaning}");
    assert!(remedy.starts_with("echo 57 > "), "{remedy}");
    assert_eq!(fix(514, 500), None);
    assert_eq!(fix(200, 0), None);
}

/// 32 KiB of descriptors for each page of 2 MiB, and 4 KiB of them stay.
#[test]
fn memory_for_page_descriptors_is_told_if_it_is_much() {
    let told = |total: u64, optimised: Option<bool>| {
        let mut seen = healthy();
        let pool = HugetlbPool {
            total,
            free: 0,
            reserved: 0,
            overcommit: 0,
        };
        seen.host.hugetlb.insert(2 * MIB, pool);
        seen.facts.vmemmap_optimised = optimised;
        let settings = diagnose(&seen).settings;
        let mut found = settings.into_iter().filter(|it| it.id == "vmemmap-kept");
        found.next().map(|it| it.meaning)
    };
    let pages = 128 << 9;
    let meaning = told(pages, Some(false)).expect("128 GiB are much");
    assert!(meaning.contains("1.75 GiB"), "{meaning}");
    assert_eq!(told(pages, Some(true)), None);
    assert_eq!(told(pages, None), None);
    assert_eq!(told(100, Some(false)), None);
}

#[test]
fn boot_lines_are_found_one_by_one() {
    assert_each([
        (
            after(|seen| seen.host.boot_line = "transparent_huagepage=never".to_owned()),
            "boot-line-misspelt",
        ),
        (
            after(|seen| seen.host.boot_line = "transparent_hugepage=on".to_owned()),
            "boot-line-bad-value",
        ),
        (
            after(|seen| seen.host.boot_line = "transparent_hugepage=never".to_owned()),
            "boot-line-overridden",
        ),
    ]);
}

fn assert_each<const N: usize>(found: [(Vec<String>, &str); N]) {
    for (ids, expected) in found {
        assert_eq!(ids, [expected]);
    }
}

#[test]
fn thp_anon_that_silences_the_huge_size_is_found() {
    let ids = after(|seen| {
        seen.host.boot_line = "thp_anon=64K:always".to_owned();
        settings(seen).sizes.insert(2048, "never".to_owned());
        settings(seen).shmem_enabled = None;
    });
    assert_eq!(ids, ["thp-anon-silences-pmd", "pmd-size-silenced"]);
}

#[test]
fn a_glibc_that_takes_advice_by_chance_is_a_note() {
    let with = |glibc| after(|seen| seen.host.glibc = glibc);
    assert_eq!(with(Some((2, 36))), ["glibc-takes-advice-by-chance"]);
    assert!(with(Some((2, 38))).is_empty());
    assert!(with(Some((2, 34))).is_empty(), "it has no such tunable");
    assert!(with(None).is_empty());
}

#[test]
fn the_tunable_of_glibc_depends_on_mode_and_version() {
    let with = |value: &'static str, enabled: &'static str, glibc| {
        after(move |seen| {
            let own = format!("glibc.malloc.arena_max=1:glibc.malloc.hugetlb={value}");
            seen.host.tunables = Tunables::new(Vec::new(), Some(&own));
            settings(seen).enabled = enabled.to_owned();
            seen.host.glibc = Some(glibc);
        })
    };
    assert_eq!(with("1", "always", (2, 41)), ["glibc-hugetlb-ignored"]);
    assert!(with("1", "madvise", (2, 41)).is_empty());
    assert!(with("1", "always", (2, 43)).is_empty());
    assert_eq!(
        with("2", "madvise", (2, 41)),
        ["glibc-hugetlb-without-pool"]
    );
}

#[test]
fn each_tmpfs_follows_its_option_unless_the_machine_overrides_it() {
    let rows = |global: &str, options: &[&str]| {
        let mut seen = healthy();
        settings(&mut seen).shmem_enabled = Some(global.to_owned());
        seen.facts.tmpfs = options
            .iter()
            .map(|huge| TmpfsMount {
                point: "/dev/shm".to_owned(),
                huge: (*huge).to_owned(),
            })
            .collect();
        let report = diagnose(&seen).shared_memory.into_iter();
        let rows = report.map(|it| (it.mount.is_some(), it.setting, it.huge));
        rows.collect::<Vec<_>>()
    };
    let row = |mount, setting: &str, huge| (mount, setting.to_owned(), huge);
    assert_eq!(
        rows("never", &["never", "always", "within_size", "advise"]),
        [
            row(false, "shmem_enabled=never", false),
            row(true, "huge=never", false),
            row(true, "huge=always", true),
            row(true, "huge=within_size", true),
            row(true, "huge=advise", true),
        ]
    );
    for (global, huge) in [("deny", false), ("force", true)] {
        let setting = format!("shmem_enabled={global}");
        let expected = [
            row(false, &setting, huge),
            row(true, "huge=never", huge),
            row(true, "huge=always", huge),
        ];
        assert_eq!(rows(global, &["never", "always"]), expected);
    }
    let mut without = healthy();
    settings(&mut without).shmem_enabled = None;
    assert_eq!(diagnose(&without).shared_memory, []);
}

#[test]
fn tunables_of_the_machine_count_as_those_of_the_environment() {
    let with = |value: &str, fixed, own: Option<&'static str>| {
        let entry = Tunable {
            name: MALLOC_HUGETLB.to_owned(),
            value: value.to_owned(),
            place: TunablePlace::File,
            program: None,
            fixed,
        };
        after(move |seen| {
            seen.host.glibc = Some((2, 44));
            seen.host.tunables = Tunables::new(vec![entry], own);
        })
    };
    let note = "glibc-tunables-of-machine";
    assert_eq!(with("1", false, None), [note]);
    assert_eq!(with("2", false, None), ["glibc-hugetlb-without-pool", note]);
    assert_eq!(with("2", false, Some("glibc.malloc.hugetlb=1")), [note]);
    let fixed = with("2", true, Some("glibc.malloc.hugetlb=1"));
    assert_eq!(fixed, ["glibc-hugetlb-without-pool", note]);
}

#[test]
fn malloc_that_advises_unasked_is_named() {
    let with = |arch: &str, glibc, enabled: &str, tunables: Option<&str>| {
        after(|seen| {
            seen.host.arch = arch.to_owned();
            seen.host.glibc = Some(glibc);
            settings(seen).enabled = enabled.to_owned();
            seen.host.tunables = Tunables::new(Vec::new(), tunables);
        })
    };
    let off = Some("glibc.malloc.hugetlb=0");
    let found = with("aarch64", (2, 43), "madvise", None);
    assert_eq!(found, ["glibc-advises-by-itself"]);
    assert!(with("x86_64", (2, 43), "madvise", None).is_empty());
    assert!(with("aarch64", (2, 42), "madvise", None).is_empty());
    assert!(with("aarch64", (2, 43), "always", None).is_empty());
    assert!(with("aarch64", (2, 43), "madvise", off).is_empty());
}

#[test]
fn the_least_grant_holds_capabilities_and_never_root() {
    let mut seen = healthy();
    let refused = |grant: &str| Support::No {
        missing: Missing::not_permitted(grant),
    };
    assert_eq!(diagnose(&seen).least_grant, None);
    seen.ladder.insert(Feature::SystemPolicy, refused("root"));
    seen.ladder
        .insert(Feature::FrameNumbers, refused("CAP_SYS_ADMIN"));
    assert_eq!(diagnose(&seen).least_grant, None);
    seen.ladder.insert(
        Feature::FaultsKernel,
        refused("CAP_PERFMON or perf_event_paranoid at most 1"),
    );
    seen.ladder
        .insert(Feature::Bpf, refused("CAP_BPF and CAP_PERFMON"));
    assert_eq!(
        diagnose(&seen).least_grant.as_deref(),
        Some("sudo setcap cap_bpf,cap_perfmon=ep $(command -v hugewise)")
    );
    seen.facts.program = Some("/opt/bin/hugewise".to_owned());
    let grant = diagnose(&seen).least_grant.unwrap();
    assert!(grant.ends_with("=ep /opt/bin/hugewise"), "{grant}");
    seen.facts.program = Some("/home/a b/hugewise".to_owned());
    let grant = diagnose(&seen).least_grant.unwrap();
    assert!(grant.ends_with("$(command -v hugewise)"), "{grant}");
    seen.facts.no_new_privileges = true;
    assert_eq!(diagnose(&seen).least_grant, None);
}

#[test]
fn the_gravest_comes_first() {
    let mut seen = healthy();
    settings(&mut seen).zero_page = false;
    seen.host.boot_line = "transparent_hugepages=never".to_owned();
    let severities: Vec<Severity> = diagnose(&seen)
        .settings
        .iter()
        .map(|r| r.severity)
        .collect();
    assert_eq!(severities, [Severity::Wrong, Severity::Note]);
}

//! Proof of treatment: whether memory was huge, and whether the policy was applied.

use hugewise_base::host::ThpDisable;
use hugewise_experiment::run::policy::realise::{FileWrite, Realisation, ThpPrctl};
use hugewise_experiment::run::trial::{Mark, Outcome};

use super::observing::{
    MIB, PAGES, all_huge, command, identities, lab, observe, observe_expecting, said, showing,
    value,
};
use super::room::make_room;

pub(super) fn small_pages_fault_once_each() {
    for identity in identities() {
        let mut launch = lab(&["touch", "--pages", PAGES, "--huge"]);
        launch.prctl = ThpPrctl::Disable;
        launch.identity = identity;
        let seen = observe(&launch);
        assert_eq!(said(&seen), "pages 23029 faults 23029\n");
        assert_eq!(seen.read_back.thp_disable, Some(ThpDisable::Disabled));
        assert_eq!(value(&seen, "huge_anon_exit_bytes"), 0.0);
        let faults = value(&seen, "minor_faults_total");
        assert!((23_029.0..23_600.0).contains(&faults), "{faults}");
    }
}

pub(super) fn huge_pages_are_proved() {
    make_room();
    for identity in identities() {
        let mut launch = lab(&["touch", "--pages", PAGES, "--huge"]);
        launch.prctl = ThpPrctl::Clear;
        launch.identity = identity;
        let seen = all_huge(&launch);
        assert_eq!(said(&seen), "pages 23029 faults 545\n");
        assert_eq!(seen.read_back.thp_disable, Some(ThpDisable::Off));
        assert_eq!(value(&seen, "huge_anon_peak_bytes"), 88.0 * MIB);
        assert_eq!(value(&seen, "huge_zero_exit_bytes"), 0.0);
        let faults = value(&seen, "minor_faults_total");
        assert!((545.0..1100.0).contains(&faults), "{faults}");
        assert!(value(&seen, "thp_fault_alloc_total") >= 44.0);
        assert_eq!(seen.outcome, Outcome::Exited { code: 0 });
    }
}

pub(super) fn the_huge_zero_page_is_seen() {
    let only_read = lab(&["read-first", "--pages", PAGES, "--huge", "--only"]);
    let seen = showing(&only_read, "huge_zero_exit_bytes", 88.0);
    assert_eq!(value(&seen, "huge_anon_exit_bytes"), 0.0);
    let written = observe(&lab(&["read-first", "--pages", PAGES, "--huge"]));
    assert_eq!(value(&written, "huge_zero_exit_bytes"), 0.0);
}

pub(super) fn planted_traits_are_seen() {
    let sparse = lab(&["sparse", "--huge-pages", "20"]);
    showing(&sparse, "huge_anon_exit_bytes", 40.0);
    let split = showing(
        &lab(&["split", "--huge-pages", "20"]),
        "huge_anon_exit_bytes",
        0.0,
    );
    assert!(value(&split, "thp_split_pmd_total") >= 20.0);
    let gaps = observe(&lab(&["small", "--mappings", "20"]));
    assert_eq!(value(&gaps, "huge_anon_exit_bytes"), 0.0);
    assert!(value(&gaps, "minor_faults_total") >= 20.0 * 256.0);
    let spinning = observe(&lab(&["spin", "--ms", "50"]));
    assert!(value(&spinning, "user_seconds") >= 0.03);
}

pub(super) fn policies_that_do_not_take_are_marked() {
    let path = "sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs".to_owned();
    let expected = Realisation {
        prctl: ThpPrctl::Disable,
        files: vec![FileWrite {
            path: path.clone(),
            value: "123456789".to_owned(),
        }],
        preload: Some("/lib/libnothing.so".to_owned()),
        ..Realisation::default()
    };
    // The launch does not set the switch, so the expectation must fail.
    let seen = observe_expecting(&command(&["true"]), &expected, std::slice::from_ref(&path));
    let not_applied = |mark: &&Mark| matches!(mark, Mark::NotApplied { .. });
    assert_eq!(
        seen.marks.iter().filter(not_applied).count(),
        3,
        "{:?}",
        seen.marks
    );
    assert_eq!(seen.read_back.allocator.as_deref(), Some(""));
    assert!(seen.read_back.files.contains_key(&path));

    let library = real_c_library();
    let expected = Realisation {
        preload: Some(library.clone()),
        ..Realisation::default()
    };
    let seen = observe_expecting(&command(&["true"]), &expected, &[]);
    assert_eq!(seen.read_back.allocator, Some(library));
}

/// Returns a library mapped by every dynamic program here: the one mapped by this process.
fn real_c_library() -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let line = maps.lines().find(|line| line.contains("/libc.so")).unwrap();
    line.split_whitespace().last().unwrap().to_owned()
}

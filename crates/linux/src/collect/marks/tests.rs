use super::*;
use hugewise_experiment::run::policy::realise::FileWrite;

fn judged(change: impl FnOnce(&mut Circumstances<'_>)) -> Vec<Mark> {
    let (expected, read_back, files) =
        (Realisation::default(), ReadBack::default(), BTreeMap::new());
    let mut facts = Circumstances {
        trial_seconds: 1.0,
        processors: 2,
        tick_seconds: 0.01,
        other_busy_seconds: Some(0.05),
        other_server_seconds: None,
        steal_seconds: Some(0.0),
        free_huge_pages: Some(100),
        huge_bytes: Some(2 << 20),
        peak_rss_bytes: Some(100 << 20),
        major_faults: 0,
        io_wait_seconds: Some(0.02),
        swapped_pages: 0,
        expected: &expected,
        read_back: &read_back,
        files_after: &files,
    };
    change(&mut facts);
    marks(&facts)
}

#[test]
fn a_quiet_trial_has_no_marks() {
    assert_eq!(judged(|_| {}), []);
}

#[test]
fn each_hazard_is_marked() {
    assert_eq!(
        judged(|facts| facts.other_busy_seconds = Some(0.5)),
        [Mark::OtherLoad { permille: 250 }]
    );
    assert_eq!(
        judged(|facts| facts.other_server_seconds = Some(0.2)),
        [Mark::OtherServers { permille: 100 }]
    );
    assert_eq!(
        judged(|facts| facts.steal_seconds = Some(0.05)),
        [Mark::Steal { permille: 25 }]
    );
    assert_eq!(
        judged(|facts| facts.free_huge_pages = Some(49)),
        [Mark::Fragmented {
            free_huge_pages: 49
        }]
    );
    assert_eq!(
        judged(|facts| facts.major_faults = 3),
        [Mark::ColdCache { major_faults: 3 }]
    );
    assert_eq!(
        judged(|facts| facts.swapped_pages = 9),
        [Mark::Swapped { pages: 9 }]
    );
}

#[test]
fn disk_reads_that_took_no_time_are_no_hazard() {
    let reads = |waits: Option<f64>| {
        judged(|facts| {
            facts.major_faults = 3;
            facts.io_wait_seconds = waits;
        })
    };
    let marked = [Mark::ColdCache { major_faults: 3 }];
    assert_eq!(reads(Some(0.009)), []);
    assert_eq!(reads(Some(0.011)), marked);
    assert_eq!(reads(None), marked);
}

#[test]
fn a_tick_more_or_less_is_no_load() {
    let short = |facts: &mut Circumstances<'_>| {
        facts.trial_seconds = 0.01;
        facts.other_busy_seconds = Some(0.02);
        facts.steal_seconds = Some(0.01);
    };
    assert_eq!(judged(short), []);
}

#[test]
fn a_policy_that_did_not_take_is_marked() {
    let expected = Realisation {
        prctl: ThpPrctl::Disable,
        files: vec![FileWrite {
            path: "sys/a".to_owned(),
            value: "always".to_owned(),
        }],
        preload: Some("/lib/libjemalloc.so.2".to_owned()),
        ..Realisation::default()
    };
    let found = ReadBack {
        files: BTreeMap::from([("sys/a".to_owned(), "never".to_owned())]),
        thp_disable: Some(ThpDisable::Off),
        allocator: Some(String::new()),
        ..ReadBack::default()
    };
    let details: Vec<String> = judged(|facts| {
        // The references live as long as this test; the defaults they replace do not matter.
        facts.expected = Box::leak(Box::new(expected));
        facts.read_back = Box::leak(Box::new(found));
    })
    .iter()
    .map(ToString::to_string)
    .collect();
    assert_eq!(
        details,
        [
            "the policy was not applied: prctl(PR_SET_THP_DISABLE) should be disabled, but is off",
            "the policy was not applied: /lib/libjemalloc.so.2 is not among the workload's mappings",
            "the policy was not applied: sys/a should say always, but says never",
        ]
    );
}

#[test]
fn a_file_that_changed_meanwhile_has_drifted() {
    let before = ReadBack {
        files: BTreeMap::from([("sys/a".to_owned(), "always".to_owned())]),
        ..ReadBack::default()
    };
    let after = BTreeMap::from([("sys/a".to_owned(), "never".to_owned())]);
    let marks = judged(|facts| {
        facts.read_back = Box::leak(Box::new(before));
        facts.files_after = Box::leak(Box::new(after));
    });
    assert_eq!(
        marks,
        [Mark::SettingDrifted {
            path: "sys/a".to_owned(),
            expected: "always".to_owned(),
            found: "never".to_owned(),
        }]
    );
}

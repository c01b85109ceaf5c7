//! The assignment against vectors that another program worked out (`xtask/fleet/vectors.py`).

use std::collections::BTreeMap;
use std::path::Path;

use hugewise_fleet::assign::assign;
use hugewise_fleet::plan::{Moment, Plan};

#[expect(clippy::disallowed_methods, reason = "a test reads the fixtures")]
fn plans(folder: &Path) -> BTreeMap<String, Plan> {
    let files = std::fs::read_dir(folder).expect("plans");
    let plan = |path: &Path| {
        let text = std::fs::read_to_string(path).expect("a plan");
        text.parse()
            .unwrap_or_else(|error| panic!("{path:?}: {error}"))
    };
    let paths = files.map(|file| file.expect("a file").path());
    paths
        .map(|path| {
            (
                path.file_stem()
                    .expect("a name")
                    .to_string_lossy()
                    .into_owned(),
                plan(&path),
            )
        })
        .collect()
}

#[test]
fn every_unit_has_the_arm_that_another_program_gives_it() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/fleet");
    let plans = plans(&fixtures.join("plans"));
    let mut vectors = csv::Reader::from_path(fixtures.join("vectors.csv")).expect("vectors");
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for row in vectors.records() {
        let row = row.expect("a row");
        let [plan, at, unit, arm, saturation, enrol, draw] =
            std::array::from_fn(|at| row.get(at).expect("a field"));
        let found = assign(&plans[plan], unit, at.parse::<Moment>().expect("a moment"));
        let level: Option<f64> = (!saturation.is_empty()).then(|| saturation.parse().unwrap());
        assert_eq!(
            (&*found.arm, found.saturation, &*found.enrol, &*found.draw),
            (arm, level, enrol, draw),
            "{plan}: {unit}"
        );
        *seen.entry(plan.to_owned()).or_default() += 1;
    }
    assert!(
        seen.len() == plans.len() && seen.values().all(|&rows| rows >= 100),
        "{seen:?}"
    );
}

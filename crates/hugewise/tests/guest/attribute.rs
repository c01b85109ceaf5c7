//! The sites of a program whose right answer is known, ranked by experiment.

use serde_json::Value;

use super::ground::Ground;

const MIB: u64 = 1 << 20;
/// A guest is slow under emulation: each region is a quarter as large as on a real machine.
const DIVISOR: &str = "4";

/// The site that gains is the best and shown to help, the one that is bloated is the worst, and
/// both are named by their function.
pub fn ranked(ground: &Ground) {
    if ground.pages_each() * ground.answers.page_bytes != 2 * MIB {
        return;
    }
    let lab = ground.lab();
    let report = ground.hugewise_json(&[
        "attribute",
        "--by",
        "site",
        "--force",
        "--max-rounds",
        "2",
        "--warmup",
        "0",
        "--format",
        "json",
        "--",
        lab.to_str().unwrap(),
        "sites",
        "--reads",
        "0",
        "--divide",
        DIVISOR,
    ]);
    let sites = report["sites"].as_array().unwrap();
    assert_eq!(sites.len(), 5, "{report:#}");
    let mut ranked: Vec<&Value> = sites.iter().collect();
    ranked.sort_by(|a, b| change(a).total_cmp(&change(b)));
    println!(
        "attribute: {}",
        ranked
            .iter()
            .map(|it| line(it))
            .collect::<Vec<_>>()
            .join("; ")
    );
    for (site, name) in [(ranked[0], "map_helping"), (ranked[4], "map_hurting")] {
        let place = site["place"].as_str().unwrap_or_default();
        assert!(place.contains(&format!("{name} sites.rs:")), "{report:#}");
    }
    assert_eq!(ranked[0]["effect"], "helps", "{report:#}");
}

/// The estimate of a site's share.
fn change(site: &Value) -> f64 {
    site["change"].as_f64().unwrap()
}

fn line(site: &Value) -> String {
    format!("{} {:+.3}", site["place"], change(site))
}

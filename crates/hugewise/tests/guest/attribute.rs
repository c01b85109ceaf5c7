//! The sites of a program whose right answer is known, ranked by experiment.

use serde_json::Value;

use super::ground::Ground;

const MIB: u64 = 1 << 20;
/// A guest is slow under emulation: each region is a quarter as large as on a real machine.
const DIVISOR: &str = "4";

/// The site that huge pages bloat is ranked last and shown to hurt. That another gains is not
/// asked: under emulation clearing a page costs so much, and a TLB miss so little, that none does.
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
    let (last, name) = (ranked[4], ranked[4]["site"].as_str().unwrap_or_default());
    assert!(name.ends_with("-128m"), "{report:#}");
    assert_eq!(last["effect"], "hurts", "{report:#}");
}

/// The estimate of a site's share.
fn change(site: &Value) -> f64 {
    site["change"].as_f64().unwrap()
}

fn line(site: &Value) -> String {
    format!("{} {:+.3}", site["site"], change(site))
}

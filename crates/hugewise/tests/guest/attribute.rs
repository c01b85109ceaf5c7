//! The sites of a program whose right answer is known, ranked by experiment.

use serde_json::Value;

use super::ground::Ground;

const MIB: u64 = 1 << 20;
/// A guest is slow under emulation: each region is so much smaller than on a real machine.
const DIVISOR: &str = "16";
/// Under emulation a TLB miss costs little and clearing a page much. Forks gain there too.
const FORKS: &str = "64";

/// The sites are ranked, the best first: by size alone each is told from the others, but for two.
pub fn ranked(ground: &Ground) {
    if ground.pages_each() * ground.answers.page_bytes != 2 * MIB {
        return;
    }
    let lab = ground.lab();
    let lab = lab.to_str().unwrap();
    let program = [lab, "sites", "--reads", "0", "--divide", DIVISOR];
    let flags = ["attribute", "--by", "site", "--force", "--format", "json"];
    let rounds = ["--max-rounds", "2", "--warmup", "0"];
    let words = [&flags[..], &rounds, &["--"], &program, &["--forks", FORKS]].concat();
    let report = ground.hugewise_json(&words);
    let sites = report["sites"].as_array().unwrap();
    assert_eq!(sites.len(), 5, "{report:#}");
    let lines: Vec<String> = sites.iter().map(line).collect();
    println!("attribute: {}", lines.join("; "));
    let best = &sites[0];
    assert_eq!(best["effect"], "helps", "{report:#}");
    let place = best["place"].as_str().unwrap_or_default();
    assert!(place.contains("sites.rs:"), "{report:#}");
    assert!(sites[4]["change"].as_f64().unwrap() > 0.0, "{report:#}");
}

fn line(site: &Value) -> String {
    let change = site["change"].as_f64().unwrap();
    format!("{} {change:+.3}", site["place"])
}

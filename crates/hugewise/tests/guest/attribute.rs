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
    let file = ground.path("best.sites");
    let file = file.to_str().unwrap();
    let program = [lab, "sites", "--reads", "0", "--divide", DIVISOR];
    let flags = ["attribute", "--by", "site", "--force", "--format", "json"];
    let rounds = ["--max-rounds", "2", "--warmup", "0"];
    let best = ["--sites", file, "--best", "1", "--"];
    let words = [&flags[..], &rounds, &best, &program, &["--forks", FORKS]].concat();
    let report = ground.hugewise_json(&words);
    let sites = report["sites"].as_array().unwrap();
    assert_eq!(sites.len(), 5, "{report:#}");
    let lines: Vec<String> = sites.iter().map(line).collect();
    println!("attribute: {}", lines.join("; "));
    for (site, effect, place) in [
        (&sites[0], "helps", "map_helping sites.rs:"),
        (&sites[4], "hurts", "map_hurting sites.rs:"),
    ] {
        assert_eq!(site["effect"], effect, "{report:#}");
        let found = site["place"].as_str().unwrap_or_default();
        assert!(found.starts_with(place), "{report:#}");
    }
    let applied = [&["exec", "--sites", file, "--"][..], &program].concat();
    let applied = ground.hugewise(&applied);
    let said = String::from_utf8_lossy(&applied.stdout);
    let huge: Vec<&str> = said.lines().filter(|it| !it.contains("huge 0 ")).collect();
    assert_eq!(huge, ["helps huge 16777216 of 16777216"], "{said}");
}

fn line(site: &Value) -> String {
    let change = site["change"].as_f64().unwrap();
    format!("{} {change:+.3}", site["place"])
}

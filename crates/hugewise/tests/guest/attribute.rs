//! The sites of a program with known results, ranked by experiment.

use serde_json::Value;

use super::ground::Ground;

const MIB: u64 = 1 << 20;

/// A guest is slow under emulation, so regions are smaller than on a real machine.
const SIZES: [&str; 2] = ["--divide", "8"];

/// The site that huge pages bloat is ranked last and shown to hurt; its size identifies it. Under emulation clearing a
/// page is so expensive, and a TLB miss so cheap, that only bloat is visible.
pub fn ranked(ground: &Ground) {
    if ground.pages_each() * ground.answers.page_bytes != 2 * MIB {
        return;
    }
    let last = &sites(ground)[4];
    assert_eq!(last["effect"], "hurts", "{last:#}");
    let text = |field: &str| last[field].as_str().unwrap_or_default();
    assert!(text("site").ends_with("-64m"), "{last:#}");
    assert!(
        text("place").starts_with("map_hurting sites.rs:"),
        "{last:#}"
    );
}

/// The sites by experiment, best first.
fn sites(ground: &Ground) -> Vec<Value> {
    let lab = ground.lab();
    let flags = ["attribute", "--by", "site", "--force", "--format", "json"];
    let rounds = ["--max-rounds", "2", "--warmup", "0", "--"];
    let program = [lab.to_str().unwrap(), "sites", "--reads", "0"];
    let report = ground.hugewise_json(&[&flags[..], &rounds, &program, &SIZES].concat());
    let mut sites = report["sites"].as_array().unwrap().clone();
    assert_eq!(sites.len(), 5, "{report:#}");
    sites.sort_by(|a, b| change(a).total_cmp(&change(b)));
    let lines: Vec<String> = sites.iter().map(line).collect();
    println!("attribute: {}", lines.join("; "));
    sites
}

/// The estimate of a site's share.
fn change(site: &Value) -> f64 {
    site["change"].as_f64().unwrap()
}

fn line(site: &Value) -> String {
    format!("{} {} {:+.3}", site["site"], site["place"], change(site))
}

//! The sites of a program with known results, ranked by experiment.

use serde_json::Value;

use super::ground::Ground;

const MIB: u64 = 1 << 20;

/// The parameters that decide which site stands out. A guest is slow under emulation, so regions are smaller than on a
/// real machine.
struct Workload {
    divisor: &'static str,
    forks: &'static str,
}

/// Under emulation clearing a page is so expensive, and a TLB miss so cheap, that only bloat is visible.
const BLOAT: Workload = Workload {
    divisor: "8",
    forks: "0",
};
/// A fork copies an entry for each page, so full memory gains even without a TLB.
const FORKS: Workload = Workload {
    divisor: "16",
    forks: "60",
};

/// The site that huge pages bloat is ranked last and shown to hurt. If the program forks, the largest full site is
/// ranked first and shown to help. Sizes identify both.
pub fn ranked(ground: &Ground) {
    if ground.pages_each() * ground.answers.page_bytes != 2 * MIB {
        return;
    }
    check(&sites(ground, &BLOAT)[4], "hurts", "map_hurting", "-64m");
    check(&sites(ground, &FORKS)[0], "helps", "map_helping", "-16m");
}

/// The sites by experiment, best first.
fn sites(ground: &Ground, workload: &Workload) -> Vec<Value> {
    let lab = ground.lab();
    let flags = ["attribute", "--by", "site", "--force", "--format", "json"];
    let rounds = ["--max-rounds", "2", "--warmup", "0", "--"];
    let program = [lab.to_str().unwrap(), "sites", "--reads", "0"];
    let Workload { divisor, forks } = workload;
    let sizes = ["--divide", divisor, "--forks", forks];
    let report = ground.hugewise_json(&[&flags[..], &rounds, &program, &sizes].concat());
    let mut sites = report["sites"].as_array().unwrap().clone();
    assert_eq!(sites.len(), 5, "{report:#}");
    sites.sort_by(|a, b| change(a).total_cmp(&change(b)));
    let lines: Vec<String> = sites.iter().map(line).collect();
    println!("attribute: {}", lines.join("; "));
    sites
}

fn check(site: &Value, effect: &str, function: &str, size: &str) {
    assert_eq!(site["effect"], effect, "{site:#}");
    let name = site["site"].as_str().unwrap_or_default();
    assert!(name.ends_with(size), "{site:#}");
    let place = site["place"].as_str().unwrap_or_default();
    assert!(
        place.starts_with(&format!("{function} sites.rs:")),
        "{site:#}"
    );
}

/// The estimate of a site's share.
fn change(site: &Value) -> f64 {
    site["change"].as_f64().unwrap()
}

fn line(site: &Value) -> String {
    format!("{} {} {:+.3}", site["site"], site["place"], change(site))
}

//! Measures the gain that remains with only the two best sites huge. `attribute` chooses them, and a new comparison
//! runs them with all sites and with none.

use std::fs;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use hugewise_experiment::run::stats::{ALPHA, Shift, median, paired};
use serde_json::Value;

use super::Arguments;
use super::rounds::{in_rounds, interval, ratio};
use super::watcher::succeed;
use crate::{command, program};

/// The default number of rounds without `--pairs`.
const ROUNDS: u32 = 30;
/// The folder for the record of the design and the files of sites.
const FOLDER: &str = "target/attribute";
/// The huge sites, as named in the table, and their file.
const ARMS: [(&str, &str); 4] = [
    ("no site", "none.sites"),
    ("all sites", "all.sites"),
    ("all that help", "helping.sites"),
    ("the two best", "best.sites"),
];

/// Measures, and prints two tables in Markdown.
pub fn run(arguments: &Arguments) -> Result<()> {
    let program = program::build()?;
    let lab = program.with_file_name("hugewise-lab").display().to_string();
    let words = [lab.as_str(), "sites"];
    let program = program.display().to_string();
    choose(&program, &words)?;
    let commands = ARMS.map(|(_, file)| {
        let exec = [program.as_str(), "exec", "--sites", &path(file), "--"];
        owned(&[&exec[..], &words].concat())
    });
    let took = in_rounds(arguments, ROUNDS, ARMS.len(), |place| {
        let began = Instant::now();
        succeed(&commands[place])?;
        Ok(began.elapsed().as_secs_f64())
    })?;
    let [none, _, helping, best] = &took[..] else {
        return Ok(());
    };
    times(&took)?;
    // Relative to the helping sites, not to all: with the harmful ones, the gain could be zero.
    let kept = kept(&gains(best, none), &gains(helping, none))?;
    let (share, ends) = (100.0 * kept.estimate, kept.interval);
    let ends = ends.map(|(low, high)| format!("{:.0} to {:.0} %", 100.0 * low, 100.0 * high));
    let ends = ends.unwrap_or_else(|| "too few rounds".to_owned());
    let said = 100.0 * said(&program)?;
    println!("\n| kept by the two best of all that help | 95 % interval | n | by their shares |");
    println!("|--:|---|--:|--:|");
    println!("| {share:.0} % | {ends} | {} | {said:.0} % |", kept.n);
    Ok(())
}

/// Returns the design's estimate of the share that the two best sites keep of all that help. Its shares are additive
/// logarithms.
fn said(program: &str) -> Result<f64> {
    let record = path("design.jsonl");
    let mut report = Command::new(program);
    report.args(["attribute", "--from", &record, "--format", "json"]);
    let report: Value = serde_json::from_str(&command::said(&mut report)?)?;
    let sites = report["sites"].as_array().context("no sites")?;
    let helping = sites.iter().filter(|site| site["effect"] == "helps");
    let mut gains: Vec<f64> = helping
        .filter_map(|site| Some(-site["change"].as_f64()?.ln_1p()))
        .collect();
    gains.sort_unstable_by(|a, b| b.total_cmp(a));
    let [best, all] = [2, gains.len()].map(|count| gains.iter().take(count).sum::<f64>());
    ensure!(all > 0.0, "no site helps");
    Ok(best / all)
}

/// Has `attribute` write the sites that help and the two best sites.
fn choose(program: &str, words: &[&str]) -> Result<()> {
    let _ = fs::remove_dir_all(FOLDER);
    fs::create_dir_all(FOLDER)?;
    let record = path("design.jsonl");
    // It continues even if all sites together are slower.
    let measure = [
        program,
        "attribute",
        "--force",
        "--by",
        "site",
        "--out",
        &record,
    ];
    let best = ["--sites", &path("best.sites"), "--best", "2", "--"];
    succeed(&owned(&[&measure[..], &best, words].concat()))?;
    let again = [program, "attribute", "--from", &record, "--sites"];
    succeed(&owned(&[&again[..], &[&path("helping.sites")]].concat()))?;
    for choice in ["none", "all"] {
        let file = serde_json::json!({
            "format": "hugewise-sites 1",
            "sites": format!("site:{choice}"),
            "command": words,
        });
        fs::write(path(&format!("{choice}.sites")), file.to_string())?;
    }
    Ok(())
}

fn path(name: &str) -> String {
    format!("{FOLDER}/{name}")
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn times(took: &[Vec<f64>]) -> Result<()> {
    println!("| huge | wall time | ÷ no site | 95 % interval | n |");
    println!("|---|--:|--:|---|--:|");
    for ((name, _), own) in ARMS.iter().zip(took) {
        let typical = median(own).context("too few rounds")?;
        let shift =
            ratio(own.iter().copied(), took[0].iter().copied()).context("too few rounds")?;
        let ends = interval(&shift, 3).unwrap_or_else(|| "too few rounds".to_owned());
        let (ratio, n) = (shift.estimate, shift.n);
        println!("| {name} | {typical:.3} s | {ratio:.3} | {ends} | {n} |");
    }
    Ok(())
}

/// Returns the gain of each round, as a logarithm: positive if it is faster than `none`.
fn gains(own: &[f64], none: &[f64]) -> Vec<f64> {
    let pairs = own.iter().zip(none);
    pairs.map(|(own, none)| (none / own).ln()).collect()
}

/// Returns the share of the whole gain that a part keeps. It is the share that, subtracted from the part, leaves
/// nothing. Its interval contains the shares at which nothing is not excluded (Fieller, 1954).
fn kept(part: &[f64], whole: &[f64]) -> Result<Shift> {
    let left = |share: f64| {
        let pairs = part.iter().zip(whole);
        let left: Vec<f64> = pairs.map(|(part, whole)| part - share * whole).collect();
        paired(&left, ALPHA).context("too few rounds")
    };
    let gain = paired(whole, ALPHA).context("too few rounds")?;
    let is_shown = gain.interval.is_some_and(|(low, _)| low > 0.0);
    ensure!(
        is_shown,
        "no gain of the whole was shown in this comparison"
    );
    let low = root(|share| Ok(left(share)?.interval.map_or(f64::NAN, |ends| ends.0)))?;
    let high = root(|share| Ok(left(share)?.interval.map_or(f64::NAN, |ends| ends.1)))?;
    let estimate = root(|share| Ok(left(share)?.estimate))?;
    Ok(Shift {
        estimate,
        interval: Some((low, high)),
        ..gain
    })
}

/// Returns the zero of a decreasing function, between −10 and 10.
fn root(falling: impl Fn(f64) -> Result<f64>) -> Result<f64> {
    let (mut low, mut high) = (-10.0, 10.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        match falling(middle)? > 0.0 {
            true => low = middle,
            false => high = middle,
        }
    }
    Ok(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_gains_nine_tenths_keeps_nine_tenths() {
        let whole: Vec<f64> = (0..30).map(|it| 0.3 + 0.01 * f64::from(it % 7)).collect();
        let noise = |it: usize| 0.004 * (it % 5) as f64 - 0.008;
        let part = whole.iter().enumerate();
        let part: Vec<f64> = part.map(|(it, gain)| 0.9 * gain + noise(it)).collect();
        let kept = kept(&part, &whole).expect("a share");
        let (low, high) = kept.interval.expect("an interval");
        assert!((kept.estimate - 0.9).abs() < 0.01, "{kept:?}");
        assert!(low < 0.9 && 0.9 < high && high - low < 0.03, "{kept:?}");
    }

    #[test]
    fn without_a_gain_nothing_is_kept_of_it() {
        let none = vec![0.0; 30];
        assert!(kept(&none, &none).is_err());
    }
}

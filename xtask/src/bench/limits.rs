//! Measures the growth of a verb's time with its input: an exponent, and the size from which it is no longer linear.
//! Sizes that do not fit into the machine are left out.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use hugewise_experiment::run::stats::median;
use rustix::process::{Resource, getrlimit};

use super::Arguments;
use super::inspect::{RESERVE, free_bytes};
use super::watched::Folder;
use crate::program;

mod subject;

use subject::{AXES, Axis, Place, Takes};

/// The default number of runs of each size without `--pairs`; the median counts.
const RUNS: u32 = 3;

/// Growth is steep if ten times the input takes more than sixteen times as long.
const STEEP: f64 = 1.2;

/// File descriptors that a verb needs for other purposes.
const SPARE_DESCRIPTORS: u64 = 100;

/// Differences below this share of the verb's time for empty input are noise.
const NOISE: f64 = 0.2;

/// Measures, and prints a table in Markdown.
pub fn run(arguments: &Arguments) -> Result<()> {
    let program = program::build()?;
    let folder = Folder::new()?;
    let place = Place {
        lab: program.with_file_name("hugewise-lab"),
        program,
        folder: &folder,
    };
    println!("| what grows | command | seconds | exponent | leaves linear |");
    println!("|---|---|---|--:|---|");
    for axis in AXES {
        let points = points(arguments, axis, &place)?;
        println!("{}", row(axis, &points)?);
    }
    Ok(())
}

/// A size and the verb's time for it, in seconds.
type Point = (u64, f64);

fn points(arguments: &Arguments, axis: &Axis, place: &Place<'_>) -> Result<Vec<Point>> {
    let point = |&size: &u64| {
        let subject = (axis.make)(place, size)?;
        let runs = arguments.pairs.unwrap_or(RUNS).max(1);
        let times: Result<Vec<f64>> = (0..runs).map(|_| seconds(&subject.command)).collect();
        Ok((size, median(&times?).context("no run")?))
    };
    let most = most(axis.takes)?;
    let sizes = axis.sizes.iter().filter(|&&size| size <= most);
    sizes.map(point).collect()
}

/// Returns the largest size that fits.
fn most(takes: Takes) -> Result<u64> {
    Ok(match takes {
        Takes::Little => u64::MAX,
        Takes::Bytes(each) => free_bytes()?.saturating_sub(RESERVE) / each,
        Takes::Descriptors(each) => {
            let processors = std::thread::available_parallelism()?.get() as u64;
            let limit = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
            limit.saturating_sub(SPARE_DESCRIPTORS) / (each * processors)
        }
    })
}

/// Returns the wall time of a command. For a command with a fixed watching time, that time is included.
fn seconds(words: &subject::Words) -> Result<f64> {
    let (name, rest) = words.line.split_first().context("no command")?;
    let mut command = Command::new(name);
    command
        .args(rest)
        .envs(words.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let begun = Instant::now();
    let status = command.status().context("starting the program")?;
    let took = begun.elapsed().as_secs_f64();
    ensure!(status.success(), "failed: {}", words.line.join(" "));
    Ok(took)
}

fn row(axis: &Axis, points: &[Point]) -> Result<String> {
    let list: Vec<String> = points
        .iter()
        .map(|(size, took)| format!("{size}: {took:.3}"))
        .collect();
    let growth = growth(points);
    let exponent = exponent(&growth);
    let leaves = match leaves_linear(&growth) {
        Some(size) => format!("from {size}"),
        None => format!("not up to {}", points.last().context("no size")?.0),
    };
    Ok(format!(
        "| {} | `{}` | {} | {} | {leaves} |",
        axis.what,
        axis.verb,
        list.join(", "),
        exponent.map_or_else(|| "too small to see".to_owned(), |one| format!("{one:.2}")),
    ))
}

/// Returns logarithms of the growth in size and in time, relative to the first size.
fn growth(points: &[Point]) -> Vec<(u64, f64, f64)> {
    let Some(&(least, base)) = points.first() else {
        return Vec::new();
    };
    let more = |&(size, took): &Point| {
        let longer = took - base;
        (longer > NOISE * base).then(|| (size, ((size - least) as f64).ln(), longer.ln()))
    };
    points.iter().skip(1).filter_map(more).collect()
}

/// Returns the slope of the least-squares line.
fn exponent(growth: &[(u64, f64, f64)]) -> Option<f64> {
    let count = growth.len() as f64;
    let mean = |of: fn(&(u64, f64, f64)) -> f64| growth.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|one| one.1), mean(|one| one.2));
    let across: f64 = growth.iter().map(|one| (one.1 - x) * (one.2 - y)).sum();
    let wide: f64 = growth.iter().map(|one| (one.1 - x).powi(2)).sum();
    (growth.len() > 1).then_some(across / wide)
}

/// Returns the first size at the end of a steep section.
fn leaves_linear(growth: &[(u64, f64, f64)]) -> Option<u64> {
    let steep =
        |pair: &&[(u64, f64, f64)]| (pair[1].2 - pair[0].2) > STEEP * (pair[1].1 - pair[0].1);
    growth.windows(2).find(steep).map(|pair| pair[1].0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_square_is_seen_and_a_line_is_not_suspected() {
        let of = |power: i32| -> Vec<Point> {
            let sizes = [1, 101, 1001, 10_001];
            sizes
                .map(|size| (size, 0.01 + (size as f64 / 100.0).powi(power)))
                .to_vec()
        };
        let (line, square) = (growth(&of(1)), growth(&of(2)));
        assert!((exponent(&line).unwrap() - 1.0).abs() < 0.01);
        assert_eq!(leaves_linear(&line), None);
        assert!((exponent(&square).unwrap() - 2.0).abs() < 0.05);
        assert_eq!(leaves_linear(&square), Some(1001));
        assert_eq!(exponent(&growth(&[(1, 1.0), (10, 1.0)])), None);
    }
}

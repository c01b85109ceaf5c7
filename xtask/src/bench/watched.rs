//! One workload, bare and under each of several watchers, paired within rounds.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use hugewise_experiment::run::stats::{ALPHA, median, paired};
use hugewise_linux::machine::root::Root;
use hugewise_linux::proc::pid_stat::read_pid_stat;
use hugewise_linux::proc::stat::ticks_per_second;

use super::Arguments;
use super::load::Load;
use super::rounds::{in_rounds, interval, ratio};
use super::watcher::{Watcher, succeed};

/// The default number of rounds without `--pairs`: enough for an interval, in a few minutes.
const ROUNDS: u32 = 10;

/// A folder for the output of watchers; removed on drop.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("hugewise-bench-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The cost of one run, in nanoseconds per page.
#[derive(Clone, Copy)]
struct Cost {
    wall: f64,
    /// CPU time of the workload, including the kernel's work for the watcher.
    workload: f64,
    /// CPU time of the watcher, including its start and its report.
    watcher: f64,
}

/// Prints the cost of each watcher, in rows of Markdown.
pub fn table(
    arguments: &Arguments,
    lab: &Path,
    folder: &Folder,
    load: &Load,
    watchers: &[Watcher],
) -> Result<()> {
    let costs = measure(arguments, lab, folder, load, watchers)?;
    let (bare, watched) = costs.split_last().context("nothing was measured")?;
    println!(
        "| watched by | delivers | added to each {} | 95 % interval | of it on the workload's \
         processor | the watcher's own | added to the whole | n |",
        load.each
    );
    println!("|---|---|--:|---|--:|--:|--:|--:|");
    for (watcher, costs) in watchers.iter().zip(watched) {
        println!("{}", row(watcher, costs, bare)?);
    }
    let middle = |of: fn(&Cost) -> f64| median(&bare.iter().map(of).collect::<Vec<_>>());
    let wall = middle(|cost| cost.wall).context("no bare run")?;
    println!(
        "\nBare: {wall:.0} ns from one {} to the next, {:.0} a second.",
        load.each,
        1e9 / wall
    );
    Ok(())
}

/// Returns costs by watcher, with those of the bare workload last.
fn measure(
    arguments: &Arguments,
    lab: &Path,
    folder: &Folder,
    load: &Load,
    watchers: &[Watcher],
) -> Result<Vec<Vec<Cost>>> {
    in_rounds(arguments, ROUNDS, watchers.len() + 1, |place| {
        run(lab, folder, load, watchers.get(place))
    })
}

fn row(watcher: &Watcher, costs: &[Cost], bare: &[Cost]) -> Result<String> {
    let added = |of: fn(&Cost) -> f64| {
        let pairs = costs.iter().zip(bare);
        let differences: Vec<f64> = pairs.map(|(one, bare)| of(one) - of(bare)).collect();
        paired(&differences, ALPHA).context("too few rounds")
    };
    let wall = added(|cost| cost.wall)?;
    let walls = |costs: &[Cost]| costs.iter().map(|cost| cost.wall).collect::<Vec<_>>();
    let whole = ratio(walls(costs), walls(bare)).context("too few rounds")?;
    let own: Vec<f64> = costs.iter().map(|cost| cost.watcher).collect();
    Ok(format!(
        "| {} | {} | {:.0} ns | {} | {:.0} ns | {:.0} ns | {:+.1} % | {} |",
        watcher.name,
        watcher.delivers,
        wall.estimate,
        interval(&wall, 0).unwrap_or_else(|| "too few rounds".to_owned()),
        added(|cost| cost.workload)?.estimate,
        median(&own).context("nothing was measured")?,
        100.0 * (whole.estimate - 1.0),
        wall.n,
    ))
}

/// Runs the workload once, bare if there is no watcher.
fn run(lab: &Path, folder: &Folder, load: &Load, watcher: Option<&Watcher>) -> Result<Cost> {
    let load = load.shorter(watcher.map_or(1, |watcher| watcher.shorter));
    let out = folder.file("said");
    let _ = fs::remove_file(&out);
    let workload = load.words(lab, &out);
    let before = children_ns()?;
    match watcher {
        Some(watcher) => watcher.run(workload)?,
        None => succeed(&workload)?,
    }
    let all = children_ns()? - before;
    let said = fs::read_to_string(&out).context("what the laboratory said")?;
    let [times, wall, processor] = numbers(&said)?;
    ensure!(times >= load.times() as f64, "the laboratory said {said:?}");
    let each = |time: f64| time / times;
    // The laboratory does not report its first pass.
    let whole = processor * load.whole();
    Ok(Cost {
        wall: each(wall),
        workload: each(processor),
        watcher: each((all - whole).max(0.0)),
    })
}

/// Parses count, wall time and CPU time from an output line of the laboratory.
fn numbers(said: &str) -> Result<[f64; 3]> {
    let words: Vec<&str> = said.split_whitespace().collect();
    let [_, times, "wall_ns", wall, "processor_ns", processor] = words[..] else {
        anyhow::bail!("the laboratory said {said:?}");
    };
    Ok([times.parse()?, wall.parse()?, processor.parse()?])
}

/// Adds work after each page, to reach about this number of faults per second.
pub fn slowed(lab: &Path, folder: &Folder, per_second: f64) -> Result<Load> {
    const STEPS: u64 = 100_000;
    let wall =
        |work| -> Result<f64> { Ok(run(lab, folder, &Load::pace(500, 4, work), None)?.wall) };
    let fault = wall(0)?;
    let step = (wall(STEPS)? - fault) / STEPS as f64;
    ensure!(step > 0.0, "work takes no time");
    let work = (1e9 / per_second - fault).max(0.0) / step;
    Ok(Load::pace(1_000, 9, work as u64))
}

/// Returns the CPU time of all waited-for children, in nanoseconds.
fn children_ns() -> Result<f64> {
    let children = read_pid_stat(&Root::real(), std::process::id())?.children;
    let ticks = children.user_ticks + children.system_ticks;
    Ok(ticks as f64 / ticks_per_second() as f64 * 1e9)
}

//! `xtask vm`: the kernel matrix. It builds static programs, fetches kernels, boots each under QEMU, runs the tests as
//! root and as an ordinary user, and prints one table.
//!
//! Emulation is for function, never for timing.
//!
//! To add a kernel, add a line to `kernels.toml`; `--capture NAME` freezes it.
//! A test on every kernel is an entry in `crates/hugewise/tests/guest/cases.rs`.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result, bail, ensure};

use crate::machine::Machine;
use crate::toolchain;

mod apt;
mod boot;
pub mod host;
mod initramfs;
mod kernels;
mod lanes;
mod programs;
mod results;
mod store;
mod table;
mod tree;

use initramfs::Parts;
use kernels::{Kernel, kernels};
use programs::{Builds, Programs};
use store::{Store, When};
use table::Column;

/// Run the tests on other kernels, under QEMU
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Only kernels with one of these names, or whose name contains it, for example `6.12`
    kernels: Vec<String>,
    /// Only kernels of this machine
    #[arg(long)]
    machine: Option<Machine>,
    /// Freeze each guest as a fixture instead of running the tests
    #[arg(long)]
    capture: bool,
    /// Look for newer packages than those in the cache
    #[arg(long)]
    update: bool,
    /// Show the console of each guest
    #[arg(long)]
    console: bool,
    /// Folder for kernels, the root for cross-building and programs
    #[arg(long, default_value = ".cache/matrix")]
    cache: PathBuf,
}

/// A guest of the matrix, and the name of its folder in the cache.
pub struct Guest {
    /// Of its kernel.
    pub name: String,
    /// Without spaces.
    pub slug: String,
}

/// All guests, in the order of the matrix.
///
/// # Errors
/// `kernels.toml` has a mistake.
pub fn guests() -> Result<Vec<Guest>> {
    let guest = |kernel: Kernel| Guest {
        slug: kernel.slug(),
        name: kernel.name,
    };
    Ok(kernels(&[], None)?.into_iter().map(guest).collect())
}

/// The purpose of guests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To run the tests.
    Test,
    /// To be frozen.
    Capture,
}

impl Purpose {
    /// Returns the programs that a guest needs for it.
    pub fn programs(self) -> Programs {
        match self {
            Self::Test => programs::TEST,
            Self::Capture => programs::CAPTURE,
        }
    }
}

/// Runs the matrix.
///
/// # Errors
/// A test failed, or a guest of this machine's architecture could not be run.
pub fn run(arguments: &Arguments) -> Result<()> {
    let kernels = kernels(&arguments.kernels, arguments.machine)?;
    let mut matrix = Matrix::new(arguments)?;
    matrix.build_and_fetch(&kernels);
    let guests: Vec<Ready> = kernels
        .into_iter()
        .map(|kernel| matrix.guest(kernel))
        .collect();
    let columns = lanes::columns(&guests, &matrix)?;
    if matrix.purpose == Purpose::Capture {
        return told_of_captures(&columns);
    }
    println!("{}", table::render(&columns));
    let count = table::count(&columns);
    println!(
        "{} kernels: {} passed, {} failed, {} skipped",
        columns.len(),
        count.passed,
        count.failed,
        count.skipped
    );
    list_skips(&columns)?;
    ensure!(
        count.failed == 0,
        "{} tests failed in the kernel matrix",
        count.failed
    );
    Ok(())
}

fn told_of_captures(columns: &[Column]) -> Result<()> {
    for column in columns {
        if let Err(why) = &column.results {
            bail!("{}: {why}", column.name);
        }
    }
    Ok(())
}

/// Adds the skipped checks to the list counted by `make`.
fn list_skips(columns: &[Column]) -> Result<()> {
    let Some(path) = std::env::var_os("HUGEWISE_SKIPPED") else {
        return Ok(());
    };
    let mut file = File::options().append(true).create(true).open(path)?;
    for column in columns {
        if let Err(why) = &column.results {
            writeln!(file, "SKIP kernel matrix, {}: {why}", column.name)?;
        }
        for result in column.results.iter().flatten() {
            if let results::Outcome::Skipped(why) = &result.outcome {
                let (name, user, test) = (&column.name, &result.user, &result.test);
                writeln!(file, "SKIP kernel matrix, {name}, {user}, {test}: no {why}")?;
            }
        }
    }
    Ok(())
}

/// A kernel with everything needed to boot it, or the reason why that is unavailable.
struct Ready {
    kernel: Kernel,
    parts: Result<Disks>,
}

/// The disks of a guest, and the folder of its console.
struct Disks {
    image: PathBuf,
    initramfs: PathBuf,
    folder: PathBuf,
}

/// The state shared by all kernels.
struct Matrix {
    purpose: Purpose,
    sources: PathBuf,
    cache: PathBuf,
    store: Store,
    builds: Builds,
    console: bool,
}

impl Matrix {
    fn new(arguments: &Arguments) -> Result<Self> {
        fs::create_dir_all(&arguments.cache)?;
        let cache = arguments.cache.canonicalize()?;
        let when = if arguments.update {
            When::Always
        } else {
            When::Lacking
        };
        let purpose = if arguments.capture {
            Purpose::Capture
        } else {
            Purpose::Test
        };
        Ok(Self {
            purpose,
            sources: std::env::current_dir()?,
            store: Store::new(&cache, when),
            builds: Builds::new(purpose.programs(), &cache)?,
            cache,
            console: arguments.console,
        })
    }

    /// Builds with the installed toolchain while everything else is fetched: one waits for processors, the other for
    /// the network. Failures are ignored; the later attempt reports them.
    fn build_and_fetch(&mut self, kernels: &[Kernel]) {
        let machines: BTreeSet<Machine> = kernels.iter().map(|kernel| kernel.machine).collect();
        let Self {
            store,
            builds,
            cache,
            ..
        } = self;
        thread::scope(|scope| {
            scope.spawn(|| {
                for &machine in &machines {
                    let _ = toolchain::prepare(machine, cache);
                    let _ = store.busybox(machine);
                }
                for kernel in kernels {
                    let _ = store.image(kernel);
                }
            });
            if machines.contains(&Machine::x86_64) {
                let _ = builds.of(Machine::x86_64);
            }
        });
    }

    /// Prepares everything that a guest needs, before it is booted.
    fn guest(&mut self, kernel: Kernel) -> Ready {
        let parts = self.parts(&kernel);
        Ready { kernel, parts }
    }

    fn parts(&mut self, kernel: &Kernel) -> Result<Disks> {
        let programs = self.builds.of(kernel.machine)?;
        let image = self.store.image(kernel)?;
        let busybox = self.store.busybox(kernel.machine)?;
        let parts = Parts {
            busybox: &busybox,
            programs: &programs,
            golden: &self.sources.join("fixtures/golden"),
        };
        let folder = self.cache.join("guests").join(kernel.slug());
        fs::create_dir_all(&folder)?;
        let initramfs = initramfs::make(kernel, &parts, self.purpose, &folder)?;
        Ok(Disks {
            image,
            initramfs,
            folder,
        })
    }
}

/// Unpacks the frozen machines that a guest printed between two marker lines.
fn thaw(lines: &[String], folder: &Path) -> Result<()> {
    let begin = lines.iter().position(|line| line == "guest begins hosts");
    let end = lines.iter().position(|line| line == "guest ends hosts");
    let (Some(begin), Some(end)) = (begin, end) else {
        bail!("the guest printed no frozen machine");
    };
    let mut child = Command::new("sh")
        .args(["-c", "base64 -d | tar -xz -C \"$0\""])
        .arg(folder)
        .stdin(Stdio::piped())
        .spawn()
        .context("starting a shell")?;
    let mut input = child.stdin.take().context("the shell has no stdin")?;
    for line in lines.get(begin + 1..end).unwrap_or_default() {
        writeln!(input, "{line}")?;
    }
    drop(input);
    ensure!(
        child.wait()?.success(),
        "the frozen machine does not unpack"
    );
    Ok(())
}
